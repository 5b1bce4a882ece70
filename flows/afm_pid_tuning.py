"""The flow `afm-pid-tuning`: gains are searched at a microscope, verified on fresh frames, and applied or put back.

Each scan is one task, named by its generation. The store says what is done: a flow run that was killed at any scan is
retried and goes on with the next one. Whatever ends it before its end, the instrument gets its previous gains.
"""

from __future__ import annotations

import asyncio
from typing import Any

from prefect import Task, flow, task
from prefect.cache_policies import NO_CACHE
from prefect.client.schemas.objects import State
from prefect.states import Completed, Failed
from prefect.utilities.annotations import quote

from flows.stoppable import stoppable
from flows.tuning_artifacts import publish_group, publish_result
from tasks_lib.instruments.tuning.bench import Bench, open_bench
from tasks_lib.instruments.tuning.extra import require_packages
from tasks_lib.instruments.tuning.folder import TuningFolder, last_memory
from tasks_lib.instruments.tuning.session import TuningFailedError, TuningSession, open_session
from tasks_lib.instruments.tuning.session_records import ScanPlan, TuningOrder, TuningResult
from tasks_lib.store import Store


@task(name="scan", task_run_name="{label}", persist_result=False, cache_policy=NO_CACHE)
async def scan(session: TuningSession, plan: ScanPlan, label: str) -> dict[str, Any]:
    """Make one scan and keep it; refers to its record.

    Cancelled, it stops the scan at the next line and waits until the instrument stands still.
    """
    record = await stoppable(session.scan, plan)
    # Nobody but a cancellation stops a scan here.
    assert record is not None  # noqa: S101
    return {"path": record.folder, "score": record.score}


@flow(name="afm-pid-tuning", flow_run_name="{tuning_id}", persist_result=False)
async def afm_pid_tuning(store_url: str, tuning_id: str, order: dict[str, Any] | None = None) -> State[Any]:
    """Do what is missing of a tuning.

    Completed where gains were verified and applied, or where the previous ones are as good; Failed, with the previous
    gains restored, where frames could not be judged.

    Parameters
    ----------
    store_url, tuning_id : str
        The tuning.
    order : dict, optional
        Fields of `TuningOrder`; without it the order is in the store already.
    """
    require_packages()
    folder = TuningFolder(Store.open(store_url), tuning_id)
    if order is not None:
        await asyncio.to_thread(folder.begin, TuningOrder.model_validate(order))
    try:
        result = await asyncio.to_thread(folder.read_result) or await _tune(folder)
    except TuningFailedError as error:
        return Failed(message=str(error), data=error)
    return Completed(message=result.message, data=result.model_dump(mode="json"))


async def _tune(folder: TuningFolder) -> TuningResult:
    order = await asyncio.to_thread(folder.order)
    bench = await asyncio.to_thread(open_bench, order, folder.tuning_id, last_memory(folder.scans()))
    try:
        return await _search(folder, bench)
    finally:
        bench.close()


async def _search(folder: TuningFolder, bench: Bench) -> TuningResult:
    # Not in a thread: a cancellation between the lease and this block would leave the instrument to nobody.
    with open_session(folder, bench) as session:
        one_scan: Task[..., Any] = scan
        before: list[State[Any]] = []
        while (group := await asyncio.to_thread(session.next_group)) is not None:
            states = []
            for plan in group.plans:
                # Every scan follows the whole group before it, so the graph shows one column a generation.
                state: State[Any] = await one_scan(
                    quote(session), quote(plan), plan.label, wait_for=before, return_state=True
                )
                await state.aresult()
                states.append(state)
            before = states
            await publish_group(session, group.name)
        result = await asyncio.to_thread(session.finish)
        await publish_result(session, result)
        return result
