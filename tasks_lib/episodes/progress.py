"""What happens in episodes, told to whoever listens in this process: the live table, a log, a test."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Literal

from tasks_lib.records import Document, Outcome, Phase, Text, UtcTime, VoidReason, now

EventKind = Literal["episode-started", "phase-started", "phase-ended", "step", "episode-ended"]


class Event(Document):
    """One thing that happened to an episode."""

    kind: EventKind
    run_id: str
    episode_id: str
    attempt: int = 0
    stage: str = "main"
    phase: Phase | None = None
    step: int | None = None
    outcome: Outcome | None = None
    reason: VoidReason | None = None
    message: Text = ""
    when: UtcTime


Listener = Callable[[Event], None]
_listeners: list[Listener] = []
_lock = threading.Lock()


@contextmanager
def listening(listener: Listener) -> Iterator[None]:
    """Call `listener` with every event of this process while the block runs; it may be called from any thread."""
    with _lock:
        _listeners.append(listener)
    try:
        yield
    finally:
        with _lock:
            _listeners.remove(listener)


def tell(kind: EventKind, run_id: str, episode_id: str, **fields: object) -> None:
    """Tell all listeners; one that raises is a bug of ours and is not hidden."""
    event = Event.model_validate({"kind": kind, "run_id": run_id, "episode_id": episode_id, "when": now(), **fields})
    with _lock:
        listeners = tuple(_listeners)
    for listener in listeners:
        listener(event)
