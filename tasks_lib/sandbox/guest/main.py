"""The machine's first process: limits, desktop, control server, and the lifeline that ends it all."""

from __future__ import annotations

import argparse
import os
import resource
import signal
import sys
import threading
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from ._system import adopt_orphans, hide_memory, lower_limit
from .faults import RefusedError
from .processes import Children
from .settings import GuestSettings

if TYPE_CHECKING:
    from .forward import Forwarder

_MIB = 1024 * 1024
# Exit codes that the opener reads.
NO_DESKTOP = 69
BROKEN = 70


def main() -> None:
    """Read token and settings from standard input, serve on an inherited socket until that input ends."""
    parser = argparse.ArgumentParser(prog="guest")
    parser.add_argument("--machine", required=True, help="machine id, so that the process table shows it")
    parser.add_argument("--fd", type=int, required=True, help="listening socket, inherited")
    arguments = parser.parse_args()
    hide_memory()
    os.environ["MATASSAY_MACHINE"] = arguments.machine
    token = _read_line()
    settings = GuestSettings.model_validate_json(_read_line())
    os.set_inheritable(arguments.fd, False)
    adopt_orphans()
    _limit(settings)
    _make_folders(settings)
    children = Children()
    threading.Thread(target=_lifeline, args=(children,), name="lifeline", daemon=True).start()
    if os.getpid() == 1:
        # The kernel keeps process 1 from every signal that it has no handler for, so no script can end or stop it.
        signal.signal(signal.SIGINT, signal.SIG_DFL)
    else:
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, lambda *_: _end(children))
    try:
        _serve(arguments.fd, token, settings, children)
    except RefusedError as refusal:
        print(refusal.message, file=sys.stderr, flush=True)  # noqa: T201
        _end(children, NO_DESKTOP if refusal.kind == "no-desktop" else BROKEN)
    _end(children)


def _serve(descriptor: int, token: str, settings: GuestSettings, children: Children) -> None:
    from .desktop import base_environment
    from .files import WorkFolder
    from .scripts import Scripts

    session = None
    if settings.desktop:
        from .session import Session

        session = Session(settings, children)
    environment = base_environment(settings) if session is None else session.desktop.environment
    files = WorkFolder(Path(settings.work))
    scripts = Scripts(children, files, settings.python, environment | settings.variables)
    forwarder = _forward(settings)

    from werkzeug.serving import WSGIRequestHandler, make_server

    from .server import create_app

    class Quiet(WSGIRequestHandler):
        protocol_version = "HTTP/1.1"

        def log(self, type: str, message: str, *args: object) -> None:
            """Say nothing of requests: the trajectory records them."""

    app = create_app(token, settings, files, scripts, session)
    if session is not None:
        session.wait_until_ready()  # the imports above went on meanwhile
    server = make_server("unix://control", 0, app, threaded=True, request_handler=Quiet, fd=descriptor)
    try:
        server.serve_forever()
    finally:
        if forwarder is not None:
            forwarder.close()


def _forward(settings: GuestSettings) -> Forwarder | None:
    if not settings.endpoints:
        return None
    import asyncio

    from .forward import Forwarder, loopback_listener

    return Forwarder(
        [
            (loopback_listener(port), partial(asyncio.open_unix_connection, path))
            for port, path in sorted(settings.endpoints.items())
        ]
    )


def _limit(settings: GuestSettings) -> None:
    lower_limit(resource.RLIMIT_CORE, 0)
    lower_limit(resource.RLIMIT_FSIZE, settings.file_mb * _MIB)
    if settings.data_mb is not None:
        lower_limit(resource.RLIMIT_DATA, settings.data_mb * _MIB)
    if settings.processes is not None:
        lower_limit(resource.RLIMIT_NPROC, settings.processes)


def _make_folders(settings: GuestSettings) -> None:
    for name in ("tmp", "xdg"):
        (Path(settings.runtime) / name).mkdir(mode=0o700, parents=True, exist_ok=True)


def _read_line() -> str:
    """Read one line without taking a byte more than it."""
    line = bytearray()
    while not line.endswith(b"\n"):
        byte = os.read(0, 1)
        if not byte:
            sys.exit(
                "standard input ended before the token and the settings: the control server is started by its opener"
            )
        line += byte
    return line.decode().rstrip("\n")


def _lifeline(children: Children) -> None:
    """End everything when the opener's end of standard input closes, however the opener died."""
    while os.read(0, 4096):
        pass
    _end(children)


def _end(children: Children, code: int = 0) -> None:
    children.end_all()
    os._exit(code)
