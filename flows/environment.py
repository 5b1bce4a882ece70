"""What Prefect is told through the environment, before it is first imported.

Prefect reads its settings once, at import. `apply` therefore runs first in every process of ours. What the user has
set stays as it is: only names that are absent are set.
"""

from __future__ import annotations

import os
import socket
from collections.abc import Mapping, MutableMapping
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from tasks_lib.records.errors import ConfigurationError
from tasks_lib.store import state_folder

Mode = Literal["inline", "serving"]

# Nothing leaves the machine, nothing is advertised.
_QUIET_OUTSIDE = {
    "DO_NOT_TRACK": "1",
    "PREFECT_SERVER_ANALYTICS_ENABLED": "false",
    "PREFECT_SERVER_UI_SHOW_PROMOTIONAL_CONTENT": "false",
    "PREFECT_CLI_PROMPT": "false",
}

# Events recorded one by one cost the server 46-54 ms of CPU per task run, in batches 14 ms.
_BATCHES = {
    "PREFECT_SERVER_SERVICES_TASK_RUN_RECORDER_READ_BATCH_SIZE": "50",
    "PREFECT_SERVER_SERVICES_TASK_RUN_RECORDER_BATCH_SIZE": "50",
    "PREFECT_SERVER_SERVICES_TASK_RUN_RECORDER_FLUSH_INTERVAL": "1",
    "PREFECT_SERVER_SERVICES_EVENT_PERSISTER_READ_BATCH_SIZE": "50",
    "PREFECT_SERVER_SERVICES_EVENT_PERSISTER_BATCH_SIZE": "50",
    "PREFECT_SERVER_SERVICES_EVENT_PERSISTER_FLUSH_INTERVAL": "1",
    "PREFECT_SERVER_SERVICES_TRIGGERS_READ_BATCH_SIZE": "50",
}

_BOTH = {
    "PREFECT_SERVER_API_HOST": "127.0.0.1",
    "PREFECT_SERVER_EPHEMERAL_STARTUP_TIMEOUT_SECONDS": "120",
    "PREFECT_RESULTS_PERSIST_BY_DEFAULT": "false",
    "PREFECT_RESULTS_DEFAULT_SERIALIZER": "json",
    "PREFECT_RUNNER_POLL_FREQUENCY": "2",
}

# `matassay run` shows a live table: one line of Prefect's log would tear it. Events, blocks and the UI are for a
# server that somebody looks at; task and flow runs are recorded all the same.
_INLINE = {
    "PREFECT_LOGGING_LEVEL": "CRITICAL",
    "PREFECT_LOGGING_TO_API_ENABLED": "false",
    "PREFECT_SERVER_LOGGING_LEVEL": "CRITICAL",
    "PREFECT_SERVER_UI_ENABLED": "false",
    "PREFECT_SERVER_REGISTER_BLOCKS_ON_START": "false",
    "PREFECT_SERVER_SERVICES_EVENT_PERSISTER_ENABLED": "false",
    "PREFECT_SERVER_SERVICES_TRIGGERS_ENABLED": "false",
}

# WARNING on the console: a Runner that loses its console pipe must not take an episode down with its next INFO line.
_SERVING = {
    "PREFECT_LOGGING_LEVEL": "INFO",
    "PREFECT_LOGGING_HANDLERS_CONSOLE_LEVEL": "WARNING",
    "PREFECT_LOGGING_EXTRA_LOGGERS": "tasks_lib,flows",
    "PREFECT_SERVER_LOGGING_LEVEL": "WARNING",
    "PREFECT_SERVER_SERVICES_DB_VACUUM_ENABLED": "events,flow_runs",
    "PREFECT_FLOWS_HEARTBEAT_FREQUENCY": "30",
}


@dataclass(frozen=True)
class State:
    """The folder that keeps what is no record: Prefect's home, the databases, the logs of our servers."""

    root: Path

    @property
    def prefect_home(self) -> Path:
        """Prefect's own folder."""
        return self.root / "prefect"

    @property
    def results(self) -> Path:
        """Where Prefect keeps the small references that tasks return."""
        return self.prefect_home / "results"

    @property
    def inline_database(self) -> Path:
        """The SQLite database of `matassay run`, kept between runs."""
        return self.prefect_home / "inline.db"

    @property
    def postgres(self) -> Path:
        """The data folder of the PostgreSQL server of `matassay serve`."""
        return self.root / "postgres"

    @property
    def logs(self) -> Path:
        """A log file for each program that we start."""
        return self.root / "logs"

    @property
    def served(self) -> Path:
        """Where `matassay serve` says at which address it answers, while it runs."""
        return self.root / "serve.json"

    def prepare(self) -> State:
        """Make the folders; nobody else may read them."""
        self.root.mkdir(parents=True, exist_ok=True, mode=0o700)
        for folder in (self.prefect_home, self.results, self.logs):
            folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        return self


def state(environ: Mapping[str, str] = os.environ) -> State:
    """Return the state folder: ``MATASSAY_STATE``, or ``.state`` in the working folder."""
    return State(state_folder(environ))


def settings_for(mode: Mode, where: State) -> dict[str, str]:
    """Return the environment that Prefect gets in a mode, without addresses.

    Parameters
    ----------
    mode : {"inline", "serving"}
        One process with a server of its own, or `matassay serve`.
    where : State
        The state folder.
    """
    own = _INLINE if mode == "inline" else _SERVING
    return {
        **_QUIET_OUTSIDE,
        **_BATCHES,
        **_BOTH,
        **own,
        "PREFECT_HOME": str(where.prefect_home),
        "PREFECT_RESULTS_LOCAL_STORAGE_PATH": str(where.results),
    }


def apply(values: Mapping[str, str], environ: MutableMapping[str, str] = os.environ) -> None:
    """Set what is not set."""
    for name, value in values.items():
        environ.setdefault(name, value)


def address(port: int) -> dict[str, str]:
    """Return the settings that name a server on this machine; the UI calls the port that it is told here."""
    return {
        "PREFECT_SERVER_API_PORT": str(port),
        "PREFECT_API_URL": f"http://127.0.0.1:{port}/api",
        "PREFECT_SERVER_UI_API_URL": f"http://127.0.0.1:{port}/api",
        "PREFECT_SERVER_CORS_ALLOWED_ORIGINS": f"http://127.0.0.1:{port},http://localhost:{port}",
    }


def listen(port: int = 0) -> socket.socket:
    """Bind and listen on loopback, so that the port is ours before anybody is told of it.

    Parameters
    ----------
    port : int
        The port wanted; 0 takes a free one.

    Raises
    ------
    ConfigurationError
        If the port is taken.
    """
    server = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    server.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        server.bind(("127.0.0.1", port))
    except OSError as error:
        server.close()
        msg = f"port {port} on 127.0.0.1 cannot be had ({error.strerror}): stop what holds it, or give another --port"
        raise ConfigurationError(msg) from error
    server.listen(128)
    return server
