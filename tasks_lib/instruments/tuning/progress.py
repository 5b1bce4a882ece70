"""What a tuning does, told to whoever listens in this process: the command line, a test."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Literal

from tasks_lib.instruments.tuning.session_records import ScanPlan, ScanRecord
from tasks_lib.records import Document, UtcTime, now

EventKind = Literal["scan-started", "scan-ended"]


class ScanEvent(Document):
    """A scan of a tuning began, or was recorded."""

    kind: EventKind
    tuning_id: str
    plan: ScanPlan
    record: ScanRecord | None = None
    when: UtcTime


ScanListener = Callable[[ScanEvent], None]
_listeners: list[ScanListener] = []
_lock = threading.Lock()


@contextmanager
def listening(listener: ScanListener) -> Iterator[None]:
    """Call `listener` with every event of this process while the block runs; it may be called from any thread."""
    with _lock:
        _listeners.append(listener)
    try:
        yield
    finally:
        with _lock:
            _listeners.remove(listener)


def tell(kind: EventKind, tuning_id: str, plan: ScanPlan, record: ScanRecord | None = None) -> None:
    """Tell all listeners; one that raises is a bug of ours and is not hidden."""
    event = ScanEvent(kind=kind, tuning_id=tuning_id, plan=plan, record=record, when=now())
    with _lock:
        listeners = tuple(_listeners)
    for listener in listeners:
        listener(event)
