"""The dialects that a scripted endpoint can speak."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from email.message import Message
from typing import Any, Protocol

from tasks_lib.models.scripted_replies import Canned

# A rule of thumb; the figures are there so that budgets in tokens have something real to count.
CHARACTERS_PER_TOKEN = 4
TOKENS_PER_IMAGE = 1000
# How much of a text an event of a stream holds, characters.
PIECE = 12

# Name and data of an event; a name that is empty is left out, data that are a text are sent as they are.
Event = tuple[str, dict[str, Any] | str]


class Face(Protocol):
    """The dialect that an endpoint speaks."""

    path: str
    stream_path: str

    def key(self, headers: Message) -> str:
        """Return the key that a request brings."""
        ...

    def problem(self, request: dict[str, Any]) -> str | None:
        """Return what is wrong with a request."""
        ...

    def streams(self, request: dict[str, Any], path: str) -> bool:
        """Tell whether a request wants its reply in events."""
        ...

    def completion(self, reply: Canned, request: dict[str, Any], served: int) -> dict[str, Any]:
        """Return the body of an answer."""
        ...

    def events(self, reply: Canned, request: dict[str, Any], served: int) -> Sequence[Event]:
        """Return the events of a streamed answer."""
        ...

    def nothing(self) -> dict[str, Any]:
        """Return a body of the right kind without any answer."""
        ...


class ChatFace:
    """Chat completions."""

    path = stream_path = "/chat/completions"

    def key(self, headers: Message) -> str:
        """Return the bearer token."""
        return headers.get("Authorization", "").removeprefix("Bearer ")

    def problem(self, request: dict[str, Any]) -> str | None:
        """Want a list of messages."""
        return None if isinstance(request.get("messages"), list) else "the body is a JSON object with a list `messages`"

    def streams(self, request: dict[str, Any], path: str) -> bool:  # other faces tell it by the path
        """Tell it by the field `stream`."""
        return request.get("stream") is True

    def nothing(self) -> dict[str, Any]:
        """Return a completion without a choice."""
        return {"object": "chat.completion", "choices": []}

    def completion(self, reply: Canned, request: dict[str, Any], served: int) -> dict[str, Any]:
        """Return a completion with one choice."""
        message: dict[str, Any] = {"role": "assistant", "content": None if reply.refusal else reply.text}
        if reply.reasoning:
            message["reasoning_content"] = reply.reasoning
        if reply.refusal:
            message["refusal"] = reply.refusal
        if reply.calls:
            message["tool_calls"] = [
                {"id": f"call-{served}-{number}", "type": "function", "function": {"name": name, "arguments": raw}}
                for number, (name, raw) in enumerate(reply.calls)
            ]
        body = self._head(request, served, "chat.completion")
        finish = _finish(reply)
        body["choices"] = [{"index": 0, "message": message, "finish_reason": finish}]
        if reply.usage:
            body["usage"] = _usage(reply, request)
        return body

    def events(self, reply: Canned, request: dict[str, Any], served: int) -> Sequence[Event]:
        """Return the chunks of a completion; the usage comes behind them where it is asked for."""
        message = self.completion(reply, request, served)["choices"][0]["message"]
        deltas: list[dict[str, Any]] = [{"role": "assistant", "content": ""}]
        for name in ("reasoning_content", "content", "refusal"):
            deltas += [{name: piece} for piece in pieces(message.get(name) or "")]
        for index, call in enumerate(message.get("tool_calls", [])):
            function = call["function"]
            deltas.append({"tool_calls": [call | {"index": index, "function": function | {"arguments": ""}}]})
            deltas += [
                {"tool_calls": [{"index": index, "function": {"arguments": piece}}]}
                for piece in pieces(function["arguments"])
            ]
        finish = _finish(reply)
        head = self._head(request, served, "chat.completion.chunk")
        chunks = [*((delta, None) for delta in deltas), ({}, finish)]
        found: list[Event] = [
            ("", head | {"choices": [{"index": 0, "delta": delta, "finish_reason": reason}]})
            for delta, reason in chunks
        ]
        if reply.usage and (request.get("stream_options") or {}).get("include_usage"):
            found.append(("", head | {"choices": [], "usage": _usage(reply, request)}))
        return [*found, ("", "[DONE]")]

    def _head(self, request: dict[str, Any], served: int, kind: str) -> dict[str, Any]:
        return {"id": f"scripted-{served}", "object": kind, "created": 0, "model": str(request.get("model", ""))}


def pieces(text: str) -> Iterator[str]:
    """Cut a text into what single events hold."""
    return (text[start : start + PIECE] for start in range(0, len(text), PIECE))


def event_bytes(event: Event) -> bytes:
    """Return an event as a server sends it."""
    name, data = event
    head = f"event: {name}\n" if name else ""
    return f"{head}data: {data if isinstance(data, str) else json.dumps(data)}\n\n".encode()


def _finish(reply: Canned) -> str:
    return "tool_calls" if reply.calls and reply.finish_reason == "stop" else reply.finish_reason


def _usage(reply: Canned, request: dict[str, Any]) -> dict[str, Any]:
    given = _request_tokens(request["messages"])
    called = sum(_tokens(name) + _tokens(raw) for name, raw in reply.calls)
    made = _tokens(reply.text) + _tokens(reply.reasoning) + _tokens(reply.refusal) + called
    return {"prompt_tokens": given, "completion_tokens": made, "total_tokens": given + made}


def _tokens(text: str) -> int:
    return -(-len(text) // CHARACTERS_PER_TOKEN)


def _request_tokens(messages: list[Any]) -> int:
    total = 0
    for message in messages:
        content = message.get("content") if isinstance(message, dict) else None
        for part in content if isinstance(content, list) else [content]:
            if isinstance(part, str):
                total += _tokens(part)
            elif isinstance(part, dict):
                total += _tokens(str(part["text"])) if "text" in part else TOKENS_PER_IMAGE
    return total
