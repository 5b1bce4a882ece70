"""Conversations as OpenAI's fine-tuning takes them: one line of ``messages`` for each stage that was played."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tasks_lib.interop._faults import fault
from tasks_lib.interop._files import lines, text_in
from tasks_lib.interop._pictures import Shown, as_shown, data_uri, from_data_uri
from tasks_lib.interop._steps import MOST_STEPS, Told, rest_of
from tasks_lib.interop._telling import step_words, system_words, task_words
from tasks_lib.interop.importing import Foreign
from tasks_lib.interop.trajectory import Play, Trajectory
from tasks_lib.records import Step
from tasks_lib.store import Store

# One system, one user and one assistant message a step; tools' messages are refused.
_MOST_MESSAGES = 2 * MOST_STEPS + 8


@dataclass(frozen=True, slots=True)
class ChatFiles:
    """What `export_chat` wrote: conversations, and beside them where each is from."""

    conversations: Path
    index: Path
    lines: int


def index_of(conversations: Path) -> Path:
    """Return where the index of a file of conversations lies."""
    return conversations.with_name(f"{conversations.stem}.index.jsonl")


def export_chat(store: Store, found: Iterable[Trajectory], file: Path, *, pictures: bool = True) -> ChatFiles:
    """Write conversations and their index; the same trajectories give the same bytes.

    A line holds ``messages`` and nothing else, as fine-tuning wants it. The index has a line for each: episode, task,
    digest, stage, score, and of every step what a chat message has no place for. Pictures have the size at which the
    agent saw them, since the coordinates in its replies belong to that.

    Parameters
    ----------
    store : Store
        Holds the screenshots.
    found : iterable of Trajectory
    file : Path
        Ends in ``.jsonl``.
    pictures : bool
        Whether screenshots stand in the messages.

    Raises
    ------
    ConfigurationError
        If a file is there already, or the instruction of an episode's task is not to be had.
    """
    index = index_of(file)
    for path in (file, index):
        if path.exists():
            raise fault(str(path), "is there already", "give another --out, or remove it")
    file.parent.mkdir(parents=True, exist_ok=True)
    count = 0
    with (
        file.open("w", encoding="utf-8", newline="\n") as talks,
        index.open("w", encoding="utf-8", newline="\n") as facts,
    ):
        for trajectory in found:
            for play in trajectory.plays:
                if not play.brief.instruction:
                    rule = f"task {trajectory.spec.task_id} is not there, or has changed since the run"
                    raise fault(trajectory.spec.id, rule, "check out the task files of that time, or leave it out")
                count += 1
                talks.write(_line({"messages": _messages(store, play, pictures=pictures)}))
                facts.write(_line(_facts(trajectory, play, count)))
    return ChatFiles(file, index, count)


def _line(value: dict[str, Any]) -> str:
    return json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":")) + "\n"


def _messages(store: Store, play: Play, *, pictures: bool) -> list[dict[str, Any]]:
    said: list[dict[str, Any]] = [{"role": "system", "content": system_words(play)}]
    before: Step | None = None
    for step in play.steps:
        words = step_words(step, before)
        if before is None:
            words = f"{task_words(play.brief)}\n\n{words}"
        seen = step.observation.screenshot
        if pictures and seen is not None:
            url = data_uri(as_shown(store.get_blob(seen), step.shown), "image/png")
            content: Any = [{"type": "text", "text": words}, {"type": "image_url", "image_url": {"url": url}}]
        else:
            content = words
        said += [{"role": "user", "content": content}, {"role": "assistant", "content": step.reply}]
        before = step
    return said


def _facts(trajectory: Trajectory, play: Play, number: int) -> dict[str, Any]:
    return {
        "line": number,
        "run": trajectory.run,
        "episode": trajectory.spec.id,
        "task": trajectory.spec.task_id,
        "task_digest": trajectory.spec.task_digest,
        "player": trajectory.label,
        "trial": trajectory.spec.trial,
        "stage": play.stage,
        "outcome": trajectory.outcome,
        "share": trajectory.share,
        "steps": [{**rest_of(step), "reasoning": step.reasoning} for step in play.steps],
    }


def read_chat(file: Path, *, task: str | None = None, player: str | None = None) -> Iterator[Foreign]:
    """Read conversations, one episode after another, with the index beside them where there is one.

    The lines of an episode stand together.

    Parameters
    ----------
    file : Path
    task : str, optional
        The task of every line, where there is no index.
    player : str, optional
        Overrides the index.

    Raises
    ------
    ConfigurationError
        If a line is no conversation, or its task is not to be known; the message names file and line.
    """
    facts = _index(index_of(file))
    episode, number = "", 0
    parts: list[tuple[str, dict[str, Any], list[Told]]] = []
    for line, (place, row) in enumerate(lines(file), start=1):
        about = facts.get(line, {})
        key = text_in(about, "episode", place, f"line {line}")
        if parts and key != episode:
            number += 1
            yield _foreign(parts, task, player, number)
            parts = []
        episode = key
        parts.append((place, about, _told(row, about, place)))
    if parts:
        yield _foreign(parts, task, player, number + 1)


def _index(file: Path) -> dict[int, dict[str, Any]]:
    found: dict[int, dict[str, Any]] = {}
    if file.exists():
        for place, row in lines(file):
            number = row.get("line")
            if not isinstance(number, int) or isinstance(number, bool) or number in found:
                raise fault(place, f"line is a number that stands once, got {number!r}", "mend or remove the index")
            found[number] = row
    return found


def _foreign(
    parts: Sequence[tuple[str, dict[str, Any], list[Told]]], task: str | None, player: str | None, number: int
) -> Foreign:
    place, about, _ = parts[0]
    name = task or text_in(about, "task", place, "")
    if not name:
        raise fault(place, "it says not which task it is of", "give --task, or put the index beside the file")
    trial = about.get("trial", 1 if about else number)
    if not isinstance(trial, int) or isinstance(trial, bool):
        raise fault(place, f"trial is a whole number, got {trial!r}", "mend the index")
    share = about.get("share")
    return Foreign(
        place=place,
        task_id=name,
        player=player or text_in(about, "player", place, "chat"),
        trial=trial,
        plays=tuple((text_in(facts, "stage", at, "") or None, told) for at, facts, told in parts),
        digest=text_in(about, "task_digest", place, ""),
        claim={"outcome": about.get("outcome"), "share": share if isinstance(share, int | float) else None}
        if about
        else {},
    )


def _told(row: dict[str, Any], about: dict[str, Any], place: str) -> list[Told]:
    messages = row.get("messages")
    if not isinstance(messages, list) or len(messages) > _MOST_MESSAGES:
        what = f"a list of {len(messages)}" if isinstance(messages, list) else type(messages).__name__
        raise fault(place, f"messages is a list of at most {_MOST_MESSAGES}, got {what}", "give a conversation")
    rests = about.get("steps", [])
    if not isinstance(rests, list):
        raise fault(place, "steps of its index is a list", "mend or remove the index")
    told: list[Told] = []
    seen: Shown | None = None
    for number, message in enumerate(messages, start=1):
        at = f"{place}, message {number}"
        if not isinstance(message, dict):
            raise fault(at, f"a message is an object, got {type(message).__name__}", "mend it")
        role = text_in(message, "role", at)
        words, picture = _content(message, at)
        if role == "assistant":
            if message.get("tool_calls"):
                raise fault(at, "tool calls of a foreign agent have no counterpart", "give replies in blocks")
            rest = dict(rests[len(told)]) if len(told) < len(rests) and isinstance(rests[len(told)], dict) else None
            reasoning = rest.pop("reasoning", "") if rest is not None else ""
            told.append(Told(at, words, reasoning if isinstance(reasoning, str) else "", seen, rest))
            seen = None
        elif role in {"system", "developer", "user"}:
            seen = picture or seen
        else:
            raise fault(at, f"role is system, user or assistant, got {role[:40]!r}", "leave the message out")
    return told


def _content(message: dict[str, Any], place: str) -> tuple[str, Shown | None]:
    """Return a message's words and its last picture."""
    content = message.get("content")
    if isinstance(content, str):
        return content, None
    if not isinstance(content, list):
        raise fault(place, f"content is a text or a list of parts, got {type(content).__name__}", "mend it")
    words: list[str] = []
    seen: Shown | None = None
    for part in content:
        kind = part.get("type") if isinstance(part, dict) else None
        if kind == "text":
            words.append(text_in(part, "text", place))
        elif kind == "image_url" and isinstance(part.get("image_url"), dict):
            seen = from_data_uri(text_in(part["image_url"], "url", place), place) or seen
        else:
            raise fault(place, f"a part is a text or an image_url, got {str(kind)[:40]!r}", "leave it out")
    return "\n".join(words), seen
