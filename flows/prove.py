"""The flow `prove`: oracle, nop and near misses of tasks are played; the proofs that do not hold make it red."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any

from prefect import flow
from prefect.artifacts import acreate_table_artifact
from prefect.client.schemas.objects import State
from prefect.states import Completed, Failed

from flows.artifacts import key
from flows.benchmark import play_run
from flows.orders import Order
from tasks_lib.episodes import Proof, check_proof, outcome_of, read_manifest, unproved
from tasks_lib.store import Store
from tasks_lib.taskdefs import load_all


@flow(name="prove", flow_run_name="{run_id}", persist_result=False)
async def prove(
    store_url: str,
    run_id: str,
    taskdefs: str,
    models_file: str | None = None,
    concurrency: int = 2,
    executor: str = "deployments",
    episodes: list[str] | None = None,
) -> State[Any]:
    """Play a manifest of proofs and check what each has to show; the parameters are those of `benchmark`."""
    order = Order.of_flow(store_url, run_id, taskdefs, models_file, concurrency, executor, episodes)
    summary = await play_run(order)
    proofs = await asyncio.to_thread(check_all, order)
    await acreate_table_artifact(
        [vars(proof) for proof in proofs], key=key("run", order.run_id, "proofs"), description="proofs"
    )
    bad = unproved(proofs)
    text = f"{len(proofs) - len(bad)} of {len(proofs)} proofs hold"
    data = summary.model_dump(mode="json")
    if bad:
        return Failed(message=f"{text}; first: {bad[0].task_id}, {bad[0].player}: {bad[0].why}", data=data)
    return Completed(message=text, data=data)


def check_all(order: Order) -> Sequence[Proof]:
    """Check every episode of a manifest of proofs by what is in the store, those that do not hold first."""
    store = Store.open(order.store_url)
    tasks = {loaded.id: loaded.task for loaded in load_all(order.taskdefs_root).tasks}
    proofs = [
        check_proof(tasks[spec.task_id], spec, outcome_of(store, order.run_id, spec.id))
        for spec in read_manifest(store, order.run_id).episodes
        if spec.task_id in tasks
    ]
    return sorted(proofs, key=lambda proof: (proof.holds, proof.task_id, proof.player, proof.trial))
