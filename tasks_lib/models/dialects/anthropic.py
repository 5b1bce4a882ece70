"""Anthropic Messages."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tasks_lib.models.dialects.dialect import Dialect, base64_text, known, system_text, turns
from tasks_lib.models.dialects.reply import (
    BrokenReplyError,
    ChatReply,
    count,
    field_of,
    objects,
    parse_object,
    reply_of,
)
from tasks_lib.models.messages import ImagePart, Message, Part
from tasks_lib.models.settings import ModelSettings
from tasks_lib.records import Usage

# The interface wants a limit in each request.
_MAX_TOKENS = 4096


def write_body(messages: Sequence[Message], settings: ModelSettings) -> dict[str, Any]:
    """Return the JSON of a request; empty texts are left out, as the endpoint refuses them."""
    return {
        **settings.extra_body,
        "model": settings.model,
        "max_tokens": settings.max_tokens or _MAX_TOKENS,
        "messages": [{"role": role, "content": _content(parts)} for role, parts in turns(messages)],
        **known({"system": system_text(messages) or None, "temperature": settings.temperature}),
    }


def read_reply(body: bytes) -> ChatReply:
    """Read a body: text blocks are the answer, thinking blocks are kept apart.

    Raises
    ------
    BrokenReplyError
        If the body is no message.
    """
    found = parse_object(body)
    if not isinstance(found.get("content"), list):
        msg = "no content"
        raise BrokenReplyError(msg)
    blocks = objects(found["content"])
    return reply_of(
        "".join(str(block.get("text") or "") for block in blocks if block.get("type") == "text"),
        "\n".join(str(block.get("thinking") or "") for block in blocks if block.get("type") == "thinking"),
        _usage(found.get("usage")),
        found.get("stop_reason"),
        found.get("model"),
    )


def _content(parts: Sequence[Part]) -> list[dict[str, Any]]:
    return [_part(part) for part in parts if isinstance(part, ImagePart) or part.text.strip()]


def _part(part: Part) -> dict[str, Any]:
    if isinstance(part, ImagePart):
        return {"type": "image", "source": {"type": "base64", "media_type": part.media_type, "data": base64_text(part)}}
    return {"type": "text", "text": part.text}


def _usage(value: Any) -> Usage:
    """Return the usage; this endpoint counts tokens from and to the cache apart from ``input_tokens``."""
    fresh, cached = count(field_of(value, "input_tokens")), count(field_of(value, "cache_read_input_tokens"))
    stored = count(field_of(value, "cache_creation_input_tokens"))
    return Usage(
        input_tokens=None if fresh is None else fresh + (cached or 0) + (stored or 0),
        output_tokens=count(field_of(value, "output_tokens")),
        cached_tokens=cached,
    )


ANTHROPIC = Dialect("/messages", "x-api-key", "", {"anthropic-version": "2023-06-01"}, write_body, read_reply)
