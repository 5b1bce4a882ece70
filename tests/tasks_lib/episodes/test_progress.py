"""Events reach every listener of the process, while it listens."""

from __future__ import annotations

import threading

from tasks_lib.episodes import Event, listening, tell
from tasks_lib.records import Phase


def test_a_listener_hears_only_while_it_listens() -> None:
    heard: list[Event] = []
    tell("step", "r", "before")
    with listening(heard.append):
        tell("phase-started", "r", "e", attempt=1, phase=Phase.ACT)
    tell("step", "r", "after")
    assert [(event.episode_id, event.phase) for event in heard] == [("e", Phase.ACT)]
    assert heard[0].when.utcoffset().total_seconds() == 0


def test_events_of_many_threads_all_arrive() -> None:
    heard: list[Event] = []
    with listening(heard.append):
        threads = [threading.Thread(target=tell, args=("step", "r", f"e{i}")) for i in range(20)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert sorted(event.episode_id for event in heard) == sorted(f"e{i}" for i in range(20))


def test_an_event_is_a_line_of_strict_json() -> None:
    heard: list[Event] = []
    with listening(heard.append):
        tell("episode-ended", "r", "e", message="odd \ud800 text")
    assert Event.from_json(heard[0].to_line()) == heard[0]
