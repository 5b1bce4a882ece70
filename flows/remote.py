"""A run on a server that is there: its flow run is created or armed anew, and watched from here."""

from __future__ import annotations

import asyncio

from prefect.client.orchestration import get_client
from prefect.client.schemas.filters import FlowRunFilter, FlowRunFilterIdempotencyKey
from prefect.client.schemas.objects import FlowRun
from prefect.deployments import arun_deployment
from prefect.exceptions import ObjectNotFound
from prefect.states import AwaitingRetry

from flows.benchmark import REFUSED
from flows.orders import Order
from tasks_lib.episodes import Event, Listener, RunOrder, outcome_of, read_manifest
from tasks_lib.records import Outcome, RunSummary, Verdict, VoidRecord, now
from tasks_lib.records.errors import ConfigurationError
from tasks_lib.store import RunFolder, Store

_POLL = 2.0


async def play_remotely(order: RunOrder, listener: Listener | None) -> RunSummary:
    """Have a run played by the deployments of `matassay serve` and return its summary.

    Raises
    ------
    ConfigurationError
        If the server has no such deployment, or ended the run without a summary.
    """
    store = Store.open(order.store_url)
    watch = _Watch(store, order, listener)
    async with get_client() as client:
        run = await _start(Order.of(order), read_manifest(store, order.run_id).benchmark)
        while True:
            run = await client.read_flow_run(run.id)
            await asyncio.to_thread(watch.look)
            if run.state is not None and run.state.is_final():
                break
            await asyncio.sleep(_POLL)
    if run.state.name == REFUSED:
        raise ConfigurationError(run.state.message)
    path = RunFolder(store, order.run_id).summary
    if not store.exists(path):
        msg = f"flow run {run.name} ended {run.state.name}: {run.state.message}; retry it in Prefect's UI"
        raise ConfigurationError(msg)
    return store.read_document(path, RunSummary)


async def _start(order: Order, benchmark: str) -> FlowRun:
    name = "prove" if benchmark == "prove" else "benchmark"
    # A part of a run is an order of its own; the whole run is one flow run for ever.
    key = order.run_id if not order.episodes else "/".join((order.run_id, *order.episodes, now().isoformat()))
    async with get_client() as client:
        found = await client.read_flow_runs(
            flow_run_filter=FlowRunFilter(idempotency_key=FlowRunFilterIdempotencyKey(any_=[key]))
        )
        if found:
            if found[0].state is not None and found[0].state.is_final():
                await client.set_flow_run_state(found[0].id, AwaitingRetry(), force=True)
            return found[0]
    try:
        return await arun_deployment(
            f"{name}/{name}",
            parameters=order.flow_parameters(),
            idempotency_key=key,
            timeout=0,
            tags=[f"run:{order.run_id}"],
            as_subflow=False,
        )
    except ObjectNotFound as error:
        msg = f"the Prefect server has no deployment {name}/{name}: start `matassay serve`, or use --executor inline"
        raise ConfigurationError(msg) from error


class _Watch:
    """Tells a listener of the episodes that have ended since it last looked; the store says which."""

    def __init__(self, store: Store, order: RunOrder, listener: Listener | None) -> None:
        self._store = store
        self._run_id = order.run_id
        self._listener = listener
        episodes = read_manifest(store, order.run_id).episodes
        self._open = [spec.id for spec in episodes if not order.episodes or spec.id in order.episodes]
        self._before = {name: outcome_of(store, order.run_id, name) for name in self._open}

    def look(self) -> None:
        """Look at every episode that has no new outcome yet."""
        for name in list(self._open):
            outcome = outcome_of(self._store, self._run_id, name)
            if outcome is None or outcome == self._before[name]:
                continue
            self._open.remove(name)
            if self._listener is not None:
                self._listener(self._event(name, outcome))

    def _event(self, name: str, outcome: Verdict | VoidRecord) -> Event:
        void = outcome if isinstance(outcome, VoidRecord) else None
        return Event(
            kind="episode-ended",
            run_id=self._run_id,
            episode_id=name,
            when=now(),
            outcome=Outcome.VOID if isinstance(outcome, VoidRecord) else outcome.outcome,
            reason=void.reason if void else None,
            phase=void.phase if void else None,
            message=outcome.message if isinstance(outcome, VoidRecord) else _points(outcome),
        )


def _points(verdict: Verdict) -> str:
    return f"{verdict.earned} of {verdict.points} points"
