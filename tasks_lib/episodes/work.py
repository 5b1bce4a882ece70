"""An episode to be done: its place in the store, its task, and what of it is there already."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from tasks_lib.episodes.stored import find_evidence, find_verdict, newest_first
from tasks_lib.models import ModelSettings, load_models
from tasks_lib.records import EpisodeSpec, Evidence, RunManifest, Stage, Task, Verdict
from tasks_lib.records.errors import BrokenDocumentError, ConfigurationError, TaskError
from tasks_lib.store import AttemptFolder, EpisodeFolder, RunFolder, Store
from tasks_lib.taskdefs import LoadedTask, load_task


@dataclass(frozen=True)
class EpisodeWork:
    """Everything that the phases of one episode need; nothing of it lives on a machine."""

    store: Store
    manifest: RunManifest
    spec: EpisodeSpec
    loaded: LoadedTask
    models: Mapping[str, ModelSettings] = field(default_factory=dict)
    flow_run_id: str | None = None

    @property
    def run_id(self) -> str:
        """The run's name."""
        return self.manifest.run_id

    @property
    def task(self) -> Task:
        """The task."""
        return self.loaded.task

    @property
    def taskdefs(self) -> Path:
        """Root of the task definitions that the task was loaded from."""
        return self.loaded.folder.parents[2]

    @property
    def hints(self) -> bool:
        """Whether the run is one with hints: models are told them, and the set-up is that of the variant."""
        return bool(self.manifest.settings.get("hints", True))

    @property
    def folder(self) -> EpisodeFolder:
        """The episode's place in the store."""
        return RunFolder(self.store, self.run_id).episode(self.spec.id)


@dataclass(frozen=True)
class Missing:
    """What an episode still needs.

    Attributes
    ----------
    verdict : Verdict or None
        There already: nothing is missing.
    place : AttemptFolder or None
        The attempt that holds the verdict.
    evidence : dict of str to Evidence
        Stages whose evidence is in the store, by the stage's id.
    stages : tuple of Stage
        Stages whose live phases have to be done, in order.
    """

    verdict: Verdict | None
    evidence: dict[str, Evidence]
    stages: tuple[Stage, ...]
    place: AttemptFolder | None = None


def read_manifest(store: Store, run_id: str) -> RunManifest:
    """Read a run's manifest.

    Raises
    ------
    ConfigurationError
        If the store holds no such run.
    """
    path = RunFolder(store, run_id).manifest
    if not store.exists(path):
        known = ", ".join(store.children("runs")) or "none"
        msg = f"no run {run_id!r} in {store.url} (runs there: {known}): check --store and the run's name"
        raise ConfigurationError(msg)
    return store.read_document(path, RunManifest)


def load_work(
    store: Store,
    run_id: str,
    episode_id: str,
    taskdefs: Path,
    *,
    models_file: Path | None = None,
    flow_run_id: str | None = None,
) -> EpisodeWork:
    """Gather what an episode needs from the store and the task definitions.

    Raises
    ------
    ConfigurationError
        If the run or the episode is unknown.
    TaskError
        If the task cannot be read or is not the one that the manifest names: VOID(task).
    """
    manifest = read_manifest(store, run_id)
    spec = next((entry for entry in manifest.episodes if entry.id == episode_id), None)
    if spec is None:
        msg = f"run {run_id!r} has no episode {episode_id!r}: `matassay report {run_id}` lists them"
        raise ConfigurationError(msg)
    loaded = load_task(_find(taskdefs, spec.task_id))
    if loaded.digest != spec.task_digest:
        msg = (
            f"task {spec.task_id} has digest {loaded.digest[:12]}, the manifest of run {run_id} was written for "
            f"{spec.task_digest[:12]}: start a new run, or check out the task files of that time"
        )
        raise TaskError(msg)
    models = load_models(models_file) if models_file is not None else {}
    return EpisodeWork(store, manifest, spec, loaded, models, flow_run_id=flow_run_id)


def _find(taskdefs: Path, task_id: str) -> Path:
    folders = sorted(path.parent for path in taskdefs.glob(f"*/*/{task_id}/task.yaml"))
    if len(folders) != 1:
        msg = f"task {task_id!r} stands in {len(folders)} folders below {taskdefs}, wanted one: run `matassay lint`"
        raise TaskError(msg)
    return folders[0]


def missing(work: EpisodeWork) -> Missing:
    """Say what is still to be done, by what is in the store: no orchestrator's state is asked."""
    attempts = newest_first(work.folder)
    evidence = find_evidence(work.store, attempts, work.task.stages)
    try:
        place, verdict = find_verdict(work.store, attempts) or (None, None)
    except BrokenDocumentError:
        place, verdict = None, None  # judged again, from evidence
    absent = tuple(stage for stage in work.task.stages if stage.id not in evidence)
    return Missing(verdict, evidence, () if verdict else absent, place)
