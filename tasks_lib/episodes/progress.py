"""What happens in episodes, told to whoever listens in this process: the live table, a log, a test."""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal

from tasks_lib.records import Document, Outcome, Phase, Text, UtcTime, VoidReason, now
from tasks_lib.records.listeners import Listeners

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
_listeners = Listeners[Event]()
listening = _listeners.listening


def tell(kind: EventKind, run_id: str, episode_id: str, **fields: object) -> None:
    """Tell all listeners."""
    _listeners.tell(
        Event.model_validate({"kind": kind, "run_id": run_id, "episode_id": episode_id, "when": now(), **fields})
    )
