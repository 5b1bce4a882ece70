"""From the options of the command line to a manifest."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from tasks_lib.agents import AGENTS, MODEL_AGENTS
from tasks_lib.cli.database_options import ORACLE, asks_a_database, databases_for
from tasks_lib.cli.options import select
from tasks_lib.cli.settings import Settings, settings_file
from tasks_lib.episodes import Player, episodes_for, make_manifest, needs_of, unreadable_episodes
from tasks_lib.models import load_models
from tasks_lib.records import EpisodeSpec, Json, RunManifest
from tasks_lib.records.errors import ConfigurationError
from tasks_lib.sandbox import provider
from tasks_lib.taskdefs import LoadedTask, load_benchmark


@dataclass(frozen=True)
class Selection:
    """What a command line asks to be run."""

    benchmark: str | None
    suites: tuple[str, ...]
    domains: tuple[str, ...]
    tasks: tuple[str, ...]
    agents: tuple[str, ...]
    models: tuple[str, ...]
    trials: int | None
    machine: str
    isolated: bool
    seed: int
    replay: str | None = None
    live: bool = False
    faults: tuple[str, ...] = ()
    hints: bool | None = None

    @property
    def is_open(self) -> bool:
        """Whether nothing is selected: with ``--resume`` the manifest alone says what is run."""
        return not (self.benchmark or self.suites or self.domains or self.tasks or self.agents or self.models)


def manifest_for(
    choice: Selection, root: Path, settings: Settings, *, run_id: str | None, command: Sequence[str]
) -> RunManifest:
    """Plan a run.

    Raises
    ------
    ConfigurationError
        If a benchmark, task, agent, model or provider is unknown.
    """
    provider(choice.machine)  # an unknown name is the user's error, before anything is written
    benchmark = load_benchmark(choice.benchmark, root) if choice.benchmark else None
    name = choice.benchmark or "-".join(part for part in (*choice.suites, *choice.domains, *choice.tasks[:1]) if part)
    whole = select(root, choice.suites, choice.domains, choice.tasks)
    tasks = benchmark.choose(whole) if benchmark else whole
    agents = choice.agents or (("llm",) if choice.models else benchmark.agents if benchmark else ("oracle",))
    trials = choice.trials or (benchmark.trials if benchmark else 1)
    players = _players(agents, choice.models)
    databases = databases_for(tasks.tasks, settings.databases, live=choice.live, faults=choice.faults)
    machine = settings.machine.model_copy(update={"provider": choice.machine, "isolated": choice.isolated})
    return make_manifest(
        name or "all",
        (
            *episodes_for(tasks.tasks, players, trials=trials, seed=choice.seed),
            *(_references(tasks.tasks, players, seed=choice.seed) if choice.live else ()),
            *unreadable_episodes(tasks.problems, players, trials=trials, seed=choice.seed),
        ),
        run_id=run_id,
        seed=choice.seed,
        machine=machine,
        task_set_digest=tasks.digest,
        settings={**_recorded_settings(choice, settings), **needs_of(tasks.tasks, databases)},
        command=command,
    )


def check_hints(manifest: RunManifest, hints: bool | None) -> None:
    """Refuse to go on with a run under other hints than it was planned with: its scores would be of two kinds.

    Raises
    ------
    ConfigurationError
        If `hints` are asked for and differ from those of the manifest.
    """
    planned = bool(manifest.settings.get("hints", True))
    if hints is not None and hints != planned:
        msg = (
            f"run {manifest.run_id!r} was planned with --{'hints' if planned else 'no-hints'}, which stays: leave the "
            "option out, or start another run"
        )
        raise ConfigurationError(msg)


def _references(tasks: Sequence[LoadedTask], players: Sequence[Player], *, seed: int) -> tuple[EpisodeSpec, ...]:
    """Plan the oracle for each task that asks a live database: its answers say whether the database has moved."""
    if ORACLE in players:
        return ()
    return episodes_for([loaded for loaded in tasks if asks_a_database(loaded)], [ORACLE], trials=1, seed=seed)


def _recorded_settings(choice: Selection, settings: Settings) -> dict[str, Json]:
    recorded: dict[str, Json] = {
        "hints": settings.run.hints if choice.hints is None else choice.hints,
        "retries": settings.run.retries,
    }
    if "replay" in choice.agents:
        run, _, agent = (choice.replay or "").partition(":")
        if not run:
            msg = "agent 'replay' needs --replay RUN or --replay RUN:AGENT, whose trajectories it plays"
            raise ConfigurationError(msg)
        recorded["replay"] = {"run": run, "agent": agent or "oracle"}
    return recorded


def _players(agents: Sequence[str], models: Sequence[str]) -> tuple[Player, ...]:
    """Pair agents that need a model with every model; check all names."""
    known = load_models(settings_file()) if models else {}
    for model in models:
        if model not in known:
            msg = f"no [models.{model}] in matassay.toml; it has {', '.join(sorted(known)) or 'none'}"
            raise ConfigurationError(msg)
    players: list[Player] = []
    for agent in agents:
        if agent not in AGENTS:
            msg = f"no agent {agent!r}; there are {', '.join(sorted(AGENTS))}"
            raise ConfigurationError(msg)
        player = Player(agent)
        if agent not in MODEL_AGENTS:
            players.append(player)
        elif models:
            players.extend(replace(player, model=model) for model in models)
        else:
            msg = f"agent {agent!r} needs a model: give --model NAME and a [models.NAME] in matassay.toml"
            raise ConfigurationError(msg)
    return tuple(players)
