"""Streamed chat completions, put together."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from tasks_lib.models.dialects.reply import content_text, field_of, objects, text_of_field

_TEXTS = ("content", "refusal", "reasoning_content", "reasoning")


@dataclass(slots=True)
class _Call:
    id: str = ""
    name: str = ""
    pieces: list[str] = field(default_factory=list)


class ChatAssembler:
    """Chunks of a chat completion; ``[DONE]`` is the reader's to see."""

    ended = False

    def __init__(self) -> None:
        self.complete = False
        self._texts: defaultdict[str, list[str]] = defaultdict(list)
        self._details: list[Any] = []
        self._calls: list[_Call] = []
        self._slots: dict[int, _Call] = {}
        self._finish: str | None = None
        self._seen = False
        self._told: dict[str, Any] = {}

    def take(self, event: Mapping[str, Any]) -> None:
        """Take a chunk; the last one may hold the usage and no choice."""
        for name in ("id", "model", "usage"):
            if event.get(name) is not None:
                self._told[name] = event[name]
        choices = objects(event.get("choices"))
        choice = next((one for one in choices if one.get("index") in (0, None)), None)
        if choice is None:
            return
        self._seen = True
        # Some servers answer a request for a stream with one chunk that holds a whole message.
        delta = choice.get("delta") or choice.get("message")
        for name in _TEXTS:
            value = field_of(delta, name)
            if value is not None:
                self._texts[name].append(content_text(value))
        details = field_of(delta, "reasoning_details")
        self._details += details if isinstance(details, list) else []
        for call in objects(field_of(delta, "tool_calls")):
            self._take_call(call)
        if isinstance(choice.get("finish_reason"), str):
            self._finish, self.complete = choice["finish_reason"], True

    def body(self) -> dict[str, Any]:
        """Return a chat completion; it has no choice where none came."""
        if not self._seen:
            return {**self._told, "choices": []}
        message: dict[str, Any] = {"role": "assistant", "content": None}
        message |= {name: "".join(pieces) for name, pieces in self._texts.items()}
        if self._details:
            message["reasoning_details"] = self._details
        if self._calls:
            message["tool_calls"] = [
                {"id": call.id, "type": "function", "function": {"name": call.name, "arguments": "".join(call.pieces)}}
                for call in self._calls
            ]
        return {**self._told, "choices": [{"index": 0, "message": message, "finish_reason": self._finish}]}

    def _take_call(self, call: Mapping[str, Any]) -> None:
        """Add to a call, or begin one: some servers give every call the index 0 and tell them apart by their ids."""
        index = call.get("index")
        slot = index if isinstance(index, int) else max(self._slots, default=0)
        given = text_of_field(call, "id")
        found = self._slots.get(slot)
        if found is None or (given and found.id and given != found.id):
            found = self._slots[slot] = _Call()
            self._calls.append(found)
        function = call.get("function")
        found.id = found.id or given
        found.name = found.name or text_of_field(function, "name")
        found.pieces.append(text_of_field(function, "arguments"))
