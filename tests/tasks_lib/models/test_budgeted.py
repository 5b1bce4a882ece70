"""A model paid from purses: the limit holds, nothing is charged twice, what nobody told is estimated from above."""

from __future__ import annotations

import socket
from concurrent.futures import ThreadPoolExecutor

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tasks_lib.models import (
    BudgetedChat,
    Canned,
    ChatFace,
    Completion,
    Fault,
    FaultKind,
    HttpChat,
    ImagePart,
    ImageSettings,
    Message,
    ModelSettings,
    Prices,
    ScriptedEndpoint,
    ToolSpec,
)
from tasks_lib.models.dialects import DIALECTS
from tasks_lib.models.estimates import TOKENS_PER_PICTURE, most_of, price_of
from tasks_lib.models.purse import SharedPurse
from tasks_lib.records import Spending, SpendingLimit, Usage
from tasks_lib.records.errors import BudgetError, EndpointError, StoreError, TransientEndpointError
from tasks_lib.store import Store

ASK = [Message.of("user", "What now?")]
PRICES = Prices(input=1.0, output=10.0)


@pytest.fixture(scope="module")
def endpoint():
    with ScriptedEndpoint() as found:
        yield found


@pytest.fixture
def store(tmp_path):
    return Store.open(str(tmp_path / "store"))


def purse(store, name="run", **limit):
    return SharedPurse(store, f"{name}.json", name, SpendingLimit(**limit))


def paid(session, *purses, sleep=lambda seconds: None, attempts=3, max_tokens=20, **changes):
    settings = session.settings(attempts=attempts, price_per_million=PRICES, **changes)
    settings = settings.model_copy(update={"max_tokens": max_tokens})
    listeners = []
    http = HttpChat(
        "m", settings, api_key=session.token, environ={}, sleep=lambda seconds: None,
        on_exchange=lambda exchange: listeners[0](exchange),
    )  # fmt: skip
    chat = BudgetedChat(http, settings, purses, "r1/e#1", sleep=sleep)
    listeners.append(chat.note)
    return chat


def test_what_the_endpoint_tells_is_what_is_paid_in_every_purse(endpoint, store):
    run, night = purse(store, tokens=1000), purse(store, "night", usd=1.0)
    chat = paid(endpoint.open([Canned("It is done.")] * 2), run, night)
    usage = [chat.complete(ASK).usage for _ in range(2)]
    assert usage[0].cost == pytest.approx((3 * 1 + 3 * 10) / 1e6)
    for found in (run, night):
        spent = found.account().spent
        assert (spent.tokens, spent.calls, spent.estimated) == (12, 2, 0)
        assert spent.usd == pytest.approx(2 * usage[0].cost)


def test_the_budget_ends_in_the_middle_and_a_raised_one_goes_on(endpoint, store):
    run = purse(store, tokens=70)
    session = endpoint.open([Canned("It is done.")] * 9)
    chat = paid(session, run)
    with pytest.raises(BudgetError, match="may spend 70 tokens"):
        [chat.complete(ASK) for _ in range(9)]
    served = session.served
    assert 0 < served < 9
    spent = run.account().spent
    assert (spent.tokens, spent.calls, spent.estimated) == (6 * served, served, 0)
    assert spent.usd == pytest.approx(served * 33e-6)
    run.raise_limit(SpendingLimit(tokens=500))
    chat.complete(ASK)
    assert session.served == served + 1


def test_where_one_purse_refuses_the_other_gets_back_what_was_set_aside(endpoint, store):
    run, night = purse(store, tokens=1000), purse(store, "night", tokens=5)
    session = endpoint.open(["x"])
    with pytest.raises(BudgetError, match="night may spend 5 tokens"):
        paid(session, run, night).complete(ASK)
    assert run.account().spent == Spending()
    assert session.served == 0


def test_a_missing_usage_is_estimated_for_the_purse_and_stays_missing(endpoint, store):
    run = purse(store, tokens=1000)
    usage = paid(endpoint.open([Canned("x", usage=False)]), run).complete(ASK).usage
    assert (usage.input_tokens, usage.output_tokens, usage.cost) == (None, None, None)
    spent = run.account().spent
    assert (spent.calls, spent.estimated) == (1, 1)
    assert spent.tokens >= 4


@pytest.mark.parametrize("status", [400, 401, 429, 500])
def test_a_refusal_costs_nothing(endpoint, store, status):
    run = purse(store, tokens=1000)
    chat = paid(endpoint.open([Fault(FaultKind.STATUS, status=status)] * 3), run)
    with pytest.raises(EndpointError):
        chat.complete(ASK)
    assert run.account().spent == Spending()


def test_an_endpoint_that_is_not_there_costs_nothing(store):
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    run = purse(store, tokens=1000)
    settings = ModelSettings(base_url=f"http://127.0.0.1:{port}/v1", model="m", attempts=2, max_tokens=10)
    listeners = []
    http = HttpChat("m", settings, environ={}, sleep=lambda _: None, on_exchange=lambda found: listeners[0](found))
    chat = BudgetedChat(http, settings, [run], "e#1")
    listeners.append(chat.note)
    with pytest.raises(TransientEndpointError, match="cannot connect"):
        chat.complete(ASK)
    assert run.account().spent == Spending()


@pytest.mark.parametrize("kind", [FaultKind.CUT, FaultKind.TRUNCATED, FaultKind.SHORT, FaultKind.GARBAGE])
def test_a_try_that_may_have_been_charged_counts_by_an_upper_estimate(endpoint, store, kind):
    run = purse(store, tokens=1000)
    chat = paid(endpoint.open([Fault(kind), Canned("It is done.")]), run)
    assert chat.complete(ASK).attempts == 2
    spent = run.account().spent
    assert (spent.calls, spent.estimated) == (1, 1)
    assert spent.tokens > 6 + 20


def test_a_fault_of_ours_after_the_reply_leaves_the_call_charged(endpoint, store):
    class Broken:
        name, image = "m", ImageSettings()

        def complete(self, messages, *, tools=(), seconds=None):
            raise StoreError("no room for the log")

    run = purse(store, tokens=1000)
    settings = endpoint.open([]).settings().model_copy(update={"max_tokens": 20})
    with pytest.raises(StoreError):
        BudgetedChat(Broken(), settings, [run], "e#1").complete(ASK)
    assert run.account().spent.estimated == 1


def test_a_call_waits_while_others_hold_what_is_left_and_the_wait_is_no_fault_of_the_agent(endpoint, store):
    run = purse(store, tokens=60)
    settings = ModelSettings(base_url="http://h/v1", model="m", max_tokens=20)
    ticket = run.set_aside("other#1", most_of(ASK, (), settings), 60)
    waits, now = [], [0.0]

    def sleep(seconds):
        waits.append(seconds)
        now[0] += 1.0
        if len(waits) == 3:
            run.give_back(ticket)

    session = endpoint.open(["ok"])
    chat = paid(session, run, sleep=sleep)
    chat._clock = lambda: now[0]
    found = chat.complete(ASK, seconds=60)
    assert (found.text, found.lost >= 3.0, len(waits)) == ("ok", True, 3)


def test_a_wait_that_is_too_long_is_void_and_retried(endpoint, store):
    run = purse(store, tokens=60)
    settings = ModelSettings(base_url="http://h/v1", model="m", max_tokens=20)
    run.set_aside("other#1", most_of(ASK, (), settings), 60)
    now = [0.0]

    def sleep(seconds):
        now[0] += 1.0

    chat = paid(endpoint.open([]), run, sleep=sleep)
    chat._clock = lambda: now[0]
    with pytest.raises(TransientEndpointError, match="set aside for other calls for 5 s"):
        chat.complete(ASK, seconds=5)
    assert run.account().spent.calls == 1  # the other's alone


def test_callers_at_once_never_pass_the_limit(endpoint, store):
    run = purse(store, tokens=300)
    session = endpoint.open([Canned("It is done.")] * 100)

    def call(_):
        chat = paid(session, run)
        try:
            return chat.complete(ASK, seconds=30).usage.input_tokens + 3
        except BudgetError:
            return 0
        finally:
            chat.close()

    with ThreadPoolExecutor(8) as pool:
        told = sum(pool.map(call, range(60)))
    spent = run.account()
    assert spent.spent.tokens == told == 6 * session.served <= 300
    assert spent.closed


TEXTS = st.text(max_size=200)


@given(TEXTS, TEXTS, st.integers(0, 3), TEXTS)
def test_the_estimate_is_above_what_the_endpoint_counts(system, text, pictures, tool):
    messages = [
        Message.of("system", system), Message.of("user", text, *[ImagePart(b"x", "image/png")] * pictures)
    ]  # fmt: skip
    settings = ModelSettings(base_url="http://h/v1", model="m", max_tokens=7)
    body = DIALECTS["openai"].write(messages, settings, ())
    counted = ChatFace().completion(Canned(""), body, 1)["usage"]["prompt_tokens"]
    most = most_of(messages, [ToolSpec("t", tool, {"type": "object"})], settings)
    assert most.tokens >= counted + 7
    assert most.tokens >= pictures * TOKENS_PER_PICTURE


def test_what_is_told_is_taken_and_cached_tokens_have_their_price():
    settings = ModelSettings(
        base_url="http://h/v1", model="m", price_per_million=Prices(input=2.0, output=10.0, cached=0.5)
    )
    usage = Usage(input_tokens=1_000_000, output_tokens=100_000, cached_tokens=400_000)
    price, estimated = price_of(Completion("x", usage=usage), ASK, (), settings)
    assert (price.usd, price.tokens, estimated) == (pytest.approx(0.6 * 2 + 0.4 * 0.5 + 0.1 * 10), 1_100_000, False)
