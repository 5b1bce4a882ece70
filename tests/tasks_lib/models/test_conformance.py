"""Every dialect against an endpoint that speaks it, whole and broken: the same answer, patience and words."""

from __future__ import annotations

import pytest

from tasks_lib.models import (
    Canned,
    DeadlineError,
    Fault,
    FaultKind,
    HttpChat,
    ImagePart,
    Message,
    Prices,
    ScriptedEndpoint,
    ScriptedSession,
)
from tasks_lib.records.errors import EndpointError, TransientEndpointError, policy_for

from .faces import FACES

KEY = "sk-canary-5f0c7a1e99"
PNG = ImagePart(b"\x89PNG\r\n", "image/png")
TALK = [
    Message.of("system", "Be brief."),
    Message.of("user", "What is this?", PNG),
    Message.of("assistant", "A spectrum."),
    Message.of("user", "Sure?"),
    Message.of("user", "Look again.", PNG),
]


@pytest.fixture(scope="module", params=sorted(FACES))
def dialect(request):
    with ScriptedEndpoint(FACES[request.param]) as endpoint:
        yield request.param, endpoint


class Waits(list):
    def __call__(self, seconds: float) -> None:
        self.append(seconds)


def ask(dialect, replies, talk=TALK, *, seconds=None, attempts=3, **changes):
    provider, endpoint = dialect
    session: ScriptedSession = endpoint.open(replies)
    session.token = KEY
    settings = session.settings(attempts=attempts, provider=provider, **changes)
    waits = Waits()
    chat = HttpChat("night", settings, api_key=KEY, environ={}, sleep=waits)
    try:
        return chat.complete(talk, seconds=seconds), session, waits
    finally:
        chat.close()


def test_a_talk_with_pictures_is_answered(dialect) -> None:
    prices = Prices(input=1.0, output=10.0, cached=0.5)
    reply, session, _ = ask(dialect, [Canned("Yes.", reasoning="hm")], price_per_million=prices, temperature=0.5)
    assert (reply.text, reply.reasoning, reply.attempts) == ("Yes.", "hm", 1)
    assert reply.model == "scripted"
    if dialect[0] != "openai":
        assert (reply.usage.input_tokens, reply.usage.output_tokens, reply.usage.cached_tokens) == (6, 4, 2)
        assert reply.usage.cost == pytest.approx((4 * 1 + 2 * 0.5 + 4 * 10) / 1e6)
    (request,) = session.requests
    said = str(request)
    for part in ("Be brief.", "What is this?", "A spectrum.", "Sure?", "Look again.", "iVBORw0K"):
        assert part in said


def test_a_text_alone_is_answered(dialect) -> None:
    assert ask(dialect, ["Yes."], [Message.of("user", "Well?")])[0].text == "Yes."


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
    assert (reply.text, waits) == ("", [])
    assert reply.finish_reason in {"length", "max_tokens", "max_output_tokens", "MAX_TOKENS"}


@pytest.mark.parametrize(
    "fault",
    [
        Fault(FaultKind.CUT), Fault(FaultKind.STATUS, 429, retry_after="2"), Fault(FaultKind.STATUS, 500),
        Fault(FaultKind.STATUS, 529), Fault(FaultKind.GARBAGE), Fault(FaultKind.GARBAGE, body=""),
        Fault(FaultKind.GARBAGE, body="[]"), Fault(FaultKind.TRUNCATED), Fault(FaultKind.SHORT),
        Fault(FaultKind.NO_CHOICE),
    ],
    ids=lambda fault: f"{fault.kind.name}-{fault.status}-{len(fault.body)}",
)  # fmt: skip
def test_what_passes_is_tried_again_and_given_up_as_an_outage(dialect, fault: Fault) -> None:
    reply, _, waits = ask(dialect, [fault, "late but there"])
    assert (reply.text, reply.attempts, len(waits)) == ("late but there", 2, 1)
    with pytest.raises(TransientEndpointError) as caught:
        ask(dialect, [fault] * 3)
    assert "after 3 tries" in str(caught.value)
    assert policy_for(caught.value).verb == "retry"


@pytest.mark.parametrize("status", [400, 401, 403, 404, 413])
def test_what_no_retry_can_help_ends_at_once_and_hides_the_key(dialect, status: int) -> None:
    with pytest.raises(EndpointError, match=f"status {status}") as caught:
        ask(dialect, [Fault(FaultKind.STATUS, status, body=f'{{"error": {{"message": "no: {KEY}"}}}}')])
    assert not isinstance(caught.value, TransientEndpointError)
    assert "no: [redacted]" in str(caught.value)
    assert KEY not in str(caught.value)


def test_a_key_that_a_model_repeats_is_hidden(dialect) -> None:
    reply, _, _ = ask(dialect, [Canned(f"it is {KEY}", reasoning=KEY)])
    assert KEY not in repr(reply)


def test_an_endpoint_that_drips_or_sleeps_does_not_hold_the_caller(dialect) -> None:
    for fault in (Fault(FaultKind.DRIP, seconds=0.05), Fault(FaultKind.SLOW, seconds=60)):
        with pytest.raises(DeadlineError):
            ask(dialect, [fault], seconds=0.2)


def test_a_delay_in_the_body_is_kept(dialect) -> None:
    body = '{"error": {"code": 429, "message": "quota", "details": [{"@type": "x"}, {"retryDelay": "9.5s"}]}}'
    _, _, waits = ask(dialect, [Fault(FaultKind.STATUS, 429, body=body), "ok"])
    assert 9.5 <= waits[0] <= 10.6
