"""Why one episode ended as it did: a document for machines, and the lines of it for a terminal."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any, Literal

from pydantic import Field

from tasks_lib.records import Document, Failure, Json, Outcome, Phase, Record, VoidReason
from tasks_lib.records.identifiers import EpisodeId, RunId, Sha256, Slug
from tasks_lib.reporting._text import Redact, redact_tree, scrub, value_text, wanted_text

_NAME_WIDTH = 8
_LONGEST_VALUE = 1200
_MOST_LINES = 24


class EvidenceUsed(Record):
    """One thing that a criterion read."""

    kind: Literal["file", "windows", "screen", "blob"] = Field(description="blob: no longer known by a name")
    name: str = Field(description="the file's path, the window's title, or what else it is called")
    region: tuple[int, int, int, int] | None = Field(
        default=None, description="x, y, width, height in pixels of the final screenshot; none: all of it"
    )
    sha256: Sha256 | None = Field(default=None, description="of the file or the screenshot")
    shown: str | None = Field(default=None, description="the crop, thumbnail or excerpt that was written")
    note: str = ""


class ExplainedCriterion(Record):
    """A criterion, how it ended and what it rests on."""

    id: Slug
    stage: Slug
    kind: Literal["result", "hand-off"]
    passed: bool
    points: int
    earned: int
    seen: Json = None
    wanted: Json = None
    why: str
    purpose: str = Field(default="", description="the task's own sentence; empty where the task is no longer known")
    evidence: tuple[EvidenceUsed, ...] = ()


class ExplainedVoid(Record):
    """What broke around the agent, and what to do."""

    reason: VoidReason
    phase: Phase
    stage: Slug
    exception: str
    message: str
    advice: str
    next: str = Field(description="the command that does the episode again")


class Explanation(Document):
    """What `matassay explain --json` prints."""

    run: RunId
    episode: EpisodeId
    task: Slug
    title: str = ""
    agent: Slug
    trial: int
    attempt: int = Field(description="0: none was begun")
    outcome: Outcome | None = Field(description="none: not done yet")
    points: int
    earned: int
    void: ExplainedVoid | None = None
    failure: Failure | None = Field(default=None, description="of a FAIL: its class; docs/failure-classes.md")
    criteria: tuple[ExplainedCriterion, ...] = ()
    folder: str | None = Field(default=None, description="where the crops were written; none: there are none")
    notes: tuple[str, ...] = ()


def explanation_json(explained: Explanation, redact: Redact) -> Any:
    """Return the document for a machine, without secrets; its texts are as the agent wrote them."""
    return redact_tree(explained.model_dump(mode="json"), redact)


def explanation_lines(explained: Explanation, redact: Redact) -> Iterator[str]:
    """Yield the lines for a terminal, scrubbed and without secrets.

    What an agent wrote stands behind a bar where it has several lines, so that no line of it can pass for one of ours.

    Parameters
    ----------
    explained : Explanation
    redact : callable
        Takes secrets out of a text.
    """
    yield from (scrub(redact(line)) for line in _head(explained))
    if explained.void is not None:
        void = explained.void
        yield from _field("message", scrub(redact(void.message)))
        yield from _field("advice", void.advice)
        yield from _field("next", scrub(void.next))
    if explained.failure is not None:
        failed = explained.failure
        stage = "" if failed.stage == "main" else f", stage {failed.stage}"
        yield from _field("class", scrub(redact(f"{failed.kind}{stage}: {failed.why}")))
    for one in explained.criteria:
        yield ""
        stage = "" if one.stage == "main" else f", stage {one.stage}"
        hand_off = ", hand-off" if one.kind == "hand-off" else ""
        word = "passed" if one.passed else "FAILED"
        yield f"{word}  {one.id}: {one.earned} of {one.points} points{stage}{hand_off}"
        yield from _field("seen", scrub(value_text(_flat(one.seen), redact, _LONGEST_VALUE)))
        yield from _field("wanted", scrub(_wanted(one.wanted, redact)))
        yield from _field("why", scrub(redact(one.why)))
        if one.purpose:
            yield from _field("purpose", scrub(one.purpose))
        for used in one.evidence:
            yield from _field("from", scrub(redact(_used(used))))
            if used.shown:
                yield from _field("see", scrub(used.shown.rsplit("/", 1)[-1]))
    if explained.folder is not None:
        yield ""
        yield f"crops: {scrub(explained.folder)}"
    if explained.notes:
        yield ""
        yield from (scrub(redact(note)) for note in explained.notes)


def _head(explained: Explanation) -> Iterator[str]:
    title = f" ({explained.title})" if explained.title else ""
    yield f"{explained.task}{title}, {explained.agent}, trial {explained.trial}, run {explained.run}"
    if explained.void is not None:
        void = explained.void
        stage = "" if void.stage == "main" else f" of stage {void.stage}"
        yield f"VOID({void.reason}) in {void.phase}{stage}, attempt {explained.attempt}: {void.exception}"
    elif explained.outcome is None:
        yield "not done yet"
    else:
        yield f"{explained.outcome}, {explained.earned} of {explained.points} points, attempt {explained.attempt}"


def _wanted(value: Json, redact: Redact) -> str:
    """Write what was wanted on one line; of a value that a gold file says, which file."""
    if not isinstance(value, dict):
        return wanted_text(value, redact)
    parts = {key: _flat(item) if key == "value" else item for key, item in value.items() if key != "gold"}
    gold = f", as gold/{redact(str(value['gold']))} says" if value.get("gold") else ""
    return wanted_text(parts, redact) + gold


def _flat(value: Json) -> Json:
    return json.dumps(value, ensure_ascii=False) if isinstance(value, dict | list) else value


def _used(used: EvidenceUsed) -> str:
    place = f" {list(used.region)} px" if used.region is not None else ""
    what = {
        "file": f"file {used.name}",
        "windows": f"windows: {used.name}",
        "screen": f"final screenshot{place}" + (f", window {used.name}" if used.name else ""),
        "blob": f"blob {used.name}",
    }[used.kind]
    return f"{what} ({used.note})" if used.note else what


def _field(name: str, text: str) -> Iterator[str]:
    lines = text.split("\n")
    if len(lines) == 1:
        yield f"  {name:<{_NAME_WIDTH}}{text}"
        return
    yield f"  {name}"
    yield from (f"  {'':<{_NAME_WIDTH}}| {line}" for line in lines[:_MOST_LINES])
    if len(lines) > _MOST_LINES:
        yield f"  {'':<{_NAME_WIDTH}}| … {len(lines) - _MOST_LINES} more lines"
