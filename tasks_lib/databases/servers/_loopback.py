"""A port on loopback and the thread that answers on it: what every server of this room is run by."""

from __future__ import annotations

import logging
import socket
import threading

import uvicorn
from starlette.types import ASGIApp

from tasks_lib.databases.servers._edge import LONGEST_QUERY
from tasks_lib.records.errors import ConfigurationError, HarnessTimeoutError

HOST = "127.0.0.1"
_START_SECONDS = 30.0
_STOP_SECONDS = 10.0


class Loopback:
    """A port that is taken at once, so that an app can be told its address before it is made.

    Parameters
    ----------
    port : int
        0 for a free one.

    Raises
    ------
    ConfigurationError
        If the port is taken or is none.
    """

    def __init__(self, port: int) -> None:
        self._socket = _listen(port)
        self.port: int = self._socket.getsockname()[1]
        self.url = f"http://{HOST}:{self.port}/"
        self._server: uvicorn.Server | None = None
        self._thread: threading.Thread | None = None

    def serve(self, app: ASGIApp, name: str, *, probe: str = "/heartbeat") -> None:
        """Answer with an app, in a thread of its own, from now on; `probe` is asked once to see that it does.

        Raises
        ------
        HarnessTimeoutError
            If nothing is answered within 30 s.
        """
        server = uvicorn.Server(_settings(app))
        self._server = server
        self._thread = threading.Thread(
            target=lambda: server.run(sockets=[self._socket]), name=f"database {name} :{self.port}", daemon=True
        )
        self._thread.start()
        # The socket listens already, so a first connection is answered as soon as the loop runs.
        try:
            with socket.create_connection((HOST, self.port), timeout=_START_SECONDS) as connection:
                connection.settimeout(_START_SECONDS)
                ask = f"HEAD {probe} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"
                connection.sendall(ask.encode("ascii"))
                if not connection.recv(1):
                    raise ConnectionError
        except OSError as error:
            msg = f"database server {name} did not answer on port {self.port} in {_START_SECONDS:g} s: {error}"
            raise HarnessTimeoutError(msg) from error

    def close(self) -> None:
        """Stop answering, free the port and end the thread; a second call does nothing."""
        if self._server is not None and self._thread is not None and self._thread.is_alive():
            self._server.should_exit = True
            self._thread.join(_STOP_SECONDS)
            if self._thread.is_alive():
                self._server.force_exit = True
                self._thread.join(_STOP_SECONDS)
        self._socket.close()


def _listen(port: int) -> socket.socket:
    # With the protocol named, asyncio sends small replies at once; else each waits 40 ms for an acknowledgement.
    listening = socket.socket(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    try:
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listening.bind((HOST, port))
        listening.listen(128)
    except (OSError, OverflowError) as error:
        listening.close()
        msg = f"a database server cannot listen on {HOST}:{port} ({error}): choose another port, or 0 for a free one"
        raise ConfigurationError(msg) from error
    return listening


def _settings(app: ASGIApp) -> uvicorn.Config:
    return uvicorn.Config(
        app,
        http="h11",  # ends a reply that broke off by closing, as a truncated body needs
        loop="asyncio",
        lifespan="off",
        access_log=False,
        log_config=None,
        log_level=logging.CRITICAL,
        ws="none",
        limit_concurrency=32,
        h11_max_incomplete_event_size=2 * LONGEST_QUERY,
        timeout_graceful_shutdown=2,
    )
