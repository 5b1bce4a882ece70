"""The table of a run, read from what is in the store."""

from __future__ import annotations

from collections.abc import Mapping

from tasks_lib.episodes.budgets import accounts_of
from tasks_lib.episodes.failures import failure_of
from tasks_lib.episodes.plan import Player
from tasks_lib.episodes.stored import find_evidence, find_outcome, newest_first, stages_in
from tasks_lib.episodes.work import read_manifest
from tasks_lib.records import (
    Ending,
    EpisodeResult,
    EpisodeSpec,
    Initialise,
    Outcome,
    Provision,
    RunManifest,
    RunSummary,
    Step,
    Task,
    Verdict,
    VoidRecord,
    now,
)
from tasks_lib.records.errors import BrokenDocumentError
from tasks_lib.statistics import agent_rows
from tasks_lib.store import AttemptFolder, RunFolder, Store


def summarise(
    store: Store, run_id: str, tasks: Mapping[str, Task], voids: Mapping[str, VoidRecord] | None = None
) -> RunSummary:
    """Aggregate a run.

    Parameters
    ----------
    store : Store
    run_id : str
    tasks : mapping of str to Task
        Tasks by id; a task that cannot be read any more has no points of its own.
    voids : mapping of str to VoidRecord, optional
        VOID episodes whose ``void.json`` could not be written, by episode id (a full disk).

    Returns
    -------
    RunSummary
        Not yet written: `write_summary` does.
    """
    manifest = read_manifest(store, run_id)
    results = tuple(
        _result(store, manifest, spec, tasks.get(spec.task_id), (voids or {}).get(spec.id))
        for spec in manifest.episodes
    )
    return RunSummary(
        run_id=run_id,
        benchmark=manifest.benchmark,
        written=now(),
        episodes=results,
        rows=tuple(agent_rows(results)),
        done=sum(result.outcome in {Outcome.PASS, Outcome.FAIL} for result in results),
        void=sum(result.outcome is Outcome.VOID for result in results),
        pending=sum(result.outcome is None for result in results),
        accounts=accounts_of(store, manifest),
    )


def write_summary(store: Store, summary: RunSummary) -> None:
    """Write ``summary.json``."""
    store.write_document(RunFolder(store, summary.run_id).summary, summary)


def _result(
    store: Store, manifest: RunManifest, spec: EpisodeSpec, task: Task | None, unwritten: VoidRecord | None
) -> EpisodeResult:
    attempts = newest_first(RunFolder(store, manifest.run_id).episode(spec.id))
    place, found = find_outcome(store, attempts)
    verdict = found if isinstance(found, Verdict) else None
    void = found if isinstance(found, VoidRecord) else (None if verdict else unwritten)
    evidence = find_evidence(store, attempts, task.stages if task else ()).values()
    points = verdict.points if verdict else (task.points if task else 0)
    return EpisodeResult(
        id=spec.id,
        task_id=spec.task_id,
        agent=Player.of(spec).label,
        trial=spec.trial,
        modality=spec.modality,
        domain=task.domain if task else "unknown",
        outcome=verdict.outcome if verdict else (Outcome.VOID if void else None),
        void_reason=void.reason if void else None,
        points=points,
        earned=verdict.earned if verdict else 0,
        steps=sum(entry.steps for entry in evidence) if evidence else None,
        self_ended=all(entry.ending in {Ending.DONE, Ending.GAVE_UP} for entry in evidence) if evidence else None,
        seconds=_seconds(store, place) if place else None,
        attempt=place.number if place else 0,
        message=void.message if void else "",
        failure=failure_of(store, attempts, verdict) if verdict else None,
    )


def _seconds(store: Store, attempt: AttemptFolder) -> float | None:
    """Time of an attempt in provisioning, set-up and steps, s; None where nothing of them can be read."""
    try:
        return _stored_seconds(store, attempt)
    except BrokenDocumentError:
        return None


def _stored_seconds(store: Store, attempt: AttemptFolder) -> float | None:
    total = 0.0
    for stage in stages_in(store, attempt):
        folder = attempt.stage(stage)
        if store.exists(folder.provision):
            total += store.read_document(folder.provision, Provision).seconds
        if store.exists(folder.initialise):
            total += store.read_document(folder.initialise, Initialise).seconds
        for step in store.read_lines(folder.trajectory, Step) if store.exists(folder.trajectory) else ():
            total += step.model_seconds + step.action_seconds + step.settle_seconds
    return total or None
