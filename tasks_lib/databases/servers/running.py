"""Starting a database server on loopback, in a thread of this process, and stopping it again."""

from __future__ import annotations

import contextlib
import secrets
from pathlib import Path

from tasks_lib.databases.servers._dialects import Served
from tasks_lib.databases.servers._edge import Edge
from tasks_lib.databases.servers.database_server import DatabaseServer
from tasks_lib.databases.servers.dialect import Dialect
from tasks_lib.databases.servers.faults import FaultSettings
from tasks_lib.databases.snapshot import Snapshot
from tasks_lib.records.errors import ConfigurationError

# The client of the Materials Project refuses keys of any other length.
KEY_CHARACTERS = 32


class RunningServer(DatabaseServer):
    """A server of a snapshot, already answering; see `start`."""

    digest: str

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
        super().__init__(dialect, port=port, faults=faults, api_key=api_key, log_path=log_path)
        self.digest = snapshot.digest
        self._stack = contextlib.ExitStack()
        try:
            served = _app(dialect, snapshot, self.url, api_key, self._stack)
            self.endpoints = served.endpoints
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

    def close(self) -> None:
        """Stop answering, free the port and what the app holds; a second call does nothing."""
        super().close()
        self._stack.close()


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
