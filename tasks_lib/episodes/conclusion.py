"""The end of a run: the aggregate and the report, written anew as often as wanted."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from tasks_lib.episodes.stored import find_outcome, newest_first
from tasks_lib.episodes.summary import summarise, write_summary
from tasks_lib.records import EpisodeSpec, RunManifest, RunSummary, Verdict, VoidRecord
from tasks_lib.records.errors import StoreError
from tasks_lib.reporting import write_report
from tasks_lib.store import EpisodeFolder, RunFolder, Store
from tasks_lib.taskdefs import load_all


def conclude(store: Store, run_id: str, taskdefs: Path, voids: Mapping[str, VoidRecord] | None = None) -> RunSummary:
    """Aggregate a run, write ``summary.json`` and the report.

    Parameters
    ----------
    store, run_id
        The run.
    taskdefs : Path
        Root of the task definitions, for titles and instructions.
    voids : mapping of str to VoidRecord, optional
        VOID episodes whose ``void.json`` could not be written.

    Returns
    -------
    RunSummary
        Also where the store has no room left to write it.
    """
    tasks = {loaded.id: loaded.task for loaded in load_all(taskdefs).tasks}
    summary = summarise(store, run_id, tasks, voids)
    try:
        write_summary(store, summary)
        write_report(store, run_id, tasks)
    except (OSError, StoreError):
        if not voids:
            raise
    return summary


def without_verdict(store: Store, manifest: RunManifest) -> list[EpisodeSpec]:
    """Return the episodes of a run that are still to be played, in the manifest's order; the store alone says so."""
    folder = RunFolder(store, manifest.run_id)
    return [spec for spec in manifest.episodes if not _has_verdict(store, folder.episode(spec.id))]


def _has_verdict(store: Store, place: EpisodeFolder) -> bool:
    return any(store.exists(place.attempt(number).verdict) for number in place.attempts())


def outcome_of(store: Store, run_id: str, episode_id: str) -> Verdict | VoidRecord | None:
    """Return what became of an episode: its verdict, why it is VOID, or None where neither is in the store."""
    return find_outcome(store, newest_first(RunFolder(store, run_id).episode(episode_id)))[1]
