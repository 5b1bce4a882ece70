"""Upper estimates of what a call may cost, for budgets alone; what is recorded of usage is what endpoints tell."""

from __future__ import annotations

import json
from collections.abc import Sequence

from tasks_lib.models.messages import ImagePart, Message, OpaquePart, Part, TextPart, ToolCallPart, ToolSpec
from tasks_lib.models.protocol import Completion
from tasks_lib.models.purse import Price
from tasks_lib.models.settings import ModelSettings
from tasks_lib.records import Usage

# English has about four bytes a token, program text three, Chinese three: two is more than any text needs.
BYTES_PER_TOKEN = 2
# A screenshot of 1456 × 816 costs about 1600 tokens at Anthropic, 1100 at OpenAI, 1550 at Google.
TOKENS_PER_PICTURE = 2000
# Role, separators, the frame around a call.
TOKENS_PER_MESSAGE = 16
# Where the settings set no limit to a reply.
LONGEST_REPLY = 8192


def most_of(messages: Sequence[Message], tools: Sequence[ToolSpec], settings: ModelSettings) -> Price:
    """Return the most that a call may cost before it is made."""
    return _price(Usage(input_tokens=_given(messages, tools), output_tokens=_most_made(settings)), settings)


def price_of(
    completion: Completion, messages: Sequence[Message], tools: Sequence[ToolSpec], settings: ModelSettings
) -> tuple[Price, bool]:
    """Return what a call did cost, and whether a part of it had to be estimated for want of usage."""
    told = completion.usage
    given = _given(messages, tools) if told.input_tokens is None else told.input_tokens
    made = told.output_tokens
    if made is None:
        texts = [completion.text, completion.reasoning, *(call.name + call.raw for call in completion.calls)]
        made = min(_most_made(settings), sum(map(_tokens, texts)) + TOKENS_PER_MESSAGE)
    usage = told.model_copy(update={"input_tokens": given, "output_tokens": made})
    return _price(usage, settings), told.input_tokens is None or told.output_tokens is None


def _price(usage: Usage, settings: ModelSettings) -> Price:
    cost = 0.0 if settings.price_per_million is None else settings.price_per_million.cost(usage)
    return Price(cost or 0.0, (usage.input_tokens or 0) + (usage.output_tokens or 0))


def _most_made(settings: ModelSettings) -> int:
    return LONGEST_REPLY if settings.max_tokens is None else settings.max_tokens


def _given(messages: Sequence[Message], tools: Sequence[ToolSpec]) -> int:
    told = sum(_tokens(tool.name + tool.description + json.dumps(dict(tool.parameters))) for tool in tools)
    parts = sum(_part(part) for message in messages for part in message.parts)
    return told + parts + TOKENS_PER_MESSAGE * (len(messages) + len(tools))


def _part(part: Part) -> int:
    if isinstance(part, ImagePart):
        return TOKENS_PER_PICTURE
    if isinstance(part, TextPart):
        return _tokens(part.text)
    if isinstance(part, ToolCallPart):
        return _tokens(part.call.name + part.call.raw)
    if isinstance(part, OpaquePart):
        return _tokens(json.dumps(dict(part.data)))
    return _tokens(part.name + part.text)


def _tokens(text: str) -> int:
    return -(-len(text.encode("utf-8", "replace")) // BYTES_PER_TOKEN)
