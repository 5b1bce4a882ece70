"""The phases of an episode as Prefect tasks, one a phase.

A machine cannot be kept: results of *provision* and *initialise* are never persisted, a cached handle would point at
a machine that is gone. The other phases persist a reference into our store, no more; the key names store, run,
episode, attempt, stage, phase and what the phase reads, so a reference is only ever found for the same work. Whether
a phase is done at all is decided by `tasks_lib.episodes.missing`, not here.
"""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import Callable
from typing import Any, TypeVar, cast

from prefect import Task, task
from prefect.cache_policies import NO_CACHE, CacheKeyFnPolicy
from prefect.client.schemas.objects import State
from prefect.context import TaskRunContext
from prefect.tasks import TaskRunNameCallbackWithParameters
from prefect.utilities.annotations import quote

from tasks_lib.episodes import EpisodeWork, Phases, grading, live
from tasks_lib.records import Ending, Evidence, HandoffRecord, Initialise, Stage, Verdict
from tasks_lib.sandbox import Machine
from tasks_lib.store import AttemptFolder

Reference = dict[str, Any]
T = TypeVar("T")


def phase_key(phase: str, parameters: dict[str, Any]) -> str:
    """Return the cache key of a phase: the same work gives the same key, anything else another.

    Parameters
    ----------
    phase : str
        The task's name.
    parameters : dict
        The task's arguments: ``work``, and whichever of ``attempt``, ``stage`` and ``evidence`` it takes.
    """
    work: EpisodeWork = parameters["work"]
    attempt: AttemptFolder | None = parameters.get("attempt")
    stage: Stage | None = parameters.get("stage")
    evidence = parameters.get("evidence")
    read = {} if evidence is None else {evidence.stage: evidence} if isinstance(evidence, Evidence) else evidence
    parts = [
        work.store.url,
        work.run_id,
        work.spec.id,
        str(attempt.number) if attempt else "-",
        stage.id if stage else "-",
        phase,
        work.loaded.digest,
        *(f"{name}={read[name].to_json()}" for name in sorted(read)),
    ]
    return hashlib.sha256("\x1f".join(parts).encode("utf-8")).hexdigest()


def _key(context: TaskRunContext, parameters: dict[str, Any]) -> str:
    return phase_key(context.task.name, parameters)


def _name(shown: str) -> TaskRunNameCallbackWithParameters:
    """Name a task run by its phase, and by its stage where the task has several."""

    def name(parameters: dict[str, Any]) -> str:
        stage: Stage | None = parameters.get("stage")
        return shown if stage is None or stage.id == "main" else f"{shown} {stage.id}"

    return cast("TaskRunNameCallbackWithParameters", name)


_KEPT: dict[str, Any] = {
    "persist_result": True,
    "result_serializer": "json",
    "cache_policy": CacheKeyFnPolicy(cache_key_fn=_key),
}
_NOT_KEPT: dict[str, Any] = {"persist_result": False, "cache_policy": NO_CACHE}


@task(name="provision", task_run_name=_name("provision"), **_NOT_KEPT)
async def provision(work: EpisodeWork, attempt: AttemptFolder, stage: Stage) -> Machine:
    """Open a machine."""
    return await asyncio.to_thread(live.provision, work, attempt, stage)


@task(name="initialise", task_run_name=_name("initialise"), **_NOT_KEPT)
async def initialise(work: EpisodeWork, attempt: AttemptFolder, stage: Stage, machine: Machine) -> Initialise:
    """Set the task up on the machine."""
    return await asyncio.to_thread(live.initialise, work, attempt, stage, machine)


@task(name="act", task_run_name=_name("act"), **_KEPT)
async def act(work: EpisodeWork, attempt: AttemptFolder, stage: Stage, machine: Machine) -> Reference:
    """Let the agent work; refers to its trajectory."""
    ending = await asyncio.to_thread(live.act, work, attempt, stage, machine)
    return {"path": attempt.stage(stage.id).trajectory, "ending": ending.value}


@task(name="collect", task_run_name=_name("collect"), **_KEPT)
async def collect(
    work: EpisodeWork, attempt: AttemptFolder, stage: Stage, machine: Machine, ending: Ending
) -> Reference:
    """Gather the evidence; refers to it."""
    await asyncio.to_thread(live.collect, work, attempt, stage, machine, ending)
    return {"path": attempt.stage(stage.id).evidence}


@task(name="hand-off", task_run_name=_name("hand-off"), **_KEPT)
async def hand_over(work: EpisodeWork, stage: Stage, evidence: Evidence) -> Reference:
    """Check what a stage gives the next and keep it; refers to the checks."""
    records = await asyncio.to_thread(grading.hand_over, work, stage, evidence)
    return {"paths": [work.folder.handoff_check(stage.id, record.as_path) for record in records]}


@task(name="evaluate", task_run_name=_name("evaluate"), **_KEPT)
async def evaluate(work: EpisodeWork, attempt: AttemptFolder, evidence: dict[str, Evidence]) -> Reference:
    """Judge the evidence; refers to the verdict."""
    await asyncio.to_thread(grading.evaluate, work, attempt, evidence)
    return {"path": attempt.verdict}


class _Chain:
    """Calls phases one after the other, so that the graph of the flow run shows what follows what."""

    def __init__(self) -> None:
        self._last: State[Any] | None = None

    async def call(self, phase: Task[..., Any], *arguments: Any) -> Any:
        """Run a phase and return its result, or raise what it raised."""
        # Quoted: Prefect would walk through every document of an argument to look for futures.
        quoted = [quote(argument) for argument in arguments]
        before = [self._last] if self._last is not None else None
        self._last = None
        state: State[Any] = await phase(*quoted, wait_for=before, return_state=True)
        result = await state.aresult()
        self._last = state
        return result

    async def refer(self, phase: Task[..., Any], read: Callable[[Reference], T], *arguments: Any) -> T:
        """Run a phase and read what its reference refers to; a reference to nothing makes the phase run again."""
        before = self._last
        try:
            return read(await self.call(phase, *arguments))
        except FileNotFoundError:
            self._last = before
            return read(await self.call(phase.with_options(refresh_cache=True), *arguments))


def task_phases() -> Phases:
    """Return the phases as tasks of the present flow run, for `tasks_lib.episodes.drive`."""
    chain = _Chain()

    async def provisioning(work: EpisodeWork, attempt: AttemptFolder, stage: Stage) -> Machine:
        machine: Machine = await chain.call(provision, work, attempt, stage)
        return machine

    async def initialising(work: EpisodeWork, attempt: AttemptFolder, stage: Stage, machine: Machine) -> Initialise:
        record: Initialise = await chain.call(initialise, work, attempt, stage, machine)
        return record

    async def acting(work: EpisodeWork, attempt: AttemptFolder, stage: Stage, machine: Machine) -> Ending:
        return await chain.refer(act, lambda found: Ending(found["ending"]), work, attempt, stage, machine)

    async def collecting(
        work: EpisodeWork, attempt: AttemptFolder, stage: Stage, machine: Machine, ending: Ending
    ) -> Evidence:
        def read(found: Reference) -> Evidence:
            return work.store.read_document(found["path"], Evidence)

        return await chain.refer(collect, read, work, attempt, stage, machine, ending)

    async def handing(work: EpisodeWork, stage: Stage, evidence: Evidence) -> tuple[HandoffRecord, ...]:
        def read(found: Reference) -> tuple[HandoffRecord, ...]:
            return tuple(work.store.read_document(path, HandoffRecord) for path in found["paths"])

        return await chain.refer(hand_over, read, work, stage, evidence)

    async def evaluating(work: EpisodeWork, attempt: AttemptFolder, evidence: dict[str, Evidence]) -> Verdict:
        def read(found: Reference) -> Verdict:
            return work.store.read_document(found["path"], Verdict)

        return await chain.refer(evaluate, read, work, attempt, evidence)

    return Phases(
        provision=provisioning,
        initialise=initialising,
        act=acting,
        collect=collecting,
        hand_over=handing,
        evaluate=evaluating,
    )
