"""The flow `prove`: oracle, nop and near misses of tasks are played; the proofs that do not hold make it red."""

from __future__ import annotations

import asyncio
from typing import Any

from prefect import flow
from prefect.artifacts import acreate_table_artifact
from prefect.client.schemas.objects import State
from prefect.states import Completed, Failed

from flows.artifacts import key
from flows.benchmark import play_run
from flows.orders import Order
from tasks_lib.episodes import EPISODES_AT_ONCE, check_proofs, unproved
from tasks_lib.store import Store
from tasks_lib.taskdefs import load_all


@flow(name="prove", flow_run_name="{run_id}", persist_result=False)
async def prove(
    store_url: str,
    run_id: str,
    taskdefs: str,
    models_file: str | None = None,
    concurrency: int = EPISODES_AT_ONCE,
    executor: str = "deployments",
    episodes: list[str] | None = None,
    model_check: bool = True,
) -> State[Any]:
    """Play a manifest of proofs and check what each has to show; the parameters are those of `benchmark`."""
    order = Order.of_flow(
        store_url=store_url, run_id=run_id, taskdefs=taskdefs, models_file=models_file, concurrency=concurrency,
        executor=executor, episodes=episodes, model_check=model_check,
    )  # fmt: skip
    summary = await play_run(order)
    store = Store.open(order.store_url)
    tasks = await asyncio.to_thread(load_all, order.taskdefs_root)
    proofs = await asyncio.to_thread(check_proofs, store, order.run_id, tasks.tasks)
    await acreate_table_artifact(
        [vars(proof) for proof in proofs], key=key("run", order.run_id, "proofs"), description="proofs"
    )
    bad = unproved(proofs)
    text = f"{len(proofs) - len(bad)} of {len(proofs)} proofs hold"
    data = summary.model_dump(mode="json")
    if bad:
        return Failed(message=f"{text}; first: {bad[0].task_id}, {bad[0].player}: {bad[0].why}", data=data)
    return Completed(message=text, data=data)
