"""Endpoints that mean harm: whatever stands in a reply, it is a completion that can be used and kept, or a fault."""

from __future__ import annotations

import copy
import json
import random
from collections.abc import Iterator
from typing import Any

import pytest

from tasks_lib.agents.parsing import parse_reply
from tasks_lib.agents.tool_replies import Toolbox, reply_of
from tasks_lib.models import Canned, Exchange, HttpChat, Message, ModelSettings, Redactor, RequestLog, ToolResultPart
from tasks_lib.models._failures import TryFailedError, failed_event
from tasks_lib.models.cache import CachedChat
from tasks_lib.models.dialects import DIALECTS, BrokenReplyError
from tasks_lib.models.dialects.reply import DEEPEST, count, parse_object
from tasks_lib.models.estimates import price_of
from tasks_lib.models.settings import Prices
from tasks_lib.records import ExchangeRecord, Modality, Usage, now

from .faces import FACES

REQUEST = {
    "model": "m", "messages": [{"role": "user", "content": "x"}], "include": ["reasoning.encrypted_content"],
    "stream_options": {"include_usage": True},
}  # fmt: skip
REPLIES = (
    Canned("hi", reasoning="hm"),
    Canned("<think>a</think>b", calls=(("run_script", '{"script": "1"}'), ("done", "{}"))),
    Canned("", refusal="no"),
    Canned("x", reasoning="hm", finish_reason="length", calls=(("wait", "{"),)),
)
GONE = object()
USER = Message.of("user", "x")


def deep(levels: int) -> Any:
    found: Any = 1
    for level in range(levels):
        found = {"a": found} if level % 2 else [found]
    return found


HARM = [
    None, True, 0, -1, 10**30, 10**400, -(10**400), 1e308, -1e308, 1.5, "", "x", "0404" + "0" * 5000, "429", "{",
    "\ud800", [], [None], [[]], {}, {"a": 1}, [{"type": "text"}], "1e999", deep(50), deep(150), deep(400), "text",
    "tool_use", ["\ud800"], {"\ud800": 1}, GONE,
]  # fmt: skip


def places(value: Any, before: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    yield before
    if isinstance(value, dict | list):
        for key in value if isinstance(value, dict) else range(len(value)):
            yield from places(value[key], (*before, key))


def harmed(body: dict[str, Any], place: tuple[Any, ...], harm: Any) -> dict[str, Any]:
    """Return the body with one part of it put in the place of another."""
    found = copy.deepcopy(body)
    within: Any = found
    for key in place[:-1]:
        within = within[key]
    if harm is GONE:
        del within[place[-1]]
    else:
        within[place[-1]] = harm
    return found


class Keeper:
    """In the place of a store: what cannot be written, or read again, is an error."""

    def append_line(self, _: str, line: str) -> None:
        ExchangeRecord.from_json(line)

    def write_document(self, _: str, document: Any) -> None:
        type(document).from_json(document.to_json())


def asked(provider: str) -> tuple[HttpChat, ModelSettings]:
    prices = Prices(input=1.0, output=2.0, cached=0.1)
    settings = ModelSettings(provider=provider, base_url="http://h/v1", model="m", price_per_million=prices)
    return HttpChat("m", settings, environ={}, api_key="sk-of-the-endpoint"), settings


def used(provider: str, body: dict[str, Any]) -> None:
    """Do with a reply what is done with one: read, priced, parsed, answered, logged, kept."""
    chat, settings = asked(provider)
    found = parse_object(json.dumps(body))
    failure = failed_event(found)
    if failure is not None:
        raise failure
    completion = chat._completion(DIALECTS[provider].read(found), attempts=1, seconds=1.0, lost=0.0)
    price, _ = price_of(completion, [USER], [], settings)
    assert price.tokens < 10**10
    assert price.usd < 10**5
    json.dumps(completion.usage.model_dump(mode="json"), allow_nan=False)
    for modality in Modality:
        parse_reply(reply_of(completion.text, completion.calls, Toolbox.of(modality)).text, modality)
    results = tuple(ToolResultPart(call.id, call.name, "r") for call in completion.calls)
    talk = [USER, completion.turn, Message("user", results) if results else USER]
    request = chat.request_body(talk)
    keeper: Any = Keeper()
    exchange = Exchange(provider, "u", 1, request, 200, json.dumps(found), "", 0.1, now())
    RequestLog(keeper, "x", "m", Redactor(["sk-of-the-endpoint"])).add(exchange)
    CachedChat(chat, settings, chat.request_body, keeper)._keep("0" * 64, completion)


def streamed(provider: str, events: list[dict[str, Any]]) -> None:
    assembler = DIALECTS[provider].assembler()
    for event in events:
        found = parse_object(json.dumps(event))
        failure = failed_event(found)
        if failure is not None:
            raise failure
        assembler.take(found)
    used(provider, assembler.body())


@pytest.mark.parametrize("provider", sorted(FACES))
def test_any_part_of_a_reply_may_be_anything(provider: str) -> None:
    face = FACES[provider]
    trials: list[tuple[Any, ...]] = []
    for reply in REPLIES:
        body = face.completion(reply, REQUEST, 1)
        trials += [(used, body, None, place, harm) for place in places(body) if place for harm in HARM]
        sent = [data for _, data in face.events(reply, REQUEST, 1)]
        events = [json.loads(data) if isinstance(data, str) else data for data in sent if data != "[DONE]"]
        for index, event in enumerate(events):
            trials += [
                (streamed, event, (events, index), place, harm) for place in places(event) if place for harm in HARM
            ]
    read = broken = 0
    for use, body, among, place, harm in random.Random(1).sample(trials, 500):  # noqa: S311
        changed: Any = harmed(body, place, harm)
        if among is not None:
            events, index = among
            changed = [*events[:index], changed, *events[index + 1 :]]
        try:
            use(provider, changed)
            read += 1
        except (BrokenReplyError, TryFailedError):
            broken += 1
    assert read > 100
    assert broken > 10


@pytest.mark.parametrize("told", [-1, 10**9 + 1, 10**30, 10**400, 1e308, "12", "10**3", True, 1.5, None, [3], {}])
def test_a_usage_that_cannot_be_is_missing(told: Any) -> None:
    assert count(told) is None


@pytest.mark.parametrize("provider", sorted(FACES))
def test_figures_that_cannot_be_cost_the_upper_estimate_and_not_the_whole_budget(provider: str) -> None:
    chat, settings = asked(provider)
    body = FACES[provider].completion(Canned("hi"), REQUEST, 1)
    for key in [key for key in body if key.startswith("usage")]:
        body[key] = dict.fromkeys(body[key], 10**400)
    completion = chat._completion(DIALECTS[provider].read(body), attempts=1, seconds=1.0, lost=0.0)
    assert completion.usage == Usage()
    price, estimated = price_of(completion, [USER], [], settings)
    assert estimated
    assert 0 < price.tokens < 5000


def test_json_may_be_as_deep_as_documents_can_hold() -> None:
    parse_object(json.dumps({"a": deep(DEEPEST - 1)}))
    with pytest.raises(BrokenReplyError, match="levels"):
        parse_object(json.dumps({"a": deep(DEEPEST)}))
    with pytest.raises(BrokenReplyError, match="RecursionError"):
        parse_object('{"a": ' + "[" * 100_000)


def test_an_error_code_without_end_is_an_error() -> None:
    failure = failed_event({"error": {"code": "0404" + "0" * 5000, "message": "x"}})
    assert failure is not None
    assert failure.transient
