"""Listeners: all are told while they listen, in the order in which they came, and none after."""

from __future__ import annotations

import pytest

from tasks_lib.records.listeners import Listeners


def test_all_are_told_while_they_listen() -> None:
    heard: list[tuple[str, int]] = []
    events = Listeners[int]()
    events.tell(0)
    with events.listening(lambda event: heard.append(("a", event))):
        events.tell(1)
        with events.listening(lambda event: heard.append(("b", event))):
            events.tell(2)
        events.tell(3)
    events.tell(4)
    assert heard == [("a", 1), ("a", 2), ("b", 2), ("a", 3)]


def test_one_that_raises_is_not_hidden_and_no_longer_told() -> None:
    events = Listeners[int]()

    def breaks(event: int) -> None:
        raise KeyError(event)

    with pytest.raises(KeyError), events.listening(breaks):
        events.tell(1)
    events.tell(2)


def test_a_listener_may_leave_while_it_is_told() -> None:
    events, heard = Listeners[int](), []
    inner = events.listening(heard.append)
    inner.__enter__()
    with events.listening(lambda _: inner.__exit__(None, None, None)):
        events.tell(1)
    events.tell(2)
    assert heard == [1]
