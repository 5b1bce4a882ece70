"""Whoever in this process wants to hear of what happens: the command line, a log, a test."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Generic, TypeVar

E = TypeVar("E")


class Listeners(Generic[E]):
    """Listeners of one kind of event; they come and go, and are told, from any thread."""

    def __init__(self) -> None:
        self._listeners: list[Callable[[E], None]] = []
        self._lock = threading.Lock()

    @contextmanager
    def listening(self, listener: Callable[[E], None]) -> Iterator[None]:
        """Call `listener` with every event of this process while the block runs; it may be called from any thread."""
        with self._lock:
            self._listeners.append(listener)
        try:
            yield
        finally:
            with self._lock:
                self._listeners.remove(listener)

    def tell(self, event: E) -> None:
        """Tell all listeners; one that raises is a bug of ours and is not hidden."""
        with self._lock:
            listeners = tuple(self._listeners)
        for listener in listeners:
            listener(event)
