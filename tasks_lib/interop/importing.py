"""What was read of another format becomes a run of the store that `replay` can play."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from tasks_lib.episodes import Player, episodes_for, make_manifest, open_run
from tasks_lib.interop._faults import fault
from tasks_lib.interop._pictures import Keep
from tasks_lib.interop._steps import MOST_STEPS, Told, step_of
from tasks_lib.records import EpisodeSpec, MachineSettings, RunManifest, Stage, Step, slug
from tasks_lib.records.errors import ConfigurationError
from tasks_lib.store import AttemptFolder, RunFolder, Store
from tasks_lib.taskdefs import LoadedTask, TaskSet

IMPORTED = "imported"
"""The player of imported trajectories; `episodes.plan.OUTSIDE` says how such an episode is played."""
MOST_TRIALS = 10_000


@dataclass(frozen=True, slots=True)
class Foreign:
    """An episode as another format tells it.

    Attributes
    ----------
    place : str
        Where it stands, for messages.
    task_id : str
        A task of ours.
    player : str
        Who played, in the document's own word.
    trial : int
        Counted from 1.
    plays : sequence of (str or None, sequence of Told)
        The steps of each stage; None for the stage of a task that has one.
    digest : str
        Of the task at that time; empty where unknown.
    claim : mapping
        What the document says of the result. It is kept as what it is, a claim, and never becomes a verdict.
    """

    place: str
    task_id: str
    player: str
    trial: int
    plays: Sequence[tuple[str | None, Sequence[Told]]]
    digest: str = ""
    claim: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Imported:
    """What an import made.

    Attributes
    ----------
    run : str
        The run's id.
    episodes : tuple of str
        Ids of its episodes.
    players : tuple of str
        Labels that ``--replay RUN:PLAYER`` takes, sorted.
    steps : int
    remarks : tuple of str
        What a person should know, such as that a task has changed since.
    """

    run: str
    episodes: tuple[str, ...]
    players: tuple[str, ...]
    steps: int
    remarks: tuple[str, ...]


def keep_in(store: Store) -> Keep:
    """Return what stores pictures."""
    return store.put_blob


def import_into(
    store: Store, found: Iterable[Foreign], tasks: TaskSet, *, source: str, form: str, run_id: str | None = None
) -> Imported:
    """Write episodes of another format as a run: the whole of them or none.

    The run holds trajectories alone. What a document claims of its score stands in the manifest's settings; `replay`
    and the judge say what is true of it.

    Parameters
    ----------
    store : Store
    found : iterable of Foreign
        Taken one by one, so that the pictures of one episode are in memory at a time.
    tasks : TaskSet
        The tasks that they may be of.
    source, form : str
        Name of the file and of the format, for the record.
    run_id : str, optional
        By default a name of the time.

    Raises
    ------
    ConfigurationError
        If there is nothing to import, a task or stage is unknown, an episode stands twice, a step is none, or the run
        is there already.
    """
    known = {loaded.id: loaded for loaded in tasks.tasks}
    remarks: list[str] = []
    specs: dict[str, EpisodeSpec] = {}
    written: dict[str, dict[str, tuple[Step, ...]]] = {}
    claims: dict[str, Any] = {}
    for foreign in found:
        loaded = known.get(foreign.task_id)
        if loaded is None:
            rule = f"task {foreign.task_id[:100]!r} is none of the {len(known)} task definitions"
            todo = "name one with --task ID, which holds for all that is read (of a folder of several tasks, import "
            todo += "each task's folder by itself: PATH/TASK --task ID), or give --taskdefs"
            raise fault(foreign.place, rule, todo)
        if foreign.digest and foreign.digest != loaded.digest:
            remarks.append(f"{foreign.place}: task {loaded.id} has changed since: a replay may earn another score")
        spec = _spec(foreign, loaded)
        if spec.id in specs:
            rule = f"episode {spec.id} stands twice"
            raise fault(foreign.place, rule, "import the files one by one, each into a run of its own")
        specs[spec.id] = spec
        written[spec.id] = _steps(foreign, loaded, keep_in(store))
        claims[spec.id] = dict(foreign.claim)
    if not specs:
        raise fault(source, "holds no trajectory", "give another file, or another --format")
    manifest = _manifest(tuple(specs.values()), tasks, claims, source, form, run_id)
    if store.exists(RunFolder(store, manifest.run_id).manifest):
        msg = f"run {manifest.run_id!r} is in {store.url} already: give another --run"
        raise ConfigurationError(msg)
    _write(store, manifest, written)
    return Imported(
        run=manifest.run_id,
        episodes=tuple(specs),
        players=tuple(sorted({Player.of(spec).label for spec in specs.values()})),
        steps=sum(len(steps) for stages in written.values() for steps in stages.values()),
        remarks=tuple(remarks),
    )


def _spec(foreign: Foreign, loaded: LoadedTask) -> EpisodeSpec:
    if not 1 <= foreign.trial <= MOST_TRIALS:
        raise fault(foreign.place, f"a trial is a number from 1 to {MOST_TRIALS}, got {foreign.trial}", "mend it")
    # The player's word stands where a model's name would: two players of one document stay apart.
    player = Player(IMPORTED, slug(foreign.player.removeprefix(f"{IMPORTED}-"))[:60] or None)
    base = episodes_for([loaded], [player], trials=foreign.trial, seed=0)
    return base[-1]


def _steps(foreign: Foreign, loaded: LoadedTask, keep: Keep) -> dict[str, tuple[Step, ...]]:
    found: dict[str, tuple[Step, ...]] = {}
    for name, told in foreign.plays:
        stage = _stage(foreign, loaded, name)
        if stage.id in found:
            raise fault(foreign.place, f"stage {stage.id!r} stands twice", "give each stage once")
        if len(told) > MOST_STEPS:
            raise fault(foreign.place, f"a stage has at most {MOST_STEPS} steps, got {len(told)}", "cut it")
        found[stage.id] = tuple(
            step_of(entry, index, stage.modality, keep) for index, entry in enumerate(told, start=1)
        )
    if not any(found.values()):
        raise fault(foreign.place, "holds no reply of an agent", "leave the episode out")
    return found


def _stage(foreign: Foreign, loaded: LoadedTask, name: str | None) -> Stage:
    stages = loaded.task.stages
    if name is None:
        if len(stages) == 1:
            return stages[0]
        ids = ", ".join(stage.id for stage in stages)
        raise fault(foreign.place, f"task {loaded.id} has the stages {ids}", "say which stage each step is of")
    try:
        return loaded.task.stage(name)
    except KeyError:
        rule = f"task {loaded.id} has no stage {name[:100]!r}"
        raise fault(foreign.place, rule, f"use one of {', '.join(stage.id for stage in stages)}") from None


def _manifest(
    specs: tuple[EpisodeSpec, ...],
    tasks: TaskSet,
    claims: Mapping[str, Any],
    source: str,
    form: str,
    run_id: str | None,
) -> RunManifest:
    return make_manifest(
        "import",
        specs,
        run_id=run_id,
        seed=0,
        machine=MachineSettings(),
        task_set_digest=tasks.digest,
        settings={"retries": 0, "imported": {"source": source, "format": form, "claims": dict(claims)}},
    )


def _write(store: Store, manifest: RunManifest, written: Mapping[str, Mapping[str, tuple[Step, ...]]]) -> None:
    """Write the steps before the manifest: a run that is there is whole."""
    for episode, stages in written.items():
        attempt: AttemptFolder = RunFolder(store, manifest.run_id).episode(episode).attempt(1)
        for name, steps in stages.items():
            if steps:
                text = "".join(step.to_line() for step in steps)
                store.write_bytes(attempt.stage(name).trajectory, text.encode("utf-8"))
    open_run(store, manifest)
