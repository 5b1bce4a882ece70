"""OpenAI-compatible chat completions: OpenAI, vLLM, Ollama, SGLang, OpenRouter, DashScope, Moonshot, Ark, Groq."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from tasks_lib.models.dialects.calls import arguments_text, read_call, sendable, with_ids_of_their_own
from tasks_lib.models.dialects.chat_stream import ChatAssembler
from tasks_lib.models.dialects.dialect import Dialect, data_url, known, text_of
from tasks_lib.models.dialects.reply import (
    BrokenReplyError,
    ChatReply,
    content_text,
    count,
    field_of,
    objects,
    reply_of,
)
from tasks_lib.models.messages import (
    ImagePart,
    Message,
    OpaquePart,
    Part,
    TextPart,
    ToolCallPart,
    ToolResultPart,
    ToolSpec,
)
from tasks_lib.models.settings import ModelSettings
from tasks_lib.records import Usage

_NAME = "openai"
# Given back with a turn that calls tools: DeepSeek wants the one in the next request, OpenRouter the other.
_GIVEN_BACK = ("reasoning_content", "reasoning_details")


def write_body(messages: Sequence[Message], settings: ModelSettings, tools: Sequence[ToolSpec] = ()) -> dict[str, Any]:
    """Return the JSON of a request; a message without pictures is plain text, as simple servers want it."""
    usage = {"include_usage": True} if settings.stream and settings.stream_usage else None
    offered = [
        {
            "type": "function",
            "function": {"name": tool.name, "description": tool.description, "parameters": dict(tool.parameters)},
        }
        for tool in tools
    ]
    return {
        **settings.extra_body,
        "model": settings.model,
        "messages": [written for message in messages for written in _messages(message)],
        **known(
            {
                "tools": offered or None,
                "temperature": settings.temperature,
                "seed": settings.seed,
                settings.max_tokens_field: settings.max_tokens,
                "stream": settings.stream or None,
                "stream_options": usage,
            }
        ),
    }


def read_reply(found: Mapping[str, Any]) -> ChatReply:
    """Read a body.

    An empty text is an answer of the model; no choice at all is a fault of the endpoint.

    Raises
    ------
    BrokenReplyError
        If the body has no choice that holds a message.
    """
    choices = found.get("choices")
    choice = choices[0] if isinstance(choices, list) and choices else None
    message = field_of(choice, "message")
    if not isinstance(choice, dict) or not isinstance(message, dict):
        msg = "no choice with a message"
        raise BrokenReplyError(msg)
    refusal = content_text(message.get("refusal"))
    finish = choice.get("finish_reason")
    calls = []
    for position, call in enumerate(objects(message.get("tool_calls"))):
        function = field_of(call, "function")
        arguments = field_of(function, "arguments")
        # Some servers send an object where the interface has its text.
        raw = arguments if isinstance(arguments, str) else "" if arguments is None else json.dumps(arguments)
        calls.append(read_call(call.get("id"), field_of(function, "name"), raw, position))
    back = {name: message[name] for name in _GIVEN_BACK if calls and name in message}
    return reply_of(
        [
            *([OpaquePart(_NAME, back)] if back else []),
            TextPart(content_text(message.get("content")) or refusal),
            *map(ToolCallPart, with_ids_of_their_own(calls)),
        ],
        content_text(message.get("reasoning_content")) or content_text(message.get("reasoning")),
        _usage(found.get("usage")),
        finish,
        found.get("model"),
        refused=bool(refusal) or finish == "content_filter",
    )


def _messages(message: Message) -> list[dict[str, Any]]:
    if message.role == "assistant":
        return [_assistant(message)]
    results = [
        {"role": "tool", "tool_call_id": part.call_id, "content": part.text}
        for part in message.parts
        if isinstance(part, ToolResultPart)
    ]
    rest = [part for part in message.parts if isinstance(part, TextPart | ImagePart)]
    if results and not rest:
        return results
    if not any(isinstance(part, ImagePart) for part in rest):
        return [*results, {"role": message.role, "content": text_of(rest)}]
    return [*results, {"role": message.role, "content": [_part(part) for part in rest]}]


def _assistant(message: Message) -> dict[str, Any]:
    calls = [part.call for part in message.parts if isinstance(part, ToolCallPart)]
    text = text_of(message.parts)
    written: dict[str, Any] = {"role": "assistant", "content": text if text or not calls else None}
    for part in message.parts:
        if isinstance(part, OpaquePart) and part.dialect == _NAME:
            written.update(part.data)
    if calls:
        written["tool_calls"] = [
            {
                "id": call.id,
                "type": "function",
                "function": {"name": sendable(call.name), "arguments": arguments_text(call)},
            }
            for call in calls
        ]
    return written


def _part(part: Part) -> dict[str, Any]:
    if isinstance(part, ImagePart):
        return {"type": "image_url", "image_url": {"url": data_url(part)}}
    return {"type": "text", "text": text_of([part])}


def _usage(value: Any) -> Usage:
    details = field_of(value, "prompt_tokens_details")
    return Usage(
        input_tokens=count(field_of(value, "prompt_tokens")),
        output_tokens=count(field_of(value, "completion_tokens")),
        cached_tokens=count(field_of(details, "cached_tokens")),
        cache_write_tokens=count(field_of(details, "cache_write_tokens")),
    )


CHAT_COMPLETIONS = Dialect(
    "/chat/completions", "/chat/completions", "Authorization", "Bearer ", {}, write_body, read_reply, ChatAssembler
)
