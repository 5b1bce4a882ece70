"""Whether a program has worked through its input: its threads sleep and it uses no processor time.

This holds for every toolkit; the window manager's ping, the other way to ask, is not answered by all of them.
"""

from __future__ import annotations

import os
import time
from pathlib import Path

_POLL = 0.02
_RESTS = 3  # readings in a row that must find the program asleep
_BUSY_TICKS = 2  # clock ticks (10 ms each) between two readings; a single one may be a timer's


class Idleness:
    """Successive readings of one process."""

    def __init__(self, pid: int | None) -> None:
        self._pid = pid
        self._ticks = self._read()[1]

    def is_busy(self) -> bool:
        """Whether the process runs, waits for the disk, or has used the processor since the last reading."""
        running, ticks = self._read()
        before, self._ticks = self._ticks, ticks
        return running or ticks - before >= _BUSY_TICKS

    def _read(self) -> tuple[bool, int]:
        """Return whether any thread is running, and the processor time of all in clock ticks."""
        if self._pid is None:
            return False, 0
        running, ticks = False, 0
        try:
            for thread in os.listdir(f"/proc/{self._pid}/task"):  # noqa: PTH208
                text = Path(f"/proc/{self._pid}/task/{thread}/stat").read_text(encoding="utf-8", errors="replace")
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
