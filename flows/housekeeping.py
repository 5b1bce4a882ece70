"""The flow `housekeeping`: machines whose lease has run out are ended, whoever started them."""

from __future__ import annotations

import asyncio

from prefect import flow
from prefect.artifacts import acreate_markdown_artifact
from prefect.client.schemas.objects import State
from prefect.states import Completed

from flows.reaper import Reaper
from tasks_lib.store import Store


@flow(name="housekeeping", persist_result=False)
async def housekeeping(store_url: str) -> State[None]:
    """Sweep a store once; `matassay serve` sweeps every minute by itself, this is for a machine without it."""
    ended = await asyncio.to_thread(Reaper(Store.open(store_url)).sweep)
    text = f"{len(ended)} machines were left behind" + (": " + ", ".join(ended) if ended else "")
    await acreate_markdown_artifact(text + "\n", key="housekeeping", description=text)
    return Completed(message=text)
