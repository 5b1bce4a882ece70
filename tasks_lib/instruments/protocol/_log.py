"""The log of an instrument: it only grows, and nobody who listens to it changes what an order came to."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Mapping
from datetime import datetime
from typing import Any

from tasks_lib.instruments.protocol._shown import storable
from tasks_lib.instruments.protocol.state import Event, EventKind

_log = logging.getLogger(__name__)


class EventLog:
    """Numbered entries, told to a listener in their order.

    Parameters
    ----------
    client : str
        Who drives the instrument.
    listener : callable, optional
        Called with every entry. Where it raises, the entry stays in this log and a warning is written: the order that
        it tells of was carried out, or refused, all the same.
    clock : callable
        Returns the present time, aware.
    """

    def __init__(self, client: str, listener: Callable[[Event], None] | None, clock: Callable[[], datetime]) -> None:
        self._client = client
        self._listener = listener
        self._clock = clock
        self._events: list[Event] = []
        # Held while the listener is told, so that it hears entries in order; it may read the log.
        self._lock = threading.RLock()

    def events(self) -> tuple[Event, ...]:
        """Return the entries so far."""
        with self._lock:
            return tuple(self._events)

    def note(self, kind: EventKind, details: Mapping[str, Any]) -> None:
        """Add an entry and tell the listener."""
        with self._lock:
            number = len(self._events) + 1
            event = Event(number=number, at=self._clock(), client=self._client, kind=kind, details=storable(details))
            self._events.append(event)
            if self._listener is None:
                return
            try:
                self._listener(event)
            except Exception as error:  # noqa: BLE001 - whatever a listener raises
                _log.warning("event %d (%s) was not heard: %s", number, kind, storable(str(error)))
