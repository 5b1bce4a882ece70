"""The engine behind the command line: runs a manifest as Prefect flows, here or on a server that is there."""

from __future__ import annotations

import asyncio
import atexit
import json
import os
from collections.abc import Callable, Coroutine, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, nullcontext
from typing import TYPE_CHECKING, Any, TypeVar

import httpx

from flows import environment
from tasks_lib.episodes import Listener, RunOrder, ServeOrder, listening, read_manifest
from tasks_lib.records import RunSummary
from tasks_lib.records.errors import ConfigurationError
from tasks_lib.store import Store

if TYPE_CHECKING:
    from flows.inline import InlineServer
    from tasks_lib.instruments.experiments import Report
    from tasks_lib.instruments.tuning.progress import ScanListener
    from tasks_lib.instruments.tuning.session_records import TuningResult

T = TypeVar("T")

# Longest wait for events that are still to be sent, s.
_DRAIN_SECONDS = 5.0


class PrefectEngine:
    """Runs and serves with Prefect; importing it does not import Prefect."""

    name = "prefect"

    def __init__(self) -> None:
        self._server: InlineServer | None = None

    def warm_up(self) -> None:
        """Start the server of an inline run, which needs some seconds, while the caller goes on planning."""
        if self._server is None and "PREFECT_API_URL" not in os.environ:
            from flows.inline import InlineServer

            self._server = InlineServer(environment.state())
            atexit.register(self.cool_down)

    def cool_down(self) -> None:
        """Stop what `warm_up` started."""
        if self._server is not None:
            self._server.stop()
            self._server = None
            atexit.unregister(self.cool_down)

    def run(self, order: RunOrder, listener: Listener | None = None) -> RunSummary:
        """Do what is missing of a run and return its summary.

        Raises
        ------
        ConfigurationError
            If the run is unknown, or no server is there for the executor ``deployments``.
        KeyboardInterrupt
            If the user interrupts: what is done is kept; with the executor ``deployments`` the run goes on there.
        """
        with listening(listener) if listener else nullcontext():
            return self._inline(_play, order) if order.executor == "inline" else self._run_deployed(order, listener)

    def _inline(self, work: Callable[..., Coroutine[Any, Any, T]], *arguments: Any) -> T:
        """Do work as flows of this process, with the server that was warmed up or the one that is configured."""
        self.warm_up()
        try:
            environment.apply(environment.settings_for("inline", environment.state()))
            with _settings(self._server.url if self._server else None, "inline"):
                try:
                    return asyncio.run(_alone(work, arguments, alone=self._server is not None))
                finally:
                    _forget_server()
        finally:
            self.cool_down()

    def _run_deployed(self, order: RunOrder, listener: Listener | None) -> RunSummary:
        self.cool_down()
        where = environment.state()
        environment.apply(environment.settings_for("serving", where))
        url = os.environ.get("PREFECT_API_URL") or served_url(where)
        with _settings(url, "serving"):
            from flows.remote import play_remotely

            return asyncio.run(play_remotely(order, listener))

    def tune(self, store_url: str, tuning_id: str, listener: ScanListener | None = None) -> TuningResult:
        """Do what is missing of the tuning of a microscope whose order is in the store, and return its result.

        Raises
        ------
        TuningFailedError
            If no gains hold; the previous ones are restored.
        KeyboardInterrupt
            If the user interrupts; what is done is kept, and the previous gains are restored.
        """
        from tasks_lib.instruments.tuning import progress

        with progress.listening(listener) if listener else nullcontext():
            return self._inline(_tune, store_url, tuning_id)

    def experiment(self, store_url: str, experiment_id: str) -> Report:
        """Do the experiment at a microscope whose order is in the store, and return its report.

        Raises
        ------
        ExperimentError
            If a frame is not valid, or does not hold what was looked for; the settings of before are restored.
        KeyboardInterrupt
            If the user interrupts; the settings of before are restored.
        """
        return self._inline(_experiment, store_url, experiment_id)

    def serve(self, order: ServeOrder) -> int:
        """Start database, server, deployments and runners, block until a signal comes; return the exit status."""
        from flows.serving.serve import serve

        return serve(order)


def served_url(where: environment.State) -> str:
    """Return the API's address of the `matassay serve` that runs on a state folder.

    Raises
    ------
    ConfigurationError
        If none runs there.
    """
    try:
        url = str(json.loads(where.served.read_text(encoding="utf-8"))["api_url"])
        httpx.get(f"{url}/health", timeout=5.0, trust_env=False)
    except (OSError, ValueError, KeyError, httpx.HTTPError) as error:
        msg = f"no `matassay serve` runs on {where.root}: start one, set PREFECT_API_URL, or use --executor inline"
        raise ConfigurationError(msg) from error
    return url


@contextmanager
def _settings(url: str | None, mode: environment.Mode) -> Iterator[None]:
    """Point Prefect at a server, also where it was imported, and its settings read, before."""
    from prefect import settings

    values: dict[Any, Any] = {settings.PREFECT_RESULTS_LOCAL_STORAGE_PATH: environment.state().prepare().results}
    if url:
        values[settings.PREFECT_API_URL] = url
    if mode == "inline":
        # Nobody watches for zombies of this process; None cannot be said by the environment.
        values |= {settings.PREFECT_FLOWS_HEARTBEAT_FREQUENCY: None, settings.PREFECT_LOGGING_TO_API_ENABLED: False}
    with settings.temporary_settings(values):
        yield


def _forget_server() -> None:
    """End what Prefect keeps for the life of a process: senders of events, takers of slots under tags' limits.

    They hold on to the server that they first met. In a second run of this process the taker of a tag that both runs
    have would ask the server of the first, which is gone.
    """
    from prefect.events.worker import EventsWorker

    # The register of these services is one for all their kinds.
    EventsWorker.drain_all(timeout=_DRAIN_SECONDS)


async def _alone(work: Callable[..., Coroutine[Any, Any, T]], arguments: tuple[Any, ...], *, alone: bool) -> T:
    """Do work; on a server of our own, what still counts as running there is left over from a killed process."""
    from flows.zombies import crash_all_running

    if alone:
        await crash_all_running("the process of this run was killed")
    return await work(*arguments)


async def _play(order: RunOrder) -> RunSummary:
    from flows.benchmark import benchmark
    from flows.orders import Order
    from flows.prove import prove

    # The phases block threads: with the loop's few, a machine could not be closed while all of them wait for agents.
    asyncio.get_running_loop().set_default_executor(ThreadPoolExecutor(4 * order.concurrency + 8))
    manifest = read_manifest(Store.open(order.store_url), order.run_id)
    flow = prove if manifest.benchmark == "prove" else benchmark
    state = await flow(**Order.of(order).flow_parameters(), return_state=True)
    return RunSummary.model_validate(await state.aresult(raise_on_failure=False))


async def _tune(store_url: str, tuning_id: str) -> TuningResult:
    from flows.afm_pid_tuning import afm_pid_tuning
    from tasks_lib.instruments.tuning.session_records import TuningResult

    state = await afm_pid_tuning(store_url, tuning_id, return_state=True)
    return TuningResult.model_validate(await state.aresult())


async def _experiment(store_url: str, experiment_id: str) -> Report:
    from flows.afm_experiments import afm_experiment
    from tasks_lib.instruments.experiments import Report

    state = await afm_experiment(store_url, experiment_id, return_state=True)
    return Report.model_validate(await state.aresult())
