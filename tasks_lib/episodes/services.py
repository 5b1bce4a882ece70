"""The databases that a stage may ask: servers on loopback, for as long as the machine lives.

They serve a frozen snapshot; in a live run they are relays before the public databases.

Each stage has servers of its own. What they do wrong on purpose then depends on this stage's requests alone, the list
of requests is this stage's evidence, and a new attempt meets a fresh database.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import ExitStack
from typing import TYPE_CHECKING, Any

from tasks_lib.episodes.live_databases import LIVE, Replies, check_recorded, shipped, start_live
from tasks_lib.episodes.work import EpisodeWork
from tasks_lib.records import Json, Provision, Stage
from tasks_lib.records.errors import ProvisionError, TaskError
from tasks_lib.sandbox import Computer, Machine
from tasks_lib.store import StageFolder, Store

if TYPE_CHECKING:
    from tasks_lib.databases.servers import DatabaseServer, FaultSettings

SETTING = "databases"
"""Key of the manifest's settings that says what the databases serve."""


def database_settings(faults: FaultSettings | None = None) -> dict[str, Json]:
    """Return what a manifest says of the databases of its run: which snapshot, and what goes wrong on purpose."""
    snapshot = shipped()
    return {
        "mode": "snapshot",
        "name": snapshot.name,
        "digest": snapshot.digest,
        "faults": {} if faults is None else faults.model_dump(mode="json", exclude_defaults=True),
    }


class Services:
    """The servers that a stage asks for by `Stage.endpoints`.

    Parameters
    ----------
    work : EpisodeWork
    stage : Stage
    folder : StageFolder or None
        Where a live run keeps the replies.

    Attributes
    ----------
    servers : dict of str to DatabaseServer
        By endpoint.

    Raises
    ------
    TaskError
        If an endpoint is no dialect.
    ProvisionError
        If the snapshot here is not the manifest's, or a live database cannot be asked.
    """

    def __init__(self, work: EpisodeWork, stage: Stage, folder: StageFolder | None = None) -> None:
        self.servers: dict[str, DatabaseServer] = {}
        self._stack = ExitStack()
        settings: dict[str, Any] = work.manifest.settings.get(SETTING) or {}
        with ExitStack() as undo:
            undo.callback(self._stack.close)
            replies = Replies(work.store, folder) if folder and settings.get("mode") == LIVE else None
            for name in stage.endpoints:
                server = _start(name, settings, replies)
                self._stack.callback(server.close)
                self.servers[name] = server
            undo.pop_all()

    @property
    def ports(self) -> dict[str, int]:
        """Ports on loopback, by endpoint."""
        return {name: server.port for name, server in self.servers.items()}

    @property
    def variables(self) -> dict[str, str]:
        """Environment variables that lead unmodified clients to the servers."""
        return {name: value for server in self.servers.values() for name, value in server.environment().items()}

    def check(self) -> None:
        """Refuse to go on where not every reply of a live database was kept.

        Raises
        ------
        StoreError
            If one is missing.
        """
        check_recorded(self.servers)

    def close(self, store: Store, folder: StageFolder) -> None:
        """Stop the servers and keep what they were asked as ``requests.<endpoint>.jsonl``; once."""
        asked = {name: server.requests() for name, server in self.servers.items()}
        self.servers = {}
        self._stack.close()
        for name, records in asked.items():
            lines = "".join(f"{record.model_dump_json()}\n" for record in records)
            store.write_bytes(folder.requests(name), lines.encode("utf-8"))


def _start(name: str, settings: Mapping[str, Any], replies: Replies | None) -> DatabaseServer:
    # Web framework and dialects take half a second to import: only runs with databases pay.
    from tasks_lib.databases.servers import Dialect, FaultSettings, start

    if name not in tuple(Dialect):
        msg = f"no service is called {name!r}: an endpoint of a stage is one of {', '.join(Dialect)}; mend the task"
        raise TaskError(msg)
    if replies is not None:
        return start_live(name, dict(settings), replies)
    snapshot = shipped()
    wanted = settings.get("digest", snapshot.digest)
    if wanted != snapshot.digest:
        msg = (
            f"the run was planned for database {settings.get('name')} with digest {wanted[:12]}, here is "
            f"{snapshot.name} with {snapshot.digest[:12]}: start a new run, or check out the data of that time"
        )
        raise ProvisionError(msg)
    return start(name, snapshot, faults=FaultSettings.model_validate(settings.get("faults") or {}))


class ServedMachine:
    """A machine with the databases that it reaches: they end with it. See `tasks_lib.sandbox.Machine`."""

    def __init__(self, machine: Machine, services: Services, store: Store, folder: StageFolder) -> None:
        self._machine = machine
        self._services = services
        self._place = (store, folder)
        self.id: str = machine.id
        self.computer: Computer = machine.computer
        self.provision: Provision = machine.provision
        self.variables = machine.variables
        self.pid = machine.pid
        self.start_time = machine.start_time

    def check(self) -> None:
        """Refuse to go on where the record of a live database is not whole: `StoreError`."""
        self._services.check()

    def close(self) -> None:
        """End the machine, then its databases; a second call does nothing more."""
        try:
            self._machine.close()
        finally:
            self._services.close(*self._place)
