"""What every dialect reads from a reply, whatever the reply holds."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from typing import Any, Protocol

from tasks_lib.records import Usage, clean_text


class BrokenReplyError(ValueError):
    """The body is not what such an endpoint sends: cut, garbled, or no answer in it."""


@dataclass(frozen=True, slots=True)
class ChatReply:
    """The parts of a reply body that matter."""

    text: str
    reasoning: str
    usage: Usage
    finish_reason: str | None
    model: str | None


class ReplyReader(Protocol):
    """Reads the body of a successful answer; raises `BrokenReplyError`."""

    def __call__(self, body: bytes) -> ChatReply:
        """Read a body."""
        ...


def parse_object(body: bytes) -> dict[str, Any]:
    """Return the JSON object of a body.

    Raises
    ------
    BrokenReplyError
        If the body is no JSON object.
    """
    try:
        found = json.loads(body.decode("utf-8", "replace"))
    except (ValueError, RecursionError) as error:
        msg = f"not valid JSON ({type(error).__name__}: {error})" if body.strip() else "an empty body"
        raise BrokenReplyError(msg) from None
    if not isinstance(found, dict):
        msg = f"a JSON {type(found).__name__} instead of an object"
        raise BrokenReplyError(msg)
    return found


def reply_of(text: str, reasoning: str, usage: Usage, finish_reason: Any, model: Any) -> ChatReply:
    """Return a reply whose texts are clean, and whose thoughts, where they stand in the answer, are kept apart."""
    thought, text = split_thought(text)
    return ChatReply(
        text=clean_text(text),
        reasoning=clean_text("\n".join(part for part in (reasoning, thought) if part)),
        usage=usage,
        finish_reason=word(finish_reason),
        model=word(model),
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
    code = ""
    try:
        found = json.loads(text)
    except (ValueError, RecursionError):
        found = None
    error = found.get("error", found) if isinstance(found, dict) else None
    if isinstance(error, dict):
        code = " ".join(str(error[key]) for key in ("code", "type") if error.get(key))
        text = str(error.get("message") or error.get("detail") or text)
    elif isinstance(error, str):
        text = error
    line = " ".join("".join(c if c.isprintable() else " " for c in clean_text(text)).split())
    return (line if len(line) <= limit else line[:limit] + "…"), code


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
    """Return a number of tokens, or None where it is none: a missing usage is missing, not 0."""
    whole = isinstance(value, int) or (isinstance(value, float) and value.is_integer())
    return int(value) if whole and not isinstance(value, bool) and value >= 0 else None


def field_of(value: Any, name: str) -> Any:
    """Return a field of an object, None where it is no object or has no such field."""
    return value.get(name) if isinstance(value, dict) else None
