"""Whether a program has worked through its input: its threads sleep and it uses no processor time.

This holds for every toolkit; the window manager's ping, the other way to ask, is not answered by all of them.
"""

from __future__ import annotations

import os
import time
from pathlib import Path

from ._system import process_table

_POLL = 0.02
_RESTS = 3  # readings in a row that must find the program asleep
_BUSY_TICKS = 2  # clock ticks (10 ms each) between two readings; a single one may be a timer's


class Idleness:
    """Successive readings of a program.

    Parameters
    ----------
    pid : int or None
        The process of its window.
    session : int or None
        A session whose processes are watched too, for instance of a program that has no window yet.
    """

    def __init__(self, pid: int | None, session: int | None = None) -> None:
        self._pid = pid
        self._session = session
        self._ticks = self._read()[1]

    def is_busy(self) -> bool:
        """Whether it runs, waits for the disk, or has used the processor since the last reading."""
        running, ticks = self._read()
        before, self._ticks = self._ticks, ticks
        return running or ticks - before >= _BUSY_TICKS

    def _read(self) -> tuple[bool, int]:
        """Return whether any thread is running, and the processor time of all in clock ticks."""
        pids = set() if self._pid is None else {self._pid}
        if self._session is not None:
            pids |= {process.pid for process in process_table().values() if process.session == self._session}
        readings = [_read_threads(pid) for pid in pids]
        return any(running for running, _ in readings), sum(ticks for _, ticks in readings)


def _read_threads(pid: int) -> tuple[bool, int]:
    running, ticks = False, 0
    try:
        for thread in os.listdir(f"/proc/{pid}/task"):  # noqa: PTH208
            text = Path(f"/proc/{pid}/task/{thread}/stat").read_text(encoding="utf-8", errors="replace")
            fields = text[text.rindex(")") + 2 :].split()
            running = running or fields[0] in "RD"
            ticks += int(fields[11]) + int(fields[12])
    except OSError:
        pass  # a thread or the whole process ended meanwhile
    return running, ticks


def wait_idle(pid: int | None, seconds: float) -> bool | None:
    """Wait until a process rests; False when the time is over, None where the process is not known."""
    if pid is None:
        return None
    end = time.monotonic() + seconds
    seen, rests = Idleness(pid), 0
    while rests < _RESTS:
        time.sleep(_POLL)
        rests = 0 if seen.is_busy() else rests + 1
        if time.monotonic() > end:
            return False
    return True
