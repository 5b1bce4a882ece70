"""Programs that we start and that never outlive us: own process group, a lifeline, a log file, a sure end."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

import psutil

from tasks_lib.records.errors import HarnessTimeoutError


class Child:
    """A started program and its process group.

    Parameters
    ----------
    name : str
        What messages call it.
    module : str
        The module that is run; it calls `flows.lifeline.hold` first of all.
    arguments : sequence of str
    environ : mapping of str to str
        The whole environment of the program.
    log : Path
        Where its output goes, appended.
    pass_fds : sequence of int
        File descriptors that the program inherits.
    """

    def __init__(
        self,
        name: str,
        module: str,
        arguments: Sequence[str],
        *,
        environ: Mapping[str, str],
        log: Path,
        pass_fds: Sequence[int] = (),
    ) -> None:
        self.name = name
        self.log = log
        reader, self._lifeline = os.pipe()
        try:
            with log.open("ab") as output:
                self.process = subprocess.Popen(
                    [sys.executable, "-m", module, *arguments],
                    stdin=reader,
                    stdout=output,
                    stderr=subprocess.STDOUT,
                    env=dict(environ),
                    start_new_session=True,
                    pass_fds=tuple(pass_fds),
                )
        except BaseException:
            os.close(self._lifeline)
            raise
        finally:
            os.close(reader)

    @property
    def pid(self) -> int:
        """The process id, which is the id of its group too."""
        return self.process.pid

    def alive(self) -> bool:
        """Whether the program runs."""
        return self.process.poll() is None

    def wait(self, seconds: float) -> int:
        """Wait for the program's end and return its exit status.

        Raises
        ------
        HarnessTimeoutError
            If it still runs after that time.
        """
        try:
            return self.process.wait(seconds)
        except subprocess.TimeoutExpired as error:
            msg = f"{self.name} (process {self.pid}) still runs after {seconds:.0f} s: its log is {self.log}"
            raise HarnessTimeoutError(msg) from error

    def stop(self, grace: float = 20.0) -> None:
        """Ask the program to end, wait, then end its whole process group; safe to call twice."""
        if self.alive():
            self.process.terminate()
            try:
                self.process.wait(grace)
            except subprocess.TimeoutExpired:
                pass
        end_group(self.pid, grace=2.0)
        self.process.wait()
        if self._lifeline >= 0:
            os.close(self._lifeline)
            self._lifeline = -1

    def last_words(self, lines: int = 15) -> str:
        """Return the end of the program's log."""
        try:
            text = self.log.read_text(encoding="utf-8", errors="replace")
        except FileNotFoundError:
            return ""
        return "\n".join(text.splitlines()[-lines:])


def end_group(group: int, grace: float) -> None:
    """End what is left of a process group: SIGTERM, a grace time, SIGKILL."""
    for number, seconds in ((signal.SIGTERM, grace), (signal.SIGKILL, 5.0)):
        try:
            os.killpg(group, number)
        except ProcessLookupError:
            return
        deadline = time.monotonic() + seconds
        while members(group):
            if time.monotonic() > deadline:
                break
            time.sleep(0.05)
        else:
            return


def members(group: int) -> list[psutil.Process]:
    """Return the processes of a group that are not merely waiting to be reaped."""
    found = []
    for process in psutil.process_iter():
        try:
            if os.getpgid(process.pid) == group and process.status() != psutil.STATUS_ZOMBIE:
                found.append(process)
        except (ProcessLookupError, psutil.NoSuchProcess):
            continue
    return found
