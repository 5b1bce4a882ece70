"""Streamed messages of Anthropic, put together."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from tasks_lib.models.dialects.reply import field_of, text_of_field

# Of a block of our own making: the arguments of a tool as they were streamed, sound or not.
RAW_INPUT = "raw_input"
# Kind of a delta -> the field of its block that it adds to.
_FIELDS = {"text_delta": "text", "thinking_delta": "thinking", "signature_delta": "signature"}


@dataclass(slots=True)
class _Block:
    begun: dict[str, Any]
    pieces: defaultdict[str, list[str]] = field(default_factory=lambda: defaultdict(list))

    def whole(self) -> dict[str, Any]:
        added = {name: text_of_field(self.begun, name) + "".join(found) for name, found in self.pieces.items()}
        return self.begun | added


class AnthropicAssembler:
    """Events of a streamed message."""

    def __init__(self) -> None:
        self.complete = self.ended = False
        self._message: dict[str, Any] = {}
        self._blocks: dict[int, _Block] = {}
        self._usage: dict[str, Any] = {}

    def take(self, event: Mapping[str, Any]) -> None:
        """Take an event; those of a kind that is not known here, pings among them, are passed over."""
        kind, index = event.get("type"), event.get("index")
        block, delta = event.get("content_block"), event.get("delta")
        if kind == "message_start" and isinstance(event.get("message"), dict):
            self._message = dict(event["message"])
            self._add_usage(self._message.get("usage"))
        elif kind == "content_block_start" and isinstance(index, int) and isinstance(block, dict):
            self._blocks[index] = _Block(block)
        elif kind == "content_block_delta" and isinstance(index, int) and index in self._blocks:
            self._take_delta(self._blocks[index], delta)
        elif kind == "message_delta":
            self._add_usage(event.get("usage"))
            reason = field_of(delta, "stop_reason")
            if isinstance(reason, str):
                self._message["stop_reason"], self.complete = reason, True
        elif kind == "message_stop":
            self.complete = self.ended = True

    def body(self) -> dict[str, Any]:
        """Return the message; it has no content where not even its start came."""
        if not self._message:
            return {}
        usage = {"usage": self._usage} if self._usage else {}
        return self._message | {"content": [self._blocks[index].whole() for index in sorted(self._blocks)]} | usage

    def _take_delta(self, block: _Block, delta: Any) -> None:
        kind = field_of(delta, "type")
        if kind == "input_json_delta":
            block.pieces[RAW_INPUT].append(text_of_field(delta, "partial_json"))
        elif isinstance(kind, str) and kind in _FIELDS:
            name = _FIELDS[kind]
            block.pieces[name].append(text_of_field(delta, name))

    def _add_usage(self, told: Any) -> None:
        """Keep the newest figures: those of the end are sums over the whole message."""
        if isinstance(told, dict):
            self._usage |= {name: value for name, value in told.items() if value is not None}
