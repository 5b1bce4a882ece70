"""Every dialect against an endpoint that speaks it, whole and broken, streamed or not: one answer, one patience."""

from __future__ import annotations

import json

import pytest

from tasks_lib.models import (
    Canned,
    DeadlineError,
    Exchange,
    Fault,
    FaultKind,
    HttpChat,
    ImagePart,
    Message,
    Prices,
    ScriptedEndpoint,
    ScriptedSession,
    ToolResultPart,
    ToolSpec,
)
from tasks_lib.models.scripted_faces import event_bytes
from tasks_lib.records.errors import EndpointError, TransientEndpointError, policy_for

from .faces import FACES, SEAL

KEY = "sk-canary-5f0c7a1e99"
PNG = ImagePart(b"\x89PNG\r\n", "image/png")
TALK = [
    Message.of("system", "Be brief."),
    Message.of("user", "What is this?", PNG),
    Message.of("assistant", "A spectrum."),
    Message.of("user", "Sure?"),
    Message.of("user", "Look again.", PNG),
]
ASK = [Message.of("user", "Well?")]
TOOLS = [
    ToolSpec("click", "Click.", {"type": "object", "properties": {"x": {"type": "number"}}}),
    ToolSpec("wait", "Wait.", {"type": "object", "properties": {}}),
]
# What makes each endpoint think, so that it has something to be given back.
THINKING = {
    "anthropic": {"thinking": {"type": "enabled", "budget_tokens": 1024}},
    "openai-responses": {"reasoning": {"effort": "low"}},
}
OVERLOADED = {
    "anthropic": {"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}},
    "gemini": {"error": {"code": 503, "message": "The model is overloaded.", "status": "UNAVAILABLE"}},
    "openai": {"error": {"message": "Rate limit reached", "type": "requests", "code": "rate_limit_exceeded"}},
    "openai-responses": {"type": "error", "code": "rate_limit_exceeded", "message": "Rate limit reached"},
}
REFUSED = {
    "anthropic": {"type": "error", "error": {"type": "invalid_request_error", "message": "too long"}},
    "gemini": {"error": {"code": 400, "message": "too long", "status": "INVALID_ARGUMENT"}},
    "openai": {"error": {"message": "too long", "type": "invalid_request_error", "code": "context_length_exceeded"}},
    "openai-responses": {"type": "response.failed", "response": {"error": {
        "code": "invalid_prompt", "message": "too long"}}},
}  # fmt: skip


@pytest.fixture(scope="module", params=sorted(FACES))
def endpoint(request):
    with ScriptedEndpoint(FACES[request.param]) as found:
        yield request.param, found


@pytest.fixture(params=[True, False], ids=["streamed", "whole"])
def dialect(endpoint, request):
    return *endpoint, request.param


class Waits(list):
    def __call__(self, seconds: float) -> None:
        self.append(seconds)


class Gate:
    """A gate that notes who left it and how."""

    def __init__(self) -> None:
        self.entered = 0
        self.left: list[tuple[bool, float | None]] = []

    def enter(self, seconds: float | None) -> float:
        self.entered += 1
        return 0.0

    def leave(self, *, throttled: bool, retry_after: float | None) -> None:
        self.left.append((throttled, retry_after))


def open_chat(dialect, replies, *, attempts=3, gate=None, on_exchange=None, **changes):
    provider, endpoint, stream = dialect
    session: ScriptedSession = endpoint.open(replies)
    session.token = KEY
    settings = session.settings(attempts=attempts, provider=provider, stream=stream, **changes)
    waits = Waits()
    chat = HttpChat("night", settings, api_key=KEY, environ={}, sleep=waits, gate=gate, on_exchange=on_exchange)
    return chat, session, waits


def ask(dialect, replies, talk=TALK, *, seconds=None, tools=(), **options):
    chat, session, waits = open_chat(dialect, replies, **options)
    try:
        return chat.complete(talk, seconds=seconds, tools=tools), session, waits
    finally:
        chat.close()


def test_a_talk_with_pictures_is_answered(dialect) -> None:
    prices = Prices(input=1.0, output=10.0, cached=0.5, cache_write=2.0)
    text = "Yes, it is a Raman spectrum of calcite."
    reply, session, _ = ask(dialect, [Canned(text, reasoning="hm")], price_per_million=prices, temperature=0.5)
    assert (reply.text, reply.reasoning, reply.attempts, reply.refused) == (text, "hm", 1, False)
    assert reply.model == "scripted"
    if dialect[0] == "openai":
        assert (reply.usage.input_tokens, reply.usage.output_tokens) == (2015, 11)
    else:
        written = 1 if dialect[0] == "anthropic" else None
        usage = reply.usage
        assert (usage.input_tokens, usage.output_tokens, usage.cached_tokens) == (6, 4, 2)
        assert usage.cache_write_tokens == written
        assert usage.cost == pytest.approx(((4 - (written or 0)) * 1 + (written or 0) * 2 + 2 * 0.5 + 4 * 10) / 1e6)
    (request,) = session.requests
    said = str(request)
    for part in ("Be brief.", "What is this?", "A spectrum.", "Sure?", "Look again.", "iVBORw0K"):
        assert part in said
    assert request.get("stream", False) is (dialect[2] and dialect[0] != "gemini")


def test_a_text_alone_is_answered(dialect) -> None:
    reply, _, _ = ask(dialect, ["Yes."], ASK)
    assert reply.text == "Yes."
    assert reply.turn == Message.of("assistant", "Yes.")


def test_settings_reach_the_endpoint_in_its_own_words(dialect) -> None:
    extra = {
        "openai": {"top_k": 3}, "openai-responses": {"reasoning": {"effort": "low"}},
        "anthropic": {"thinking": {"type": "enabled", "budget_tokens": 1024}},
        "gemini": {"generationConfig": {"thinkingConfig": {"thinkingBudget": 9}}},
    }[dialect[0]]  # fmt: skip
    _, session, _ = ask(dialect, ["ok"], temperature=0.25, extra_body=extra)
    said = session.requests[0]
    assert (said.get("generationConfig") or said)["temperature"] == 0.25
    assert next(iter(extra)) in said
    assert "9" in str(said) or dialect[0] != "gemini"


def test_missing_usage_stays_missing(dialect) -> None:
    usage = ask(dialect, [Canned("x", usage=False)], price_per_million=Prices(input=1, output=1))[0].usage
    assert (usage.input_tokens, usage.output_tokens, usage.cached_tokens, usage.cost) == (None, None, None, None)


def test_an_empty_answer_is_an_answer_with_its_reason(dialect) -> None:
    reply, _, waits = ask(dialect, [Canned("", finish_reason="length")])
    assert (reply.text, reply.calls, waits) == ("", (), [])
    assert reply.finish_reason in {"length", "max_tokens", "max_output_tokens", "MAX_TOKENS"}


def test_a_refusal_is_an_answer_that_says_so(dialect) -> None:
    reply, _, waits = ask(dialect, [Canned("", refusal="I cannot help with that.")])
    assert (reply.refused, reply.text, waits) == (
        True, "" if dialect[0] == "gemini" else "I cannot help with that.", [],
    )  # fmt: skip


def test_tools_are_offered_called_and_answered(dialect) -> None:
    calls = (("click", '{"x": 1.5, "name": "Öffnen"}'), ("wait", ""))
    chat, session, waits = open_chat(
        dialect,
        [Canned("I click.", reasoning="hm", calls=calls), "Done."],
        extra_body=THINKING.get(dialect[0], {}),
    )
    talk = [Message.of("system", "Be brief."), Message.of("user", "Go on.", PNG)]
    first = chat.complete(talk, tools=TOOLS)
    assert (first.text, first.reasoning) == ("I click.", "hm")
    assert [(call.name, call.arguments, call.problem) for call in first.calls] == [
        ("click", {"x": 1.5, "name": "Öffnen"}, ""), ("wait", {}, ""),
    ]  # fmt: skip
    click, wait = first.calls
    assert click.id != wait.id
    results = Message.of(
        "user", "What now?", PNG,
        ToolResultPart(click.id, "click", "clicked"), ToolResultPart(wait.id, "wait", "not now", is_error=True),
    )  # fmt: skip
    # The endpoint refuses turns whose calls, results or seals are not as its documents want them.
    second = chat.complete([*talk, first.turn, results], tools=TOOLS)
    chat.close()
    assert (second.text, second.attempts, waits) == ("Done.", 1, [])
    said = json.dumps(session.requests[1], ensure_ascii=False)
    for part in ("Click.", "clicked", "not now", "Öffnen", "What now?", "iVBORw0K"):
        assert part in said
    if dialect[0] != "openai":
        assert SEAL in said


@pytest.mark.parametrize(
    "raw",
    [
        '{"x": 1',
        '{"x": 1}{"x": 2}',
        "[1]",
        "null",
        "click",
        '{"x": 1, "x": 2}',
        '{"x": NaN}',
        '{"x": 1e999}',
        "{'x': 1}",
    ],
)
def test_broken_arguments_are_told_and_never_filled_in(dialect, raw: str) -> None:
    chat, _, waits = open_chat(
        dialect, [Canned("", reasoning="hm", calls=(("click", raw),)), "Done."], extra_body=THINKING.get(dialect[0], {})
    )
    try:
        first = chat.complete(ASK, tools=TOOLS)
        (call,) = first.calls
        # Where the interface has an object, the endpoint itself has read some of these.
        if dialect[0] != "gemini" and (dialect[0] != "anthropic" or dialect[2]):
            assert call.arguments is None
            assert call.raw == raw
        if call.arguments is None:
            assert call.problem
        else:
            assert raw in {'{"x": 1, "x": 2}', "null"}
        result = Message.of("user", ToolResultPart(call.id, call.name, call.problem, is_error=True))
        assert chat.complete([*ASK, first.turn, result], tools=TOOLS).text == "Done."
        assert waits == []
    finally:
        chat.close()


def test_an_empty_object_with_an_empty_text_behind_it_is_read_with_a_note(dialect) -> None:
    (call,) = ask(dialect, [Canned("", calls=(("wait", '{}""'),))], tools=TOOLS)[0].calls
    if dialect[0] == "gemini" or (dialect[0] == "anthropic" and not dialect[2]):
        assert call.arguments is None
        assert call.problem
    else:
        assert (call.arguments, call.problem, call.raw) == ({}, "", '{}""')
        assert "were read as {}" in call.note


PASSING = [
    Fault(FaultKind.CUT), Fault(FaultKind.STATUS, 429, retry_after="2"), Fault(FaultKind.STATUS, 500),
    Fault(FaultKind.STATUS, 502), Fault(FaultKind.STATUS, 529), Fault(FaultKind.GARBAGE),
    Fault(FaultKind.GARBAGE, body=""), Fault(FaultKind.GARBAGE, body="[]"), Fault(FaultKind.TRUNCATED),
    Fault(FaultKind.SHORT), Fault(FaultKind.LONG), Fault(FaultKind.NO_CHOICE), Fault(FaultKind.CUT_WITHIN),
    Fault(FaultKind.BROKEN_EVENT), Fault(FaultKind.GARBAGE, body="data: {}\n\n"),
    Fault(FaultKind.GARBAGE, body="data: [DONE]\n\n"),
]  # fmt: skip


@pytest.mark.parametrize("fault", PASSING, ids=lambda fault: f"{fault.kind.name}-{fault.status}-{len(fault.body)}")
def test_what_passes_is_tried_again_and_given_up_as_an_outage(dialect, fault: Fault) -> None:
    reply, _, waits = ask(dialect, [fault, "late but there"])
    assert (reply.text, reply.attempts, len(waits)) == ("late but there", 2, 1)
    with pytest.raises(TransientEndpointError) as caught:
        ask(dialect, [fault] * 3)
    assert "after 3 tries" in str(caught.value)
    assert policy_for(caught.value).verb == "retry"


@pytest.mark.parametrize("kind", [FaultKind.STALL, FaultKind.KEPT_ALIVE])
def test_silence_is_a_stall_long_before_the_time_is_up(dialect, kind: FaultKind) -> None:
    # Without events there is nothing to tell a stall by: the model's own limit has to do.
    limits = {"stall_seconds": 0.1} if dialect[2] else {"read_seconds": 0.1}
    fault = Fault(kind, seconds=60 if kind is FaultKind.STALL else 0.02)
    reply, _, waits = ask(dialect, [fault, "late but there"], **limits | ({} if dialect[2] else {"read_seconds": 0.2}))
    assert (reply.text, reply.attempts, len(waits)) == ("late but there", 2, 1)
    with pytest.raises(TransientEndpointError, match="stalled" if dialect[2] else "no whole reply") as caught:
        ask(dialect, [fault], attempts=1, **limits)
    assert not isinstance(caught.value, DeadlineError)


def test_a_reply_counts_though_its_connection_stays_open(endpoint) -> None:
    dialect = (*endpoint, True)
    held = Fault(FaultKind.HELD_OPEN, seconds=60)
    # Only the end of its stream ends a reply of Gemini: there the silence has to be waited for.
    limits = {"stall_seconds": 0.1} if endpoint[0] == "gemini" else {}
    reply, _, waits = ask(dialect, [held], **limits)
    assert (reply.text, waits) == ("late", [])


def test_an_error_told_within_a_reply_is_judged_like_a_status(dialect) -> None:
    gate = Gate()
    busy = Fault(FaultKind.ERROR_WITHIN, body=json.dumps(OVERLOADED[dialect[0]]))
    reply, _, waits = ask(dialect, [busy, "late but there"], gate=gate)
    assert (reply.text, len(waits)) == ("late but there", 1)
    assert gate.left == [(True, None), (False, None)]
    with pytest.raises(EndpointError, match="too long") as caught:
        ask(dialect, [Fault(FaultKind.ERROR_WITHIN, body=json.dumps(REFUSED[dialect[0]]))])
    assert not isinstance(caught.value, TransientEndpointError)


def test_a_storm_of_429_is_waited_out_as_the_endpoint_asks(dialect) -> None:
    gate = Gate()
    storm = [Fault(FaultKind.STATUS, 429, retry_after=str(seconds)) for seconds in (3, 1, 2, 5)]
    reply, _, waits = ask(dialect, [*storm, "calm"], attempts=5, gate=gate)
    assert (reply.text, reply.attempts) == ("calm", 5)
    assert [int(wait) for wait in waits] == [3, 1, 2, 5]
    assert gate.entered == 5
    assert gate.left == [(True, 3.0), (True, 1.0), (True, 2.0), (True, 5.0), (False, None)]


def test_an_endpoint_may_answer_in_the_other_way(dialect) -> None:
    face = FACES[dialect[0]]
    request = {"model": "scripted", "messages": [], "stream_options": {"include_usage": True}}
    canned = Canned("In another way.", reasoning="hm")
    whole = json.dumps(face.completion(canned, request, 1))
    events = b"".join(map(event_bytes, face.events(canned, request, 1))).decode()
    reply, _, _ = ask(dialect, [Fault(FaultKind.GARBAGE, body=whole if dialect[2] else events)])
    assert (reply.text, reply.reasoning) == ("In another way.", "hm")
    assert reply.usage.output_tokens is not None


@pytest.mark.parametrize("status", [400, 401, 403, 404, 413])
def test_what_no_retry_can_help_ends_at_once_and_hides_the_key(dialect, status: int) -> None:
    with pytest.raises(EndpointError, match=f"status {status}") as caught:
        ask(dialect, [Fault(FaultKind.STATUS, status, body=f'{{"error": {{"message": "no: {KEY}"}}}}')])
    assert not isinstance(caught.value, TransientEndpointError)
    assert "no: [redacted]" in str(caught.value)
    assert KEY not in str(caught.value)
    assert ("max_long_edge" in str(caught.value)) is (status in {400, 413}) or status == 400


def test_a_key_that_a_model_repeats_is_hidden(dialect) -> None:
    told: list[Exchange] = []
    canned = Canned(f"it is {KEY}", reasoning=KEY, calls=(("click", json.dumps({"x": KEY, KEY: 1})), (KEY, "{")))
    reply, _, _ = ask(dialect, [Fault(FaultKind.CUT_WITHIN), canned], on_exchange=told.append, tools=TOOLS)
    assert KEY not in repr(reply)
    assert KEY not in repr(told)
    assert reply.calls[0].arguments == {"x": "[redacted]", "[redacted]": 1}


def test_each_try_is_told_with_what_was_sent_and_what_came(dialect) -> None:
    told: list[Exchange] = []
    faults = [Fault(FaultKind.STATUS, 500, body="it crashed"), Fault(FaultKind.CUT_WITHIN), Fault(FaultKind.CUT)]
    ask(dialect, [*faults, "There."], attempts=4, on_exchange=told.append)
    assert [(one.attempt, one.status) for one in told] == [(1, 500), (2, 200), (3, None), (4, 200)]
    assert {one.dialect for one in told} == {dialect[0]}
    assert all("iVBORw0K" in str(one.request) and one.url.startswith("http://127.0.0.1:") for one in told)
    assert [bool(one.error) for one in told] == [True, True, True, False]
    assert told[0].reply == "it crashed"
    assert "There." in told[3].reply
    json.loads(told[3].reply)
    assert all(one.seconds >= 0 and one.started.tzinfo is not None for one in told)


def test_an_endpoint_that_drips_or_sleeps_does_not_hold_the_caller(dialect) -> None:
    for fault in (Fault(FaultKind.DRIP, seconds=0.05), Fault(FaultKind.SLOW, seconds=60)):
        with pytest.raises(DeadlineError):
            ask(dialect, [fault], seconds=0.1)


def test_a_delay_in_the_body_is_kept(dialect) -> None:
    body = '{"error": {"code": 429, "message": "quota", "details": [{"@type": "x"}, {"retryDelay": "9.5s"}]}}'
    _, _, waits = ask(dialect, [Fault(FaultKind.STATUS, 429, body=body), "ok"])
    assert 9.5 <= waits[0] <= 10.6
