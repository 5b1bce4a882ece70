"""Google Gemini, `generateContent`."""

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


def write_body(messages: Sequence[Message], settings: ModelSettings) -> dict[str, Any]:
    """Return the JSON of a request; ``extra_body.generationConfig`` is kept beside our own sampling."""
    sampling = {"temperature": settings.temperature, "seed": settings.seed, "maxOutputTokens": settings.max_tokens}
    wanted = settings.extra_body.get("generationConfig")
    system = system_text(messages)
    return {
        **settings.extra_body,
        "contents": [
            {"role": "model" if role == "assistant" else "user", "parts": [_part(part) for part in parts]}
            for role, parts in turns(messages)
        ],
        "generationConfig": (wanted if isinstance(wanted, dict) else {}) | known(sampling),
        **({"systemInstruction": {"parts": [{"text": system}]}} if system else {}),
    }


def read_reply(body: bytes) -> ChatReply:
    """Read a body: parts of the first candidate are the answer, those marked as thoughts are kept apart.

    A prompt or an answer that was blocked is an empty answer whose `finish_reason` says so.

    Raises
    ------
    BrokenReplyError
        If the body holds neither a candidate nor the reason why there is none.
    """
    found = parse_object(body)
    candidates = objects(found.get("candidates"))
    blocked = field_of(found.get("promptFeedback"), "blockReason")
    if not candidates and not isinstance(blocked, str):
        msg = "no candidate"
        raise BrokenReplyError(msg)
    first = candidates[0] if candidates else {}
    parts = objects(field_of(first.get("content"), "parts"))
    return reply_of(
        "".join(str(part.get("text") or "") for part in parts if not part.get("thought")),
        "\n".join(str(part.get("text") or "") for part in parts if part.get("thought")),
        _usage(found.get("usageMetadata")),
        first.get("finishReason") if candidates else f"blocked: {blocked}",
        found.get("modelVersion"),
    )


def _part(part: Part) -> dict[str, Any]:
    if isinstance(part, ImagePart):
        return {"inlineData": {"mimeType": part.media_type, "data": base64_text(part)}}
    return {"text": part.text}


def _usage(value: Any) -> Usage:
    """Return the usage; thoughts are paid as output and counted apart from it here."""
    answered, thought = count(field_of(value, "candidatesTokenCount")), count(field_of(value, "thoughtsTokenCount"))
    return Usage(
        input_tokens=count(field_of(value, "promptTokenCount")),
        output_tokens=None if answered is None and thought is None else (answered or 0) + (thought or 0),
        cached_tokens=count(field_of(value, "cachedContentTokenCount")),
    )


GEMINI = Dialect("/models/{model}:generateContent", "x-goog-api-key", "", {}, write_body, read_reply)
