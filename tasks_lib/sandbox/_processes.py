"""Processes of this host as a lease names them: by id and start time, so that a reused id is never mistaken."""

from __future__ import annotations

import os
import signal
import time
from pathlib import Path

from tasks_lib.sandbox.guest._system import read_process

_TICKS = os.sysconf("SC_CLK_TCK")
VARIABLE = "MATASSAY_MACHINE"


def start_time(pid: int) -> float | None:
    """Return when a process started, s since boot; None where there is no such process or it is a zombie."""
    seen = read_process(pid)
    return None if seen is None or seen.state in "ZX" else seen.start / _TICKS


def is_alive(pid: int, started: float) -> bool:
    """Whether that very process still runs."""
    seen = start_time(pid)
    return seen is not None and abs(seen - started) < 0.5 / _TICKS


def names_machine(pid: int, machine_id: str) -> bool:
    """Whether a process's command line names the machine."""
    try:
        words = Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")
    except OSError:
        return False
    return machine_id.encode() in words


def marked(machine_id: str) -> set[int]:
    """List processes that carry the machine's id in their environment or, as its server does, on the command line."""
    mark = f"{VARIABLE}={machine_id}".encode()
    found = set()
    for name in os.listdir("/proc"):  # noqa: PTH208
        if not name.isdigit() or int(name) == os.getpid():
            continue
        pid = int(name)
        try:
            environment = Path(f"/proc/{pid}/environ").read_bytes().split(b"\0")
        except OSError:
            environment = []
        if (mark in environment or names_machine(pid, machine_id)) and start_time(pid) is not None:
            found.add(pid)
    return found


def kill(pid: int) -> None:
    """Kill a process; nothing happens where it is gone."""
    try:
        os.kill(pid, signal.SIGKILL)
    except ProcessLookupError:
        pass


def wait_gone(pid: int, started: float, seconds: float) -> bool:
    """Wait until that very process has ended (or is a zombie that its parent has yet to collect)."""
    end = time.monotonic() + seconds
    while is_alive(pid, started):
        if time.monotonic() > end:
            return False
        time.sleep(0.005)
    return True
