"""What leaves the house of an episode: its steps, its score, and no secret and no gold."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, TypeVar

from tasks_lib.agents import Brief
from tasks_lib.episodes import read_manifest
from tasks_lib.episodes.stored import find_outcome, newest_first, stages_in
from tasks_lib.models import Redactor
from tasks_lib.records import (
    BlobRef,
    EpisodeSpec,
    Evidence,
    Modality,
    Outcome,
    Record,
    RunManifest,
    Stage,
    Step,
    Verdict,
    VoidRecord,
)
from tasks_lib.records.errors import ConfigurationError
from tasks_lib.store import AttemptFolder, RunFolder, Store
from tasks_lib.taskdefs import LoadedTask, TaskSet

R = TypeVar("R", bound=Record)


@dataclass(frozen=True, slots=True)
class Play:
    """One stage as it was played.

    Attributes
    ----------
    stage : str
        The stage's id.
    brief : Brief
        What the agent was told; its instruction is empty where the task is not there any more.
    steps : tuple of Step
    final : BlobRef or None
        The last screenshot.
    """

    stage: str
    brief: Brief
    steps: tuple[Step, ...]
    final: BlobRef | None = None


@dataclass(frozen=True, slots=True)
class Judged:
    """What a criterion gave; neither what was wanted nor what was seen leaves the house."""

    criterion: str
    points: int
    passed: bool


@dataclass(frozen=True, slots=True)
class Trajectory:
    """An episode, ready to be written in another format.

    Attributes
    ----------
    run, benchmark : str
        The run and what it ran.
    spec : EpisodeSpec
        Task, agent, model, trial.
    label : str
        The player's name, as in tables.
    domain : str
        Of the task; ``unknown`` where the task is not there any more.
    hints : bool
        Whether the agent was told the hints.
    plays : tuple of Play
        The stages that were begun, in order.
    outcome : Outcome or None
        None where the episode is not done.
    judged : tuple of Judged
    void : str
        Why it is VOID; empty otherwise.
    """

    run: str
    benchmark: str
    spec: EpisodeSpec
    label: str
    domain: str
    hints: bool
    plays: tuple[Play, ...]
    outcome: Outcome | None = None
    judged: tuple[Judged, ...] = ()
    void: str = ""

    @property
    def share(self) -> float | None:
        """Earned share of the points, in [0, 1]; None where nothing was judged."""
        points = sum(one.points for one in self.judged)
        return sum(one.points for one in self.judged if one.passed) / points if points else None

    @property
    def earned(self) -> int:
        """Points earned."""
        return sum(one.points for one in self.judged if one.passed)

    @property
    def points(self) -> int:
        """Points that could be earned; 0 where nothing was judged."""
        return sum(one.points for one in self.judged)

    @property
    def steps(self) -> int:
        """Steps of all stages."""
        return sum(len(play.steps) for play in self.plays)

    @property
    def started(self) -> datetime | None:
        """When the first step began."""
        return next((step.started for play in self.plays for step in play.steps), None)


def label_of(spec: EpisodeSpec) -> str:
    """Return the player's name from an episode's id, whatever made it."""
    from tasks_lib.episodes import Player

    return Player.of(spec).label


def hidden(value: Any, redactor: Redactor) -> Any:
    """Return a tree of JSON with every secret replaced, in keys as well."""
    if isinstance(value, str):
        return redactor(value)
    if isinstance(value, Mapping):
        return {redactor(key): hidden(item, redactor) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [hidden(item, redactor) for item in value]
    return value


def redacted(record: R, redactor: Redactor) -> R:
    """Return a record with every secret replaced."""
    return type(record).model_validate(hidden(record.model_dump(mode="json"), redactor))


def trajectories(
    store: Store,
    run_id: str,
    tasks: TaskSet,
    redactor: Redactor,
    *,
    only: Iterable[str] = (),
    players: Iterable[str] = (),
) -> Iterator[Trajectory]:
    """Read the episodes of a run that have steps, in the manifest's order.

    Everything that is text has passed the redactor: this is the one door through which exports get their words.

    Parameters
    ----------
    store, run_id
        The run.
    tasks : TaskSet
        For instructions; a task that is not there, or has changed since, gives none.
    redactor : Redactor
        Hides secrets.
    only, players : iterable of str
        Ids of tasks and labels of players; empty: all.

    Raises
    ------
    ConfigurationError
        If there is no such run, or it holds none of the tasks or players named.
    BrokenDocumentError
        If a trajectory cannot be read; the message names path and line.
    """
    manifest = read_manifest(store, run_id)
    wanted, named = set(only), set(players)
    _check("task", wanted, {spec.task_id for spec in manifest.episodes}, run_id)
    _check("player", named, {label_of(spec) for spec in manifest.episodes}, run_id)
    known = {loaded.id: loaded for loaded in tasks.tasks}
    for spec in manifest.episodes:
        if (wanted and spec.task_id not in wanted) or (named and label_of(spec) not in named):
            continue
        found = _read(store, manifest, spec, known.get(spec.task_id), redactor)
        if found.plays:
            yield found


def _check(what: str, wanted: set[str], there: set[str], run_id: str) -> None:
    for name in sorted(wanted - there):
        msg = f"run {run_id!r} has no {what} {name!r}; it has {', '.join(sorted(there))}"
        raise ConfigurationError(msg)


def _read(
    store: Store, manifest: RunManifest, spec: EpisodeSpec, loaded: LoadedTask | None, redactor: Redactor
) -> Trajectory:
    attempts = newest_first(RunFolder(store, manifest.run_id).episode(spec.id))
    known = loaded if loaded is not None and loaded.digest == spec.task_digest else None
    hints = bool(manifest.settings.get("hints", True))
    names = [stage.id for stage in known.task.stages] if known else _stages(store, attempts)
    plays = []
    for name in names:
        stage = known.task.stage(name) if known else None
        play = _play(store, attempts, name, _brief(stage, spec, hints=hints), redactor)
        if play is not None:
            plays.append(play)
    _, became = find_outcome(store, attempts)
    verdict = became if isinstance(became, Verdict) else None
    void = became if isinstance(became, VoidRecord) else None
    return Trajectory(
        run=manifest.run_id,
        benchmark=manifest.benchmark,
        spec=spec,
        label=label_of(spec),
        domain=loaded.task.domain if loaded else "unknown",
        hints=hints,
        plays=tuple(plays),
        outcome=Outcome(verdict.outcome) if verdict else Outcome.VOID if void else None,
        judged=tuple(Judged(entry.id, entry.points, entry.passed) for entry in verdict.criteria) if verdict else (),
        void=redactor(f"VOID({void.reason}) in phase {void.phase}: {void.message}") if void else "",
    )


def _stages(store: Store, attempts: list[AttemptFolder]) -> list[str]:
    return list(dict.fromkeys(name for attempt in attempts for name in stages_in(store, attempt)))


def _brief(stage: Stage | None, spec: EpisodeSpec, *, hints: bool) -> Brief:
    if stage is None:
        modality = spec.modality if spec.modality not in (None, Modality.MIXED) else Modality.GUI
        return Brief(modality or Modality.GUI, "")
    brief = Brief.of(stage)
    return brief if hints else Brief(brief.modality, brief.instruction, (), *_rest(brief))


def _rest(brief: Brief) -> tuple[tuple[str, ...], tuple[tuple[str, str], ...], tuple[str, ...]]:
    return brief.inputs, brief.deliverables, brief.endpoints


def _play(store: Store, attempts: list[AttemptFolder], name: str, brief: Brief, redactor: Redactor) -> Play | None:
    """Take the newest attempt with evidence of the stage, else the newest with steps."""
    folders = [attempt.stage(name) for attempt in attempts]
    place = next((entry for entry in folders if store.exists(entry.evidence)), None)
    if place is None:
        place = next((entry for entry in folders if store.exists(entry.trajectory)), None)
    if place is None:
        return None
    steps = tuple(redacted(step, redactor) for step in store.read_lines(place.trajectory, Step))
    if not steps:
        return None
    final = store.read_document(place.evidence, Evidence).final.screenshot if store.exists(place.evidence) else None
    return Play(name, brief, steps, final)
