"""The flow `housekeeping`: machines whose lease has run out are ended, whoever started them."""

from __future__ import annotations

import asyncio

from prefect import flow
from prefect.artifacts import acreate_markdown_artifact
from prefect.client.schemas.objects import State
from prefect.states import Completed

from flows.reaper import Reaper
from flows.zombies import crash_flow_runs
from tasks_lib.store import Store


@flow(name="housekeeping", persist_result=False)
async def housekeeping(store_url: str) -> State[None]:
    """Sweep a store once; `matassay serve` sweeps every minute by itself, this is for a machine without it."""
    taken = await asyncio.to_thread(Reaper(Store.open(store_url)).sweep)
    await crash_flow_runs(lease.flow_run_id for lease in taken)
    text = f"{len(taken)} leases had run out" + "".join(f"\n- {lease.resource}" for lease in taken)
    await acreate_markdown_artifact(text + "\n", key="housekeeping")
    return Completed(message=text.splitlines()[0])
