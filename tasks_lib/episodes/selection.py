"""From what a person selects to a manifest."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from tasks_lib.agents import AGENTS, MODEL_AGENTS
from tasks_lib.agents.settings import SETTING as AGENT_SETTING
from tasks_lib.agents.settings import AgentSettings, agent_settings
from tasks_lib.databases.upstreams import Upstreams
from tasks_lib.episodes.asking import CACHE_SETTING
from tasks_lib.episodes.budgets import NightBudget, budget_settings, check_prices
from tasks_lib.episodes.database_plan import databases_for
from tasks_lib.episodes.decoding import decoding_settings
from tasks_lib.episodes.human import check_human
from tasks_lib.episodes.needs import asks_a_database, needs_of
from tasks_lib.episodes.plan import HUMAN, OUTSIDE, PERSON, Player, episodes_for, make_manifest, unreadable_episodes
from tasks_lib.models import find_model, load_models
from tasks_lib.records import EpisodeSpec, Json, MachineSettings, RunManifest, SpendingLimit
from tasks_lib.records.errors import ConfigurationError
from tasks_lib.sandbox import provider
from tasks_lib.taskdefs import LoadedTask, Select, choose, load_all, load_benchmark

_ORACLE = Player("oracle")


@dataclass(frozen=True, kw_only=True)
class Selection:
    """What is to be run, and how.

    Attributes
    ----------
    benchmark : str or None
        Name of a benchmark, whose agents and trials count where none are given.
    suites, domains, tasks : tuple of str
        Only these; empty: all.
    agents, models : tuple of str
        Who plays.
    models_file : Path or None
        The file with the models' tables.
    trials : int or None
        Repeats of every task and agent.
    machine : MachineSettings
    seed : int
        Of the run.
    hints : bool
        Whether models are told the tasks' hints.
    retries : int
        New attempts after an error that may pass.
    replay : str or None
        ``RUN`` or ``RUN:AGENT``, for the agent ``replay``.
    live : bool
        Whether databases are the public ones; `upstreams` says where they answer.
    faults : tuple of str
        What databases of the snapshot do wrong, each ``NAME=VALUE``.
    asked : AgentSettings
        How models are asked.
    limit : SpendingLimit
        What the run may spend at models.
    night : NightBudget or None
        What it may spend together with the other runs of its night.
    cache : bool
        Whether replies of models are kept, and used again for the same request.
    """

    benchmark: str | None = None
    suites: tuple[str, ...] = ()
    domains: tuple[str, ...] = ()
    tasks: tuple[str, ...] = ()
    agents: tuple[str, ...] = ()
    models: tuple[str, ...] = ()
    models_file: Path | None = None
    trials: int | None = None
    machine: MachineSettings
    seed: int
    hints: bool
    retries: int
    replay: str | None = None
    live: bool = False
    upstreams: Upstreams = field(default_factory=Upstreams)
    faults: tuple[str, ...] = ()
    asked: AgentSettings = field(default_factory=AgentSettings)
    limit: SpendingLimit = field(default_factory=SpendingLimit)
    night: NightBudget | None = None
    cache: bool = False

    @property
    def is_open(self) -> bool:
        """Whether nothing is selected: with ``--resume`` the manifest alone says what is run."""
        return not (self.benchmark or self.suites or self.domains or self.tasks or self.agents or self.models)


def manifest_for(choice: Selection, root: Path, *, run_id: str | None, command: Sequence[str]) -> RunManifest:
    """Plan a run.

    Parameters
    ----------
    choice : Selection
    root : Path
        Of the task definitions.
    run_id : str or None
        None makes a name of the time and the selection.
    command : sequence of str
        The command line, for the record.

    Raises
    ------
    ConfigurationError
        If a benchmark, task, agent, model or provider is unknown, or the databases cannot be had so.
    """
    provider(choice.machine.provider)  # an unknown name is the user's error, before anything is written
    benchmark = load_benchmark(choice.benchmark, root) if choice.benchmark else None
    name = choice.benchmark or "-".join(part for part in (*choice.suites, *choice.domains, *choice.tasks[:1]) if part)
    wanted = Select.of(choice.suites, choice.domains, choice.tasks)
    whole = choose(load_all(root), wanted, what="the selection")
    tasks = benchmark.choose(whole) if benchmark else whole
    agents = choice.agents or (("llm",) if choice.models else benchmark.agents if benchmark else ("oracle",))
    trials = choice.trials or (benchmark.trials if benchmark else 1)
    players = _players(agents, choice.models, choice.models_file)
    if HUMAN in agents:
        check_human(tasks.tasks)
    check_prices(choice.models, choice.models_file, choice.limit, *((choice.night.limit,) if choice.night else ()))
    databases = databases_for(tasks.tasks, choice.upstreams, live=choice.live, faults=choice.faults)
    return make_manifest(
        name or "all",
        (
            *episodes_for(tasks.tasks, players, trials=trials, seed=choice.seed),
            *(_references(tasks.tasks, players, seed=choice.seed) if choice.live else ()),
            *unreadable_episodes(tasks.problems, players, trials=trials, seed=choice.seed),
        ),
        run_id=run_id,
        seed=choice.seed,
        machine=_machine(choice),
        task_set_digest=tasks.digest,
        settings={**_recorded_settings(choice), **needs_of(tasks.tasks, databases)},
        command=command,
    )


def check_agent_settings(manifest: RunManifest, asked: AgentSettings) -> None:
    """Refuse to go on with a run whose models were asked in another way: its scores would be of two kinds.

    Raises
    ------
    ConfigurationError
        If `asked` differs from what the manifest says.
    """
    hints = bool(manifest.settings.get("hints", True))
    planned = agent_settings(manifest.settings.get(AGENT_SETTING)).told(hints=hints)
    wanted = asked.told(hints=hints)
    differing = [name for name, value in planned if value != getattr(wanted, name)]
    if differing:
        name = differing[0]
        msg = (
            f"run {manifest.run_id!r} was planned with agent setting {name}={getattr(planned, name)}, which stays: "
            "leave --agent-setting out, or start another run"
        )
        raise ConfigurationError(msg)


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


def check_played_by_agents(manifest: RunManifest) -> None:
    """Refuse to go on with what no agent can play: a recording, or an episode of another program's.

    Raises
    ------
    ConfigurationError
        If a person is recorded in the run, or its replies come from outside.
    """
    tasks = sorted({spec.task_id for spec in manifest.episodes if spec.agent == PERSON})
    if tasks:
        msg = f"run {manifest.run_id!r} is a recording of a person: record anew, `matassay record {tasks[0]}`"
        raise ConfigurationError(msg)
    outside = next((spec for spec in manifest.episodes if spec.agent in OUTSIDE), None)
    if outside is not None:
        anew = OUTSIDE[outside.agent].format(task=outside.task_id)
        msg = f"run {manifest.run_id!r} was played by another program ({outside.agent}): {anew}"
        raise ConfigurationError(msg)


def _machine(choice: Selection) -> MachineSettings:
    """Return the machines' settings; marks of the accessibility tree need machines whose programs serve one."""
    if choice.asked.marks != "accessibility":
        return choice.machine
    return choice.machine.model_copy(update={"accessibility": True})


def _references(tasks: Sequence[LoadedTask], players: Sequence[Player], *, seed: int) -> tuple[EpisodeSpec, ...]:
    """Plan the oracle for each task that asks a live database: its answers say whether the database has moved."""
    if _ORACLE in players:
        return ()
    return episodes_for([loaded for loaded in tasks if asks_a_database(loaded)], [_ORACLE], trials=1, seed=seed)


def _recorded_settings(choice: Selection) -> dict[str, Json]:
    asked = choice.asked.told(hints=choice.hints)
    recorded: dict[str, Json] = {
        "hints": choice.hints and asked.hints,
        "retries": choice.retries,
        AGENT_SETTING: asked.model_dump(mode="json"),
        **decoding_settings(choice.models, choice.models_file),
        **budget_settings(choice.limit, choice.night),
        **({CACHE_SETTING: True} if choice.cache else {}),
    }
    if "replay" in choice.agents:
        run, _, agent = (choice.replay or "").partition(":")
        if not run:
            msg = "agent 'replay' needs --replay RUN or --replay RUN:AGENT, whose trajectories it plays"
            raise ConfigurationError(msg)
        recorded["replay"] = {"run": run, "agent": agent or "oracle"}
    return recorded


def _players(agents: Sequence[str], models: Sequence[str], models_file: Path | None) -> tuple[Player, ...]:
    """Pair agents that need a model with every model; check all names."""
    known = load_models(models_file) if models else {}
    for model in models:
        find_model(known, model)
    players: list[Player] = []
    for agent in agents:
        if agent not in AGENTS and agent != HUMAN:
            msg = f"no agent {agent!r}; there are {', '.join(sorted([*AGENTS, HUMAN]))}"
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
