"""The purse: what is spent is counted once, whoever pays and whoever dies, and the limit holds."""

from __future__ import annotations

import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tasks_lib.models.purse import Price, SharedPurse, spent_text
from tasks_lib.records import Purse, Spending, SpendingLimit, VoidReason
from tasks_lib.records.errors import BrokenDocumentError, BudgetError, ConfigurationError, policy_for
from tasks_lib.store import Store

PATH = "runs/r1/purse.json"


class Clock:
    def __init__(self):
        self.now = datetime(2026, 11, 30, 3, 0, tzinfo=UTC)

    def __call__(self):
        return self.now


@pytest.fixture
def store(tmp_path):
    return Store.open(str(tmp_path / "store"))


def purse(store, *, usd=None, tokens=None, remedy="", clock=None):
    limit = SpendingLimit(usd=usd, tokens=tokens)
    return SharedPurse(store, PATH, "run 'r1'", limit, remedy=remedy, clock=clock or Clock())


def test_what_is_settled_is_spent_and_a_purse_opened_again_knows_it(store):
    first = purse(store, usd=1.0)
    ticket = first.set_aside("e#1", Price(0.5, 100), 60)
    first.settle(ticket, Price(0.2, 40))
    again = purse(store, usd=1.0).account()
    assert again.spent == Spending(usd=0.2, tokens=40, calls=1)
    assert not again.closed


def test_a_ticket_is_settled_once(store):
    found = purse(store, tokens=100)
    ticket = found.set_aside("e#1", Price(0, 50), 60)
    for _ in range(3):
        found.settle(ticket, Price(0, 10))
    found.give_back(ticket)
    assert found.account().spent == Spending(tokens=10, calls=1)


def test_what_cost_nothing_is_put_back(store):
    found = purse(store, tokens=100)
    found.give_back(found.set_aside("e#1", Price(0, 100), 60))
    assert found.account().spent == Spending()
    assert found.set_aside("e#1", Price(0, 100), 60)


@pytest.mark.parametrize(
    ("limit", "most", "said"),
    [
        (
            {"usd": 1.0},
            Price(1.01, 5),
            r"run 'r1' may spend 1 US dollars at models, and 0 tokens in 0 calls",
        ),
        (
            {"tokens": 10},
            Price(0.0, 11),
            r"may spend 10 tokens .* the next call may cost up to 11 tokens",
        ),
        ({"usd": 1, "tokens": 10}, Price(0.5, 11), r"may spend 1 US dollars and 10 tokens .*: do this"),
    ],
)
def test_what_cannot_be_paid_is_refused_and_closes_the_purse(store, limit, most, said):
    found = purse(store, **limit, remedy="do this")
    with pytest.raises(BudgetError, match=said) as caught:
        found.set_aside("e#1", most, 60)
    assert policy_for(caught.value).reason is VoidReason.BUDGET
    for again in (found.check, lambda: found.set_aside("e#1", Price(0, 1), 60)):
        with pytest.raises(BudgetError, match="do this"):
            again()
    assert found.account().closed


def test_exactly_the_limit_can_be_spent_and_then_nothing(store):
    found = purse(store, usd=0.3, tokens=30)
    for _ in range(3):
        found.settle(found.set_aside("e#1", Price(0.1, 10), 60), Price(0.1, 10))
    assert found.account().spent.calls == 3
    assert not found.account().closed
    with pytest.raises(BudgetError):
        found.check()
    assert found.account().closed


def test_a_call_that_only_others_under_way_stand_in_the_way_of_waits(store):
    found = purse(store, tokens=100)
    first = found.set_aside("e#1", Price(0, 80), 60)
    assert found.set_aside("f#1", Price(0, 30), 60) is None
    found.settle(first, Price(0, 5))
    assert found.set_aside("f#1", Price(0, 30), 60)
    assert not found.account().closed


def test_what_the_dead_set_aside_counts_as_spent_when_its_time_is_over(store):
    clock = Clock()
    found = purse(store, tokens=100, clock=clock)
    dead = found.set_aside("e#1", Price(0, 80), 60)
    clock.now += timedelta(seconds=61)
    ticket = found.set_aside("f#1", Price(0, 20), 60)
    found.settle(ticket, Price(0, 1))
    found.settle(dead, Price(0, 2))
    assert found.account().spent == Spending(tokens=81, calls=2, estimated=1)


def test_a_new_attempt_buries_what_the_killed_one_of_its_episode_held_once(store):
    found = purse(store, tokens=1000)
    found.set_aside("e#1", Price(0, 80), 3600)
    found.set_aside("e-other#1", Price(0, 7), 3600)
    for _ in range(2):
        found.bury("e", "2")
    kept = store.read_document(PATH, Purse)
    assert kept.account.spent == Spending(tokens=80, calls=1, estimated=1)
    assert [entry.owner for entry in kept.open] == ["e-other#1"]


def test_a_raised_limit_opens_the_purse_and_outlives_the_settings(store):
    found = purse(store, usd=1.0)
    with pytest.raises(BudgetError):
        found.set_aside("e#1", Price(2.0, 1), 60)
    assert found.raise_limit(SpendingLimit(usd=5.0)).limit == SpendingLimit(usd=5.0)
    assert purse(store, usd=1.0).set_aside("e#1", Price(2.0, 1), 60)


def test_the_part_of_a_limit_that_is_not_named_stays(store):
    assert purse(store, usd=1.0, tokens=7).raise_limit(SpendingLimit(tokens=9)).limit == SpendingLimit(
        usd=1.0, tokens=9
    )


def test_a_limit_below_what_is_spent_is_refused(store):
    found = purse(store, tokens=100)
    found.settle(found.set_aside("e#1", Price(0, 90), 60), Price(0, 90))
    with pytest.raises(ConfigurationError, match=r"has spent .*90 tokens in 1 calls already: give a larger budget"):
        found.raise_limit(SpendingLimit(tokens=90))


def test_a_damaged_purse_is_told_with_its_path(store):
    store.write_bytes(PATH, b"{")
    for act in (purse(store, usd=1).account, lambda: purse(store, usd=1).set_aside("e#1", Price(0, 1), 1)):
        with pytest.raises(BrokenDocumentError, match=PATH):
            act()


def test_threads_at_once_lose_no_cent_and_pass_no_limit(store):
    found = purse(store, tokens=100)

    def pay(number):
        try:
            ticket = found.set_aside(f"e{number}#1", Price(0, 3), 60)
        except BudgetError:
            return 0
        if ticket is None:
            return 0
        found.settle(ticket, Price(0, 2))
        return 2

    with ThreadPoolExecutor(16) as pool:
        paid = sum(pool.map(pay, range(60)))
    assert found.account().spent.tokens == paid <= 100


_PAYER = """
import sys
from tasks_lib.models.purse import Price, SharedPurse
from tasks_lib.records import SpendingLimit
from tasks_lib.store import Store
purse = SharedPurse(Store.open(sys.argv[1]), sys.argv[2], "night", SpendingLimit(tokens=10_000))
for number in range(20):
    purse.settle(purse.set_aside(f"{sys.argv[3]}#1", Price(0.0, 9), 60), Price(0.5, 7))
"""


def test_processes_at_once_lose_no_cent(store):
    arguments = [sys.executable, "-c", _PAYER, store.url, PATH]
    processes = [subprocess.Popen([*arguments, name]) for name in "abc"]
    assert [process.wait() for process in processes] == [0, 0, 0]
    assert purse(store, tokens=10_000).account().spent == Spending(usd=30.0, tokens=420, calls=60)


@given(
    st.integers(1, 400),
    st.lists(st.tuples(st.integers(0, 3), st.integers(1, 60), st.integers(0, 60)), max_size=25),
)
def test_whatever_is_asked_the_limit_is_never_passed(tmp_path_factory, limit, events):
    found = purse(Store.open(str(tmp_path_factory.mktemp("s"))), tokens=limit)
    held, spent = [], 0
    for kind, most, cost in events:
        if kind < 2:
            try:
                ticket = found.set_aside("e#1", Price(0, most), 60)
            except BudgetError:
                assert spent + most > limit or found.account().closed
            else:
                held += [(ticket, most)] if ticket else []
        elif held:
            ticket, most = held.pop()
            cost = min(cost, most)
            found.settle(ticket, Price(0, cost))
            spent += cost
        told = found.account().spent.tokens
        assert told == spent + sum(most for _, most in held) <= limit


def test_estimated_calls_are_told():
    assert spent_text(Spending(usd=1, tokens=5, calls=3)) == "1.0000 US dollars and 5 tokens in 3 calls"
    assert "1 of them by an upper estimate" in spent_text(Spending(usd=1, tokens=5, calls=3, estimated=1))
