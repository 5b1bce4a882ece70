"""The server's children: started, reaped and ended here alone.

The server is process 1 of its machine (or a subreaper where there is no process namespace of our own), so every orphan
becomes its child. One thread reaps them all; nobody else calls ``wait``.
"""

from __future__ import annotations

import os
import signal
import subprocess
import threading
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ._system import Process, process_table, read_process


@dataclass(eq=False)
class Child:
    """A process that the server started."""

    popen: subprocess.Popen[bytes]
    name: str
    key: tuple[int, int]
    code: int | None = None
    tail: bytearray = field(default_factory=bytearray)
    reader: threading.Thread | None = None  # fills `tail`

    @property
    def pid(self) -> int:
        """Process id inside the machine."""
        return self.popen.pid


class Children:
    """Table of the server's children, with the thread that reaps."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._watched: dict[int, Child] = {}
        self._started = 0
        self._lasting: set[tuple[int, int]] = set()
        threading.Thread(target=self._reap, name="reaper", daemon=True).start()

    def start(self, argv: Sequence[str], name: str, *, lasting: bool, sacrifice: int = 0, **options: Any) -> Child:
        """Start a process in a session of its own, with closed standard input unless one is given.

        Parameters
        ----------
        argv : sequence of str
            Program and arguments; never a shell line.
        name : str
            For messages.
        lasting : bool
            The process outlives scripts: `end_strays` spares it and its descendants.
        sacrifice : int
            How much sooner than the server the kernel shall end it when memory runs out, 0 to 1000.
        **options
            Passed to `subprocess.Popen`.
        """
        with self._changed:
            stdin = options.pop("stdin", subprocess.DEVNULL)
            popen = subprocess.Popen(list(argv), stdin=stdin, start_new_session=True, **options)
            seen = read_process(popen.pid)
            child = Child(popen, name, (popen.pid, seen.start if seen is not None else -1))
            self._watched[popen.pid] = child
            with suppress(OSError):
                Path(f"/proc/{popen.pid}/oom_score_adj").write_text(str(sacrifice), encoding="ascii")
            self._started += 1
            if lasting:
                self._lasting.add(child.key)
            self._changed.notify_all()
        return child

    def wait(self, child: Child, seconds: float) -> int | None:
        """Wait for a child's end and return its code (negative: the signal); None when the time is over."""
        with self._changed:
            self._changed.wait_for(lambda: child.code is not None, timeout=seconds)
            return child.code

    def end(self, child: Child, seconds: float = 5.0) -> None:
        """Kill a child and wait for its end."""
        if child.code is None:
            _signal(child.pid, signal.SIGKILL)
            self.wait(child, seconds)

    def strays(self) -> list[Process]:
        """List descendants of the server that no lasting child accounts for."""
        return self._below(lambda top: top.key not in self._lasting)

    def end_strays(self, keep: set[tuple[int, int]], seconds: float = 10.0) -> bool:
        """Kill every stray process but those in `keep`, and what they started; True when none is left.

        Whatever a script forked, also into sessions of its own, hangs below the script or, orphaned, below the server,
        so no process can leave the set. They are stopped before they are killed: a fork bomb then stands still.
        """
        end = time.monotonic() + seconds
        empty = 0
        while True:
            found = self._below(lambda top: top.key not in self._lasting and top.key not in keep)
            # A parent that ends while the table is read hides its child for one reading: two empty ones are needed.
            empty = 0 if found else empty + 1
            if empty == 2:
                return True
            for number in (signal.SIGSTOP, signal.SIGKILL):
                for process in found:
                    _signal(process.pid, number)
            if time.monotonic() > end:
                return False
            with self._changed:
                self._changed.wait(0.005)

    def end_all(self) -> None:
        """Kill everything below the server."""
        self._lasting.clear()
        self.end_strays(set(), seconds=5.0)

    def _below(self, wanted: Callable[[Process], bool]) -> list[Process]:
        table = process_table()
        own = os.getpid()
        found = []
        for process in table.values():
            top: Process | None = process
            hops = 0
            while top is not None and top.parent != own and hops < 10_000:
                top = table.get(top.parent)
                hops += 1
            if top is not None and top.pid != own and wanted(top):
                found.append(process)
        return found

    def _reap(self) -> None:
        while True:
            with self._changed:
                started = self._started
            try:
                pid, status = os.waitpid(-1, 0)
            except ChildProcessError:
                with self._changed:
                    while self._started == started:
                        self._changed.wait()
                continue
            with self._changed:
                child = self._watched.pop(pid, None)
                if child is not None:
                    child.code = os.waitstatus_to_exitcode(status)
                    child.popen.returncode = child.code
                    self._lasting.discard(child.key)
                self._changed.notify_all()


def _signal(pid: int, number: int) -> None:
    try:
        os.kill(pid, number)
    except ProcessLookupError:
        pass
