"""A script of the agent, run in the episode's Python environment or by Veusz, and ended with all that it started.

Veusz runs a document that it exports as plain Python: its safe mode guards the window, not the command line. So both
kinds are hostile code, and the machine's walls are what holds them.
"""

from __future__ import annotations

import os
import shutil
import threading
import time
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import IO, Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from .excerpts import Ends
from .faults import RefusedError
from .files import WorkFolder
from .processes import Child, Children

OUTPUT_BYTES = 64 * 1024
MAX_SCRIPT_CHARACTERS = 1_000_000
_NAME = r"^[A-Za-z0-9][A-Za-z0-9_.-]{0,79}$"
_POLL = 0.2
_VEUSZ_NOTES = ("VO table import:", "SAMP:")  # what Veusz says of optional modules at each start
_FREE_BYTES = 512 * 1024 * 1024  # a script ends before it fills the host's disk


class ScriptRequest(BaseModel):
    """What is to run."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    text: str = Field(max_length=MAX_SCRIPT_CHARACTERS)
    kind: Literal["python", "veusz"] = "python"
    name: str = Field(default="script", pattern=_NAME)
    seconds: float = Field(default=120.0, gt=0, le=86_400)


@dataclass(frozen=True, slots=True)
class Outcome:
    """How a script went; `returncode` is negative where a signal ended it."""

    stdout: str
    stderr: str
    returncode: int
    timed_out: bool
    truncated: bool
    seconds: float

    def as_dict(self) -> dict[str, Any]:
        """Return the outcome as JSON can hold it."""
        return asdict(self)


class Scripts:
    """Runs one script at a time.

    Parameters
    ----------
    children, files, python
        Process table, work folder, and the interpreter of the episode's environment.
    environment : mapping
        Environment of the scripts.
    """

    def __init__(self, children: Children, files: WorkFolder, python: str, environment: Mapping[str, str]) -> None:
        self._children = children
        self._files = files
        self._python = python
        self._environment = dict(environment)
        self._one = threading.Lock()

    def run(self, request: ScriptRequest) -> Outcome:
        """Write the script into the work folder and run it there.

        Raises
        ------
        RefusedError
            If another script runs, Veusz is missing, or a process of the script cannot be ended (``broken``).
        """
        if not self._one.acquire(blocking=False):
            msg = "another script still runs on this machine: wait for its end"
            raise RefusedError(msg)
        try:
            return self._run(request)
        finally:
            self._one.release()

    def _run(self, request: ScriptRequest) -> Outcome:
        step = self._step(request)
        keep = {process.key for process in self._children.strays()}
        began = time.monotonic()
        read_out, write_out = os.pipe()
        read_err, write_err = os.pipe()
        try:
            child = self._children.start(
                step.argv,
                request.name,
                lasting=False,
                sacrifice=800,
                cwd=self._files.root,
                env=step.environment,
                stdout=write_out,
                stderr=write_err,
            )
        except OSError as problem:
            os.close(read_out)
            os.close(read_err)
            msg = f"the script cannot be started: {problem}"
            raise RefusedError(msg, "broken") from problem
        finally:
            os.close(write_out)
            os.close(write_err)
        out, err = _Capture(os.fdopen(read_out, "rb")), _Capture(os.fdopen(read_err, "rb"))
        ended, full = self._wait(child, began + request.seconds)
        gone = self._children.end_strays(keep)
        code = self._children.wait(child, 5.0)
        out.finish()
        err.finish()
        if not gone or code is None:
            msg = f"processes of the script {request.name!r} do not end: the machine is not usable any more"
            raise RefusedError(msg, "broken")
        stdout, stderr = out.text(), err.text()
        if step.makes:
            # Veusz runs the document once for each picture, and says everything again.
            stdout, stderr = _once(stdout), _once(stderr)
            missing = [name for name in step.makes if not (self._files.root / name).is_file()]
            # Its own exit code is 0 whatever goes wrong in a document.
            if ended and code == 0 and (missing or "Traceback (most recent call last)" in stderr):
                code = 1
                stderr += f"\nVeusz met errors; pictures that it did not export: {', '.join(missing) or 'none'}.\n"
        if full:
            stderr += "\nThe script was ended: the disk is nearly full; write less.\n"
        return Outcome(
            stdout=stdout,
            stderr=stderr,
            returncode=code,
            timed_out=not ended and not full,
            truncated=out.truncated or err.truncated,
            seconds=time.monotonic() - began,
        )

    def _wait(self, child: Child, end: float) -> tuple[bool, bool]:
        """Wait for the script itself; return whether it ended, and whether the disk ran full."""
        while True:
            left = end - time.monotonic()
            if left <= 0:
                return child.code is not None, False
            if self._children.wait(child, min(left, _POLL)) is not None:
                return True, False
            if shutil.disk_usage(self._files.root).free < _FREE_BYTES:
                return False, True

    def _step(self, request: ScriptRequest) -> _Step:
        data = request.text.encode("utf-8", "replace")
        if request.kind == "python":
            name = f"{request.name.removesuffix('.py')}.py"
            self._files.write(name, data)
            binary = str(Path(self._python).parent)
            more = {"PATH": f"{binary}:{self._environment['PATH']}", "PYTHONUNBUFFERED": "1"}
            return _Step([self._python, name], self._environment | more)
        veusz = shutil.which("veusz", path=self._environment["PATH"])
        if veusz is None:
            msg = "Veusz is not installed on the machine: install the system package veusz"
            raise RefusedError(msg, "no-desktop")
        stem = request.name.removesuffix(".vsz")
        self._files.write(f"{stem}.vsz", data)
        pictures = (f"{stem}.pdf", f"{stem}.png")
        for picture in pictures:
            self._files.remove(picture)  # one of an earlier document must not pass for this one's
        argv = [veusz, *(part for picture in pictures for part in ("--export", picture)), *2 * [f"{stem}.vsz"]]
        return _Step(argv, self._environment | {"QT_QPA_PLATFORM": "offscreen"}, makes=pictures)


@dataclass(frozen=True, slots=True)
class _Step:
    """The process of a script; `makes` are files that must be there afterwards."""

    argv: list[str]
    environment: dict[str, str]
    makes: tuple[str, ...] = ()


def _once(text: str) -> str:
    text = "".join(line for line in text.splitlines(keepends=True) if not line.startswith(_VEUSZ_NOTES))
    half = len(text) // 2
    return text[:half] if text[:half] == text[half:] else text


class _Capture:
    """Reads a pipe to its end and keeps `OUTPUT_BYTES` of it, half from its start and half from its end."""

    def __init__(self, stream: IO[bytes]) -> None:
        self._stream = stream
        self._kept = Ends(OUTPUT_BYTES)
        self._thread = threading.Thread(target=self._drain, name="capture", daemon=True)
        self._thread.start()

    def finish(self) -> None:
        """Wait for the end of the pipe; all its writers are gone by now."""
        self._thread.join(5.0)

    def text(self) -> str:
        """Return what was kept, bytes that are no UTF-8 replaced and what is missing marked."""
        return self._kept.text()

    @property
    def truncated(self) -> bool:
        """Whether something is missing."""
        return self._kept.is_cut

    def _drain(self) -> None:
        with self._stream:
            while True:
                piece = os.read(self._stream.fileno(), 65_536)
                if not piece:
                    return
                self._kept.add(piece)
