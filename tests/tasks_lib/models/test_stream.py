"""Streams of every dialect, cut anywhere and garbled anyhow."""

from __future__ import annotations

import itertools
import json

import httpx
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tasks_lib.models import Canned
from tasks_lib.models._failures import TryFailedError, failed_event
from tasks_lib.models._stream import StalledError, assemble, looks_like_events
from tasks_lib.models.dialects import DIALECTS, BrokenReplyError
from tasks_lib.models.scripted_faces import event_bytes

from .faces import FACES

REQUEST = {
    "model": "scripted",
    "messages": [],
    "stream_options": {"include_usage": True},
    "include": ["reasoning.encrypted_content"],
}
NAMES = sorted(FACES)
TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=60)
ARGUMENTS = st.dictionaries(TEXT, TEXT, max_size=2).map(lambda found: json.dumps(found, ensure_ascii=False))
CANNED = st.builds(
    Canned,
    text=TEXT,
    reasoning=TEXT.map(str.strip),
    usage=st.booleans(),
    finish_reason=st.sampled_from(["stop", "length"]),
    calls=st.lists(st.tuples(st.sampled_from(["click", "wait"]), ARGUMENTS), max_size=3).map(tuple),
)


def stream_of(name: str, canned: Canned) -> bytes:
    return b"".join(map(event_bytes, FACES[name].events(canned, REQUEST, 1)))


def read_stream(name: str, chunks):
    assembler = DIALECTS[name].assembler()
    assemble(chunks, assembler, 60.0, lambda: 0.0)
    return DIALECTS[name].read(assembler.body())


def cut(raw: bytes, places: list[int]) -> list[bytes]:
    edges = [0, *sorted(place % (len(raw) + 1) for place in places), len(raw)]
    return [raw[start:end] for start, end in itertools.pairwise(edges) if end > start]


@pytest.mark.parametrize("name", NAMES)
@given(canned=CANNED, places=st.lists(st.integers(0, 10_000), max_size=12))
def test_a_stream_cut_anywhere_is_the_reply_in_one_piece(name: str, canned: Canned, places: list[int]) -> None:
    raw = stream_of(name, canned)
    streamed = read_stream(name, cut(raw, places))
    assert streamed == DIALECTS[name].read(FACES[name].completion(canned, REQUEST, 1))
    assert read_stream(name, cut(raw.replace(b"\n", b"\r\n"), places)) == streamed


@pytest.mark.parametrize("name", NAMES)
@given(canned=CANNED, end=st.integers(0, 10_000))
def test_a_stream_that_ends_early_is_broken_or_the_whole_reply(name: str, canned: Canned, end: int) -> None:
    raw = stream_of(name, canned)
    whole = read_stream(name, [raw])
    try:
        reply = read_stream(name, [raw[: end % len(raw)]])
    except BrokenReplyError:
        return
    assert (reply.text, reply.reasoning, reply.parts) == (whole.text, whole.reasoning, whole.parts)


KEYS = st.sampled_from([
    "type", "index", "delta", "content_block", "message", "usage", "choices", "tool_calls", "function", "arguments",
    "id", "name", "content", "text", "thinking", "candidates", "parts", "functionCall", "args", "finishReason",
    "finish_reason", "stop_reason", "response", "output", "item", "output_index", "partial_json", "promptFeedback",
    "blockReason", "thoughtSignature", "thought", "status", "error", "code", "role", "input", "reasoning_details",
])  # fmt: skip
WORDS = st.sampled_from([
    "message_start", "content_block_start", "content_block_delta", "message_delta", "message_stop", "text_delta",
    "input_json_delta", "tool_use", "thinking", "response.completed", "response.failed", "response.output_item.done",
    "function_call", "message", "reasoning", "stop", "STOP", "{", "error", "429", "redacted_thinking", "end_turn",
])  # fmt: skip
JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-1, 3) | st.floats(allow_nan=False) | st.text(max_size=4) | WORDS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYS, inner, max_size=5),
    max_leaves=14,
)
EVENTS = st.lists(
    st.dictionaries(KEYS, JSON, max_size=6).map(lambda data: event_bytes(("x", data)))
    | st.sampled_from([b"data: [DONE]\n\n", b": comment\n\n", b"\n\n", b"data\n\n", b"event: x\n\n", b"id: \x00\n\n"])
    | st.binary(max_size=20),
    max_size=6,
)


@pytest.mark.parametrize("name", NAMES)
@settings(max_examples=60)
@given(before=EVENTS, inside=EVENTS, canned=CANNED, place=st.integers(0, 40))
def test_no_garbage_raises_anything_but_what_is_documented(name, before, inside, canned, place) -> None:
    events = list(map(event_bytes, FACES[name].events(canned, REQUEST, 1)))
    place %= len(events) + 1
    for chunks in (before, [*before, *inside], [*events[:place], *inside, *events[place:]]):
        try:
            reply = read_stream(name, chunks)
        except (BrokenReplyError, TryFailedError):
            continue
        (reply.text + reply.reasoning).encode("utf-8")
        assert all(call.arguments is None or not call.problem for call in reply.calls)
        assert all((call.arguments is None) == bool(call.problem) for call in reply.calls)


@given(st.dictionaries(KEYS, JSON, max_size=6))
def test_any_event_is_an_error_or_none(event) -> None:
    failure = failed_event(event)
    assert failure is None or failure.why


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("error", [httpx.ReadError("cut"), StalledError()])
def test_what_breaks_behind_the_end_of_a_reply_is_passed_over(name: str, error: Exception) -> None:
    def chunks():
        yield stream_of(name, Canned("whole"))
        raise error

    assert read_stream(name, chunks()).text == "whole"


@pytest.mark.parametrize("name", NAMES)
def test_what_breaks_before_the_end_of_a_reply_breaks_it(name: str) -> None:
    events = FACES[name].events(Canned("whole, and somewhat longer"), REQUEST, 1)

    def chunks():
        yield event_bytes(events[0])
        raise httpx.ReadError("cut")

    with pytest.raises(httpx.ReadError):
        read_stream(name, chunks())


def test_comments_are_no_sign_of_a_reply() -> None:
    clock = itertools.count()
    with pytest.raises(StalledError):
        assemble(itertools.repeat(b": here\n\n"), DIALECTS["openai"].assembler(), 5.0, lambda: float(next(clock)))


def test_events_are_signs_of_a_reply() -> None:
    clock = itertools.count()
    events = [event_bytes(("", {"choices": [{"delta": {"content": "a"}}]}))] * 50
    assembler = DIALECTS["openai"].assembler()
    assemble([*events, b"data: [DONE]\n\n"], assembler, 5.0, lambda: float(next(clock)))
    assert DIALECTS["openai"].read(assembler.body()).text == "a" * 50


def test_the_end_is_told_once_and_what_follows_is_thrown_away() -> None:
    told = []
    raw = stream_of("openai", Canned("whole"))
    assembler = DIALECTS["openai"].assembler()
    assemble([raw, raw, b"data: {\n\n"], assembler, 60.0, lambda: 0.0, lambda: told.append(1))
    assert told == [1]
    assert DIALECTS["openai"].read(assembler.body()).text == "whole"


@pytest.mark.parametrize(
    ("raw", "wanted"),
    [
        (b"data: {}", True),
        (b"\n: hello", True),
        (b"event: x", True),
        (b'{"data": 1}', False),
        (b"", False),
        (b"<", False),
    ],
)
def test_events_are_known_by_their_look(raw: bytes, wanted: bool) -> None:
    assert looks_like_events(raw) is wanted


@pytest.mark.parametrize(
    ("event", "transient", "throttled", "said"),
    [
        ({"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}}, True, True, "Overloaded"),
        ({"type": "error", "error": {"type": "api_error", "message": "x"}}, True, False, "api_error: x"),
        ({"error": {"code": 429, "message": "slow down"}}, True, True, "slow down"),
        ({"error": {"code": 503, "status": "UNAVAILABLE"}}, True, True, "UNAVAILABLE"),
        ({"error": {"code": 500, "message": "x"}}, True, False, "x"),
        ({"error": {"code": 400, "message": "bad"}}, False, False, "bad"),
        ({"error": {"code": "insufficient_quota", "message": "pay"}}, False, False, "pay"),
        ({"error": {"type": "authentication_error"}}, False, False, "authentication_error"),
        ({"error": "something broke"}, True, False, "something broke"),
        ({"type": "response.failed", "response": {"error": {"code": "server_error"}}}, True, False, "server_error"),
        ({"type": "response.failed", "response": {"status": "failed", "error": None}}, True, False, "failed"),
        ({"type": "error", "code": "rate_limit_exceeded", "message": "x"}, True, True, "x"),
    ],
)  # fmt: skip
def test_errors_told_in_events_are_judged(event, transient: bool, throttled: bool, said: str) -> None:
    failure = failed_event(event)
    assert failure is not None
    assert (failure.transient, failure.throttled) == (transient, throttled)
    assert said in failure.why


@pytest.mark.parametrize(
    "event", [{}, {"error": None}, {"error": {}}, {"type": "message", "error": ""}, {"type": "ping"}]
)
def test_other_events_are_no_errors(event) -> None:
    assert failed_event(event) is None


def call_delta(**call):
    return event_bytes(("", {"choices": [{"index": 0, "delta": {"tool_calls": [call]}}]}))


@pytest.mark.parametrize(
    "deltas",
    [
        # As the documents say.
        [
            {"index": 0, "id": "a", "function": {"name": "f", "arguments": ""}},
            {"index": 0, "function": {"arguments": "{}"}},
            {"index": 1, "id": "b", "function": {"name": "g", "arguments": '{"x"'}},
            {"index": 1, "function": {"arguments": ": 1}"}},
        ],
        # Every call with the index 0, told apart by ids.
        [
            {"index": 0, "id": "a", "function": {"name": "f", "arguments": "{}"}},
            {"index": 0, "id": "b", "function": {"name": "g", "arguments": '{"x": 1}'}},
        ],
        # No index; the id and the name in every piece.
        [
            {"id": "a", "function": {"name": "f", "arguments": "{}"}},
            {"id": "b", "function": {"name": "g", "arguments": '{"x"'}},
            {"id": "b", "function": {"name": "g", "arguments": ": 1}"}},
        ],
    ],
    ids=["documented", "one-index", "no-index"],
)  # fmt: skip
def test_calls_are_put_together_as_servers_split_them(deltas) -> None:
    end = event_bytes(("", {"choices": [{"index": 0, "delta": {}, "finish_reason": "tool_calls"}]}))
    reply = read_stream("openai", [*(call_delta(**delta) for delta in deltas), end])
    assert [(call.id, call.name, call.arguments) for call in reply.calls] == [("a", "f", {}), ("b", "g", {"x": 1})]
