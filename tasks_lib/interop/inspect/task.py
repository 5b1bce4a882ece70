"""Our benchmarks as tasks of Inspect AI: ``inspect eval matassay/smoke --model …``.

Inspect finds this module by the entry point ``inspect_ai``. A sample is one of our tasks; the solver drives our machine
in our loop and asks Inspect's model; the scorer is our judge. Every episode is in our store as well.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import sniffio
from inspect_ai import Task, task
from inspect_ai.dataset import MemoryDataset, Sample
from inspect_ai.model import get_model
from inspect_ai.scorer import Score, Scorer, Target, accuracy, mean, scorer, stderr
from inspect_ai.solver import Generate, Solver, TaskState, solver

from tasks_lib.agents.settings import agent_settings
from tasks_lib.episodes import outcome_of
from tasks_lib.interop.inspect._desk import Desk
from tasks_lib.interop.inspect._messages import OURS, told_end, told_stage, told_step
from tasks_lib.interop.inspect._model import InspectChat
from tasks_lib.interop.trajectory import trajectories
from tasks_lib.models import Redactor
from tasks_lib.records import MachineSettings, Step, Verdict
from tasks_lib.records.errors import ConfigurationError
from tasks_lib.store import Store
from tasks_lib.taskdefs import LoadedTask, Select, TaskSet, choose, find_root, load_all, load_benchmark

# Inspect names what it registers after the top-level module of its function. Ours is called after the distribution.
_PACKAGE = "matassay"


def benchmark(
    name: str,
    tasks: str | list[str] = "",
    store: str = "",
    agent: str | list[str] = "",
    hints: bool = True,
    isolated: bool = True,
) -> Task:
    """Make the task of a benchmark.

    Parameters
    ----------
    name : str
        Of ``taskdefs/benchmarks``.
    tasks : str or list of str
        Ids of tasks, separated by commas; empty: all of the benchmark.
    store : str
        Where the episodes are kept; by default ``$MATASSAY_STORE``, else ``artifacts``.
    agent : str or list of str
        Settings of the agent, ``KEY=VALUE``, separated by commas.
    hints : bool
        Whether the stages' hints are told.
    isolated : bool
        Whether machines are closed off by bubblewrap.

    Raises
    ------
    ConfigurationError
        If the benchmark, a task or a setting is unknown.
    """
    root = find_root()
    chosen = choose(
        load_benchmark(name, root).choose(load_all(root)), Select(tasks=tuple(_listed(tasks))), what="-T tasks"
    )
    settings = agent_settings({}, _listed(agent)).told(hints=hints)
    if settings.replies != "blocks":
        msg = f"through Inspect a model answers in blocks, got replies={settings.replies}: leave the setting out"
        raise ConfigurationError(msg)
    desk = Desk(
        name=name,
        tasks=chosen.tasks,
        digest=chosen.digest,
        root=Path(root).resolve(),
        store=Store.open(store or os.environ.get("MATASSAY_STORE") or "artifacts"),
        machine=MachineSettings(isolated=isolated),
        settings=settings,
    )
    return Task(
        dataset=MemoryDataset([_sample(loaded) for loaded in chosen.tasks], name=name),
        solver=machine(desk),
        scorer=[passed(desk), share(desk)],
        version=chosen.digest[:12],
        metadata={OURS: {"benchmark": name, "task_set": chosen.digest}},
    )


def _listed(given: str | list[str]) -> list[str]:
    items = given.split(",") if isinstance(given, str) else given
    return [str(item).strip() for item in items if str(item).strip()]


def _sample(loaded: LoadedTask) -> Sample:
    """Return what Inspect may know of a task: neither criteria nor gold."""
    known = loaded.task
    return Sample(
        id=loaded.id,
        input="\n\n".join(stage.instruction.strip() for stage in known.stages),
        target="",
        metadata={
            OURS: {
                "task": loaded.id,
                "task_digest": loaded.digest,
                "domain": known.domain,
                "modality": str(known.modality),
                "player": "inspect",
            }
        },
    )


def _named(function: Callable[..., Any], name: str) -> Callable[..., Any]:
    function.__module__, function.__name__, function.__qualname__ = _PACKAGE, name, name
    return function


def _machine(desk: Desk) -> Solver:
    """Play a task on a machine of ours."""

    async def solve(state: TaskState, generate: Generate) -> TaskState:
        if sniffio.current_async_library() != "asyncio":
            msg = "our machines are driven by asyncio: unset INSPECT_ASYNC_BACKEND"
            raise ConfigurationError(msg)
        chat = InspectChat(get_model(), asyncio.get_running_loop())
        work = await asyncio.to_thread(desk.work, str(state.sample_id), str(state.model), state.epoch)
        state.metadata[OURS] = {**state.metadata.get(OURS, {}), "run": work.run_id, "episode": work.spec.id}
        try:
            await desk.play(work, chat)
        finally:
            await asyncio.to_thread(_tell, desk, state)
        return state

    return solve


def _tell(desk: Desk, state: TaskState) -> None:
    """Put what happened into the conversation that Inspect keeps."""
    about = state.metadata[OURS]
    known = TaskSet(tuple(desk.tasks), desk.digest)
    redactor = Redactor.from_environment()
    for found in trajectories(desk.store, about["run"], known, redactor, only=[str(state.sample_id)]):
        state.messages.clear()
        for play in found.plays:
            key = f"{found.spec.id}-{play.stage}"
            state.messages.append(told_stage(play, key))
            before: Step | None = None
            for step in play.steps:
                state.messages += told_step(step, before, desk.store.get_blob, key=key, model=str(state.model))
                before = step
            state.messages += told_end(play, desk.store.get_blob, key)
            state.output.completion = play.steps[-1].reply


def _scored(desk: Desk, state: TaskState, value: Callable[[Verdict], str | float]) -> Score:
    """Return what the verdict says; an episode that a limit of Inspect's ended has none, and is in no mean."""
    about = state.metadata[OURS]
    verdict = outcome_of(desk.store, about["run"], about["episode"])
    if not isinstance(verdict, Verdict):
        why = f"episode {about['episode']} of run {about['run']} was ended before it was judged"
        return Score.unscored(reason="not judged", explanation=why)
    told = "\n".join(f"- {entry.id}: {entry.earned} of {entry.points}" for entry in verdict.criteria)
    return Score(value=value(verdict), answer=f"{verdict.earned} of {verdict.points} points", explanation=told)


def _passed(desk: Desk) -> Scorer:
    """Tell whether every criterion is met."""

    async def score(state: TaskState, target: Target) -> Score:
        return await asyncio.to_thread(_scored, desk, state, lambda verdict: "C" if verdict.score == 1.0 else "I")

    return score


def _share(desk: Desk) -> Scorer:
    """Tell the earned share of the points."""

    async def score(state: TaskState, target: Target) -> Score:
        return await asyncio.to_thread(_scored, desk, state, lambda verdict: verdict.score)

    return score


machine = solver(name=f"{_PACKAGE}/machine")(_named(_machine, "machine"))
passed = scorer(metrics=[accuracy(), stderr()], name=f"{_PACKAGE}/passed")(_named(_passed, "passed"))
share = scorer(metrics=[mean(), stderr()], name=f"{_PACKAGE}/share")(_named(_share, "share"))


def _offer(name: str) -> Callable[..., Task]:
    """Register a benchmark under its own name."""

    def offered(
        tasks: str | list[str] = "",
        store: str = "",
        agent: str | list[str] = "",
        hints: bool = True,
        isolated: bool = True,
    ) -> Task:
        return benchmark(name, tasks=tasks, store=store, agent=agent, hints=hints, isolated=isolated)

    offered.__doc__ = f"Play the benchmark {name}."
    found: Callable[..., Task] = task(name=f"{_PACKAGE}/{name}")(_named(offered, name))
    return found


def _names() -> list[str]:
    try:
        return sorted(file.stem for file in (find_root() / "benchmarks").glob("*.yaml"))
    except ConfigurationError:
        return []  # without task definitions there is nothing to offer, and Inspect's other tasks go on


OFFERED = {name: _offer(name) for name in _names()}
