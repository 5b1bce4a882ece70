from __future__ import annotations

import threading

import pytest

from tasks_lib.models._deadline import OverdueError, within


def test_what_comes_in_time_is_returned():
    assert within(30, lambda _: 7, lambda: None) == 7


def test_what_is_raised_in_time_is_raised():
    def fail(_):
        raise KeyError("x")

    with pytest.raises(KeyError, match="x"):
        within(30, fail, lambda: None)


def test_what_is_handed_over_early_is_returned_while_the_call_goes_on():
    go_on, over = threading.Event(), threading.Event()

    def call(deliver):
        deliver(7)
        go_on.wait()
        over.set()
        raise KeyError

    assert within(30, call, lambda: None) == 7
    assert not over.is_set()
    go_on.set()
    assert over.wait(10)


@pytest.mark.parametrize("seconds", [0.01, 0.0, -1.0])
def test_what_is_late_is_left_behind_and_told(seconds):
    told = threading.Event()
    with pytest.raises(OverdueError):
        within(seconds, lambda _: told.wait(), told.set)
    assert told.is_set()
