"""The two runners of `matassay serve`: one for episodes, one for the flows that wait for episodes.

Under one limit a benchmark would hold the slot that its own episodes wait for. Runners and no process worker: a
worker that gets SIGTERM leaves its flow runs "Running" for ever and their machines behind.

``python -m flows.serving.runner episodes|parents SETTINGS``
"""

from __future__ import annotations

import asyncio
import sys

from flows.serving import lifeline
from flows.serving.settings import TAG, RunnerSettings

# Benchmarks, proofs and nights at once; each only waits.
_PARENTS = 8


async def serve_episodes(settings: RunnerSettings) -> None:
    """Serve the flows that work on machines and microscopes, as many at once as this host can bear."""
    from prefect.runner import Runner

    from flows.episode import episode, mixed_episode
    from flows.score_trajectories import score_trajectories
    from tasks_lib.instruments.tuning.extra import missing_packages

    runner = Runner(name="episodes", limit=settings.episodes_at_once, pause_on_shutdown=False)
    for flow in (episode, mixed_episode):
        await runner.aadd_flow(flow, name=flow.name, tags=[TAG], description=flow.description)
    await runner.aadd_flow(
        score_trajectories,
        name=score_trajectories.name,
        tags=[TAG],
        description=score_trajectories.description,
        parameters={"store_url": settings.store_url},
    )
    if not missing_packages():
        from flows.afm_pid_tuning import afm_pid_tuning

        await runner.aadd_flow(
            afm_pid_tuning,
            name=afm_pid_tuning.name,
            tags=[TAG],
            description=afm_pid_tuning.description,
            parameters={"store_url": settings.store_url},
        )
    await runner.start()


async def serve_parents(settings: RunnerSettings) -> None:
    """Serve the flows that wait for episodes, with the nightly schedule."""
    from prefect.client.schemas.objects import ConcurrencyLimitConfig, ConcurrencyLimitStrategy
    from prefect.runner import Runner
    from prefect.schedules import Cron

    from flows.benchmark import benchmark
    from flows.housekeeping import housekeeping
    from flows.nightly import nightly
    from flows.prove import prove

    runner = Runner(name="parents", limit=_PARENTS, pause_on_shutdown=False)
    for flow in (benchmark, prove):
        await runner.aadd_flow(flow, name=flow.name, tags=[TAG], description=flow.description)
    await runner.aadd_flow(
        nightly,
        name=nightly.name,
        tags=[TAG],
        description=nightly.description,
        schedule=Cron(settings.nightly_cron, timezone=settings.time_zone),
        concurrency_limit=ConcurrencyLimitConfig(limit=1, collision_strategy=ConcurrencyLimitStrategy.CANCEL_NEW),
        parameters={
            "store_url": settings.store_url,
            "taskdefs": settings.taskdefs,
            "models_file": settings.models_file,
            "benchmark_name": settings.nightly_benchmark,
            "time_zone": settings.time_zone,
            "concurrency": settings.episodes_at_once,
        },
    )
    await runner.aadd_flow(
        housekeeping,
        name=housekeeping.name,
        tags=[TAG],
        description=housekeeping.description,
        schedule=Cron("30 * * * *", timezone="UTC"),
        concurrency_limit=ConcurrencyLimitConfig(limit=1, collision_strategy=ConcurrencyLimitStrategy.CANCEL_NEW),
        parameters={"store_url": settings.store_url},
    )
    await runner.start()


def main(arguments: list[str]) -> int:
    """Serve until SIGTERM or the end of the lifeline; running episodes are cancelled and end their machines."""
    lifeline.hold()
    kind, text = arguments
    serve = {"episodes": serve_episodes, "parents": serve_parents}[kind]
    asyncio.run(serve(RunnerSettings.model_validate_json(text)))
    return 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
