"""State hooks: the second layer of a machine's teardown, after the episode's own ``finally``.

A hook may run in another process than the episode did (the Runner imports the flow anew), so it finds the machine by
the lease that carries the flow run's id. Prefect calls hooks by keyword: the parameters must have these very names.
"""

from __future__ import annotations

import asyncio
from typing import Any

from prefect import Flow
from prefect.client.schemas.objects import FlowRun, State
from prefect.logging.loggers import flow_run_logger

from flows.reaper import reap_flow_run, record_crash
from tasks_lib.store import Store


async def release_machines(flow: Flow[..., Any], flow_run: FlowRun, state: State[Any]) -> None:
    """End every machine that an episode's flow run still holds, and write down that it was cut off."""
    parameters = flow_run.parameters
    store_url, run_id, episode_id = (parameters.get(key) for key in ("store_url", "run_id", "episode_id"))
    if not (store_url and run_id and episode_id):
        return

    def clean_up() -> list[str]:
        store = Store.open(store_url)
        ended = reap_flow_run(store, run_id, episode_id, str(flow_run.id))
        record_crash(store, run_id, episode_id, str(flow_run.id), f"{state.name}: {state.message or 'no message'}")
        return ended

    for machine in await asyncio.to_thread(clean_up):
        flow_run_logger(flow_run, flow).warning("machine %s was still there and has been ended", machine)
