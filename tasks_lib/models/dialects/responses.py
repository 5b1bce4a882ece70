"""OpenAI Responses."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tasks_lib.models.dialects.dialect import Dialect, base64_text, known, system_text
from tasks_lib.models.dialects.reply import (
    BrokenReplyError,
    ChatReply,
    count,
    field_of,
    objects,
    parse_object,
    reply_of,
    word,
)
from tasks_lib.models.messages import ImagePart, Message, Part
from tasks_lib.models.settings import ModelSettings
from tasks_lib.records import Usage


def write_body(messages: Sequence[Message], settings: ModelSettings) -> dict[str, Any]:
    """Return the JSON of a request; nothing is stored at the endpoint, the whole conversation goes along each time."""
    return {
        "store": False,
        **settings.extra_body,
        "model": settings.model,
        "input": [_item(message) for message in messages if message.role != "system"],
        **known(
            {
                "instructions": system_text(messages) or None,
                "temperature": settings.temperature,
                "max_output_tokens": settings.max_tokens,
            }
        ),
    }


def read_reply(body: bytes) -> ChatReply:
    """Read a body: messages of the output are the answer, summaries of its reasoning are kept apart.

    A reply that stopped for want of tokens may hold reasoning alone: that is an empty answer.

    Raises
    ------
    BrokenReplyError
        If the body is no response, or one that failed.
    """
    found = parse_object(body)
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
    answer = [part for item in items if item.get("type") == "message" for part in objects(item.get("content"))]
    thought = [part for item in items if item.get("type") == "reasoning" for part in objects(item.get("summary"))]
    usage = found.get("usage")
    return reply_of(
        "".join(str(part.get("text") or part.get("refusal") or "") for part in answer),
        "\n".join(str(part.get("text") or "") for part in thought),
        Usage(
            input_tokens=count(field_of(usage, "input_tokens")),
            output_tokens=count(field_of(usage, "output_tokens")),
            cached_tokens=count(field_of(field_of(usage, "input_tokens_details"), "cached_tokens")),
        ),
        field_of(found.get("incomplete_details"), "reason") or status,
        found.get("model"),
    )


def _item(message: Message) -> dict[str, Any]:
    return {"role": message.role, "content": [_part(part, message.role) for part in message.parts]}


def _part(part: Part, role: str) -> dict[str, Any]:
    if isinstance(part, ImagePart):
        return {"type": "input_image", "image_url": f"data:{part.media_type};base64,{base64_text(part)}"}
    return {"type": "output_text" if role == "assistant" else "input_text", "text": part.text}


RESPONSES = Dialect("/responses", "Authorization", "Bearer ", {}, write_body, read_reply)
