"""Endpoints of the other dialects, strict as their public documents: what a client must not send gets status 400."""

from __future__ import annotations

import base64
from email.message import Message
from itertools import pairwise
from typing import Any

from tasks_lib.models import Canned, ChatFace, Face

PICTURES = {"image/png", "image/jpeg", "image/webp"}


def _unknown(request: dict[str, Any], allowed: set[str]) -> str | None:
    return f"unknown fields: {sorted(request.keys() - allowed)}" if request.keys() - allowed else None


def _bad_base64(text: Any, media_type: Any) -> bool:
    try:
        return not base64.b64decode(text, validate=True) or media_type not in PICTURES
    except (TypeError, ValueError):
        return True


class ResponsesFace:
    """OpenAI Responses."""

    path = "/responses"
    key = ChatFace.key

    def problem(self, request: dict[str, Any]) -> str | None:
        if request.get("store") is not False or not request.get("model"):
            return "the test wants nothing stored, and a model"
        for item in request.get("input") or [None]:
            if not isinstance(item, dict) or item["role"] not in {"user", "assistant"}:
                return "an input item has a role"
            for part in item["content"]:
                said = "output_text" if item["role"] == "assistant" else "input_text"
                if part["type"] not in {said, "input_image"}:
                    return f"{part['type']} is no content of {item['role']}"
                if part["type"] == "input_image":
                    head, _, data = part["image_url"].partition(";base64,")
                    if _bad_base64(data, head.removeprefix("data:")):
                        return "a picture is a data URL"
        return _unknown(
            request, {"model", "input", "instructions", "max_output_tokens", "temperature", "store", "reasoning"}
        )

    def completion(self, reply: Canned, request: dict[str, Any], served: int) -> dict[str, Any]:
        thought = {"type": "reasoning", "summary": [{"type": "summary_text", "text": reply.reasoning}]}
        text = {"type": "output_text", "text": reply.text, "annotations": []}
        body: dict[str, Any] = {
            "id": f"resp_{served}", "object": "response", "model": request["model"],
            "status": "incomplete" if reply.finish_reason == "length" else "completed", "error": None,
            "output": [
                *([thought] if reply.reasoning else []), {"type": "message", "role": "assistant", "content": [text]},
            ],
        }  # fmt: skip
        if reply.finish_reason == "length":
            body["incomplete_details"] = {"reason": "max_output_tokens"}
        if reply.usage:
            body["usage"] = {"input_tokens": 6, "output_tokens": 4, "input_tokens_details": {"cached_tokens": 2}}
        return body

    def nothing(self) -> dict[str, Any]:
        return {"object": "response", "status": "completed", "output": []}


class AnthropicFace:
    """Anthropic Messages."""

    path = "/messages"

    def key(self, headers: Message) -> str:
        return headers.get("x-api-key", "") if headers.get("anthropic-version") == "2023-06-01" else ""

    def problem(self, request: dict[str, Any]) -> str | None:
        messages = request.get("messages") or []
        roles = [message["role"] for message in messages]
        if not isinstance(request.get("max_tokens"), int) or not roles or roles[0] != "user":
            return "max_tokens is required, and the first message is the user's"
        if any(first == second for first, second in pairwise(roles)):
            return "roles must alternate"
        for message in messages:
            for block in message["content"] or [{"type": "text", "text": ""}]:
                if block["type"] == "text" and not block["text"].strip():
                    return "text content blocks must be non-empty"
                if block["type"] == "image" and _bad_base64(block["source"]["data"], block["source"]["media_type"]):
                    return "a picture is base64"
        return _unknown(request, {"model", "messages", "system", "max_tokens", "temperature", "thinking"})

    def completion(self, reply: Canned, request: dict[str, Any], served: int) -> dict[str, Any]:
        thought = [{"type": "thinking", "thinking": reply.reasoning, "signature": "x"}] if reply.reasoning else []
        body: dict[str, Any] = {
            "id": f"msg_{served}", "type": "message", "role": "assistant", "model": request["model"],
            "content": [*thought, *([{"type": "text", "text": reply.text}] if reply.text else [])],
            "stop_reason": "max_tokens" if reply.finish_reason == "length" else "end_turn",
        }  # fmt: skip
        if reply.usage:
            body["usage"] = {
                "input_tokens": 3, "cache_read_input_tokens": 2, "cache_creation_input_tokens": 1, "output_tokens": 4,
            }  # fmt: skip
        return body

    def nothing(self) -> dict[str, Any]:
        return {"type": "message", "role": "assistant"}


class GeminiFace:
    """Gemini's generateContent."""

    path = "/models/scripted:generateContent"

    def key(self, headers: Message) -> str:
        return headers.get("x-goog-api-key", "")

    def problem(self, request: dict[str, Any]) -> str | None:
        contents = request.get("contents") or []
        roles = [content["role"] for content in contents]
        if not roles or set(roles) - {"user", "model"} or any(first == second for first, second in pairwise(roles)):
            return "roles are user and model, and alternate"
        for part in (part for content in contents for part in content["parts"]):
            if "text" not in part and _bad_base64(part["inlineData"]["data"], part["inlineData"]["mimeType"]):
                return "a picture is base64"
        sampling = request.get("generationConfig", {})
        return _unknown(request, {"contents", "systemInstruction", "generationConfig", "safetySettings"}) or _unknown(
            sampling, {"temperature", "seed", "maxOutputTokens", "thinkingConfig"}
        )

    def completion(self, reply: Canned, request: dict[str, Any], served: int) -> dict[str, Any]:
        thought = [{"text": reply.reasoning, "thought": True}] if reply.reasoning else []
        content = {"role": "model", "parts": [*thought, {"text": reply.text}]}
        finish = "MAX_TOKENS" if reply.finish_reason == "length" else "STOP"
        body: dict[str, Any] = {
            "candidates": [{"content": content, "finishReason": finish}],
            "modelVersion": "scripted",
        }
        if reply.usage:
            body["usageMetadata"] = {
                "promptTokenCount": 6, "candidatesTokenCount": 3, "thoughtsTokenCount": 1, "cachedContentTokenCount": 2,
            }  # fmt: skip
        return body

    def nothing(self) -> dict[str, Any]:
        return {"candidates": [], "usageMetadata": {}}


FACES: dict[str, Face] = {
    "openai": ChatFace(),
    "openai-responses": ResponsesFace(),
    "anthropic": AnthropicFace(),
    "gemini": GeminiFace(),
}
