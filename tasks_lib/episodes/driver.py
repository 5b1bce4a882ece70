"""The course of an episode, from what is missing to the verdict, whoever runs the single phases.

`drive` is called with the phases as plain functions in threads (tests, notebooks) or wrapped as tasks of an
orchestrator: one course for both.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tasks_lib.episodes import grading, live
from tasks_lib.episodes.attempts import Attempt, begin, check_room, write_void
from tasks_lib.episodes.budgets import check_budget
from tasks_lib.episodes.progress import tell
from tasks_lib.episodes.work import EpisodeWork, load_work, missing
from tasks_lib.records import (
    Ending,
    Evidence,
    HandoffRecord,
    Initialise,
    Outcome,
    Phase,
    Stage,
    Verb,
    Verdict,
    VoidRecord,
)
from tasks_lib.records.errors import MatAssayError, TaskError, policy_for
from tasks_lib.sandbox import Machine
from tasks_lib.store import AttemptFolder, EpisodeFolder, RunFolder, Store


class EpisodeVoidError(MatAssayError):
    """An episode ended VOID; `record` says why."""

    def __init__(self, episode_id: str, record: VoidRecord) -> None:
        super().__init__(f"VOID({record.reason}) {episode_id} in phase {record.phase}: {record.message}")
        self.record = record


@dataclass(frozen=True)
class Phases:
    """The phases of an episode as awaitable functions."""

    provision: Callable[[EpisodeWork, AttemptFolder, Stage], Awaitable[Machine]]
    initialise: Callable[[EpisodeWork, AttemptFolder, Stage, Machine], Awaitable[Initialise]]
    act: Callable[[EpisodeWork, AttemptFolder, Stage, Machine], Awaitable[Ending]]
    collect: Callable[[EpisodeWork, AttemptFolder, Stage, Machine, Ending], Awaitable[Evidence]]
    hand_over: Callable[[EpisodeWork, Stage, Evidence], Awaitable[tuple[HandoffRecord, ...]]]
    evaluate: Callable[[EpisodeWork, AttemptFolder, dict[str, Evidence]], Awaitable[Verdict]]


def _threaded(function: Callable[..., Any]) -> Callable[..., Awaitable[Any]]:
    async def call(*arguments: Any) -> Any:
        return await asyncio.to_thread(function, *arguments)

    return call


def plain_phases() -> Phases:
    """Return the phases as they are, each in a thread."""
    return Phases(
        provision=_threaded(live.provision),
        initialise=_threaded(live.initialise),
        act=_threaded(live.act),
        collect=_threaded(live.collect),
        hand_over=_threaded(grading.hand_over),
        evaluate=_threaded(grading.evaluate),
    )


async def drive(work: EpisodeWork, phases: Phases) -> Verdict:
    """Do what is missing of an episode and return its verdict.

    What the error-policy table calls *retry* is tried once more in a new attempt; then it is VOID.

    Raises
    ------
    EpisodeVoidError
        If the episode is VOID; ``void.json`` is in its attempt's folder.
    """
    tries = 1 + int(work.manifest.settings.get("retries", 1))
    for turn in range(1, tries + 1):
        verdict = missing(work).verdict
        if verdict is not None:
            return verdict
        course = _Course(work, phases)
        try:
            return await course.run()
        except BaseException as error:
            record = course.void(error)
            if policy_for(error).verb is Verb.RETRY and turn < tries:
                continue
            _tell_void(work.folder, course.number, record)
            if isinstance(error, asyncio.CancelledError | KeyboardInterrupt):
                raise
            raise EpisodeVoidError(work.spec.id, record) from error
    raise AssertionError(tries)


async def run_episode(
    store: Store,
    run_id: str,
    episode_id: str,
    taskdefs: Path,
    phases: Phases,
    *,
    models_file: Path | None = None,
    flow_run_id: str | None = None,
) -> Verdict:
    """Load an episode and drive it; a task that cannot be read is VOID(task) like any other.

    Raises
    ------
    EpisodeVoidError
        If the episode is VOID.
    ConfigurationError
        If the run or the episode is unknown, or the models file is broken.
    """
    try:
        work = await asyncio.to_thread(
            load_work, store, run_id, episode_id, taskdefs, models_file=models_file, flow_run_id=flow_run_id
        )
    except TaskError as error:
        folder = RunFolder(store, run_id).episode(episode_id)
        record = write_void(folder, None, Phase.PROVISION, "main", error)
        _tell_void(folder, 0, record)
        raise EpisodeVoidError(episode_id, record) from error
    return await drive(work, phases)


class _Course:
    """One try: where it is, so that a failure can be told with its phase."""

    def __init__(self, work: EpisodeWork, phases: Phases) -> None:
        self.work = work
        self.phases = phases
        self.attempt: Attempt | None = None
        self.phase = Phase.PROVISION
        self.stage = work.task.stages[0]

    @property
    def number(self) -> int:
        """The attempt's number, 0 before it has begun."""
        return self.attempt.folder.number if self.attempt else 0

    async def run(self) -> Verdict:
        work = self.work
        check_room(work.store)
        need = missing(work)
        if need.stages:
            await asyncio.to_thread(check_budget, work)
        evidence = dict(need.evidence)
        self.attempt = await asyncio.to_thread(begin, work.folder, new=bool(need.stages), flow_run_id=work.flow_run_id)
        try:
            tell("episode-started", work.run_id, work.spec.id, attempt=self.number)
            for stage in work.task.stages:
                self.stage = stage
                if stage.id not in evidence:
                    evidence[stage.id] = await self._live(stage)
                if stage.hands_over:
                    handed = await self._phase(Phase.HANDOFF, self.phases.hand_over(work, stage, evidence[stage.id]))
                    if grading.nothing_to_take(handed):
                        break
            verdict: Verdict = await self._phase(
                Phase.EVALUATE, self.phases.evaluate(work, self.attempt.folder, evidence)
            )
        finally:
            self.attempt.end()
        tell("episode-ended", work.run_id, work.spec.id, attempt=self.number, outcome=verdict.outcome,
             message=f"{verdict.earned} of {verdict.points} points")  # fmt: skip
        return verdict

    async def _live(self, stage: Stage) -> Evidence:
        assert self.attempt is not None  # noqa: S101
        work, folder = self.work, self.attempt.folder
        machine: Machine = await self._phase(
            Phase.PROVISION, _never_orphaned(self.phases.provision(work, folder, stage))
        )
        try:
            self.attempt.holds(machine)
            await self._phase(Phase.INITIALISE, self.phases.initialise(work, folder, stage, machine))
            ending = await self._phase(Phase.ACT, self.phases.act(work, folder, stage, machine))
            evidence: Evidence = await self._phase(
                Phase.COLLECT, self.phases.collect(work, folder, stage, machine, ending)
            )
        finally:
            # Closed before grading starts: nothing of the agent's may still be writing. Shielded: a cancelled
            # episode must not leave its machine behind.
            await asyncio.shield(asyncio.to_thread(machine.close))
        return evidence

    async def _phase(self, phase: Phase, doing: Awaitable[Any]) -> Any:
        self.phase = phase
        place = {"attempt": self.number, "stage": self.stage.id, "phase": phase}
        tell("phase-started", self.work.run_id, self.work.spec.id, **place)
        result = await doing
        tell("phase-ended", self.work.run_id, self.work.spec.id, **place)
        return result

    def void(self, error: BaseException) -> VoidRecord:
        """Write ``void.json`` and return it; a store that cannot take it leaves the record in memory."""
        return write_void(self.work.folder, self.attempt, self.phase, self.stage.id, error)


def _tell_void(episode: EpisodeFolder, attempt: int, record: VoidRecord) -> None:
    tell("episode-ended", episode.run_id, episode.episode_id, attempt=attempt, phase=record.phase,
         outcome=Outcome.VOID, reason=record.reason, message=record.message)  # fmt: skip


async def _never_orphaned(provisioning: Awaitable[Machine]) -> Machine:
    """Wait for a machine; one that comes up after the episode was cancelled is closed."""
    coming = asyncio.ensure_future(provisioning)
    try:
        return await asyncio.shield(coming)
    except asyncio.CancelledError:
        machine = await coming
        await asyncio.to_thread(machine.close)
        raise
