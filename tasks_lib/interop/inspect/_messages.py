"""Steps as Inspect's chat messages, and back."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from inspect_ai.model import (
    ChatMessage,
    ChatMessageAssistant,
    ChatMessageUser,
    ContentImage,
    ContentReasoning,
    ContentText,
)

from tasks_lib.interop._faults import fault
from tasks_lib.interop._pictures import Shown, data_uri, from_data_uri
from tasks_lib.interop._steps import Told, rest_of
from tasks_lib.interop._telling import step_words, task_words
from tasks_lib.interop.trajectory import Play
from tasks_lib.records import BlobRef, Step

# The key under which a message's metadata hold what Inspect has no place for.
OURS = "matassay"
Blob = Callable[[BlobRef], bytes]


def told_stage(play: Play, key: str) -> ChatMessage:
    """Return the message that opens a stage."""
    facts = {"stage": play.stage, "modality": str(play.brief.modality)}
    return ChatMessageUser(id=f"{key}-{play.stage}", content=task_words(play.brief), metadata={OURS: facts})


def told_step(step: Step, before: Step | None, blob: Blob, *, key: str, model: str) -> list[ChatMessage]:
    """Return what was told and what was answered in one step; ids are derived from `key`."""
    content: list[Any] = [ContentText(text=step_words(step, before))]
    seen = step.observation.screenshot
    if seen is not None:
        content.append(ContentImage(image=data_uri(blob(seen), seen.media_type)))
    answer: list[Any] = [ContentReasoning(reasoning=step.reasoning)] if step.reasoning else []
    answer.append(ContentText(text=step.reply))
    return [
        ChatMessageUser(id=f"{key}-{step.index}-seen", content=content),
        ChatMessageAssistant(
            id=f"{key}-{step.index}-said", content=answer, model=model, metadata={OURS: {"step": rest_of(step)}}
        ),
    ]


def told_end(play: Play, blob: Blob, key: str) -> list[ChatMessage]:
    """Return the message that shows what the last reply of a stage came to."""
    last = play.steps[-1]
    content: list[Any] = [ContentText(text=f"# How it ended\n{last.feedback or last.decision}")]
    if play.final is not None:
        content.append(ContentImage(image=data_uri(blob(play.final), play.final.media_type)))
    return [ChatMessageUser(id=f"{key}-{play.stage}-end", content=content, metadata={OURS: {"end": play.stage}})]


def told_in(messages: Sequence[Any], place: str) -> list[tuple[str | None, list[Told]]]:
    """Read the steps of each stage from a conversation.

    Raises
    ------
    ConfigurationError
        If an answer is a call of a tool, or a picture is none.
    """
    plays: dict[str | None, list[Told]] = {}
    stage: str | None = None
    seen: Shown | None = None
    for number, message in enumerate(messages, start=1):
        at = f"{place}, message {number}"
        ours = (message.metadata or {}).get(OURS)
        if message.role != "assistant":
            if isinstance(ours, dict) and "stage" in ours:
                stage = str(ours["stage"])
            seen = _picture(message, at) or seen
            continue
        reply = _words(message)
        if message.tool_calls and not reply.strip():
            rule = f"a call of the tool {message.tool_calls[0].function[:60]!r} has no counterpart"
            raise fault(at, rule, "give replies in blocks, or play the task through `inspect eval`")
        rest = ours.get("step") if isinstance(ours, dict) else None
        plays.setdefault(stage, []).append(Told(at, reply, _reasoning(message), seen, rest))
        seen = None
    return list(plays.items())


def _parts(message: Any) -> list[Any]:
    return [ContentText(text=message.content)] if isinstance(message.content, str) else list(message.content)


def _words(message: Any) -> str:
    return "\n".join(part.text for part in _parts(message) if part.type == "text")


def _reasoning(message: Any) -> str:
    return "\n".join(part.reasoning for part in _parts(message) if part.type == "reasoning" and not part.redacted)


def _picture(message: Any, place: str) -> Shown | None:
    seen = None
    for part in _parts(message):
        if part.type == "image":
            seen = from_data_uri(part.image, place) or seen
    return seen
