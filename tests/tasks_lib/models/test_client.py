from __future__ import annotations

import itertools
import socket
from concurrent.futures import ThreadPoolExecutor

import pytest

from tasks_lib.models import (
    Canned,
    Completion,
    DeadlineError,
    Fault,
    FaultKind,
    HttpChat,
    ImagePart,
    ImageSettings,
    Message,
    ModelSettings,
    Prices,
    RetryPolicy,
    ScriptedEndpoint,
    TextPart,
    ToolCall,
    ToolCallPart,
)
from tasks_lib.records.errors import ConfigurationError, EndpointError, TransientEndpointError

ASK = [Message.of("system", "Be brief."), Message.of("user", "What now?")]


@pytest.fixture(scope="module")
def endpoint():
    with ScriptedEndpoint() as found:
        yield found


class Waits(list):
    """A sleep that notes instead of sleeping."""

    def __call__(self, seconds):
        self.append(seconds)


def client(session, *, attempts=3, sleep=None, environ=None, key=None, **changes):
    settings = session.settings(attempts=attempts, **changes)
    waits = Waits() if sleep is None else sleep
    return HttpChat("night", settings, api_key=key or session.token, environ=environ or {}, sleep=waits), waits


def test_a_reply_with_usage_reasoning_and_cost(endpoint):
    session = endpoint.open([Canned("It is done.", reasoning="hm")])
    prices = Prices(input=1.0, output=10.0)
    chat, _ = client(session, price_per_million=prices, temperature=0.2, seed=7)
    reply = chat.complete(ASK)
    assert (reply.text, reply.reasoning, reply.finish_reason, reply.attempts) == ("It is done.", "hm", "stop", 1)
    assert (reply.usage.input_tokens, reply.usage.output_tokens, reply.usage.cached_tokens) == (6, 4, None)
    assert reply.usage.cost == pytest.approx((6 * 1 + 4 * 10) / 1e6)
    (request,) = session.requests
    assert request["messages"] == [
        {"role": "system", "content": "Be brief."},
        {"role": "user", "content": "What now?"},
    ]
    assert (request["model"], request["temperature"], request["seed"]) == ("scripted", 0.2, 7)
    assert "max_tokens" not in request


def test_pictures_go_as_data_urls(endpoint):
    session = endpoint.open(["ok"])
    chat, _ = client(session)
    chat.complete([Message.of("user", "look", ImagePart(b"\x89PNG", "image/png"))])
    assert session.requests[0]["messages"][0]["content"] == [
        {"type": "text", "text": "look"},
        {"type": "image_url", "image_url": {"url": "data:image/png;base64,iVBORw=="}},
    ]


def test_missing_usage_stays_missing_and_has_no_cost(endpoint):
    session = endpoint.open([Canned("x", usage=False)])
    chat, _ = client(session, price_per_million=Prices(input=1, output=1))
    usage = chat.complete(ASK).usage
    assert (usage.input_tokens, usage.output_tokens, usage.cost) == (None, None, None)


def test_an_empty_text_is_an_answer(endpoint):
    chat, waits = client(endpoint.open([Canned("", finish_reason="length")]))
    reply = chat.complete(ASK)
    assert (reply.text, reply.finish_reason, waits) == ("", "length", [])


@pytest.mark.parametrize(
    "fault",
    [
        Fault(FaultKind.CUT),
        Fault(FaultKind.STATUS, 429, retry_after="2"),
        Fault(FaultKind.STATUS, 500),
        Fault(FaultKind.STATUS, 503),
        Fault(FaultKind.GARBAGE),
        Fault(FaultKind.GARBAGE, body=""),
        Fault(FaultKind.GARBAGE, body="[" * 100_000),
        Fault(FaultKind.TRUNCATED),
        Fault(FaultKind.SHORT),
        Fault(FaultKind.NO_CHOICE),
    ],
    ids=lambda fault: f"{fault.kind.name}-{fault.status}",
)
class TestWhatPasses:
    def test_is_tried_again(self, endpoint, fault):
        chat, waits = client(endpoint.open([fault, "late but there"]))
        reply = chat.complete(ASK)
        assert (reply.text, reply.attempts, len(waits)) == ("late but there", 2, 1)

    def test_is_given_up_with_endpoint_model_and_advice(self, endpoint, fault):
        session = endpoint.open([fault] * 3)
        chat, waits = client(session)
        with pytest.raises(TransientEndpointError) as caught:
            chat.complete(ASK)
        said = str(caught.value)
        assert f"model 'night' (scripted at {session.base_url})" in said
        assert "after 3 tries: " in said
        assert session.token not in said
        assert len(waits) == 2


def test_time_lost_to_failures_is_told(endpoint):
    def ask(*replies):
        session = endpoint.open(replies)
        ticks = itertools.count()
        clock = lambda: float(next(ticks))  # noqa: E731
        return HttpChat(
            "night", session.settings(), api_key=session.token, environ={}, sleep=Waits(), clock=clock
        ).complete(ASK)

    smooth, rough = ask("ok"), ask(Fault(FaultKind.STATUS, 500), "ok")
    assert smooth.lost < rough.lost < rough.seconds


def test_retry_after_is_kept(endpoint):
    chat, waits = client(endpoint.open([Fault(FaultKind.STATUS, 429, retry_after="7"), "ok"]))
    chat.complete(ASK)
    assert 7.0 <= waits[0] <= 8.0


def test_a_retry_after_beyond_the_limit_ends_the_tries(endpoint):
    chat, waits = client(endpoint.open([Fault(FaultKind.STATUS, 429, retry_after="3600")]))
    with pytest.raises(TransientEndpointError, match=r"status 429 .* after 1 try"):
        chat.complete(ASK)
    assert waits == []


def test_a_wait_longer_than_the_callers_time_ends_the_tries(endpoint):
    chat, waits = client(endpoint.open([Fault(FaultKind.STATUS, 429, retry_after="30")]))
    with pytest.raises(TransientEndpointError, match="after 1 try") as caught:
        chat.complete(ASK, seconds=5.0)
    assert not isinstance(caught.value, DeadlineError)
    assert waits == []


@pytest.mark.parametrize(
    ("status", "advice"),
    [
        (400, "settings"),
        (401, "api_key_env"),
        (403, "rights"),
        (404, "base_url"),
        (413, "max_long_edge"),
        (307, "redirects"),
    ],
)
def test_what_no_retry_can_help_ends_at_once(endpoint, status, advice):
    chat, waits = client(endpoint.open([Fault(FaultKind.STATUS, status)]))
    with pytest.raises(EndpointError, match=f"status {status}") as caught:
        chat.complete(ASK)
    assert not isinstance(caught.value, TransientEndpointError)
    assert advice in str(caught.value)
    assert waits == []


def test_a_spent_quota_is_no_passing_429(endpoint):
    body = '{"error": {"message": "You have no credit.", "code": "insufficient_quota"}}'
    chat, waits = client(endpoint.open([Fault(FaultKind.STATUS, 429, body=body)]))
    with pytest.raises(EndpointError, match=r"You have no credit.*no credit left"):
        chat.complete(ASK)
    assert waits == []


def test_a_wrong_key_is_named_by_its_variable(endpoint):
    session = endpoint.open(["never"])
    chat, _ = client(session, key="not-the-token-of-it")
    with pytest.raises(EndpointError, match=r"status 401 .*api_key_env"):
        chat.complete(ASK)
    assert session.served == 0


def test_an_endpoint_that_is_down(endpoint):
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    settings = ModelSettings(base_url=f"http://127.0.0.1:{port}/v1", model="m", attempts=2)
    chat = HttpChat("night", settings, environ={}, sleep=Waits())
    with pytest.raises(TransientEndpointError, match=r"cannot connect .* after 2 tries: start the server"):
        chat.complete(ASK)


def test_a_proxy_of_the_environment_is_not_asked_for_loopback(endpoint, monkeypatch):
    monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:9")
    monkeypatch.delenv("NO_PROXY", raising=False)
    chat, _ = client(endpoint.open(["direct"]))
    assert chat.complete(ASK).text == "direct"


def test_the_callers_time_is_kept_by_a_slow_endpoint(endpoint):
    chat, waits = client(endpoint.open([Fault(FaultKind.SLOW, seconds=60)]))
    with pytest.raises(DeadlineError, match="that were left of the budget"):
        chat.complete(ASK, seconds=0.2)
    assert waits == []


def test_the_callers_time_is_kept_by_an_endpoint_that_drips(endpoint):
    chat, _ = client(endpoint.open([Fault(FaultKind.DRIP, seconds=0.05)]))
    with pytest.raises(DeadlineError):
        chat.complete(ASK, seconds=0.3)


def test_the_models_own_limit_is_an_outage_not_the_callers_deadline(endpoint):
    chat, waits = client(endpoint.open([Fault(FaultKind.SLOW, seconds=60)] * 2), attempts=2, read_seconds=0.5)
    with pytest.raises(TransientEndpointError, match=r"no whole reply within 0.5 s .* after 2 tries") as caught:
        chat.complete(ASK, seconds=600)
    assert not isinstance(caught.value, DeadlineError)
    assert len(waits) == 1


def test_no_time_left_asks_nothing(endpoint):
    session = endpoint.open(["never"])
    chat, _ = client(session)
    with pytest.raises(DeadlineError, match="no time is left"):
        chat.complete(ASK, seconds=0.0)
    assert not session.requests


def test_a_key_that_the_model_or_the_endpoint_repeats_is_hidden(endpoint):
    key = "sk-canary-0123456789"
    session = endpoint.open([])
    session.token = key
    session.queue.extend([Canned(f"your key is {key}, not canary-other-key", reasoning=key)])
    session.queue.append(Fault(FaultKind.STATUS, 400, body=f'{{"error": "bad key {key}"}}'))
    chat, _ = client(session, environ={"OTHER_API_KEY": "canary-other-key"})
    reply = chat.complete(ASK)
    assert (reply.text, reply.reasoning) == ("your key is [redacted], not [redacted]", "[redacted]")
    with pytest.raises(EndpointError, match=r"bad key \[redacted\]"):
        chat.complete(ASK)
    assert key not in repr(chat._redactor)


def test_a_missing_key_names_its_variable():
    settings = ModelSettings(base_url="http://127.0.0.1:1/v1", model="m", api_key_env="MY_KEY")
    with pytest.raises(ConfigurationError, match="set the environment variable MY_KEY"):
        HttpChat("night", settings, environ={"MY_KEY": "  "})


def test_a_key_that_no_header_can_carry_is_refused_unseen():
    settings = ModelSettings(base_url="http://127.0.0.1:1/v1", model="m", api_key_env="MY_KEY")
    with pytest.raises(ConfigurationError, match="no HTTP header") as caught:
        HttpChat("night", settings, environ={"MY_KEY": "schlüssel-geheim"})
    assert "geheim" not in str(caught.value)


def test_a_body_without_end_is_refused(endpoint, monkeypatch):
    monkeypatch.setattr("tasks_lib.models._wire.LARGEST_BODY", 1000)
    chat, _ = client(endpoint.open(["x" * 5000]))
    with pytest.raises(EndpointError, match="more than 0 MiB"):
        chat.complete(ASK)


def test_a_closed_client_opens_anew(endpoint):
    chat, _ = client(endpoint.open(["a", "b"]))
    chat.complete(ASK)
    chat.close()
    chat.close()
    assert chat.complete(ASK).text == "b"


def test_jitter_follows_the_seed():
    first, second = RetryPolicy(seed=3), RetryPolicy(seed=3)
    assert [first.wait(n) for n in (1, 2, 3)] == [second.wait(n) for n in (1, 2, 3)]


class Gate:
    """A gate at which every caller waits, by the clock that it is given."""

    def __init__(self, wait=0.0):
        self.wait, self.now = wait, 0.0
        self.asked, self.left = [], []

    def clock(self):
        return self.now

    def enter(self, seconds):
        self.asked.append(seconds)
        if seconds is not None and self.wait > seconds:
            msg = "all 2 places are taken"
            raise DeadlineError(msg)
        self.now += self.wait
        return self.wait

    def leave(self, *, throttled, retry_after):
        self.left.append((throttled, retry_after))


def gated(session, gate, *, attempts=3, **changes):
    settings = session.settings(attempts=attempts, **changes)
    return HttpChat(
        "night", settings, api_key=session.token, environ={}, sleep=lambda _: None, gate=gate, clock=gate.clock
    )


def test_the_wait_at_the_gate_is_lost_time(endpoint):
    gate = Gate(7.0)
    reply = gated(endpoint.open(["ok"]), gate).complete(ASK, seconds=600)
    assert (reply.lost, reply.seconds, gate.asked) == (7.0, 7.0, [600.0])
    assert gate.left == [(False, None)]
    assert gated(endpoint.open([Fault(FaultKind.STATUS, 500), "ok"]), gate).complete(ASK).lost == 14.0


@pytest.mark.parametrize("status", [403, 500])
def test_the_place_is_given_back_whatever_happens(endpoint, status):
    gate = Gate()
    with pytest.raises(EndpointError):
        gated(endpoint.open([Fault(FaultKind.STATUS, status)] * 3), gate).complete(ASK)
    assert len(gate.left) == len(gate.asked) == (1 if status == 403 else 3)


def test_the_place_is_given_back_by_a_caller_that_is_interrupted(endpoint, monkeypatch):
    def interrupt(*_, **__):
        raise KeyboardInterrupt

    gate = Gate()
    monkeypatch.setattr("tasks_lib.models._wire.within", interrupt)
    with pytest.raises(KeyboardInterrupt):
        gated(endpoint.open(["ok"]), gate).complete(ASK)
    assert gate.left == [(False, None)]


def test_no_place_in_time_is_no_fault_of_the_caller(endpoint):
    session = endpoint.open(["never"])
    with pytest.raises(TransientEndpointError, match=r"all 2 places are taken.*max_concurrency") as caught:
        gated(session, Gate(30.0)).complete(ASK, seconds=10)
    assert not isinstance(caught.value, DeadlineError)
    assert not session.requests


def test_time_that_runs_out_after_a_long_wait_at_the_gate_is_no_fault_of_the_caller(endpoint):
    for wait, kind in ((0.001, DeadlineError), (0.1, TransientEndpointError)):
        gate = Gate(wait)
        with pytest.raises(TransientEndpointError) as caught:
            gated(endpoint.open([Fault(FaultKind.SLOW, seconds=60)] * 3), gate, attempts=1).complete(ASK, seconds=0.2)
        assert type(caught.value) is kind


def test_a_model_that_takes_no_pictures_is_sent_none(endpoint):
    session = endpoint.open(["ok"])
    chat, _ = client(session, image=ImageSettings(enabled=False))
    with pytest.raises(ConfigurationError, match=r"'night' is to be shown a picture.*image\.enabled"):
        chat.complete([Message.of("user", "look", ImagePart(b"x", "image/png"))])
    assert not session.requests
    assert chat.complete(ASK).text == "ok"


def test_usage_of_a_stream_is_asked_for_unless_the_server_refuses_that(endpoint):
    asked, refusing = endpoint.open(["ok"]), endpoint.open(["ok"])
    assert client(asked)[0].complete(ASK).usage.input_tokens == 6
    assert client(refusing, stream_usage=False)[0].complete(ASK).usage.input_tokens is None
    assert asked.requests[0]["stream_options"] == {"include_usage": True}
    assert "stream_options" not in refusing.requests[0]


def test_texts_that_no_encoding_can_carry_are_sent_all_the_same(endpoint):
    session = endpoint.open(["ok"])
    client(session)[0].complete([Message.of("user", "a\ud800b")])
    assert session.requests[0]["messages"][0]["content"] == "a?b"


def test_a_secret_that_the_cut_of_a_message_would_go_through_is_hidden_first(endpoint):
    key = "sk-canary-" + "0123456789" * 8
    for before in range(400, 520, 7):
        session = endpoint.open([Fault(FaultKind.STATUS, 400, body=f'{{"error": "{"x" * before}{key}"}}')])
        session.token = key
        chat, _ = client(session, key=key)
        with pytest.raises(EndpointError) as caught:
            chat.complete(ASK)
        assert "canary" not in str(caught.value)


def test_a_completion_makes_its_turn_of_text_and_calls():
    call = ToolCall("a", "click", "{}", {})
    assert Completion("hi", calls=(call,)).turn == Message("assistant", (TextPart("hi"), ToolCallPart(call)))
    assert Completion("").turn == Message("assistant", ())


def test_a_caller_without_any_time_left_is_not_queued(endpoint):
    gate = Gate(30.0)
    with pytest.raises(DeadlineError, match="no time is left to ask"):
        gated(endpoint.open(["never"]), gate).complete(ASK, seconds=0.0)
    assert gate.asked == gate.left == []


def test_one_client_serves_many_callers_at_a_time(endpoint):
    chat, _ = client(endpoint.open([Canned(f"reply {number}") for number in range(60)]))
    with ThreadPoolExecutor(20) as pool:
        found = list(pool.map(lambda _: chat.complete(ASK).text, range(60)))
    assert sorted(found) == sorted(f"reply {number}" for number in range(60))
    chat.close()
