"""The gate before an endpoint: as many calls at a time as it can take, over all threads and processes of a machine."""

from __future__ import annotations

import logging
import os
import random
import threading
import time
from collections import deque
from functools import cache
from pathlib import Path
from urllib.parse import urlsplit

from tasks_lib.models._places import Full, Places
from tasks_lib.models.pace import Pace
from tasks_lib.models.protocol import DeadlineError
from tasks_lib.models.settings import ModelSettings
from tasks_lib.records.errors import StoreError
from tasks_lib.store import state_folder

PATIENCE = 1800.0
"""Longest wait of a caller who names no time, s."""
_LOOK_AGAIN = 0.1  # s, about how often it is looked whether another process has given a place back
_LOG = logging.getLogger(__name__)


def endpoint_of(settings: ModelSettings) -> str:
    """Return what shares its limits: a host, the key that is shown there, and a model."""
    return f"{urlsplit(settings.base_url).netloc} {settings.api_key_env or '-'} {settings.model}"


class EndpointGate:
    """A `Gate` that learns how many calls an endpoint takes at a time; see `Pace`.

    Callers of one process are let in in the order in which they came. Between processes no order is kept.

    Parameters
    ----------
    endpoint : str
        Whose limits are shared, as `endpoint_of` names it.
    ceiling : int
        Never more calls at a time than this.
    folder : Path, optional
        Where the processes of this machine keep their places; by default in the state folder.
    """

    def __init__(self, endpoint: str, ceiling: int, folder: Path | None = None) -> None:
        self._endpoint = endpoint
        self._ceiling = ceiling
        self._folder = folder
        self._held = threading.local()

    @classmethod
    def of(cls, settings: ModelSettings) -> EndpointGate:
        """Make the gate of a model."""
        return cls(endpoint_of(settings), settings.max_concurrency)

    def enter(self, seconds: float | None) -> float:
        """Wait for a place, and take it for this thread; return the wait, s.

        Raises
        ------
        DeadlineError
            If there was none within `seconds`.
        StoreError
            If the places cannot be kept.
        """
        line = self._line()
        limit = PATIENCE if seconds is None else max(0.0, seconds)
        self._held.place, waited = line.enter(self._ceiling, limit)
        return waited

    def leave(self, *, throttled: bool, retry_after: float | None) -> None:
        """Give this thread's place back; without one nothing happens."""
        place = getattr(self._held, "place", None)
        if place is None:
            return
        self._held.place = None
        try:
            self._line().leave(place, self._ceiling, throttled=throttled, retry_after=retry_after)
        except StoreError:
            # The reply is there and counts. The place is free again when this process has ended.
            _LOG.warning("a place at %s could not be given back", self._endpoint, exc_info=True)

    def seen(self) -> tuple[Pace, int]:
        """Return what is known of the endpoint, and how many places are taken."""
        return self._line().places.seen(self._endpoint)

    def _line(self) -> _Line:
        folder = state_folder() / "models" if self._folder is None else self._folder
        # By process: neither a lock nor a connection outlives a fork.
        return _line(os.getpid(), folder / "endpoints.sqlite", self._endpoint)


class _Line:
    """Those of this process who wait for an endpoint; only the first of them looks whether there is a place."""

    def __init__(self, places: Places, endpoint: str) -> None:
        self.places = places
        self._endpoint = endpoint
        self._lock = threading.Lock()
        self._waiting: deque[threading.Event] = deque()
        self._freed = threading.Event()
        self._random = random.Random(os.getpid())  # noqa: S311  # so that processes do not look at the same moment

    def enter(self, ceiling: int, limit: float) -> tuple[int, float]:
        began = time.monotonic()
        turn = threading.Event()
        with self._lock:
            self._waiting.append(turn)
            self._waiting[0].set()
        try:
            while turn.wait(max(0.0, limit - (time.monotonic() - began))):
                self._freed.clear()
                found = self.places.take(self._endpoint, ceiling)
                waited = time.monotonic() - began
                if isinstance(found, int):
                    return found, waited
                if waited >= limit:
                    break
                pause = found.pause if found.pause is not None else _LOOK_AGAIN * self._random.uniform(0.5, 1.5)
                self._rest(found, min(pause, limit - waited))
        finally:
            with self._lock:
                self._waiting.remove(turn)
                if self._waiting:
                    self._waiting[0].set()
        pace, busy = self.places.seen(self._endpoint)
        msg = (
            f"no place at endpoint {self._endpoint} within {limit:.3g} s ({busy} calls under way, "
            f"{pace.places(ceiling)} allowed): lower the number of episodes at a time, or raise `max_concurrency`"
        )
        raise DeadlineError(msg)

    def leave(self, place: int, ceiling: int, *, throttled: bool, retry_after: float | None) -> None:
        try:
            self.places.give_back(self._endpoint, place, ceiling, throttled=throttled, retry_after=retry_after)
        finally:
            self._freed.set()

    def _rest(self, found: Full, seconds: float) -> None:
        if found.pause is None:
            self._freed.wait(seconds)
        else:
            # Closed for everybody: a place that comes free changes nothing.
            threading.Event().wait(seconds)


@cache
def _places(process: int, path: Path) -> Places:
    return Places(path)


@cache
def _line(process: int, path: Path, endpoint: str) -> _Line:
    return _Line(_places(process, path), endpoint)
