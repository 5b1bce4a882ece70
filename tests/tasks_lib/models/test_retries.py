from __future__ import annotations

from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tasks_lib.models.retries import RetryPolicy, retry_after_seconds

NOON = datetime(2026, 3, 1, 12, 0, 0, tzinfo=UTC)


@pytest.mark.parametrize(
    ("value", "seconds"),
    [
        ("7", 7.0),
        ("0.5", 0.5),
        ("-3", 0.0),
        ("Sun, 01 Mar 2026 12:00:30 GMT", 30.0),
        ("Sun, 01 Mar 2026 12:00:30", 30.0),
        ("Sun, 01 Mar 2026 11:00:00 GMT", 0.0),
        ("soon", None),
        ("nan", None),
        ("inf", None),
        ("", None),
        (None, None),
    ],
)
def test_retry_after_is_seconds_or_a_date(value, seconds):
    assert retry_after_seconds(value, clock=lambda: NOON) == seconds


@given(st.text())
def test_any_header_is_read(value):
    seconds = retry_after_seconds(value, clock=lambda: NOON)
    assert seconds is None or seconds >= 0


@given(st.integers(1, 19), st.integers(0, 2**32))
def test_waits_are_bounded_and_end(attempt, seed):
    policy = RetryPolicy(attempts=20, first=1.0, longest=30.0, patience=40.0, seed=seed)
    assert 0 <= policy.wait(attempt) <= min(30.0, 2.0 ** (attempt - 1))
    assert policy.wait(20) is None
    assert 5.0 <= policy.wait(attempt, retry_after=5.0) <= 6.0
    assert policy.wait(attempt, retry_after=41.0) is None


def test_the_same_seed_gives_the_same_waits():
    waits = [
        [policy.wait(n) for n in range(1, 5)]
        for policy in (RetryPolicy(seed=3), RetryPolicy(seed=3), RetryPolicy(seed=4))
    ]
    assert waits[0] == waits[1] != waits[2]
