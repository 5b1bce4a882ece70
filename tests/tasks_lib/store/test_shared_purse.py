"""A purse holds in every kind of store: on S3 servers with conditional writes and without them as in a folder."""

from __future__ import annotations

import threading

import pytest

from tasks_lib.models.purse import Price, SharedPurse
from tasks_lib.records import Spending, SpendingLimit
from tasks_lib.records.errors import BudgetError
from tasks_lib.store import Store

PATH = "nights/2026-11-30-smoke.purse.json"


def test_two_machines_pay_from_one_purse(store_url, monkeypatch):
    # Each with a store of its own and no lock of a process in between, as two machines have.
    monkeypatch.setattr("tasks_lib.models.purse._lock", lambda key: threading.Lock())

    def pay(name):
        purse = SharedPurse(Store.open(store_url), PATH, "night", SpendingLimit(tokens=100))
        for _ in range(3):
            purse.settle(purse.set_aside(f"{name}#1", Price(0.0, 10), 60), Price(0.0, 7))

    threads = [threading.Thread(target=pay, args=(name,)) for name in ("one", "other")]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    purse = SharedPurse(Store.open(store_url), PATH, "night", SpendingLimit(tokens=100))
    assert purse.account().spent == Spending(tokens=42, calls=6)
    with pytest.raises(BudgetError):
        purse.set_aside("one#1", Price(0.0, 59), 60)
    assert SharedPurse(Store.open(store_url), PATH, "night", SpendingLimit(tokens=100)).account().closed
