"""A program that must not outlive the one that started it.

The starter keeps the write end of a pipe that is the program's standard input. When the starter is gone, however it
went, the pipe ends; the program then ends itself as on SIGTERM, and its whole process group after a grace time.
"""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Callable

# Long enough for a Runner to cancel its episodes and for these to close their machines.
GRACE = 25.0


def hold(grace: float = GRACE, on_end: Callable[[], None] | None = None, stdin: int = 0) -> threading.Thread:
    """Watch the lifeline in a thread of its own.

    Parameters
    ----------
    grace : float
        Seconds between the polite request to end and SIGKILL for the process group.
    on_end : callable, optional
        The polite request; SIGTERM to this process by default.
    stdin : int
        File descriptor of the pipe.
    """
    # A program started from a shell's background job ignores SIGINT, and hands that on to all of its children.
    if threading.current_thread() is threading.main_thread():
        signal.signal(signal.SIGINT, signal.default_int_handler)
    watcher = threading.Thread(target=_watch, args=(stdin, grace, on_end), name="lifeline", daemon=True)
    watcher.start()
    return watcher


def _watch(stdin: int, grace: float, on_end: Callable[[], None] | None) -> None:
    while os.read(stdin, 4096):
        pass
    if on_end is None:
        os.kill(os.getpid(), signal.SIGTERM)
    else:
        on_end()
    time.sleep(grace)
    os.killpg(0, signal.SIGKILL)
