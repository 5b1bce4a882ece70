"""A Prefect server of one's own for the length of a run: no service to start, nothing left behind.

A child program serves the API over SQLite on a socket that is bound before it starts, so its address is known at once
and requests wait in the socket's queue until it answers. It is started before anything else is planned and needs
3.5 s, in which this process imports Prefect, reads the tasks and writes the manifest.

The database is kept between runs. A second run at the same time works on a copy: two servers over one
SQLite file end in "database is locked", and to make an empty one anew takes twice as long as to start.
"""

from __future__ import annotations

import fcntl
import os
import shutil
import sqlite3
import tempfile
from collections.abc import Mapping
from contextlib import closing
from pathlib import Path
from types import TracebackType
from typing import IO, Self

from flows import environment
from flows.serving.children import Child


class InlineServer:
    """The child program and its database.

    Parameters
    ----------
    where : environment.State
        The state folder.
    environ : mapping of str to str
        The environment that the child inherits.
    """

    def __init__(self, where: environment.State, environ: Mapping[str, str] = os.environ) -> None:
        self._temporary: str | None = None
        self._lock: IO[bytes] | None = None
        database = self._database(where)
        listener = environment.listen()
        try:
            self.settings = {
                **environment.settings_for("inline", where),
                **environment.address(listener.getsockname()[1]),
                "PREFECT_SERVER_DATABASE_CONNECTION_URL": f"sqlite+aiosqlite:///{database}",
            }
            inherited = dict(environ)
            environment.apply(self.settings, inherited)
            # These are this server's own, whatever an earlier one of this process has left in the environment.
            own = ("PREFECT_HOME", "PREFECT_SERVER_DATABASE_CONNECTION_URL", *environment.address(0))
            inherited.update({name: self.settings[name] for name in own})
            self._child = Child(
                "Prefect's server",
                "flows.serving.webserver",
                [str(listener.fileno())],
                environ=inherited,
                log=where.logs / "inline-server.log",
                pass_fds=[listener.fileno()],
            )
        except BaseException:
            self._forget()
            raise
        finally:
            # Ours must go: the socket of a child that died has to refuse connections.
            listener.close()

    def _database(self, where: environment.State) -> Path:
        where.prepare()
        lock = where.inline_database.with_suffix(".lock").open("wb")
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            lock.close()
            self._temporary = tempfile.mkdtemp(prefix="matassay-prefect-")
            return _copy(where.inline_database, Path(self._temporary) / "inline.db")
        self._lock = lock
        return where.inline_database

    @property
    def url(self) -> str:
        """Address of the API."""
        return self.settings["PREFECT_API_URL"]

    @property
    def pid(self) -> int:
        """The child's process id."""
        return self._child.pid

    def alive(self) -> bool:
        """Whether the child runs."""
        return self._child.alive()

    def stop(self) -> None:
        """End the child and give up the database; safe to call twice."""
        self._child.stop(grace=10.0)
        self._forget()

    def _forget(self) -> None:
        if self._lock is not None:
            self._lock.close()
            self._lock = None
        if self._temporary is not None:
            shutil.rmtree(self._temporary, ignore_errors=True)
            self._temporary = None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()


def _copy(database: Path, to: Path) -> Path:
    """Copy a database that is in use; one that is not there yet is left to the server to make."""
    if database.exists():
        with closing(sqlite3.connect(database)) as source, closing(sqlite3.connect(to)) as target:
            source.backup(target)
    return to
