"""The flow `score-trajectories`: files of tool calls against references, each file a task, with a page of results.

The store says what is done: a flow run that was killed is retried and goes on with the next file.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Any

from prefect import Task, flow, task
from prefect.cache_policies import NO_CACHE
from prefect.client.schemas.objects import State
from prefect.states import Completed, Failed
from prefect.utilities.annotations import quote

from flows.score_artifacts import publish_scores
from tasks_lib.evaluation.alignment import EmbeddingCache, find_encoder
from tasks_lib.evaluation.alignment.encoders import Encoder
from tasks_lib.evaluation.alignment.scorings import AnyReport, KeptFile, ScoringFolder, ScoringOrder, ScoringPlan
from tasks_lib.records.errors import ConfigurationError
from tasks_lib.store import Store, state_folder


@task(name="score", task_run_name="{name}", persist_result=False, cache_policy=NO_CACHE)
async def score(
    folder: ScoringFolder, plan: ScoringPlan, file: KeptFile, encoder: Encoder, cache: EmbeddingCache, name: str
) -> AnyReport:
    """Score one file of predictions and keep its report."""
    return await asyncio.to_thread(folder.score, file, plan, encoder, cache)


@flow(name="score-trajectories", flow_run_name="{scoring_id}", persist_result=False)
async def score_trajectories(store_url: str, scoring_id: str, order: dict[str, Any] | None = None) -> State[Any]:
    """Score what is missing of a scoring, and show all of it.

    Completed with the number of files and tasks; Failed where a file cannot be read or is no file of
    trajectories.

    Parameters
    ----------
    store_url, scoring_id : str
        The scoring.
    order : dict, optional
        Fields of `ScoringOrder`: ``references`` and ``predictions`` are paths on this machine. Without it the files are
        in the store already.
    """
    try:
        folder = ScoringFolder(Store.open(store_url), scoring_id)
        if order is not None:
            plan = await asyncio.to_thread(folder.begin, ScoringOrder.model_validate(order))
        else:
            plan = await asyncio.to_thread(folder.plan)
        reports = await _score(folder, plan)
    except (ConfigurationError, OSError) as error:
        return Failed(message=str(error), data=error)
    message = await publish_scores(folder, plan, reports)
    return Completed(message=message, data={"reports": [folder.report(file) for file in plan.predictions]})


async def _score(folder: ScoringFolder, plan: ScoringPlan) -> Mapping[str, AnyReport]:
    # One encoder for all files, which reads its weights when it is first asked; what one file needs of it, the next one
    # finds in the cache.
    encoder = find_encoder(plan.order.encoder)
    cache = EmbeddingCache(state_folder() / "embeddings.sqlite")
    one: Task[..., Any] = score
    reports: dict[str, AnyReport] = {}
    before: list[State[Any]] = []
    for file in plan.predictions:
        state: State[Any] = await one(
            quote(folder), quote(plan), quote(file), quote(encoder), quote(cache), file.name,
            wait_for=before, return_state=True,
        )  # fmt: skip
        reports[file.name] = await state.aresult()
        before = [state]
    return reports
