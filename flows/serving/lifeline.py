"""A program that must not outlive the one that started it, nor may anything that it starts.

The starter keeps the write end of a pipe that is the program's standard input. A guard, forked off before anything
else and outside the program's process group, waits for the end of the pipe. It comes when the starter is gone,
however it went. Then the guard asks the program to end, and ends its whole process group after a grace time: also
where the program itself has ended by then and has left others behind.
"""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable

# Long enough for a Runner to cancel its episodes and for these to close their machines.
GRACE = 25.0
_LEFTOVERS = 2.0


def hold(grace: float = GRACE) -> None:
    """Fork the guard; called first of all, while the process has one thread and leads its process group.

    Parameters
    ----------
    grace : float
        Seconds between the request to end and the end of the whole group.
    """
    # A program started from a shell's background job ignores SIGINT, and hands that on to all of its children.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    leader = os.getpid()
    if os.fork():
        return
    try:
        _guard(leader, grace)
    finally:
        os._exit(0)


def _guard(leader: int, grace: float) -> None:
    os.setsid()
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
    # Neither a listening socket nor the log may be kept open by this process.
    os.closerange(1, 4096)
    while os.read(0, 4096):
        pass
    _send(leader, signal.SIGTERM)
    _wait(lambda: os.getppid() != leader, grace)
    _send_group(leader, signal.SIGTERM)
    _wait(lambda: not _send_group(leader, 0), _LEFTOVERS)
    _send_group(leader, signal.SIGKILL)


def _wait(over: Callable[[], bool], seconds: float) -> None:
    deadline = time.monotonic() + seconds
    while not over() and time.monotonic() < deadline:
        time.sleep(0.05)


def _send(process: int, number: int) -> bool:
    # Our parent: while it is, its number cannot have gone to another.
    if os.getppid() != process:
        return False
    os.kill(process, number)
    return True


def _send_group(group: int, number: int) -> bool:
    try:
        os.killpg(group, number)
    except ProcessLookupError:
        return False
    return True
