"""Whether programs still take what they are sent, by the window manager's ping (``_NET_WM_PING``).

A program that waits for itself keeps its windows, and a screenshot of it looks like one that merely has nothing to do.
The thread that handles events answers the ping, in GTK and in Qt. A window without the protocol, such as those of Java,
cannot be asked and counts as working; so does a program that goes round in circles.
"""

from __future__ import annotations

import select
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress

from Xlib import X, error
from Xlib.display import Display
from Xlib.protocol import event

from ._system import read_process
from .idle import Idleness
from .windows import Window, Windows

# GTK sends its answer to those who listen for the first kind, Qt to those who listen for the second.
_ANSWERS = X.SubstructureNotifyMask | X.StructureNotifyMask
_POLL = 0.1
_ROUND = 1.0
# Share of the readings of a round in which a program that computes is seen at it, also where it gets little of the
# processor; threads that only look at a queue now and then stay far below.
_BUSY_SHARE = 0.3


class Watchdog:
    """Asks the programs of a display.

    Parameters
    ----------
    name : str
        The display; the watchdog has a connection of its own.
    """

    def __init__(self, name: str) -> None:
        self._display = Display(name)
        self._windows = Windows(self._display)
        self._root = self._display.screen().root
        self._ping = int(self._display.get_atom("_NET_WM_PING"))
        self._protocols = int(self._display.get_atom("WM_PROTOCOLS"))
        self._lock = threading.Lock()
        self._serial = 0

    def stuck(self, seconds: float) -> list[Window]:
        """Return a window of each program that neither answers nor works.

        Parameters
        ----------
        seconds : float
            How long both must hold, s. Programs that answer cost a few milliseconds, those that compute a second.
        """
        with self._lock, self._listening():
            silent = self._askable()
            readings: dict[int, Idleness] = {}
            end = time.monotonic() + seconds
            while silent:
                self._drop_answering(silent, min(_ROUND, seconds), readings)
                if time.monotonic() >= end:
                    break
                # What closed meanwhile cannot answer; a dialog may stand for its program instead.
                there = self._askable()
                silent = {pid: there[pid] for pid in silent if pid in there}
            return list(silent.values())

    def _askable(self) -> dict[int, Window]:
        """Return one window of each program that says that it answers pings, by process."""
        found: dict[int, Window] = {}
        for window in self._windows.all():
            if window.pid is not None and window.pid not in found and self._answers(window):
                found[window.pid] = window
        return found

    def _answers(self, window: Window) -> bool:
        with suppress(error.BadWindow):
            handle = self._display.create_resource_object("window", window.id)
            return self._ping in (handle.get_wm_protocols() or ())
        return False

    def _drop_answering(self, silent: dict[int, Window], seconds: float, readings: dict[int, Idleness]) -> None:
        """Ask once; within `seconds` take out who answers, and at their end who works."""
        asked = {self._send(window): pid for pid, window in silent.items()}
        for pid in silent:
            readings.setdefault(pid, _reading(pid)).is_busy()
        busy = dict.fromkeys(silent, 0)
        began, read = time.monotonic(), 0
        while silent and (now := time.monotonic()) < began + seconds:
            for serial in self._answered(max(0.0, min(seconds, (read + 1) * _POLL) - (now - began))):
                silent.pop(asked.get(serial, 0), None)
            # Windows that move wake it as answers do: readings keep their own time.
            if time.monotonic() >= began + (read + 1) * _POLL:
                read += 1
                for pid in silent:
                    busy[pid] += readings[pid].is_busy()
        for pid in [pid for pid in silent if busy[pid] >= max(1.0, _BUSY_SHARE * read)]:
            del silent[pid]

    def _send(self, window: Window) -> int:
        self._serial += 1
        handle = self._display.create_resource_object("window", window.id)
        data = [self._ping, self._serial, window.id, 0, 0]
        note = event.ClientMessage(window=handle, client_type=self._protocols, data=(32, data))
        handle.send_event(note, event_mask=X.NoEventMask, onerror=error.CatchError(error.BadWindow))
        self._display.flush()
        return self._serial

    def _answered(self, seconds: float) -> Iterator[int]:
        """Wait for what comes, and return the numbers of the pings that were answered."""
        if not self._display.pending_events():
            select.select([self._display.fileno()], [], [], seconds)
        while self._display.pending_events():
            seen = self._display.next_event()
            if seen.type == X.ClientMessage and seen.client_type == self._protocols:
                kind, serial = list(seen.data[1])[:2]
                if kind == self._ping:
                    yield serial

    @contextmanager
    def _listening(self) -> Iterator[None]:
        """Hear what is sent to the root window, where programs answer; not longer than needed, for it is much."""
        self._root.change_attributes(event_mask=_ANSWERS)
        try:
            yield
        finally:
            self._root.change_attributes(event_mask=X.NoEventMask)
            self._display.sync()
            while self._display.pending_events():
                self._display.next_event()


def _reading(pid: int) -> Idleness:
    process = read_process(pid)
    return Idleness(pid, None if process is None else process.session)
