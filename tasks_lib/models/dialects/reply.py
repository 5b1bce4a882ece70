"""What every dialect reads from a reply, whatever the reply holds."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from tasks_lib.models.messages import Part, TextPart, ToolCall, ToolCallPart
from tasks_lib.records import Usage, clean_text

# Deeper than any reply is, and than what readers of JSON elsewhere, of the store's documents among them, take.
DEEPEST = 100
# No call has as many tokens: such a figure is none, and would burst budgets, sums and columns of tables.
_MOST_TOKENS = 10**9


class BrokenReplyError(ValueError):
    """The body is not what such an endpoint sends: cut, garbled, or no answer in it."""


@dataclass(frozen=True, slots=True)
class ChatReply:
    """The parts of a reply body that matter.

    Attributes
    ----------
    text, reasoning : str
        The answer, and what was thought aloud.
    usage : Usage
    finish_reason, model : str or None
    parts : tuple of Part
        The assistant's turn: texts, calls of tools, and what the endpoint wants back unchanged.
    refused : bool
        Whether there is a refusal instead of an answer.
    """

    text: str
    reasoning: str
    usage: Usage
    finish_reason: str | None
    model: str | None
    parts: tuple[Part, ...] = ()
    refused: bool = False

    @property
    def calls(self) -> tuple[ToolCall, ...]:
        """The tools that were called, in order."""
        return tuple(part.call for part in self.parts if isinstance(part, ToolCallPart))


class ReplyReader(Protocol):
    """Reads the JSON of a successful answer; raises `BrokenReplyError`."""

    def __call__(self, found: Mapping[str, Any]) -> ChatReply:
        """Read a body."""
        ...


def parse_object(body: bytes | str) -> dict[str, Any]:
    """Return the JSON object of a body, or of the data of an event.

    Raises
    ------
    BrokenReplyError
        If the body is no JSON object.
    """
    try:
        found = json.loads(body.decode("utf-8", "replace") if isinstance(body, bytes) else body)
    except (ValueError, RecursionError) as error:
        msg = f"not valid JSON ({type(error).__name__}: {error})" if body.strip() else "an empty body"
        raise BrokenReplyError(msg) from None
    if not isinstance(found, dict):
        msg = f"a JSON {type(found).__name__} instead of an object"
        raise BrokenReplyError(msg)
    if deeper_than(DEEPEST, found):
        msg = f"JSON of more than {DEEPEST} levels"
        raise BrokenReplyError(msg)
    return found


def deeper_than(limit: int, value: Any) -> bool:
    """Tell whether JSON has more than so many levels of lists and objects, however deep it is."""
    level = [value]
    for _ in range(limit + 1):
        level = [
            inner
            for one in level
            if isinstance(one, dict | list)
            for inner in (one.values() if isinstance(one, dict) else one)
        ]
        if not level:
            return False
    return True


def reply_of(
    parts: Sequence[Part], reasoning: str, usage: Usage, finish_reason: Any, model: Any, *, refused: bool = False
) -> ChatReply:
    """Return a reply whose texts are clean, and whose thoughts, where they stand in the answer, are kept apart."""
    said = "".join(part.text for part in parts if isinstance(part, TextPart))
    thought, text = split_thought(said)
    if thought or text != said:
        first = next(position for position, part in enumerate(parts) if isinstance(part, TextPart))
        rest = [part for part in parts[first:] if not isinstance(part, TextPart)]
        parts = [*parts[:first], TextPart(text), *rest]
    return ChatReply(
        text=clean_text(text),
        reasoning=clean_text("\n".join(part for part in (reasoning, thought) if part)),
        usage=usage,
        finish_reason=word(finish_reason),
        model=word(model),
        parts=tuple(
            TextPart(clean_text(part.text)) if isinstance(part, TextPart) else part
            for part in parts
            if not isinstance(part, TextPart) or part.text
        ),
        refused=refused,
    )


def split_thought(text: str) -> tuple[str, str]:
    """Split what a model thought aloud (``<think>…</think>`` at the start) from what it answered.

    Some chat templates put the opening tag into the prompt, so it may be missing; a thought that was cut before its
    closing tag leaves no answer.
    """
    head = text.lstrip()
    opened = head.startswith("<think>")
    before, closing, after = text.partition("</think>")
    if closing and (opened or "<think>" not in before):
        return before.lstrip().removeprefix("<think>").strip(), after.lstrip()
    return (head.removeprefix("<think>").strip(), "") if opened else ("", text)


def error_text(body: bytes, limit: int = 300) -> tuple[str, str]:
    """Return what an error body says, in one line, and its error code, if it has one."""
    text = body.decode("utf-8", "replace")
    try:
        found = json.loads(text)
    except (ValueError, RecursionError):
        found = None
    said, code = told_error(found) if isinstance(found, dict) else ("", "")
    return one_line(said or text, limit), code


def told_error(found: Mapping[str, Any]) -> tuple[str, str]:
    """Return the message and the codes of an object that tells of an error, in whichever of the usual forms."""
    error = found.get("error")
    if isinstance(error, str):
        return error, ""
    inner = error if isinstance(error, dict) else found
    codes = " ".join(str(inner[key]) for key in ("code", "type", "status") if inner.get(key))
    return str(inner.get("message") or inner.get("detail") or ""), codes


def one_line(text: str, limit: int = 300) -> str:
    """Return a text as one line without control characters, cut at `limit`."""
    line = " ".join("".join(c if c.isprintable() else " " for c in clean_text(text)).split())
    return line if len(line) <= limit else line[:limit] + "…"


def retry_delay(body: bytes) -> float | None:
    """Return how long an error body asks to be left alone, s: Google's `RetryInfo`, such as ``"34s"``."""
    try:
        error = parse_object(body).get("error")
    except BrokenReplyError:
        return None
    for detail in objects(field_of(error, "details")):
        found = re.fullmatch(r"(\d{1,6}(?:\.\d{1,9})?)s", str(detail.get("retryDelay", "")))
        if found:
            return float(found.group(1))
    return None


def objects(value: Any) -> list[dict[str, Any]]:
    """Return the objects of a list; none where it is no list."""
    return [one for one in value if isinstance(one, dict)] if isinstance(value, list) else []


def word(value: Any) -> str | None:
    """Return a text, or None where it is none."""
    return clean_text(value) if isinstance(value, str) else None


def count(value: Any) -> int | None:
    """Return a number of tokens, or None where it is none or cannot be: a missing usage is missing, not 0."""
    whole = isinstance(value, int) or (isinstance(value, float) and value.is_integer())
    return int(value) if whole and not isinstance(value, bool) and 0 <= value <= _MOST_TOKENS else None


def field_of(value: Any, name: str) -> Any:
    """Return a field of an object, None where it is no object or has no such field."""
    return value.get(name) if isinstance(value, dict) else None


def text_of_field(value: Any, name: str) -> str:
    """Return a field of an object where it is a text, else nothing."""
    found = field_of(value, name)
    return found if isinstance(found, str) else ""


def content_text(content: Any) -> str:
    """Return the text of what is a text or a list of parts."""
    if isinstance(content, str):
        return content
    parts = content if isinstance(content, list) else []
    texts = (part if isinstance(part, str) else field_of(part, "text") for part in parts)
    return "".join(text for text in texts if isinstance(text, str))
