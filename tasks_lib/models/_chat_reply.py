"""Reading the reply of a chat-completions endpoint, whatever it holds."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

from tasks_lib.records import Usage, clean_text


class BrokenReplyError(ValueError):
    """The body is not what a chat-completions endpoint sends: cut, garbled, or no choice in it."""


@dataclass(frozen=True, slots=True)
class ChatReply:
    """The parts of a reply body that matter."""

    text: str
    reasoning: str
    usage: Usage
    finish_reason: str | None
    model: str | None


def read_reply(body: bytes) -> ChatReply:
    """Read a body.

    An empty text is an answer of the model; no choice at all is a fault of the endpoint.

    Raises
    ------
    BrokenReplyError
        If the body is no JSON object with at least one choice that holds a message.
    """
    try:
        found = json.loads(body.decode("utf-8", "replace"))
    except (ValueError, RecursionError) as error:
        msg = f"not valid JSON ({type(error).__name__}: {error})" if body.strip() else "an empty body"
        raise BrokenReplyError(msg) from None
    if not isinstance(found, dict):
        msg = f"a JSON {type(found).__name__} instead of an object"
        raise BrokenReplyError(msg)
    choices = found.get("choices")
    choice = choices[0] if isinstance(choices, list) and choices else None
    message = choice.get("message") if isinstance(choice, dict) else None
    if not isinstance(choice, dict) or not isinstance(message, dict):
        msg = "no choice with a message"
        raise BrokenReplyError(msg)
    text = _text(message.get("content")) or _text(message.get("refusal"))
    reasoning = _text(message.get("reasoning_content")) or _text(message.get("reasoning"))
    thought, text = split_thought(text)
    return ChatReply(
        text=clean_text(text),
        reasoning=clean_text("\n".join(part for part in (reasoning, thought) if part)),
        usage=_usage(found.get("usage")),
        finish_reason=_word(choice.get("finish_reason")),
        model=_word(found.get("model")),
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


def _text(content: Any) -> str:
    if isinstance(content, str):
        return content
    if isinstance(content, list):
        parts = (part.get("text") if isinstance(part, dict) else part for part in content)
        return "".join(part for part in parts if isinstance(part, str))
    return ""


def _word(value: Any) -> str | None:
    return clean_text(value) if isinstance(value, str) else None


def _usage(value: Any) -> Usage:
    if not isinstance(value, dict):
        return Usage()
    details = value.get("prompt_tokens_details")
    return Usage(
        input_tokens=_count(value.get("prompt_tokens")),
        output_tokens=_count(value.get("completion_tokens")),
        cached_tokens=_count(details.get("cached_tokens")) if isinstance(details, dict) else None,
    )


def _count(value: Any) -> int | None:
    whole = isinstance(value, int) or (isinstance(value, float) and value.is_integer())
    return int(value) if whole and not isinstance(value, bool) and value >= 0 else None
