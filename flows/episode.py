"""The flows `episode` and `mixed-episode`: one flow run an episode, so that the UI can retry a single one.

VOID ends the flow run Failed, with the reason in its message: it is red and can be retried. FAIL is a result like
PASS: the flow run is Completed.
"""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

from prefect import flow
from prefect.client.schemas.objects import State
from prefect.runtime import flow_run
from prefect.states import Completed, Failed

from flows.artifacts import publish_episode
from flows.hooks import release_machines
from flows.phases import task_phases
from flows.summaries import refresh_summary
from tasks_lib.episodes import EpisodeVoidError, load_work, run_episode
from tasks_lib.store import Store

_OPTIONS: dict[str, Any] = {
    "flow_run_name": "{episode_id}",
    "persist_result": False,
    "validate_parameters": True,
    "on_failure": [release_machines],
    "on_cancellation": [release_machines],
    "on_crashed": [release_machines],
}


@flow(name="episode", description="provision, initialise, act, collect, evaluate", **_OPTIONS)
async def episode(
    store_url: str, run_id: str, episode_id: str, taskdefs: str, models_file: str | None = None
) -> State[Any]:
    """Do what is missing of an episode with one stage."""
    return await _episode(store_url, run_id, episode_id, taskdefs, models_file)


@flow(name="mixed-episode", description="per stage: provision to hand-off; then evaluate", **_OPTIONS)
async def mixed_episode(
    store_url: str, run_id: str, episode_id: str, taskdefs: str, models_file: str | None = None
) -> State[Any]:
    """Do what is missing of an episode with several stages, each on a machine of its own."""
    return await _episode(store_url, run_id, episode_id, taskdefs, models_file)


async def _episode(store_url: str, run_id: str, episode_id: str, taskdefs: str, models_file: str | None) -> State[Any]:
    store, root = Store.open(store_url), Path(taskdefs)
    models = Path(models_file) if models_file else None
    try:
        verdict = await run_episode(
            store, run_id, episode_id, root, task_phases(), models_file=models, flow_run_id=str(flow_run.id)
        )
    except EpisodeVoidError as error:
        # The record travels with the state for the run in this process: a full disk may have refused it.
        outcome: State[Any] = Failed(message=str(error), data=error.record.model_dump(mode="json"))
    else:
        earned = f"{verdict.earned} of {verdict.points} points"
        outcome = Completed(message=f"{verdict.outcome}: {earned}", data={"outcome": verdict.outcome.value})
        work = await asyncio.to_thread(load_work, store, run_id, episode_id, root)
        if len(work.task.stages) > 1:
            await publish_episode(work)
    await refresh_summary(store, run_id, root)
    return outcome
