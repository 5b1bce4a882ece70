"""The rule by which an endpoint's number of calls at a time grows and shrinks."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tasks_lib.models.pace import FIRST, IDLE, LONGEST_PAUSE, Pace


def a_round(pace: Pace, ceiling: int) -> Pace:
    """As many calls as are allowed, all under way at once, all answered."""
    for _ in range(pace.places(ceiling)):
        pace = pace.went_well(pace.places(ceiling), ceiling)
    return pace


def test_slow_start_doubles_each_round_up_to_the_ceiling():
    pace, seen = Pace(), []
    for _ in range(5):
        seen.append(pace.places(20))
        pace = a_round(pace, 20)
    assert seen == [2, 4, 8, 16, 20]


def test_the_first_refusal_halves_and_from_then_on_each_round_adds_one():
    pace = Pace(allowed=16.0).refused(0, 16, 100.0, None)
    assert (pace.places(32), pace.doubling) == (8, False)
    after = [pace := a_round(pace, 32) for _ in range(3)]
    assert [found.allowed for found in after] == pytest.approx([9.0, 10.0, 11.0], abs=0.4)


def test_a_storm_of_one_round_halves_once():
    pace = Pace(allowed=16.0)
    for busy in range(16, 0, -1):
        pace = pace.refused(0, busy, 100.0, None)
    assert (pace.allowed, pace.epoch) == (8.0, 1)


def test_a_refusal_halves_what_was_used_not_what_was_allowed():
    assert Pace(allowed=32.0).refused(0, 4, 0.0, None).allowed == 2.0


def test_one_place_is_always_left():
    pace = Pace()
    for epoch in range(5):
        pace = pace.refused(epoch, 1, 0.0, None)
    assert (pace.allowed, pace.places(32)) == (1.0, 1)


def test_nothing_is_learnt_from_calls_that_come_one_by_one():
    pace = Pace(allowed=8.0)
    assert pace.went_well(1, 32) == pace


def test_the_longest_retry_after_closes_for_all():
    pace = Pace().refused(0, 2, 100.0, 7.0).refused(0, 1, 101.0, 2.0)
    assert (pace.pause(101.0), pace.pause(107.0), pace.pause(200.0)) == (6.0, 0.0, 0.0)


@pytest.mark.parametrize("asked", [1e9, float("inf")])
def test_no_endpoint_closes_itself_for_longer_than_the_patience(asked):
    assert Pace().refused(0, 1, 100.0, asked).pause(100.0) == LONGEST_PAUSE


def test_a_clock_that_was_set_back_closes_nobody_for_long():
    assert Pace(closed_until=1e9).pause(0.0) == LONGEST_PAUSE


def test_after_a_long_rest_it_begins_anew():
    pace = Pace(allowed=30.0, doubling=False, epoch=3, used=1000.0)
    assert pace.entered(1000.0 + IDLE) == Pace(30.0, False, 3, 0.0, 1000.0 + IDLE)
    assert pace.entered(1001.0 + IDLE) == Pace(FIRST, True, 4, 0.0, 1001.0 + IDLE)


@given(
    st.integers(1, 64),
    st.lists(
        st.tuples(st.booleans(), st.integers(0, 80), st.integers(0, 80), st.none() | st.floats(0, 1e6)), max_size=60
    ),
)
def test_whatever_happens_it_stays_between_one_and_the_ceiling(ceiling, events):
    pace = Pace()
    for refused, busy, epoch, asked in events:
        pace = pace.refused(epoch, busy, 50.0, asked) if refused else pace.went_well(busy, ceiling)
        assert 1 <= pace.places(ceiling) <= ceiling
        assert 0 <= pace.pause(50.0) <= LONGEST_PAUSE
        assert pace.allowed >= 1.0
