"""Anthropic Messages."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from tasks_lib.models.dialects.anthropic_stream import RAW_INPUT, AnthropicAssembler
from tasks_lib.models.dialects.calls import read_call, sendable, with_ids_of_their_own
from tasks_lib.models.dialects.dialect import Dialect, base64_text, known, system_text, turns
from tasks_lib.models.dialects.reply import (
    BrokenReplyError,
    ChatReply,
    count,
    field_of,
    objects,
    reply_of,
    text_of_field,
)
from tasks_lib.models.messages import (
    ImagePart,
    Message,
    OpaquePart,
    Part,
    TextPart,
    ToolCall,
    ToolCallPart,
    ToolResultPart,
    ToolSpec,
)
from tasks_lib.models.settings import ModelSettings
from tasks_lib.records import Usage

_NAME = "anthropic"
# The interface wants a limit in each request.
_MAX_TOKENS = 4096
_THOUGHTS = frozenset({"thinking", "redacted_thinking"})


def write_body(messages: Sequence[Message], settings: ModelSettings, tools: Sequence[ToolSpec] = ()) -> dict[str, Any]:
    """Return the JSON of a request; empty texts and turns are left out, as the endpoint refuses them."""
    offered = [
        {"name": tool.name, "description": tool.description, "input_schema": dict(tool.parameters)} for tool in tools
    ]
    said = [message for message in messages if _content(message.parts)]
    return {
        **settings.extra_body,
        "model": settings.model,
        "max_tokens": settings.max_tokens or _MAX_TOKENS,
        "messages": [{"role": role, "content": _content(parts)} for role, parts in turns(said)],
        **known(
            {
                "system": system_text(messages) or None,
                "tools": offered or None,
                "temperature": settings.temperature,
                "stream": settings.stream or None,
            }
        ),
    }


def read_reply(found: Mapping[str, Any]) -> ChatReply:
    """Read a body: text blocks are the answer; thinking blocks are kept apart, and as they are for the next request.

    Raises
    ------
    BrokenReplyError
        If the body is no message.
    """
    if not isinstance(found.get("content"), list):
        msg = "no content"
        raise BrokenReplyError(msg)
    blocks = objects(found["content"])
    calls = iter(
        with_ids_of_their_own(
            [
                read_call(block.get("id"), block.get("name"), _raw_input(block), position)
                for position, block in enumerate(one for one in blocks if one.get("type") == "tool_use")
            ]
        )
    )
    return reply_of(
        [part for block in blocks for part in _parts(block, calls)],
        "\n".join(text_of_field(block, "thinking") for block in blocks if block.get("type") == "thinking"),
        _usage(found.get("usage")),
        found.get("stop_reason"),
        found.get("model"),
        refused=found.get("stop_reason") == "refusal",
    )


def _raw_input(block: Mapping[str, Any]) -> str:
    if RAW_INPUT in block:
        return text_of_field(block, RAW_INPUT)
    return "" if block.get("input") is None else json.dumps(block["input"], ensure_ascii=False)


def _parts(block: Mapping[str, Any], calls: Iterator[ToolCall]) -> list[Part]:
    kind = text_of_field(block, "type")
    if kind == "text":
        return [TextPart(text_of_field(block, "text"))]
    if kind == "tool_use":
        return [ToolCallPart(next(calls))]
    return [OpaquePart(_NAME, dict(block))] if kind in _THOUGHTS else []


def _content(parts: Sequence[Part]) -> list[dict[str, Any]]:
    return [written for written in map(_written, parts) if written is not None]


def _written(part: Part) -> dict[str, Any] | None:
    if isinstance(part, ImagePart):
        return {"type": "image", "source": {"type": "base64", "media_type": part.media_type, "data": base64_text(part)}}
    if isinstance(part, ToolCallPart):
        arguments = dict(part.call.arguments or {})
        return {"type": "tool_use", "id": part.call.id, "name": sendable(part.call.name), "input": arguments}
    if isinstance(part, ToolResultPart):
        failed = {"is_error": True} if part.is_error else {}
        return {"type": "tool_result", "tool_use_id": part.call_id, "content": part.text, **failed}
    if isinstance(part, OpaquePart):
        return dict(part.data) if part.dialect == _NAME else None
    return {"type": "text", "text": part.text} if part.text.strip() else None


def _usage(value: Any) -> Usage:
    """Return the usage; this endpoint counts tokens from and to the cache apart from ``input_tokens``."""
    fresh, cached = count(field_of(value, "input_tokens")), count(field_of(value, "cache_read_input_tokens"))
    stored = count(field_of(value, "cache_creation_input_tokens"))
    return Usage(
        input_tokens=None if fresh is None else fresh + (cached or 0) + (stored or 0),
        output_tokens=count(field_of(value, "output_tokens")),
        cached_tokens=cached,
        cache_write_tokens=stored,
    )


ANTHROPIC = Dialect(
    "/messages",
    "/messages",
    "x-api-key",
    "",
    {"anthropic-version": "2023-06-01"},
    write_body,
    read_reply,
    AnthropicAssembler,
)
