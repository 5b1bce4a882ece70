"""What a run consists of: tasks × agents × trials, fixed in the manifest before the first episode starts."""

from __future__ import annotations

import hashlib
import platform
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version

from tasks_lib.records import EpisodeSpec, Json, MachineSettings, Modality, RunManifest, episode_id, now, slug
from tasks_lib.records.errors import ConfigurationError
from tasks_lib.store import RunFolder, Store
from tasks_lib.taskdefs import LoadedTask, Problem

PERSON = "person"
"""The player of a recording; no agent is called so."""
HUMAN = "human"
"""A person who plays an episode of a run; no agent of the registry, since it acts with hands, not with replies."""
OUTSIDE = {
    "gym": "reset the environment again",
    "imported": "`matassay run --task {task} --agent replay --replay RUN:PLAYER` plays what was imported",
    "inspect": "`inspect eval` again",
    "mcp": "`matassay mcp desktop --task {task}` again",
}
"""Players whose replies come from another program, and how their episodes are played anew."""
_NAMED_PACKAGES = ("matassay", "prefect", "pydantic", "pymatgen", "rapidocr", "numpy")


@dataclass(frozen=True)
class Player:
    """Who plays: an agent, the model behind it if it has one, the near miss that the oracle plays if it does."""

    agent: str
    model: str | None = None
    variant: str | None = None

    @classmethod
    def of(cls, spec: EpisodeSpec) -> Player:
        """Return who plays an episode."""
        return cls(spec.agent, spec.model, spec.variant)

    @property
    def label(self) -> str:
        """The name in tables and in episode ids."""
        return slug("-".join(part for part in (self.agent, self.model, self.variant) if part))


def seed_of(run_seed: int, *parts: str) -> int:
    """Derive an episode's seed from the run's and its own name, the same on every machine."""
    text = "\x1f".join((str(run_seed), *parts))
    return int.from_bytes(hashlib.sha256(text.encode("utf-8")).digest()[:4], "big")


def episodes_for(
    tasks: Sequence[LoadedTask], players: Iterable[Player], *, trials: int, seed: int
) -> tuple[EpisodeSpec, ...]:
    """Cross tasks with players and trials.

    Parameters
    ----------
    tasks : sequence of LoadedTask
    players : iterable of Player
    trials : int
        Repeats of each pair, at least 1.
    seed : int
        The run's seed; each episode's is derived from it.

    Returns
    -------
    tuple of EpisodeSpec
        Ordered by trial, task and player, so that an interrupted run has done whole trials first.
    """
    return tuple(
        _episode(loaded.id, loaded.digest, loaded.task.modality, player, trial, seed)
        for trial in range(1, trials + 1)
        for loaded in tasks
        for player in players
    )


def unreadable_episodes(
    problems: Iterable[Problem], players: Iterable[Player], *, trials: int, seed: int
) -> tuple[EpisodeSpec, ...]:
    """Plan the episodes of tasks that cannot be read: they stay in the denominators, as VOID(task)."""
    unread = hashlib.sha256(b"unreadable").hexdigest()
    return tuple(
        _episode(problem.task_id, unread, None, player, trial, seed)
        for trial in range(1, trials + 1)
        for problem in problems
        for player in players
    )


def _episode(
    task_id: str, digest: str, modality: Modality | None, player: Player, trial: int, seed: int
) -> EpisodeSpec:
    identity = episode_id(task_id, player.label, trial)
    return EpisodeSpec(
        id=identity,
        task_id=slug(task_id),
        task_digest=digest,
        agent=player.agent,
        model=player.model,
        variant=player.variant,
        trial=trial,
        seed=seed_of(seed, identity),
        modality=modality,
    )


def make_manifest(
    benchmark: str,
    episodes: tuple[EpisodeSpec, ...],
    *,
    run_id: str | None = None,
    seed: int,
    machine: MachineSettings,
    task_set_digest: str,
    settings: dict[str, Json],
    command: Sequence[str] = (),
) -> RunManifest:
    """Write down a run.

    Raises
    ------
    ConfigurationError
        If there is no episode or two have one name.
    """
    if not episodes:
        msg = f"benchmark {benchmark!r} selects no task: `matassay tasks list` shows what there is; mend the filters"
        raise ConfigurationError(msg)
    created = now()
    try:
        return RunManifest(
            run_id=run_id or f"{created:%Y%m%d-%H%M%S}-{slug(benchmark)}",
            benchmark=benchmark,
            created=created,
            seed=seed,
            episodes=episodes,
            task_set_digest=task_set_digest,
            machine=machine,
            versions=_versions(),
            settings=settings,
            command=tuple(command),
        )
    except ValueError as error:
        msg = f"the run cannot be written down: {error}"
        raise ConfigurationError(msg) from error


def _versions() -> dict[str, str]:
    found = {"python": platform.python_version(), "platform": platform.platform()}
    for name in _NAMED_PACKAGES:
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            continue
    return found


def open_run(store: Store, manifest: RunManifest) -> RunManifest:
    """Put a manifest into the store, or find the one that is there already under its name.

    Raises
    ------
    ConfigurationError
        If the run exists with other episodes or another task set: its manifest is never changed.
    """
    path = RunFolder(store, manifest.run_id).manifest
    if store.create(path, manifest.to_json().encode("utf-8")):
        return manifest
    there = store.read_document(path, RunManifest)
    if (there.episodes, there.task_set_digest, there.seed) != (
        manifest.episodes,
        manifest.task_set_digest,
        manifest.seed,
    ):
        msg = (
            f"run {manifest.run_id!r} is in {store.url} with {len(there.episodes)} episodes over task set "
            f"{there.task_set_digest[:12]}, this command asks for {len(manifest.episodes)} over "
            f"{manifest.task_set_digest[:12]}: give the same selection, or another run name"
        )
        raise ConfigurationError(msg)
    return there
