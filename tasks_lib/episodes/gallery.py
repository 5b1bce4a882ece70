"""The end states of desktop tasks, from the oracles of runs that are in the store."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from tasks_lib.episodes.stored import find_evidence, find_outcome, newest_first
from tasks_lib.episodes.work import read_manifest
from tasks_lib.records import BlobRef, EpisodeSpec, Modality, Outcome, Verdict
from tasks_lib.records.errors import BrokenDocumentError
from tasks_lib.reporting import EndState, small_picture
from tasks_lib.store import RunFolder, Store
from tasks_lib.taskdefs import LoadedTask


@dataclass(frozen=True)
class Unseen:
    """A task without a picture, and why."""

    task_id: str
    why: str


def end_states(
    store: Store, run_ids: Sequence[str], tasks: Iterable[LoadedTask]
) -> tuple[tuple[EndState, ...], tuple[Unseen, ...]]:
    """Gather what oracles left on the screen: of each desktop task the last frame of the first trial that passed.

    Parameters
    ----------
    store : Store
    run_ids : sequence of str
        Where a task was played in several, the last one named counts.
    tasks : iterable of LoadedTask
        Tasks that are not played on a desktop are passed over.

    Returns
    -------
    tuple of EndState, tuple of Unseen
        Both sorted by task.

    Raises
    ------
    ConfigurationError
        If the store holds no such run.
    """
    plans = [(run_id, read_manifest(store, run_id).episodes) for run_id in reversed(run_ids)]
    seen: list[EndState] = []
    unseen: list[Unseen] = []
    for loaded in sorted(tasks, key=lambda loaded: loaded.id):
        if loaded.task.modality is not Modality.GUI:
            continue
        whys: list[str] = []
        try:
            screen = next(_screens(store, plans, loaded, whys), None)
            if screen is not None:
                seen.append(EndState(loaded.task, small_picture(store.get_blob(screen))))
                continue
        except BrokenDocumentError as error:
            whys = [str(error)]
        unseen.append(Unseen(loaded.id, whys[0] if whys else "its oracle plays in none of the runs"))
    return tuple(seen), tuple(unseen)


def _screens(
    store: Store, plans: Sequence[tuple[str, Sequence[EpisodeSpec]]], loaded: LoadedTask, whys: list[str]
) -> Iterator[BlobRef]:
    """Yield final screens of the task's oracle, and note why others are none."""
    for run_id, specs in plans:
        for spec in sorted(specs, key=lambda spec: spec.trial):
            if spec.task_id != loaded.id or spec.agent != "oracle" or spec.variant is not None:
                continue
            if spec.task_digest != loaded.digest:
                whys.append(f"{run_id} played another version of it: prove it again")
                continue
            attempts = newest_first(RunFolder(store, run_id).episode(spec.id))
            _, outcome = find_outcome(store, attempts)
            if not isinstance(outcome, Verdict) or outcome.outcome is not Outcome.PASS:
                whys.append(f"its oracle does not pass in {run_id}: `matassay explain {spec.id} --run {run_id}`")
                continue
            evidence = find_evidence(store, attempts, loaded.task.stages)
            shots = [evidence[stage.id].final.screenshot for stage in loaded.task.stages if stage.id in evidence]
            if not shots or shots[-1] is None:
                whys.append(f"{run_id} holds no final screen of it: play it again")
                continue
            yield shots[-1]
