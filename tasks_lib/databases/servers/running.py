"""Starting a database server on loopback, in a thread of this process, and stopping it again."""

from __future__ import annotations

import contextlib
import logging
import secrets
import socket
import threading
from collections.abc import Mapping
from pathlib import Path
from types import TracebackType
from typing import Self

import uvicorn

from tasks_lib.databases.servers._dialects import Served
from tasks_lib.databases.servers._edge import LONGEST_QUERY, Edge
from tasks_lib.databases.servers.dialect import Dialect
from tasks_lib.databases.servers.faults import FaultSettings
from tasks_lib.databases.servers.request_log import RequestLog, RequestRecord
from tasks_lib.databases.snapshot import Snapshot
from tasks_lib.records.errors import ConfigurationError, HarnessTimeoutError

HOST = "127.0.0.1"
_START_SECONDS = 30.0
_STOP_SECONDS = 10.0
# The client of the Materials Project refuses keys of any other length.
KEY_CHARACTERS = 32


class RunningServer:
    """A server that answers until it is closed; also a context manager.

    Attributes
    ----------
    dialect : Dialect
        What it speaks.
    port : int
        On 127.0.0.1.
    url : str
        With a slash at its end.
    digest : str
        Of the snapshot served, 64 hexadecimal digits.
    faults : FaultSettings
        What it does wrong, for the manifest.
    api_key : str or None
        The key that Materials Project's dialect asks for; None for the open dialects.
    """

    def __init__(
        self,
        dialect: Dialect,
        snapshot: Snapshot,
        *,
        port: int,
        faults: FaultSettings,
        api_key: str | None,
        log_path: Path | None,
    ) -> None:
        self.dialect = dialect
        self.digest = snapshot.digest
        self.faults = faults
        self.api_key = api_key
        self._socket = _listen(port)
        self.port: int = self._socket.getsockname()[1]
        self.url = f"http://{HOST}:{self.port}/"
        self._log = RequestLog(log_path)
        self._stack = contextlib.ExitStack()
        try:
            served = _app(dialect, snapshot, self.url, api_key, self._stack)
            self.endpoints: Mapping[str, str] = served.endpoints
            edge = Edge(
                served.app,
                name=snapshot.name,
                digest=self.digest,
                faults=faults,
                is_data=served.is_data,
                dialect=dialect,
                log=self._log,
            )
            self._server = uvicorn.Server(_uvicorn_settings(edge))
            self._thread = threading.Thread(target=self._serve, name=f"database {dialect} :{self.port}", daemon=True)
            self._ready = threading.Event()
            self._thread.start()
            self._wait_until_ready()
        except BaseException:
            self.close()
            raise

    def requests(self) -> list[RequestRecord]:
        """Return the last 10 000 requests, oldest first."""
        return self._log.records()

    def environment(self) -> dict[str, str]:
        """Return the environment variables that lead an unmodified client here."""
        if self.dialect is Dialect.MATERIALS_PROJECT:
            # The client reads part of its data from S3; these two lead boto3 and Delta tables here as well.
            open_data = {"AWS_ENDPOINT_URL": self.endpoints["open_data"], "AWS_ALLOW_HTTP": "true"}
            return {"MP_API_ENDPOINT": self.url, "MP_API_KEY": self.api_key or "", **open_data}
        if self.dialect is Dialect.OQMD:
            return {"oqmd_url": self.url.rstrip("/")}
        return {"OPTIMADE_BASE_URLS": " ".join(self.endpoints.values())}

    def close(self) -> None:
        """Stop answering, free the port and end the thread; a second call does nothing."""
        server, thread = getattr(self, "_server", None), getattr(self, "_thread", None)
        if server is not None and thread is not None and thread.is_alive():
            server.should_exit = True
            thread.join(_STOP_SECONDS)
            if thread.is_alive():
                server.force_exit = True
                thread.join(_STOP_SECONDS)
        self._socket.close()
        self._stack.close()
        self._log.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.close()

    def _serve(self) -> None:
        self._server.run(sockets=[self._socket])
        self._ready.set()

    def _wait_until_ready(self) -> None:
        # The socket listens already, so a first connection is answered as soon as the loop runs.
        try:
            with socket.create_connection((HOST, self.port), timeout=_START_SECONDS) as probe:
                probe.settimeout(_START_SECONDS)
                probe.sendall(b"HEAD /heartbeat HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
                if not probe.recv(1):
                    raise ConnectionError
        except OSError as error:
            msg = f"database server {self.dialect} did not answer on port {self.port} in {_START_SECONDS:g} s: {error}"
            raise HarnessTimeoutError(msg) from error


def start(
    dialect: Dialect | str,
    snapshot: Snapshot,
    port: int = 0,
    faults: FaultSettings | None = None,
    *,
    api_key: str | None = None,
    log: Path | None = None,
) -> RunningServer:
    """Serve a snapshot on 127.0.0.1 until the handle is closed.

    Parameters
    ----------
    dialect : Dialect or str
        ``mp``, ``oqmd`` or ``optimade``.
    snapshot : Snapshot
        What is served.
    port : int
        0 for a free one.
    faults : FaultSettings or None
        What to do wrong on purpose; None for nothing.
    api_key : str or None
        Materials Project only: the key to ask for, 32 characters; None makes one up.
    log : Path or None
        ``.jsonl`` file to which every request is appended.

    Returns
    -------
    RunningServer
        The handle, already answering.

    Raises
    ------
    ConfigurationError
        If the dialect is unknown, the port is taken, the key has another length, or the dialect has no such fault.
    HarnessTimeoutError
        If the server does not answer within 30 s.
    """
    try:
        spoken = Dialect(dialect)
    except ValueError as error:
        msg = f"a dialect is one of {', '.join(Dialect)}, got {dialect!r}: choose one of them"
        raise ConfigurationError(msg) from error
    faults = faults or FaultSettings()
    faults.check(spoken)
    if spoken is Dialect.MATERIALS_PROJECT:
        api_key = api_key or secrets.token_hex(KEY_CHARACTERS // 2)
        if len(api_key) != KEY_CHARACTERS or not api_key.isascii():
            msg = f"the client takes keys of {KEY_CHARACTERS} ASCII characters, got {len(api_key)}: give such a key"
            raise ConfigurationError(msg)
    elif api_key is not None:
        msg = f"dialect {spoken.value!r} asks for no key: leave api_key away"
        raise ConfigurationError(msg)
    return RunningServer(spoken, snapshot, port=port, faults=faults, api_key=api_key, log_path=log)


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


def _app(dialect: Dialect, snapshot: Snapshot, url: str, api_key: str | None, stack: contextlib.ExitStack) -> Served:
    # Each dialect pulls in its own libraries; a server of one does not pay for the others.
    if dialect is Dialect.MATERIALS_PROJECT:
        from tasks_lib.databases.servers import materials_project

        return materials_project.build(snapshot, url, api_key or "", stack)
    if dialect is Dialect.OQMD:
        from tasks_lib.databases.servers import oqmd

        return oqmd.build(snapshot, url, stack)
    from tasks_lib.databases.servers import optimade

    return optimade.build(snapshot, url, stack)


def _uvicorn_settings(app: Edge) -> uvicorn.Config:
    return uvicorn.Config(
        app,
        http="h11",  # ends a reply that broke off by closing, as a truncated body needs
        loop="asyncio",
        lifespan="off",
        access_log=False,
        log_config=None,
        log_level=logging.CRITICAL,
        limit_concurrency=64,
        h11_max_incomplete_event_size=2 * LONGEST_QUERY,
        timeout_graceful_shutdown=2,
    )
