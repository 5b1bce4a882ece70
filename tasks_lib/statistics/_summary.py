"""The aggregate document of a run."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime

from tasks_lib.records import EpisodeResult, Outcome, RunSummary, now
from tasks_lib.statistics._rows import agent_rows


def summarise(
    run_id: str, benchmark: str, results: Iterable[EpisodeResult], *, written: datetime | None = None
) -> RunSummary:
    """Return ``summary.json`` of a run.

    Parameters
    ----------
    run_id : str
        The run.
    benchmark : str
        Name of the benchmark, as in the manifest.
    results : iterable of EpisodeResult
        One for each episode of the manifest, in any order; the document holds them sorted by id.
    written : datetime, optional
        Aware time; the present by default.

    Returns
    -------
    RunSummary
        `done` counts PASS and FAIL, `void` VOID and `pending` the rest; the three add up to the episodes.
    """
    episodes = tuple(sorted(results, key=lambda result: result.id))
    void = sum(result.outcome is Outcome.VOID for result in episodes)
    pending = sum(result.outcome is None for result in episodes)
    return RunSummary(
        run_id=run_id,
        benchmark=benchmark,
        written=written or now(),
        episodes=episodes,
        rows=agent_rows(episodes),
        done=len(episodes) - void - pending,
        void=void,
        pending=pending,
    )
