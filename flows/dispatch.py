"""The executors: the episodes of a run in this process, or as flow runs of their deployments."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterable
from typing import Any
from uuid import UUID

from prefect.client.orchestration import PrefectClient, get_client
from prefect.client.schemas.filters import FlowRunFilter, FlowRunFilterId, FlowRunFilterIdempotencyKey
from prefect.client.schemas.objects import FlowRun, State
from prefect.context import tags
from prefect.deployments import arun_deployment
from prefect.exceptions import ObjectNotFound
from prefect.states import AwaitingRetry

from flows.episode import episode, mixed_episode
from flows.orders import Order, flow_of
from tasks_lib.records import EpisodeSpec
from tasks_lib.records.errors import ConfigurationError

# Called when an episode has ended, with its state where it was played in this process.
Ended = Callable[[EpisodeSpec, "State[Any] | None"], Awaitable[None]]

# Flow runs that are created and not yet ended: enough to keep every Runner busy, few enough that no row of a long run
# turns Late or fills the UI.
_IN_FLIGHT = 16
_POLL = 2.0
_PAGE = 200


async def play_inline(order: Order, specs: Iterable[EpisodeSpec], ended: Ended) -> None:
    """Play episodes as subflows of the present flow run, a bounded number at once."""
    slots = asyncio.Semaphore(order.concurrency)

    async def play(spec: EpisodeSpec) -> None:
        flow = mixed_episode if flow_of(spec) == "mixed-episode" else episode
        async with slots:
            await ended(spec, await flow(**order.parameters(spec), return_state=True))

    with tags(f"run:{order.run_id}"):
        async with asyncio.TaskGroup() as group:
            for spec in specs:
                group.create_task(play(spec))


async def play_deployed(order: Order, specs: Iterable[EpisodeSpec], ended: Ended) -> None:
    """Play episodes as flow runs of the deployments, created or armed anew, and wait for all of them.

    The idempotency key is run and episode: a parent that is retried finds the flow runs of its first try. One that is
    over without being completed is set to AwaitingRetry; its Runner takes it up again under the same id.

    Raises
    ------
    ConfigurationError
        If the deployments do not exist on this server.
    """
    waiting = list(specs)
    running: dict[UUID, EpisodeSpec] = {}
    async with get_client() as client:
        known = await _known(client, [idempotency_key(order, spec) for spec in waiting])
        while waiting or running:
            while waiting and len(running) < _IN_FLIGHT:
                spec = waiting.pop(0)
                run = await _started(client, order, spec, known.get(idempotency_key(order, spec)))
                running[run.id] = spec
            await asyncio.sleep(_POLL)
            for run in await _read(client, running):
                if run.state is not None and run.state.is_final():
                    await ended(running.pop(run.id), None)


def idempotency_key(order: Order, spec: EpisodeSpec) -> str:
    """Return the name under which Prefect knows the one flow run of an episode."""
    return f"{order.run_id}/{spec.id}"


async def _started(client: PrefectClient, order: Order, spec: EpisodeSpec, found: FlowRun | None) -> FlowRun:
    if found is not None:
        if found.state is not None and found.state.is_final():
            # Forced, as the UI's button does it: a Completed run whose verdict was deleted is to run again too.
            await client.set_flow_run_state(found.id, AwaitingRetry(), force=found.state.is_completed())
        return found
    name = flow_of(spec)
    try:
        return await arun_deployment(
            f"{name}/{name}",
            parameters=order.parameters(spec),
            idempotency_key=idempotency_key(order, spec),
            timeout=0,
            tags=[f"run:{order.run_id}", "matassay"],
            flow_run_name=spec.id,
            client=client,
        )
    except ObjectNotFound as error:
        msg = f"the Prefect server has no deployment {name}/{name}: start `matassay serve`, or use --executor inline"
        raise ConfigurationError(msg) from error


async def _known(client: PrefectClient, keys: list[str]) -> dict[str, FlowRun]:
    found: dict[str, FlowRun] = {}
    for start in range(0, len(keys), _PAGE):
        page = FlowRunFilter(idempotency_key=FlowRunFilterIdempotencyKey(any_=keys[start : start + _PAGE]))
        for run in await client.read_flow_runs(flow_run_filter=page, limit=_PAGE):
            if run.idempotency_key:
                found[run.idempotency_key] = run
    return found


async def _read(client: PrefectClient, running: dict[UUID, EpisodeSpec]) -> list[FlowRun]:
    return await client.read_flow_runs(
        flow_run_filter=FlowRunFilter(id=FlowRunFilterId(any_=list(running))), limit=_PAGE
    )
