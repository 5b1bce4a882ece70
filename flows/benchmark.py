"""The flow `benchmark`: what is missing of a run is played, then the whole is aggregated and reported."""

from __future__ import annotations

import asyncio
import logging
from pathlib import Path
from typing import Any

from prefect import flow
from prefect.client.schemas.objects import State
from prefect.states import Completed, Failed

from flows.artifacts import ProgressBar, publish_run
from flows.dispatch import play_deployed, play_inline
from flows.orders import Order
from flows.summaries import conclude_alone
from tasks_lib.episodes import (
    EPISODES_AT_ONCE,
    build_environments,
    check_models,
    outcome_of,
    read_manifest,
    without_verdict,
)
from tasks_lib.records import EpisodeSpec, RunSummary, VoidRecord
from tasks_lib.records.errors import ConfigurationError
from tasks_lib.store import Store

_LOG = logging.getLogger(__name__)

# The state of a run that was not started, as its settings or its models are not fit: a summary is of an earlier time.
REFUSED = "Refused"


# Not persisted: a retry must run the body again, also of a run that was completed.
@flow(name="benchmark", flow_run_name="{run_id}", persist_result=False)
async def benchmark(
    store_url: str,
    run_id: str,
    taskdefs: str,
    models_file: str | None = None,
    concurrency: int = EPISODES_AT_ONCE,
    executor: str = "deployments",
    episodes: list[str] | None = None,
    model_check: bool = True,
) -> State[Any]:
    """Play every episode of a run that has no verdict, aggregate, report.

    Ends Failed where an episode is VOID or not done: red, and its retry redoes these alone.

    Parameters
    ----------
    store_url, run_id : str
        The run; its manifest is in the store.
    taskdefs : str
        Root of the task definitions.
    models_file : str, optional
        The file with the models' tables.
    concurrency : int
        Episodes at once with the executor ``inline``; the runner has its own limit.
    executor : {"inline", "deployments"}
        Episodes as subflows of this process, or as flow runs of their deployments.
    episodes : list of str, optional
        Only these.
    model_check : bool
        Whether the models are tried first. Where one cannot do what its tasks need, nothing is played and the flow run
        ends `Refused`.
    """
    order = Order.of_flow(
        store_url=store_url, run_id=run_id, taskdefs=taskdefs, models_file=models_file, concurrency=concurrency,
        executor=executor, episodes=episodes, model_check=model_check,
    )  # fmt: skip
    try:
        return ending(await play_run(order))
    except ConfigurationError as error:
        return Failed(name=REFUSED, message=str(error))


async def play_run(order: Order) -> RunSummary:
    """Play, aggregate and publish a run in the present flow run.

    Raises
    ------
    ConfigurationError
        If the models are tried and one cannot do what its tasks need.
    """
    store = Store.open(order.store_url)
    manifest = await asyncio.to_thread(read_manifest, store, order.run_id)
    await asyncio.to_thread(build_environments, manifest, order.taskdefs_root, _LOG.warning)
    unjudged = await asyncio.to_thread(without_verdict, store, manifest)
    todo = [spec for spec in unjudged if not order.episodes or spec.id in order.episodes]
    if order.model_check:
        models_file = Path(order.models_file) if order.models_file else None
        await asyncio.to_thread(check_models, manifest, todo, order.taskdefs_root, models_file)
    done = len(manifest.episodes) - len(unjudged)
    progress = ProgressBar(order.run_id, len(todo) + done)
    await progress.start(done)

    voids: dict[str, VoidRecord] = {}

    async def ended(spec: EpisodeSpec, state: State[Any] | None) -> None:
        await progress.advance()
        if state is not None and state.is_failed() and await asyncio.to_thread(_unwritten, store, order.run_id, spec):
            voids[spec.id] = VoidRecord.model_validate(await state.aresult(raise_on_failure=False))

    play = play_inline if order.executor == "inline" else play_deployed
    await play(order, todo, ended)
    summary = await asyncio.to_thread(conclude_alone, store, order.run_id, order.taskdefs_root, voids)
    await publish_run(store, summary)
    return summary


def _unwritten(store: Store, run_id: str, spec: EpisodeSpec) -> bool:
    """Whether the store holds nothing of what an episode came to: a full disk."""
    return outcome_of(store, run_id, spec.id) is None


def ending(summary: RunSummary) -> State[Any]:
    """Return the state that a run's flow run ends in; its data is the summary, for the caller in this process."""
    text = f"{summary.done} of {len(summary.episodes)} episodes done, {summary.void} VOID, {summary.pending} not done"
    data = summary.model_dump(mode="json")
    return Failed(message=text, data=data) if summary.void or summary.pending else Completed(message=text, data=data)
