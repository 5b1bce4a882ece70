"""The places at endpoints that calls of this machine hold, in a file that its processes share."""

from __future__ import annotations

import errno
import sqlite3
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from tasks_lib.models.pace import Pace
from tasks_lib.records.errors import StoreError
from tasks_lib.store import new_owner, owner_has_died

# No call lasts longer than an hour (`ModelSettings.read_seconds`): an older place is of an owner that cannot be seen.
OLDEST_PLACE = 7200.0
# Transactions here take less than a millisecond.
_LOCK_SECONDS = 10.0
_TABLES = """
CREATE TABLE IF NOT EXISTS endpoint (
    name TEXT PRIMARY KEY, allowed REAL NOT NULL, doubling INTEGER NOT NULL, epoch INTEGER NOT NULL,
    closed_until REAL NOT NULL, used REAL NOT NULL
) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS place (
    id INTEGER PRIMARY KEY AUTOINCREMENT, endpoint TEXT NOT NULL, owner TEXT NOT NULL, epoch INTEGER NOT NULL,
    entered REAL NOT NULL
);
CREATE INDEX IF NOT EXISTS place_by_endpoint ON place (endpoint);
"""


@dataclass(frozen=True, slots=True)
class Full:
    """No place is free; it is worth looking again after `pause` seconds, where that is known."""

    pause: float | None = None


class Places:
    """The file. Every change is one transaction that locks it, so that of many who want the last place one gets it.

    Parameters
    ----------
    path : Path
        The file; it and its folder are made. What is no such file is put aside.
    clock : callable
        Unix time, s: the one clock that all processes share.
    """

    def __init__(self, path: Path, clock: Callable[[], float] = time.time) -> None:
        self._path = path
        self._clock = clock
        self._owner = new_owner()
        self._lock = threading.Lock()
        with self._told():
            path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            try:
                self._connection = self._open()
            except sqlite3.OperationalError:
                raise
            except sqlite3.DatabaseError:
                # What was learnt of endpoints is no record: it is learnt again.
                path.replace(path.with_name(f"{path.name}.broken"))
                self._connection = self._open()

    def _open(self) -> sqlite3.Connection:
        connection = sqlite3.connect(self._path, timeout=_LOCK_SECONDS, isolation_level=None, check_same_thread=False)
        try:
            # Without a wait for the disk a commit costs some 20 µs; a power cut loses what nobody needs then.
            connection.execute("PRAGMA journal_mode = WAL")
            connection.execute("PRAGMA synchronous = OFF")
            connection.executescript(_TABLES)
        except BaseException:
            connection.close()
            raise
        return connection

    def take(self, endpoint: str, ceiling: int) -> int | Full:
        """Take a place, if one is free; places of processes that have died are free."""
        at = self._clock()
        with self._transaction() as run:
            pace = self._pace(run, endpoint)
            if pause := pace.pause(at):
                return Full(pause)
            pace = pace.entered(at)
            if self._busy(run, endpoint) >= pace.places(ceiling) and not self._sweep(run, endpoint, pace, ceiling, at):
                return Full()
            place = run.execute(
                "INSERT INTO place (endpoint, owner, epoch, entered) VALUES (?, ?, ?, ?)",
                (endpoint, self._owner, pace.epoch, at),
            ).lastrowid
            self._keep(run, endpoint, pace)
            return int(place or 0)

    def give_back(self, endpoint: str, place: int, ceiling: int, *, throttled: bool, retry_after: float | None) -> None:
        """Give a place back and learn from how the call ended."""
        with self._transaction() as run:
            found = run.execute("SELECT epoch FROM place WHERE id = ?", (place,)).fetchone()
            pace, busy = self._pace(run, endpoint), self._busy(run, endpoint)
            run.execute("DELETE FROM place WHERE id = ?", (place,))
            epoch = found[0] if found else -1
            if throttled:
                self._keep(run, endpoint, pace.refused(epoch, busy, self._clock(), retry_after))
            else:
                self._keep(run, endpoint, pace.went_well(busy, ceiling))

    def seen(self, endpoint: str) -> tuple[Pace, int]:
        """Return what is known of an endpoint, and how many places are taken."""
        with self._transaction() as run:
            return self._pace(run, endpoint), self._busy(run, endpoint)

    def close(self) -> None:
        """Close the file."""
        with self._lock:
            self._connection.close()

    def _sweep(self, run: sqlite3.Connection, endpoint: str, pace: Pace, ceiling: int, at: float) -> bool:
        """Free what nobody holds any more; return whether there is room then."""
        rows = run.execute("SELECT DISTINCT owner FROM place WHERE endpoint = ?", (endpoint,)).fetchall()
        dead = [(endpoint, owner) for (owner,) in rows if owner_has_died(owner)]
        run.executemany("DELETE FROM place WHERE endpoint = ? AND owner = ?", dead)
        run.execute("DELETE FROM place WHERE endpoint = ? AND abs(? - entered) > ?", (endpoint, at, OLDEST_PLACE))
        return self._busy(run, endpoint) < pace.places(ceiling)

    @staticmethod
    def _busy(run: sqlite3.Connection, endpoint: str) -> int:
        return int(run.execute("SELECT count(*) FROM place WHERE endpoint = ?", (endpoint,)).fetchone()[0])

    @staticmethod
    def _pace(run: sqlite3.Connection, endpoint: str) -> Pace:
        row = run.execute(
            "SELECT allowed, doubling, epoch, closed_until, used FROM endpoint WHERE name = ?", (endpoint,)
        ).fetchone()
        return Pace(row[0], bool(row[1]), row[2], row[3], row[4]) if row else Pace()

    @staticmethod
    def _keep(run: sqlite3.Connection, endpoint: str, pace: Pace) -> None:
        run.execute(
            "INSERT OR REPLACE INTO endpoint VALUES (?, ?, ?, ?, ?, ?)",
            (endpoint, pace.allowed, int(pace.doubling), pace.epoch, pace.closed_until, pace.used),
        )

    @contextmanager
    def _transaction(self) -> Iterator[sqlite3.Connection]:
        with self._lock, self._told():
            self._connection.execute("BEGIN IMMEDIATE")
            try:
                yield self._connection
                self._connection.execute("COMMIT")
            except BaseException:
                if self._connection.in_transaction:
                    self._connection.execute("ROLLBACK")
                raise

    @contextmanager
    def _told(self) -> Iterator[None]:
        """Say what is wrong with the file; a full disk is told as one."""
        try:
            yield
        except (sqlite3.Error, OSError) as error:
            code = getattr(error, "sqlite_errorname", "")
            full = code == "SQLITE_FULL" or getattr(error, "errno", None) in {errno.ENOSPC, errno.EDQUOT}
            advice = (
                "free some room there" if full else "see that it can be written; it may be deleted while nothing runs"
            )
            msg = f"the places at endpoints cannot be kept in {self._path}: {error}: {advice}"
            cause = OSError(errno.ENOSPC, msg) if full else error
            raise StoreError(msg) from cause
