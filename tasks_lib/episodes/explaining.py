"""One episode explained: found in a run, read from the store, held against its task."""

from __future__ import annotations

import difflib
from pathlib import Path

from tasks_lib.episodes.failures import failure_of
from tasks_lib.episodes.plan import Player
from tasks_lib.episodes.stored import find_evidence_of, find_outcome, newest_first
from tasks_lib.episodes.work import read_manifest
from tasks_lib.records import EpisodeSpec, RunManifest, Task, Verdict
from tasks_lib.records.errors import BrokenDocumentError, ConfigurationError
from tasks_lib.reporting import Explanation, explain_outcome
from tasks_lib.store import RunFolder, Store, runs
from tasks_lib.taskdefs import load_all


def find_episode(store: Store, episode_id: str, run_id: str | None = None) -> tuple[RunManifest, EpisodeSpec]:
    """Find an episode: in the run named, else in the newest run that has one of that name.

    Raises
    ------
    ConfigurationError
        If there is no such run or no such episode; the message names episodes that are called alike.
    BrokenDocumentError
        If the manifest of the run named cannot be read.
    """
    manifests = [read_manifest(store, run_id)] if run_id is not None else _newest_first(store)
    for manifest in manifests:
        for spec in manifest.episodes:
            if spec.id == episode_id:
                return manifest, spec
    names = sorted({spec.id for manifest in manifests for spec in manifest.episodes})
    alike = ", ".join(difflib.get_close_matches(episode_id, names, n=3)) or "none"
    where = f"run {run_id!r}" if run_id is not None else f"the {len(manifests)} runs of {store.url}"
    msg = f"{where} has no episode {episode_id!r} (called alike: {alike}): `matassay report RUN` lists a run's episodes"
    raise ConfigurationError(msg)


def _newest_first(store: Store) -> list[RunManifest]:
    """Return the manifests that can be read; a damaged run hides no other."""
    found: list[RunManifest] = []
    for run_id in runs(store):
        try:
            found.append(store.read_document(RunFolder(store, run_id).manifest, RunManifest))
        except (FileNotFoundError, BrokenDocumentError, ConfigurationError):
            continue
    return sorted(found, key=lambda manifest: (manifest.created, manifest.run_id), reverse=True)


def explain_episode(
    store: Store, episode_id: str, taskdefs: Path, *, run_id: str | None = None, out: Path | None = None
) -> Explanation:
    """Explain an episode: each criterion with what it rests on, or why the episode is VOID.

    Parameters
    ----------
    store : Store
    episode_id : str
        As the run's table and report name it.
    taskdefs : Path
        Root of the task definitions. Where the task is another one now, or is gone, the verdict alone is told.
    run_id : str, optional
        By default the newest run that has the episode.
    out : Path, optional
        Folder for the crops; by default the run's own, in the store.

    Raises
    ------
    ConfigurationError
        As `find_episode`.
    StoreError
        If the store does not answer, or the crops cannot be written.
    """
    manifest, spec = find_episode(store, episode_id, run_id)
    attempts = newest_first(RunFolder(store, manifest.run_id).episode(spec.id))
    place, outcome = find_outcome(store, attempts)
    task, notes = _task(taskdefs, spec)
    stages = {record.stage for record in outcome.criteria} if isinstance(outcome, Verdict) else set()
    if outcome is None:
        notes.append(f"Do it with `matassay run --resume {manifest.run_id} --store {store.url}`.")
    return explain_outcome(
        store,
        manifest.run_id,
        spec,
        outcome,
        find_evidence_of(store, attempts, sorted(stages)),
        agent=Player.of(spec).label,
        attempt=place.number if place is not None else 0,
        task=task,
        failure=failure_of(store, attempts, outcome) if isinstance(outcome, Verdict) else None,
        notes=notes,
        out=out,
    )


def _task(taskdefs: Path, spec: EpisodeSpec) -> tuple[Task | None, list[str]]:
    """Return the task of the run's time, or None and why."""
    loaded = next((loaded for loaded in load_all(taskdefs).tasks if loaded.id == spec.task_id), None)
    if loaded is not None and loaded.digest == spec.task_digest:
        return loaded.task, []
    now = f"has digest {loaded.digest[:12]} now" if loaded is not None else f"cannot be read below {taskdefs}"
    note = (
        f"Task {spec.task_id} {now}; the run was made with {spec.task_digest[:12]}. What stands here is the verdict "
        "alone: purposes and regions of the screen are left out. Check out the task files of that time to see them."
    )
    return None, [note]
