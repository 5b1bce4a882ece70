"""What a tuning does, told to whoever listens in this process: the command line, a test."""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal

from tasks_lib.instruments.tuning.session_records import ScanPlan, ScanRecord
from tasks_lib.records import Document, UtcTime, now
from tasks_lib.records.listeners import Listeners

EventKind = Literal["scan-started", "scan-ended"]


class ScanEvent(Document):
    """A scan of a tuning began, or was recorded."""

    kind: EventKind
    tuning_id: str
    plan: ScanPlan
    record: ScanRecord | None = None
    when: UtcTime


ScanListener = Callable[[ScanEvent], None]
_listeners = Listeners[ScanEvent]()
listening = _listeners.listening


def tell(kind: EventKind, tuning_id: str, plan: ScanPlan, record: ScanRecord | None = None) -> None:
    """Tell all listeners."""
    _listeners.tell(ScanEvent(kind=kind, tuning_id=tuning_id, plan=plan, record=record, when=now()))
