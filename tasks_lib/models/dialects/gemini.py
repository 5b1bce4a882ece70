"""Google Gemini, `generateContent` and `streamGenerateContent`."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from tasks_lib.models.dialects.calls import is_ours, read_call, sendable, with_ids_of_their_own
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

_NAME = "gemini"
_SEAL = "thoughtSignature"
_REFUSALS = frozenset(
    {"SAFETY", "RECITATION", "BLOCKLIST", "PROHIBITED_CONTENT", "SPII", "IMAGE_SAFETY", "IMAGE_PROHIBITED_CONTENT"}
)


def write_body(messages: Sequence[Message], settings: ModelSettings, tools: Sequence[ToolSpec] = ()) -> dict[str, Any]:
    """Return the JSON of a request; ``extra_body.generationConfig`` is kept beside our own sampling."""
    sampling = {"temperature": settings.temperature, "seed": settings.seed, "maxOutputTokens": settings.max_tokens}
    wanted = settings.extra_body.get("generationConfig")
    system = system_text(messages)
    offered = [
        {"name": tool.name, "description": tool.description, "parametersJsonSchema": dict(tool.parameters)}
        for tool in tools
    ]
    said = [message for message in messages if _written(message.parts)]
    return {
        **settings.extra_body,
        "contents": [
            {"role": "model" if role == "assistant" else "user", "parts": _written(parts)}
            for role, parts in turns(said)
        ],
        "generationConfig": (wanted if isinstance(wanted, dict) else {}) | known(sampling),
        **({"systemInstruction": {"parts": [{"text": system}]}} if system else {}),
        **({"tools": [{"functionDeclarations": offered}]} if offered else {}),
    }


def read_reply(found: Mapping[str, Any]) -> ChatReply:
    """Read a body: parts of the first candidate are the answer, those marked as thoughts are kept apart.

    A prompt or an answer that was blocked is an empty answer whose `finish_reason` says so.

    Raises
    ------
    BrokenReplyError
        If the body holds neither a candidate nor the reason why there is none.
    """
    candidates = objects(found.get("candidates"))
    blocked = field_of(found.get("promptFeedback"), "blockReason")
    if not candidates and not isinstance(blocked, str):
        msg = "no candidate"
        raise BrokenReplyError(msg)
    first = candidates[0] if candidates else {}
    finish = first.get("finishReason") if candidates else f"blocked: {blocked}"
    parts = objects(field_of(first.get("content"), "parts"))
    called = [part["functionCall"] for part in parts if isinstance(part.get("functionCall"), dict)]
    calls = iter(
        with_ids_of_their_own(
            [
                read_call(call.get("id"), call.get("name"), _raw_arguments(call), position)
                for position, call in enumerate(called)
            ]
        )
    )
    return reply_of(
        [read for part in parts for read in _read(part, calls)],
        "\n".join(text_of_field(part, "text") for part in parts if part.get("thought")),
        _usage(found.get("usageMetadata")),
        finish,
        found.get("modelVersion"),
        refused=not candidates or (isinstance(finish, str) and finish in _REFUSALS),
    )


class GeminiAssembler:
    """Chunks of a streamed answer; the end of the stream is its only end."""

    ended = False

    def __init__(self) -> None:
        self.complete = False
        self._parts: list[dict[str, Any]] = []
        self._told: dict[str, Any] = {}
        self._candidate: dict[str, Any] | None = None

    def take(self, event: Mapping[str, Any]) -> None:
        """Take a chunk."""
        for name in ("usageMetadata", "modelVersion", "promptFeedback", "responseId"):
            if event.get(name) is not None:
                self._told[name] = event[name]
        if field_of(event.get("promptFeedback"), "blockReason"):
            self.complete = True
        for candidate in objects(event.get("candidates"))[:1]:
            self._candidate = self._candidate or {}
            self._parts += objects(field_of(candidate.get("content"), "parts"))
            if isinstance(candidate.get("finishReason"), str):
                self._candidate["finishReason"], self.complete = candidate["finishReason"], True

    def body(self) -> dict[str, Any]:
        """Return the answer; plain texts that follow each other are one part."""
        if self._candidate is None:
            return dict(self._told)
        merged: list[dict[str, Any]] = []
        texts: list[list[str]] = []
        for part in self._parts:
            plain = isinstance(part.get("text"), str) and part.keys() <= {"text", "thought"}
            if plain and merged and texts[-1] and bool(merged[-1].get("thought")) == bool(part.get("thought")):
                texts[-1].append(part["text"])
            else:
                merged.append(part)
                texts.append([part["text"]] if plain else [])
        whole = [part | {"text": "".join(text)} if text else part for part, text in zip(merged, texts, strict=True)]
        return self._told | {"candidates": [self._candidate | {"content": {"role": "model", "parts": whole}}]}


def _raw_arguments(call: Mapping[str, Any]) -> str:
    return "" if call.get("args") is None else json.dumps(call["args"], ensure_ascii=False)


def _read(part: Mapping[str, Any], calls: Iterator[ToolCall]) -> list[Part]:
    """Read a part of the answer; the seal of a part stands before it, what it belongs to stays readable."""
    seal = [OpaquePart(_NAME, {_SEAL: part[_SEAL]})] if isinstance(part.get(_SEAL), str) else []
    if isinstance(part.get("functionCall"), dict):
        return [*seal, ToolCallPart(next(calls))]
    if seal and (part.get("thought") or not text_of_field(part, "text")):
        return [OpaquePart(_NAME, dict(part))]
    return [] if part.get("thought") else [*seal, TextPart(text_of_field(part, "text"))]


def _written(parts: Sequence[Part]) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = []
    seal: Mapping[str, Any] = {}
    for part in parts:
        if isinstance(part, OpaquePart):
            if part.dialect == _NAME and part.data.keys() == {_SEAL}:
                seal = part.data
            elif part.dialect == _NAME:
                found.append(dict(part.data))
            continue
        written = _part(part)
        if written is not None:
            found.append({**written, **seal})
            seal = {}
    return found


def _part(part: Part) -> dict[str, Any] | None:
    if isinstance(part, ImagePart):
        return {"inlineData": {"mimeType": part.media_type, "data": base64_text(part)}}
    if isinstance(part, ToolCallPart):
        call = part.call
        named = {"name": sendable(call.name), "args": dict(call.arguments or {})}
        return {"functionCall": named if is_ours(call.id) else {"id": call.id, **named}}
    if isinstance(part, ToolResultPart):
        named = {"name": sendable(part.name), "response": {"error" if part.is_error else "output": part.text}}
        return {"functionResponse": named if is_ours(part.call_id) else {"id": part.call_id, **named}}
    return {"text": part.text} if isinstance(part, TextPart) and part.text else None


def _usage(value: Any) -> Usage:
    """Return the usage; thoughts are paid as output and counted apart from it here."""
    answered, thought = count(field_of(value, "candidatesTokenCount")), count(field_of(value, "thoughtsTokenCount"))
    return Usage(
        input_tokens=count(field_of(value, "promptTokenCount")),
        output_tokens=None if answered is None and thought is None else (answered or 0) + (thought or 0),
        cached_tokens=count(field_of(value, "cachedContentTokenCount")),
    )


GEMINI = Dialect(
    "/models/{model}:generateContent",
    "/models/{model}:streamGenerateContent?alt=sse",
    "x-goog-api-key",
    "",
    {},
    write_body,
    read_reply,
    GeminiAssembler,
)
