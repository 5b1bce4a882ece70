"""Endpoints of the dialects, strict as their public documents: what a client must not send gets status 400."""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Sequence
from email.message import Message
from itertools import pairwise
from typing import Any

from tasks_lib.models import Canned, ChatFace, Face
from tasks_lib.models.scripted_faces import Event, pieces

PICTURES = {"image/png", "image/jpeg", "image/webp"}
# What each endpoint wants back unchanged.
SEAL = "EpsB+signature/of=the/thought=="


def _unknown(request: dict[str, Any], allowed: set[str]) -> str | None:
    return f"unknown fields: {sorted(request.keys() - allowed)}" if request.keys() - allowed else None


def _bad_base64(text: Any, media_type: Any) -> bool:
    try:
        return not base64.b64decode(text, validate=True) or media_type not in PICTURES
    except (TypeError, ValueError):
        return True


def _bad_name(name: str) -> str | None:
    """Refuse what no endpoint takes for the name of a tool, also where the model itself made it up."""
    return None if re.fullmatch("[A-Za-z0-9_-]{1,64}", name) else f"{name!r} is no name of a tool"


def _object(raw: str) -> Any:
    """Arguments as an endpoint passes them on whose interface has an object there."""
    try:
        return json.loads(raw) if raw else {}
    except ValueError:
        return raw


class StrictChatFace(ChatFace):
    """Chat completions."""

    def problem(self, request: dict[str, Any]) -> str | None:
        open_calls: set[str] = set()
        for message in request["messages"]:
            if message["role"] == "tool":
                if message["tool_call_id"] not in open_calls or message.keys() != {"role", "tool_call_id", "content"}:
                    return "a tool message answers a call of the assistant's message before it"
                open_calls.remove(message["tool_call_id"])
                continue
            if open_calls:
                return f"calls without an answer: {sorted(open_calls)}"
            calls = message.get("tool_calls", [])
            if calls and message.get("reasoning_content") != "hm":
                return "the reasoning_content of a turn with calls must be passed back"
            for call in calls:
                json.loads(call["function"]["arguments"])
                if _bad_name(call["function"]["name"]):
                    return _bad_name(call["function"]["name"])
            open_calls = {call["id"] for call in calls}
        for tool in request.get("tools", []):
            if tool["type"] != "function" or tool["function"].keys() != {"name", "description", "parameters"}:
                return "a tool is a function"
        if "stream_options" in request and not request.get("stream"):
            return "stream_options is for streams"
        return _unknown(
            request,
            {"model", "messages", "temperature", "seed", "max_tokens", "stream", "stream_options", "tools", "top_k"},
        )


class ResponsesFace:
    """OpenAI Responses."""

    path = stream_path = "/responses"
    key = ChatFace.key
    streams = ChatFace.streams

    def problem(self, request: dict[str, Any]) -> str | None:
        if request.get("store") is not False or not request.get("model"):
            return "the test wants nothing stored, and a model"
        called: set[str] = set()
        for item in request.get("input") or [None]:
            problem = self._bad_item(item, called)
            if problem:
                return problem
        if called:
            return f"No tool output found for function call {sorted(called)}"
        for tool in request.get("tools", []):
            if tool.keys() != {"type", "name", "description", "parameters", "strict"} or tool["strict"]:
                return "a tool is a function, its schema not a strict one"
        return _unknown(
            request,
            {
                "model", "input", "instructions", "max_output_tokens", "temperature", "store", "reasoning", "stream",
                "tools", "include",
            },
        )  # fmt: skip

    def _bad_item(self, item: Any, called: set[str]) -> str | None:
        kind = item.get("type", "message")
        if kind == "function_call":
            json.loads(item["arguments"])
            called.add(item["call_id"])
            return _unknown(item, {"type", "call_id", "name", "arguments"}) or _bad_name(item["name"])
        if kind == "function_call_output":
            if item["call_id"] not in called:
                return "an output has a call"
            called.remove(item["call_id"])
            return _unknown(item, {"type", "call_id", "output"})
        if kind == "reasoning":
            return None if item["encrypted_content"] == SEAL else "a thought is given back sealed"
        if item["role"] not in {"user", "assistant"}:
            return "an input item has a role"
        for part in item["content"]:
            said = "output_text" if item["role"] == "assistant" else "input_text"
            if part["type"] not in {said, "input_image"}:
                return f"{part['type']} is no content of {item['role']}"
            if part["type"] == "input_image":
                head, _, data = part["image_url"].partition(";base64,")
                if _bad_base64(data, head.removeprefix("data:")):
                    return "a picture is a data URL"
        return None

    def completion(self, reply: Canned, request: dict[str, Any], served: int) -> dict[str, Any]:
        thought = {"type": "reasoning", "id": "rs_1", "summary": [{"type": "summary_text", "text": reply.reasoning}]}
        if "reasoning.encrypted_content" in request.get("include", []):
            thought["encrypted_content"] = SEAL
        text = {"type": "output_text", "text": reply.text, "annotations": []}
        said = {"type": "refusal", "refusal": reply.refusal} if reply.refusal else text
        message = {"type": "message", "id": "msg_1", "role": "assistant", "content": [said]}
        body: dict[str, Any] = {
            "id": f"resp_{served}", "object": "response", "model": request["model"],
            "status": "incomplete" if reply.finish_reason == "length" else "completed", "error": None,
            "output": [
                *([thought] if reply.reasoning else []),
                *([] if reply.calls and not reply.text else [message]),
                *(
                    {"type": "function_call", "id": f"fc_{number}", "call_id": f"call_{served}_{number}", "name": name,
                     "arguments": raw, "status": "completed"}
                    for number, (name, raw) in enumerate(reply.calls)
                ),
            ],
        }  # fmt: skip
        if reply.finish_reason == "length":
            body["incomplete_details"] = {"reason": "max_output_tokens"}
        if reply.usage:
            body["usage"] = {"input_tokens": 6, "output_tokens": 4, "input_tokens_details": {"cached_tokens": 2}}
        return body

    def events(self, reply: Canned, request: dict[str, Any], served: int) -> Sequence[Event]:
        whole = self.completion(reply, request, served)
        begun = whole | {"status": "in_progress", "output": [], "usage": None}
        found: list[dict[str, Any]] = [
            {"type": f"response.{kind}", "response": begun} for kind in ("created", "in_progress")
        ]
        for index, item in enumerate(whole["output"]):
            place = {"output_index": index, "item_id": item["id"]}
            found.append({"type": "response.output_item.added", "item": item | {"status": "in_progress"}, **place})
            if item["type"] == "message":
                content = item["content"][0]
                name = "refusal" if content["type"] == "refusal" else "output_text"
                found += [
                    {"type": f"response.{name}.delta", "content_index": 0, "delta": piece, **place}
                    for piece in pieces(content.get("text") or content.get("refusal") or "")
                ]
            elif item["type"] == "function_call":
                found += [
                    {"type": "response.function_call_arguments.delta", "delta": piece, **place}
                    for piece in pieces(item["arguments"])
                ]
            found.append({"type": "response.output_item.done", "item": item, **place})
        found.append({"type": f"response.{whole['status']}", "response": whole})
        return [(event["type"], event | {"sequence_number": number}) for number, event in enumerate(found)]

    def nothing(self) -> dict[str, Any]:
        return {"object": "response", "status": "completed", "output": []}


class AnthropicFace:
    """Anthropic Messages."""

    path = stream_path = "/messages"
    streams = ChatFace.streams

    def key(self, headers: Message) -> str:
        return headers.get("x-api-key", "") if headers.get("anthropic-version") == "2023-06-01" else ""

    def problem(self, request: dict[str, Any]) -> str | None:
        messages = request.get("messages") or []
        roles = [message["role"] for message in messages]
        if not isinstance(request.get("max_tokens"), int) or not roles or roles[0] != "user":
            return "max_tokens is required, and the first message is the user's"
        if any(first == second for first, second in pairwise(roles)):
            return "roles must alternate"
        called: set[str] = set()
        for message in messages:
            blocks = message["content"]
            answered = [block["tool_use_id"] for block in blocks if block["type"] == "tool_result"]
            if set(answered) != called or any(block["type"] != "tool_result" for block in blocks[: len(answered)]):
                return "each tool_use has a tool_result, first in the next message"
            called = {block["id"] for block in blocks if block["type"] == "tool_use"}
            problem = next(filter(None, map(self._bad_block, blocks or [{"type": "text", "text": ""}])), None)
            if problem:
                return problem
            if called and "thinking" in request and blocks[0].get("type") != "thinking":
                return "a turn that calls tools begins with its thinking"
        for tool in request.get("tools", []):
            if tool.keys() != {"name", "description", "input_schema"}:
                return "a tool has a name, a description and an input_schema"
        return _unknown(
            request, {"model", "messages", "system", "max_tokens", "temperature", "thinking", "tools", "stream"}
        )

    def _bad_block(self, block: dict[str, Any]) -> str | None:
        kind = block["type"]
        if kind == "text" and not block["text"].strip():
            return "text content blocks must be non-empty"
        if kind == "image" and _bad_base64(block["source"]["data"], block["source"]["media_type"]):
            return "a picture is base64"
        if kind == "tool_use" and (not isinstance(block["input"], dict) or _bad_name(block["name"])):
            return "the input of a tool is an object, and its name one that a tool can have"
        if kind == "tool_result" and block.keys() - {"type", "tool_use_id", "content", "is_error"}:
            return "a result has an id, content and perhaps an error"
        if kind == "thinking" and block != {"type": "thinking", "thinking": "hm", "signature": SEAL}:
            return "thinking blocks cannot be modified"
        return None

    def completion(self, reply: Canned, request: dict[str, Any], served: int) -> dict[str, Any]:
        thought = [{"type": "thinking", "thinking": reply.reasoning, "signature": SEAL}] if reply.reasoning else []
        said = reply.refusal or reply.text
        body: dict[str, Any] = {
            "id": f"msg_{served}", "type": "message", "role": "assistant", "model": request["model"],
            "content": [
                *thought,
                *([{"type": "text", "text": said}] if said else []),
                *(
                    {"type": "tool_use", "id": f"toolu_{served}_{number}", "name": name, "input": _object(raw)}
                    for number, (name, raw) in enumerate(reply.calls)
                ),
            ],
            "stop_reason": (
                "refusal" if reply.refusal else "tool_use" if reply.calls
                else "max_tokens" if reply.finish_reason == "length" else "end_turn"
            ),
        }  # fmt: skip
        if reply.usage:
            body["usage"] = {
                "input_tokens": 3, "cache_read_input_tokens": 2, "cache_creation_input_tokens": 1, "output_tokens": 4,
            }  # fmt: skip
        return body

    def events(self, reply: Canned, request: dict[str, Any], served: int) -> Sequence[Event]:
        whole = self.completion(reply, request, served)
        usage = whole.get("usage", {})
        begun = whole | {"content": [], "stop_reason": None}
        if usage:
            begun["usage"] = usage | {"output_tokens": 1}
        found: list[dict[str, Any]] = [{"type": "message_start", "message": begun}]
        raws = iter(raw for _, raw in reply.calls)
        for index, block in enumerate(whole["content"]):
            kind = block["type"]
            if kind == "tool_use":
                empty: dict[str, Any] = block | {"input": {}}
                deltas = [{"type": "input_json_delta", "partial_json": piece} for piece in ["", *pieces(next(raws))]]
            elif kind == "thinking":
                empty = block | {"thinking": "", "signature": ""}
                deltas = [{"type": "thinking_delta", "thinking": piece} for piece in pieces(block["thinking"])]
                deltas.append({"type": "signature_delta", "signature": SEAL})
            else:
                empty = block | {"text": ""}
                deltas = [{"type": "text_delta", "text": piece} for piece in pieces(block["text"])]
            found.append({"type": "content_block_start", "index": index, "content_block": empty})
            found.append({"type": "ping"})
            found += [{"type": "content_block_delta", "index": index, "delta": delta} for delta in deltas]
            found.append({"type": "content_block_stop", "index": index})
        end: dict[str, Any] = {"type": "message_delta", "delta": {"stop_reason": whole["stop_reason"]}}
        if usage:
            end["usage"] = {"output_tokens": usage["output_tokens"]}
        return [(event["type"], event) for event in [*found, end, {"type": "message_stop"}]]

    def nothing(self) -> dict[str, Any]:
        return {"type": "message", "role": "assistant"}


class GeminiFace:
    """Gemini's generateContent and streamGenerateContent."""

    path = "/models/scripted:generateContent"
    stream_path = "/models/scripted:streamGenerateContent?alt=sse"

    def key(self, headers: Message) -> str:
        return headers.get("x-goog-api-key", "")

    def streams(self, request: dict[str, Any], path: str) -> bool:
        return path.endswith(self.stream_path)

    def problem(self, request: dict[str, Any]) -> str | None:
        contents = request.get("contents") or []
        roles = [content["role"] for content in contents]
        if not roles or set(roles) - {"user", "model"} or any(first == second for first, second in pairwise(roles)):
            return "roles are user and model, and alternate"
        called: list[str] = []
        for content in contents:
            answered = [part["functionResponse"]["name"] for part in content["parts"] if "functionResponse" in part]
            if answered != called:
                return "the number of function response parts is that of the function call parts"
            called = [part["functionCall"]["name"] for part in content["parts"] if "functionCall" in part]
            if called and not any(part.get("thoughtSignature") == SEAL for part in content["parts"]):
                return "Function call is missing a thought_signature in functionCall parts"
            problem = next(filter(None, map(self._bad_part, content["parts"] or [{}])), None)
            if problem:
                return problem
        for tool in request.get("tools", []):
            for declared in tool["functionDeclarations"]:
                if declared.keys() != {"name", "description", "parametersJsonSchema"}:
                    return "a function has a name, a description and a schema"
        sampling = request.get("generationConfig", {})
        return _unknown(
            request, {"contents", "systemInstruction", "generationConfig", "safetySettings", "tools"}
        ) or _unknown(sampling, {"temperature", "seed", "maxOutputTokens", "thinkingConfig"})

    def _bad_part(self, part: dict[str, Any]) -> str | None:
        if "inlineData" in part and _bad_base64(part["inlineData"]["data"], part["inlineData"]["mimeType"]):
            return "a picture is base64"
        if "functionCall" in part and not isinstance(part["functionCall"]["args"], dict):
            return "args are an object"
        if "functionCall" in part and _bad_name(part["functionCall"]["name"]):
            return _bad_name(part["functionCall"]["name"])
        if "functionResponse" in part and not isinstance(part["functionResponse"]["response"], dict):
            return "a response is an object"
        kinds = part.keys() & {"text", "inlineData", "functionCall", "functionResponse"}
        return None if len(kinds) == 1 else "a part has exactly one kind of data"

    def completion(self, reply: Canned, request: dict[str, Any], served: int) -> dict[str, Any]:
        parts: list[dict[str, Any]] = [{"text": reply.reasoning, "thought": True}] if reply.reasoning else []
        parts += [{"text": reply.text}] if reply.text or not reply.calls else []
        for number, (name, raw) in enumerate(reply.calls):
            seal = {} if number else {"thoughtSignature": SEAL}
            parts.append({"functionCall": {"name": name, "args": _object(raw)}, **seal})
        finish = "MAX_TOKENS" if reply.finish_reason == "length" else "SAFETY" if reply.refusal else "STOP"
        body: dict[str, Any] = {
            "candidates": [
                {"content": {"role": "model", "parts": [] if reply.refusal else parts}, "finishReason": finish}
            ],
            "modelVersion": "scripted",
        }
        if reply.usage:
            body["usageMetadata"] = {
                "promptTokenCount": 6, "candidatesTokenCount": 3, "thoughtsTokenCount": 1, "cachedContentTokenCount": 2,
            }  # fmt: skip
        return body

    def events(self, reply: Canned, request: dict[str, Any], served: int) -> Sequence[Event]:
        whole = self.completion(reply, request, served)
        (candidate,) = whole["candidates"]
        found: list[list[dict[str, Any]]] = []
        for part in candidate["content"]["parts"]:
            texts = [part | {"text": piece} for piece in pieces(part["text"])] if "text" in part else [part]
            found += [[one] for one in texts]
        told = {key: value for key, value in whole.items() if key != "candidates"}
        chunks = [{"candidates": [{"content": {"role": "model", "parts": parts}}], **told} for parts in found]
        last = {"candidates": [{"content": {"parts": [{"text": ""}]}, "finishReason": candidate["finishReason"]}]}
        return [("", chunk) for chunk in [*chunks, last | told]]

    def nothing(self) -> dict[str, Any]:
        return {"candidates": [], "usageMetadata": {}}


FACES: dict[str, Face] = {
    "openai": StrictChatFace(),
    "openai-responses": ResponsesFace(),
    "anthropic": AnthropicFace(),
    "gemini": GeminiFace(),
}
