"""Calls to the kernel that Python's library has no name for."""

from __future__ import annotations

import ctypes
import os
import resource
from dataclasses import dataclass
from pathlib import Path

_PR_SET_DUMPABLE = 4
_PR_SET_CHILD_SUBREAPER = 36


def _prctl(option: int, value: int) -> None:
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.prctl(option, value, 0, 0, 0) != 0:
        code = ctypes.get_errno()
        raise OSError(code, os.strerror(code))


def hide_memory() -> None:
    """Make this process undumpable: no process of the same user can read its memory, environment or descriptors."""
    _prctl(_PR_SET_DUMPABLE, 0)


def adopt_orphans() -> None:
    """Become the parent of every descendant whose own parent ends (as process 1 is anyway)."""
    _prctl(_PR_SET_CHILD_SUBREAPER, 1)


def lower_limit(which: int, value: int) -> None:
    """Lower a resource limit, soft and hard, for this process and all that it starts; never raises one."""
    _, hard = resource.getrlimit(which)
    if hard != resource.RLIM_INFINITY:
        value = min(value, hard)
    resource.setrlimit(which, (value, value))


@dataclass(frozen=True, slots=True)
class Process:
    """A line of the process table."""

    pid: int
    parent: int
    state: str
    session: int
    start: int  # clock ticks since boot

    @property
    def key(self) -> tuple[int, int]:
        """Process id and start time: never the same for two processes."""
        return (self.pid, self.start)


def read_process(pid: int) -> Process | None:
    """Read one line of the process table; None where there is no such process."""
    try:
        text = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return None
    fields = text[text.rindex(")") + 2 :].split()
    return Process(pid, int(fields[1]), fields[0], int(fields[3]), int(fields[19]))


def process_table() -> dict[int, Process]:
    """Read the whole process table, zombies left out."""
    found = (read_process(int(name)) for name in os.listdir("/proc") if name.isdigit())  # noqa: PTH208
    return {process.pid: process for process in found if process is not None and process.state not in "ZX"}
