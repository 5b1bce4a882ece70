"""OpenAI Responses."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from tasks_lib.models.dialects.calls import arguments_text, read_call, sendable, with_ids_of_their_own
from tasks_lib.models.dialects.dialect import Dialect, data_url, known, system_text, text_of
from tasks_lib.models.dialects.reply import (
    BrokenReplyError,
    ChatReply,
    count,
    field_of,
    objects,
    reply_of,
    text_of_field,
    word,
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

_NAME = "openai-responses"
_THOUGHT = "reasoning.encrypted_content"


def write_body(messages: Sequence[Message], settings: ModelSettings, tools: Sequence[ToolSpec] = ()) -> dict[str, Any]:
    """Return the JSON of a request; nothing is stored at the endpoint, the whole conversation goes along each time.

    What a reasoning model thought is asked for in its sealed form, so that the next request can give it back.
    """
    offered = [
        {
            "type": "function",
            "name": tool.name,
            "description": tool.description,
            "parameters": dict(tool.parameters),
            # Left out it is true, and then schemas with optional arguments are refused.
            "strict": False,
        }
        for tool in tools
    ]
    return {
        "store": False,
        **({"include": [_THOUGHT]} if "reasoning" in settings.extra_body else {}),
        **settings.extra_body,
        "model": settings.model,
        "input": [item for message in messages if message.role != "system" for item in _items(message)],
        **known(
            {
                "instructions": system_text(messages) or None,
                "tools": offered or None,
                "temperature": settings.temperature,
                "max_output_tokens": settings.max_tokens,
                "stream": settings.stream or None,
            }
        ),
    }


def read_reply(found: Mapping[str, Any]) -> ChatReply:
    """Read a body: messages of the output are the answer, summaries of its reasoning are kept apart.

    A reply that stopped for want of tokens may hold reasoning alone: that is an empty answer.

    Raises
    ------
    BrokenReplyError
        If the body is no response, or one that failed.
    """
    output = found.get("output")
    status = word(found.get("status"))
    if status in {"failed", "cancelled"}:
        error = word(field_of(found.get("error"), "message"))
        msg = f"the response has {status}: {error or 'no reason is given'}"
        raise BrokenReplyError(msg)
    if not isinstance(output, list) or not output:
        msg = "no output"
        raise BrokenReplyError(msg)
    items = objects(output)
    calls = iter(
        with_ids_of_their_own(
            [
                read_call(item.get("call_id"), item.get("name"), text_of_field(item, "arguments"), position)
                for position, item in enumerate(one for one in items if one.get("type") == "function_call")
            ]
        )
    )
    parts = [part for item in items for part in _parts(item, calls)]
    thought = [part for item in items if item.get("type") == "reasoning" for part in objects(item.get("summary"))]
    answer = [part for item in items if item.get("type") == "message" for part in objects(item.get("content"))]
    reason = field_of(found.get("incomplete_details"), "reason")
    usage = found.get("usage")
    return reply_of(
        parts,
        "\n".join(text_of_field(part, "text") for part in thought),
        Usage(
            input_tokens=count(field_of(usage, "input_tokens")),
            output_tokens=count(field_of(usage, "output_tokens")),
            cached_tokens=count(field_of(field_of(usage, "input_tokens_details"), "cached_tokens")),
        ),
        reason or status,
        found.get("model"),
        refused=reason == "content_filter" or any(part.get("type") == "refusal" for part in answer),
    )


class ResponsesAssembler:
    """Events of a streamed response; the last one holds the whole of it."""

    def __init__(self) -> None:
        self.complete = self.ended = False
        self._response: dict[str, Any] = {}
        self._items: dict[int, dict[str, Any]] = {}
        self._said: list[str] = []

    def take(self, event: Mapping[str, Any]) -> None:
        """Take an event."""
        kind = text_of_field(event, "type")
        response, item = event.get("response"), event.get("item")
        if kind in {"response.completed", "response.incomplete", "response.failed"} and isinstance(response, dict):
            self._response, self.complete, self.ended = response, True, True
        elif kind in {"response.created", "response.in_progress"} and isinstance(response, dict):
            self._response = response
        elif kind == "response.output_item.done" and isinstance(item, dict):
            index = event.get("output_index")
            self._items[index if isinstance(index, int) else len(self._items)] = item
        elif kind in {"response.output_text.delta", "response.function_call_arguments.delta"}:
            self._said.append(text_of_field(event, "delta"))

    def body(self) -> dict[str, Any]:
        """Return the response; of one that was cut, the items that were done and the text that came."""
        body = dict(self._response)
        if not body.get("output"):
            body["output"] = [self._items[index] for index in sorted(self._items)]
        return body if self.complete else body | {"cut": "".join(self._said)}


def _parts(item: Mapping[str, Any], calls: Iterator[ToolCall]) -> list[Part]:
    kind = item.get("type")
    if kind == "message":
        said = objects(item.get("content"))
        return [TextPart("".join(text_of_field(one, "text") or text_of_field(one, "refusal") for one in said))]
    if kind == "function_call":
        return [ToolCallPart(next(calls))]
    # Without its seal a thought cannot be given back: nothing is stored that its id could name.
    if kind == "reasoning" and isinstance(item.get("encrypted_content"), str):
        return [OpaquePart(_NAME, dict(item))]
    return []


def _items(message: Message) -> list[dict[str, Any]]:
    if message.role == "assistant":
        found: list[dict[str, Any]] = []
        for part in message.parts:
            if isinstance(part, OpaquePart) and part.dialect == _NAME:
                found.append(dict(part.data))
            elif isinstance(part, ToolCallPart):
                call = {
                    "call_id": part.call.id,
                    "name": sendable(part.call.name),
                    "arguments": arguments_text(part.call),
                }
                found.append({"type": "function_call", **call})
            elif isinstance(part, TextPart):
                found.append({"role": "assistant", "content": [{"type": "output_text", "text": part.text}]})
        return found
    results = [
        {"type": "function_call_output", "call_id": part.call_id, "output": part.text}
        for part in message.parts
        if isinstance(part, ToolResultPart)
    ]
    rest = [_part(part) for part in message.parts if isinstance(part, TextPart | ImagePart)]
    return [*results, {"role": message.role, "content": rest}] if rest else results


def _part(part: Part) -> dict[str, Any]:
    if isinstance(part, ImagePart):
        return {"type": "input_image", "image_url": data_url(part)}
    return {"type": "input_text", "text": text_of([part])}


RESPONSES = Dialect(
    "/responses", "/responses", "Authorization", "Bearer ", {}, write_body, read_reply, ResponsesAssembler
)
