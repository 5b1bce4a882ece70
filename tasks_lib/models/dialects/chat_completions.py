"""OpenAI-compatible chat completions: OpenAI, vLLM, Ollama, SGLang, OpenRouter, DashScope, Moonshot, Ark, Groq."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tasks_lib.models.dialects.dialect import Dialect, base64_text, known, text_of
from tasks_lib.models.dialects.reply import BrokenReplyError, ChatReply, count, field_of, parse_object, reply_of
from tasks_lib.models.messages import ImagePart, Message, Part
from tasks_lib.models.settings import ModelSettings
from tasks_lib.records import Usage


def write_body(messages: Sequence[Message], settings: ModelSettings) -> dict[str, Any]:
    """Return the JSON of a request; a message without pictures is plain text, as simple servers want it."""
    return {
        **settings.extra_body,
        "model": settings.model,
        "messages": [_message(message) for message in messages],
        **known({"temperature": settings.temperature, "seed": settings.seed, "max_tokens": settings.max_tokens}),
    }


def read_reply(body: bytes) -> ChatReply:
    """Read a body.

    An empty text is an answer of the model; no choice at all is a fault of the endpoint.

    Raises
    ------
    BrokenReplyError
        If the body is no JSON object with at least one choice that holds a message.
    """
    found = parse_object(body)
    choices = found.get("choices")
    choice = choices[0] if isinstance(choices, list) and choices else None
    message = field_of(choice, "message")
    if not isinstance(choice, dict) or not isinstance(message, dict):
        msg = "no choice with a message"
        raise BrokenReplyError(msg)
    return reply_of(
        _text(message.get("content")) or _text(message.get("refusal")),
        _text(message.get("reasoning_content")) or _text(message.get("reasoning")),
        _usage(found.get("usage")),
        choice.get("finish_reason"),
        found.get("model"),
    )


def _message(message: Message) -> dict[str, Any]:
    if not any(isinstance(part, ImagePart) for part in message.parts):
        return {"role": message.role, "content": text_of(message.parts)}
    return {"role": message.role, "content": [_part(part) for part in message.parts]}


def _part(part: Part) -> dict[str, Any]:
    if isinstance(part, ImagePart):
        return {"type": "image_url", "image_url": {"url": f"data:{part.media_type};base64,{base64_text(part)}"}}
    return {"type": "text", "text": part.text}


def _text(content: Any) -> str:
    if isinstance(content, str):
        return content
    parts = content if isinstance(content, list) else []
    texts = (part if isinstance(part, str) else field_of(part, "text") for part in parts)
    return "".join(text for text in texts if isinstance(text, str))


def _usage(value: Any) -> Usage:
    return Usage(
        input_tokens=count(field_of(value, "prompt_tokens")),
        output_tokens=count(field_of(value, "completion_tokens")),
        cached_tokens=count(field_of(field_of(value, "prompt_tokens_details"), "cached_tokens")),
    )


CHAT_COMPLETIONS = Dialect("/chat/completions", "Authorization", "Bearer ", {}, write_body, read_reply)
