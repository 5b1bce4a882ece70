"""Replies that are kept: the same request gets the same for nothing, any other asks, damage is passed over."""

from __future__ import annotations

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tasks_lib.models import (
    CachedChat,
    Canned,
    Completion,
    HttpChat,
    ImagePart,
    Message,
    OpaquePart,
    Prices,
    ScriptedEndpoint,
    TextPart,
    ToolCall,
    ToolCallPart,
    ToolSpec,
)
from tasks_lib.models.cache import request_digest
from tasks_lib.records import KeptReply, Usage
from tasks_lib.records.errors import EndpointError, StoreError
from tasks_lib.store import Store, kept_reply

ASK = [Message.of("system", "Be brief."), Message.of("user", "What now?", ImagePart(b"\x89PNG", "image/png"))]
TOOL = ToolSpec("click", "Clicks.", {"type": "object", "properties": {"x": {"type": "integer"}}})


@pytest.fixture(scope="module")
def endpoint():
    with ScriptedEndpoint() as found:
        yield found


@pytest.fixture
def store(tmp_path):
    return Store.open(str(tmp_path / "store"))


def cached(session, store, hits=None, **changes):
    settings = session.settings(attempts=1, price_per_million=Prices(input=1, output=1), **changes)
    http = HttpChat("m", settings, api_key=session.token, environ={}, sleep=lambda seconds: None)
    return CachedChat(http, settings, http.request_body, store, None if hits is None else lambda *hit: hits.append(hit))


def entry(store):
    (path,) = store.list("replies")
    return path


def test_a_hit_is_the_same_completion_costs_nothing_and_is_told(endpoint, store):
    session, hits = endpoint.open([Canned("It is done.", reasoning="hm", calls=(("click", '{"x": 1}'),))]), []
    chat = cached(session, store, hits)
    first = chat.complete(ASK, tools=[TOOL])
    again = chat.complete(ASK, tools=[TOOL])
    assert session.served == 1
    assert first.calls[0].arguments == {"x": 1}
    for name in ("text", "reasoning", "calls", "turn", "finish_reason", "model", "refused"):
        assert getattr(again, name) == getattr(first, name), name
    assert first.usage.cost > 0
    assert not first.usage.from_cache
    assert again.usage == first.usage.model_copy(update={"cost": 0.0, "from_cache": True})
    assert (again.attempts, again.seconds, again.lost) == (0, 0.0, 0.0)
    ((body, found),) = hits
    assert body["messages"][0]["content"] == "Be brief."
    assert found == again


def test_another_process_and_another_store_object_find_it(endpoint, store):
    session = endpoint.open(["one"])
    cached(session, store).complete(ASK)
    assert cached(session, Store.open(store.url)).complete(ASK).text == "one"


@pytest.mark.parametrize(
    ("change", "messages", "tools"),
    [
        ({"temperature": 0.3}, ASK, ()),
        ({"seed": 4}, ASK, ()),
        ({"extra_body": {"top_p": 0.5}}, ASK, ()),
        ({}, [ASK[0], Message.of("user", "What now?", ImagePart(b"\x89PNG!", "image/png"))], ()),
        ({}, ASK, (TOOL,)),
    ],
)
def test_what_is_asked_in_another_way_is_asked_anew(endpoint, store, change, messages, tools):
    session = endpoint.open(["one", "two"])
    cached(session, store).complete(ASK)
    assert cached(session, store, **change).complete(messages, tools=tools).text == "two"


def test_another_endpoint_is_another_model(endpoint):
    settings = endpoint.open([]).settings()
    other = endpoint.open([]).settings()
    assert request_digest(settings, {}) != request_digest(other, {})


@pytest.mark.parametrize("damage", ["cut", "empty", "garbage", "other request", "changed text", "older shape"])
def test_a_damaged_entry_is_passed_over_and_written_anew(endpoint, store, damage):
    session = endpoint.open(["one", "two"])
    chat = cached(session, store)
    chat.complete(ASK)
    path = entry(store)
    good = store.read_bytes(path)
    document = json.loads(good)
    if damage == "other request":
        document["request"] = "0" * 64
    elif damage == "changed text":
        document["completion"]["text"] = "forged"
    elif damage == "older shape":
        document["completion"] = {"words": "one"}
    bad = {"cut": good[:-20], "empty": b"", "garbage": b"\xff\x00"}.get(damage, json.dumps(document).encode())
    store.write_bytes(path, bad)
    assert chat.complete(ASK).text == "two"
    assert chat.complete(ASK).text == "two"
    assert session.served == 2


def test_a_failure_is_not_kept(endpoint, store):
    chat = cached(endpoint.open([]), store)
    with pytest.raises(EndpointError):
        chat.complete(ASK)
    assert store.list("replies") == []


def test_an_entry_that_cannot_be_written_costs_no_reply(endpoint, store, monkeypatch):
    def full(path, document):
        raise StoreError("no room")

    monkeypatch.setattr(store, "write_document", full)
    assert cached(endpoint.open(["one"]), store).complete(ASK).text == "one"


class Fixed:
    """Answers with what it was made with."""

    name, image = "m", None

    def __init__(self, completion):
        self.completion = completion
        self.asked = 0

    def complete(self, messages, *, tools=(), seconds=None):
        self.asked += 1
        return self.completion

    def close(self):
        pass


JSON = st.dictionaries(st.text(max_size=5), st.none() | st.integers() | st.text(max_size=9) | st.floats(), max_size=3)
CALLS = st.builds(
    ToolCall, id=st.text(max_size=4), name=st.text(max_size=4), raw=st.text(max_size=9), arguments=st.none() | JSON
)
PARTS = st.builds(TextPart, st.text()) | st.builds(ToolCallPart, CALLS) | st.builds(OpaquePart, st.just("gemini"), JSON)
COMPLETIONS = st.builds(
    Completion,
    text=st.text(),
    reasoning=st.text(),
    usage=st.builds(Usage, input_tokens=st.none() | st.integers(0, 9)),
    calls=st.lists(CALLS, max_size=2).map(tuple),
    turn=st.lists(PARTS, min_size=1, max_size=3).map(lambda parts: Message("assistant", tuple(parts))),
    refused=st.booleans(),
)


@settings(max_examples=40)
@given(COMPLETIONS)
def test_whatever_a_model_said_comes_back_as_it_was_or_is_asked_again(tmp_path_factory, endpoint, completion):
    found = endpoint.open([]).settings()
    model = Fixed(completion)
    chat = CachedChat(model, found, lambda *_: {}, Store.open(str(tmp_path_factory.mktemp("s"))))
    chat.complete([])
    again = chat.complete([])
    if model.asked == 1:
        assert (again.text, again.reasoning, again.calls, again.turn, again.refused) == (
            completion.text, completion.reasoning, completion.calls, completion.turn, completion.refused,
        )  # fmt: skip
    else:
        # Only what strict JSON cannot hold: numbers that are none, and halves of characters.
        assert any(word in repr(completion) for word in ("nan", "inf", "\\ud"))


def test_a_turn_with_a_picture_is_not_kept(endpoint, store):
    turn = Message.of("assistant", "look", ImagePart(b"x", "image/png"))
    settings = endpoint.open([]).settings()
    CachedChat(Fixed(Completion("look", turn=turn)), settings, lambda *_: {}, store).complete([])
    assert store.list("replies") == []


def test_where_it_lies_is_where_the_layout_says(endpoint, store):
    session = endpoint.open(["one"])
    cached(session, store).complete(ASK)
    kept = store.read_document(entry(store), KeptReply)
    assert entry(store) == kept_reply(kept.request)
