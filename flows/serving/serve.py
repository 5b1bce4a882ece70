"""`matassay serve`: starts database, Prefect server, runners and reaper, watches them, and ends all of them."""

from __future__ import annotations

import asyncio
import fcntl
import json
import logging
import os
import signal
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path
from types import FrameType

import httpx

from flows import environment
from flows.serving import database
from flows.serving.children import Child
from flows.serving.settings import RunnerSettings
from tasks_lib.episodes import ServeOrder
from tasks_lib.records.errors import ConfigurationError, MatAssayError
from tasks_lib.store import Store

_log = logging.getLogger(__name__)

# Sweeps of the lease reaper, s.
_SWEEP = 60.0
# A program that dies this often within this time, s, is not started again: everything ends with its last words.
_MOST_DEATHS, _DEATHS_WITHIN = 5, 600.0


class Stopped(Exception):  # noqa: N818 - an event, not an error
    """A signal came while things were still being started."""


class House:
    """Everything that `matassay serve` keeps up.

    Parameters
    ----------
    order : ServeOrder
        What the command line says.
    say : callable
        Where remarks for the user go.
    """

    def __init__(self, order: ServeOrder, say: Callable[[str], None]) -> None:
        self._order = order
        self._say = say
        self._stop = threading.Event()
        self._sweep_now = threading.Event()
        self._where = environment.State(order.state.resolve())
        self._environ: dict[str, str] = {}
        self._starts: dict[str, Callable[[], Child]] = {}
        self._children: dict[str, Child] = {}
        self._deaths: dict[str, list[float]] = {}

    def run(self) -> int:
        """Start, keep up until a signal comes, stop; return the exit status."""
        with ExitStack() as stack:
            stack.enter_context(_signals(self._on_signal))
            stack.callback(self._end)
            try:
                self._start(stack)
            except Stopped:
                return 0
            return self._keep()

    def _on_signal(self, _: int, __: FrameType | None) -> None:
        self._stop.set()

    def _start(self, stack: ExitStack) -> None:
        where = self._where.prepare()
        stack.enter_context(_only_one(where))
        listener = environment.listen(self._order.port)
        # Kept open for a restart of the server: meanwhile requests wait in the socket's queue.
        stack.callback(listener.close)
        port = listener.getsockname()[1]
        settings = {**environment.settings_for("serving", where), **environment.address(port)}
        settings["PREFECT_SERVER_DATABASE_CONNECTION_URL"] = self._start_database(stack)
        auth = os.environ.get("PREFECT_SERVER_API_AUTH_STRING")
        if auth:
            settings["PREFECT_API_AUTH_STRING"] = auth
        # The addresses are ours whatever the user's environment says: this is the server that they name.
        os.environ.update({name: settings[name] for name in environment.address(port)})
        environment.apply(settings)
        self._environ = dict(os.environ)
        runner = RunnerSettings.of(self._order).model_dump_json()

        fd = listener.fileno()
        self._launch("server", "flows.serving.webserver", [str(fd), self._order.store_url], pass_fds=[fd])
        self._wait(lambda: _healthy(port, auth), "server", 180.0)
        self._ensure_automation()
        self._launch("episodes", "flows.serving.runner", ["episodes", runner])
        self._launch("parents", "flows.serving.runner", ["parents", runner])
        self._wait(lambda: _deployed(port, auth), "parents", 120.0)
        self._start_reaper(stack)
        self._record(port, stack)
        self._say(f"Prefect's UI: http://127.0.0.1:{port}\nstore: {self._order.store_url}\nCtrl-C stops everything")

    def _start_database(self, stack: ExitStack) -> str:
        if self._order.database_url:
            return self._order.database_url
        sockets = Path(tempfile.mkdtemp(prefix="matassay-pg-"))
        self._environ = dict(os.environ)
        self._launch("database", "flows.serving.database", [str(self._where.postgres), str(sockets)])
        self._wait(lambda: database.ready(sockets), "database", 60.0)
        return database.url(sockets)

    def _ensure_automation(self) -> None:
        from flows.serving import automations

        heartbeat = float(self._environ["PREFECT_FLOWS_HEARTBEAT_FREQUENCY"])
        asyncio.run(automations.ensure(automations.crash_zombies(heartbeat)))

    def _launch(self, name: str, module: str, arguments: list[str], pass_fds: list[int] | None = None) -> None:
        def start() -> Child:
            log = self._where.logs / f"{name}.log"
            return Child(name, module, arguments, environ=self._environ, log=log, pass_fds=pass_fds or ())

        self._starts[name] = start
        self._children[name] = start()

    def _wait(self, ready: Callable[[], bool], name: str, seconds: float) -> None:
        """Wait for a program to be ready; a signal or its death ends the wait."""
        deadline = time.monotonic() + seconds
        while not ready():
            if self._stop.wait(0.1):
                raise Stopped
            child = self._children[name]
            if not child.alive() or time.monotonic() > deadline:
                how = "ended" if not child.alive() else f"was not ready within {seconds:.0f} s"
                msg = f"{name} {how}; the end of {child.log}:\n{child.last_words()}"
                raise ConfigurationError(msg)

    def _keep(self) -> int:
        """Watch the programs; start one that died again, with everything that was left of it ended first."""
        while not self._stop.wait(0.5):
            for name, child in list(self._children.items()):
                if child.alive():
                    continue
                status = child.wait(1.0)
                if not self._may_restart(name):
                    self._say(f"{name} ended {_MOST_DEATHS} times; the end of {child.log}:\n{child.last_words()}")
                    return 1
                self._say(f"{name} ended with status {status} and is started again; its log is {child.log}")
                # What a killed runner leaves are episodes: they get their time to end their machines.
                child.stop()
                self._children[name] = self._starts[name]()
                self._sweep_now.set()
        return 0

    def _may_restart(self, name: str) -> bool:
        at = time.monotonic()
        recent = [death for death in self._deaths.get(name, []) if at - death < _DEATHS_WITHIN]
        self._deaths[name] = [*recent, at]
        return len(recent) + 1 < _MOST_DEATHS

    def _start_reaper(self, stack: ExitStack) -> None:
        from prefect.exceptions import PrefectException

        from flows.reaper import Reaper
        from flows.zombies import crash_flow_runs

        reaper = Reaper(Store.open(self._order.store_url))

        def sweep() -> None:
            while not self._stop.is_set():
                self._sweep_now.wait(_SWEEP)
                self._sweep_now.clear()
                try:
                    taken = reaper.sweep()
                    asyncio.run(crash_flow_runs(lease.flow_run_id for lease in taken))
                except (MatAssayError, OSError, httpx.HTTPError, PrefectException):
                    _log.exception("the lease reaper could not sweep; it tries again in %.0f s", _SWEEP)

        thread = threading.Thread(target=sweep, name="lease reaper", daemon=True)
        thread.start()
        stack.callback(thread.join, 5.0)
        stack.callback(self._sweep_now.set)
        stack.callback(self._stop.set)

    def _record(self, port: int, stack: ExitStack) -> None:
        stack.callback(self._where.served.unlink, missing_ok=True)
        content = {"api_url": f"http://127.0.0.1:{port}/api", "pid": os.getpid()}
        self._where.served.write_text(json.dumps(content) + "\n", encoding="utf-8", newline="\n")

    def _end(self) -> None:
        """Stop the runners first, together; then the server; the database last."""
        runners = [self._children[name] for name in ("episodes", "parents") if name in self._children]
        with ThreadPoolExecutor(max_workers=2) as pool:
            list(pool.map(Child.stop, runners))
        for name in ("server", "database"):
            if name in self._children:
                self._children[name].stop()


class _signals:  # noqa: N801 - a context manager
    """SIGINT, SIGTERM and SIGHUP call a handler while the block runs, also where a shell had them ignored."""

    def __init__(self, handler: Callable[[int, FrameType | None], None]) -> None:
        self._handler = handler

    def __enter__(self) -> None:
        numbers = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
        self._old = {number: signal.signal(number, self._handler) for number in numbers}

    def __exit__(self, *_: object) -> None:
        for number, old in self._old.items():
            signal.signal(number, old)


class _only_one:  # noqa: N801 - a context manager
    """Refuse a second `serve` on the same state folder: two servers over one database folder destroy it."""

    def __init__(self, where: environment.State) -> None:
        self._path = where.root / "serve.lock"

    def __enter__(self) -> None:
        self._file = self._path.open("w")
        try:
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            self._file.close()
            msg = f"another `matassay serve` uses {self._path.parent}: stop it, or give another --state"
            raise ConfigurationError(msg) from error

    def __exit__(self, *_: object) -> None:
        self._file.close()


def _client(port: int, auth: str | None) -> httpx.Client:
    user, _, password = (auth or "").partition(":")
    credentials = httpx.BasicAuth(user, password) if auth else None
    return httpx.Client(base_url=f"http://127.0.0.1:{port}/api", timeout=5.0, auth=credentials, trust_env=False)


def _healthy(port: int, auth: str | None) -> bool:
    with _client(port, auth) as client:
        try:
            return client.get("/health").status_code == httpx.codes.OK
        except httpx.HTTPError:
            return False


def _deployed(port: int, auth: str | None) -> bool:
    """Whether all deployments are known to the server."""
    names = ("episode", "mixed-episode", "benchmark", "prove", "nightly", "housekeeping")
    with _client(port, auth) as client:
        try:
            return all(client.get(f"/deployments/name/{name}/{name}").status_code == httpx.codes.OK for name in names)
        except httpx.HTTPError:
            return False


def serve(order: ServeOrder) -> int:
    """Run the house; remarks go to standard error."""
    return House(order, lambda text: print(text, file=sys.stderr, flush=True)).run()  # noqa: T201
