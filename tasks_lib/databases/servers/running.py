"""Starting a database server on loopback, in a thread of this process, and stopping it again."""

from __future__ import annotations

import contextlib
import secrets
from collections.abc import Mapping
from pathlib import Path
from types import TracebackType
from typing import Self

from tasks_lib.databases.servers._dialects import Served, client_environment
from tasks_lib.databases.servers._edge import Edge
from tasks_lib.databases.servers._loopback import Loopback
from tasks_lib.databases.servers.dialect import Dialect
from tasks_lib.databases.servers.faults import FaultSettings
from tasks_lib.databases.servers.request_log import RequestLog, RequestRecord
from tasks_lib.databases.snapshot import Snapshot
from tasks_lib.records.errors import ConfigurationError

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
        self._loopback = Loopback(port)
        self.port = self._loopback.port
        self.url = self._loopback.url
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
            self._loopback.serve(edge, dialect)
        except BaseException:
            self.close()
            raise

    def requests(self) -> list[RequestRecord]:
        """Return the last requests, 10 000 at most, oldest first."""
        return self._log.records()

    def environment(self) -> dict[str, str]:
        """Return the environment variables that lead an unmodified client here."""
        return client_environment(self.dialect, self.url, self.endpoints, self.api_key)

    def close(self) -> None:
        """Stop answering, free the port and end the thread; a second call does nothing."""
        self._loopback.close()
        self._stack.close()
        self._log.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.close()


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
    spoken = Dialect.named(dialect)
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
