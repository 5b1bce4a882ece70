"""Runs the readers of hostile files outside this process, with hard limits of time and memory."""

from __future__ import annotations

import atexit
import json
import os
import signal
import socket
import subprocess
import sys
import threading
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from tasks_lib.evaluation._registry import Unreadable
from tasks_lib.evaluation._zygote import LENGTH, receive
from tasks_lib.records import Json
from tasks_lib.records.errors import EvaluatorError, HarnessTimeoutError


@dataclass(frozen=True, slots=True)
class Limits:
    """What the reading of one file may cost.

    Attributes
    ----------
    cpu : int
        CPU time, s. Beyond it the file is at fault.
    memory : int
        Bytes on top of what the interpreter and its libraries have mapped.
    wall : float
        Wall clock, s. Beyond it our machine is at fault: the CPU limit comes first unless the machine stands still.
    """

    cpu: int = 20
    memory: int = 1 << 30
    wall: float = 300.0


class Cage:
    """A reading process; started when first needed and again where it has died.

    Parameters
    ----------
    package : str
        The package whose modules hold the readers.
    path : tuple of str
        Folders where the package is found, beside the one of this library.
    """

    def __init__(self, package: str, path: tuple[str, ...] = ()) -> None:
        self._package = package
        self._path = path
        self._lock = threading.Lock()
        self._process: subprocess.Popen[bytes] | None = None
        self._control: socket.socket | None = None
        self._owner = 0

    def _connect(self, module: str) -> socket.socket:
        with self._lock:
            if self._owner != os.getpid() or self._process is None or self._process.poll() is not None:
                self._start()
            ours, theirs = socket.socketpair()
            try:
                assert self._control is not None  # noqa: S101 - for mypy
                socket.send_fds(self._control, [f"{self._package}.{module}".encode()], [theirs.fileno()])
            except OSError as error:
                ours.close()
                msg = f"the reading process does not answer ({error}): run the evaluation again"
                raise EvaluatorError(msg) from error
            finally:
                theirs.close()
            return ours

    def run(self, reader: str, *blobs: bytes, limits: Limits | None = None, **arguments: Json) -> Json:
        """Run a reader, see `caged`."""
        limits = limits or Limits()
        module, function = reader.split(".")
        head = json.dumps(
            {
                "module": module,
                "function": function,
                "arguments": arguments,
                "sizes": [len(blob) for blob in blobs],
                "limits": asdict(limits),
            }
        ).encode()
        with self._connect(module) as connection:
            connection.settimeout(limits.wall + 30)
            try:
                connection.sendall(LENGTH.pack(len(head)) + head + b"".join(blobs))
                outcome = json.loads(receive(connection, LENGTH.unpack(receive(connection, LENGTH.size))[0]))
                answer = b"".join(iter(lambda: connection.recv(1 << 20), b""))
            except TimeoutError as error:
                msg = f"reader {reader} gave no answer within {limits.wall + 30:g} s: the machine is overloaded"
                raise HarnessTimeoutError(msg) from error
            except (EOFError, OSError) as error:
                msg = f"the process of reader {reader} ended without an answer: run the evaluation again"
                raise EvaluatorError(msg) from error
        return _unwrap(reader, limits, outcome, answer)

    def close(self) -> None:
        """End the process."""
        with self._lock:
            if self._owner != os.getpid():
                return
            if self._control is not None:
                self._control.close()
            if self._process is not None:
                self._process.wait(timeout=10)
            self._process = self._control = None

    def _start(self) -> None:
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        path = os.pathsep.join((str(Path(__file__).resolve().parents[2]), *self._path))
        start = f"from tasks_lib.evaluation._zygote import main; main({theirs.fileno()}, {self._package!r})"
        threads = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")
        # Nothing of our environment, so no key of ours, stands where hostile files are parsed.
        environment = {"PATH": os.defpath, "LANG": "C.UTF-8", "PYTHONPATH": path, "PYTHONHASHSEED": "0", **threads}
        self._process = subprocess.Popen(
            [sys.executable, "-c", start],
            pass_fds=[theirs.fileno()],
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
        theirs.close()
        self._control = ours
        self._owner = os.getpid()


def _unwrap(reader: str, limits: Limits, outcome: dict[str, Any], answer: bytes) -> Json:
    if outcome["ended"] == "wall":
        msg = f"reader {reader} got less than {limits.cpu} s of CPU time in {limits.wall:g} s: the machine stands still"
        raise HarnessTimeoutError(msg)
    if outcome["ended"]:
        msg = "what it holds is too large to be compared"
        raise Unreadable(msg)
    number = outcome["signal"]
    if number == signal.SIGKILL:  # the limits end a reader by other signals, so this came from outside
        msg = f"reader {reader} was killed from outside, as a machine does that is short of memory"
        raise HarnessTimeoutError(msg)
    if number == signal.SIGXCPU:
        msg = f"reading it takes more than {limits.cpu} s of CPU time"
        raise Unreadable(msg)
    if number:
        msg = f"it breaks the reader ({signal.Signals(number).name})"
        raise Unreadable(msg)
    if not answer:
        msg = f"reader {reader} ended with status {outcome['status']} and no answer"
        raise EvaluatorError(msg)
    found = json.loads(answer)
    if "unreadable" in found:
        raise Unreadable(found["unreadable"])
    if "bug" in found:
        msg = f"reader {reader} broke: {found['bug'].strip().splitlines()[-1]}"
        raise EvaluatorError(msg) from RuntimeError(found["bug"])
    return found["value"]


_CAGE = Cage("tasks_lib.evaluation.readers")
atexit.register(_CAGE.close)


def caged(reader: str, *blobs: bytes, limits: Limits | None = None, **arguments: Json) -> Json:
    """Run a reader on the agent's bytes in a process of its own.

    Parameters
    ----------
    reader : str
        ``module.function`` below ``tasks_lib.evaluation.readers``.
    *blobs : bytes
        What the reader parses.
    limits : Limits, optional
        What it may cost.
    **arguments
        Arguments of the reader, as JSON.

    Returns
    -------
    Json
        What the reader returns.

    Raises
    ------
    Unreadable
        Where the bytes are at fault: not of the format, or beyond a limit.
    EvaluatorError
        Where the reader has a bug.
    HarnessTimeoutError
        Where the machine gave the reader no CPU time.
    """
    return _CAGE.run(reader, *blobs, limits=limits, **arguments)
