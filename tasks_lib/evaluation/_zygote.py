"""The process that parses what the agent wrote: it forks a child for each file and kills it at its limits.

It is started once by `tasks_lib.evaluation._cage`, imports a reader's libraries once, and then forks, which takes
milliseconds where a new interpreter with pymatgen would take seconds. Three processes stand in line: the zygote,
which only forks; a supervisor for each request; and the child that parses. The child's limits are of CPU time and
memory, so that a busy machine does not change a verdict; the supervisor's limit of wall-clock time is only for a
child that sleeps.
"""

from __future__ import annotations

import importlib
import json
import os
import resource
import select
import signal
import socket
import struct
import time
import traceback
from contextlib import suppress
from typing import Any, NoReturn

LENGTH = struct.Struct("!Q")
LARGEST_ANSWER = 256 * 1024 * 1024


def main(descriptor: int, package: str) -> None:
    """Serve the readers of `package` until the other end of the control socket is closed."""
    control = socket.socket(fileno=descriptor)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    while True:
        message, descriptors, _, _ = socket.recv_fds(control, 1024, 1)
        if not message:
            return
        with suppress(Exception):  # the child meets the same error and reports it
            importlib.import_module(message.decode("ascii"))
        if os.fork() == 0:
            control.close()
            _supervise(socket.socket(fileno=descriptors[0]), package)
        os.close(descriptors[0])


def receive(connection: socket.socket, size: int) -> bytes:
    """Read exactly `size` bytes; EOFError where the other end closes before."""
    parts: list[bytes] = []
    while size:
        part = connection.recv(min(size, 1 << 20))
        if not part:
            raise EOFError
        parts.append(part)
        size -= len(part)
    return b"".join(parts)


def _supervise(connection: socket.socket, package: str) -> NoReturn:
    try:
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        head = json.loads(receive(connection, LENGTH.unpack(receive(connection, LENGTH.size))[0]))
        blobs = [receive(connection, size) for size in head["sizes"]]
        reading, writing = os.pipe()
        child = os.fork()
        if child == 0:
            os.close(reading)
            connection.close()
            _parse(head | {"package": package}, blobs, writing)
        os.close(writing)
        answer, ended = _gather(reading, connection, head["limits"]["wall"])
        if ended:
            os.kill(child, signal.SIGKILL)
        status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        outcome = {"ended": ended, "signal": -status if status < 0 else 0, "status": max(status, 0)}
        line = json.dumps(outcome).encode()
        connection.sendall(LENGTH.pack(len(line)) + line + (b"" if ended else answer))
    finally:
        os._exit(0)


def _gather(reading: int, connection: socket.socket, wall: float) -> tuple[bytes, str]:
    deadline = time.monotonic() + wall
    parts: list[bytes] = []
    size = 0
    while True:
        left = deadline - time.monotonic()
        if left <= 0:
            return b"", "wall"
        ready, _, _ = select.select([reading, connection.fileno()], [], [], left)
        if connection.fileno() in ready:  # the asking process sends nothing more, so this is its end
            return b"", "orphan"
        if reading in ready:
            part = os.read(reading, 1 << 20)
            if not part:
                return b"".join(parts), ""
            parts.append(part)
            size += len(part)
            if size > LARGEST_ANSWER:
                return b"", "answer"


def _parse(head: dict[str, Any], blobs: list[bytes], writing: int) -> NoReturn:
    try:
        answer = json.dumps(_answer(head, blobs), allow_nan=False)
    except MemoryError:
        answer = json.dumps({"unreadable": _too_much_memory(head)})
    except Exception:  # noqa: BLE001 - whatever it is, the asking process must hear of it
        answer = json.dumps({"bug": traceback.format_exc()})
    with os.fdopen(writing, "wb") as out:
        out.write(answer.encode())
    os._exit(0)


def _answer(head: dict[str, Any], blobs: list[bytes]) -> dict[str, Any]:
    from tasks_lib.evaluation._registry import Unreadable
    from tasks_lib.records import clean_json

    limits = head["limits"]
    with open("/proc/self/statm", encoding="ascii") as file:  # noqa: PTH123 - pathlib would be one more import
        mapped = int(file.read().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (mapped + limits["memory"],) * 2)
    resource.setrlimit(resource.RLIMIT_CPU, (limits["cpu"], limits["cpu"] + 1))
    resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    try:
        function = getattr(importlib.import_module(f"{head['package']}.{head['module']}"), head["function"])
        return {"value": clean_json(function(*blobs, **head["arguments"]))}
    except Unreadable as reason:
        return {"unreadable": str(reason)}
    except MemoryError:
        return {"unreadable": _too_much_memory(head)}
    except RecursionError:
        return {"unreadable": "it is nested too deeply to be read"}


def _too_much_memory(head: dict[str, Any]) -> str:
    return f"reading it takes more than {head['limits']['memory'] // 2**20} MiB of memory"
