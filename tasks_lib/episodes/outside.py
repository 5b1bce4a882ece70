"""An episode that another program plays, one reply at a time: the phases of every other, driven in a thread of its own.

The one outside is handed views and gives replies. It cannot tell this episode from a model's: the loop, the records,
the budgets and the judge are the same.
"""

from __future__ import annotations

import asyncio
import contextvars
import queue
import secrets
import threading
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from tasks_lib.agents import View
from tasks_lib.agents.outside import OutsideAgent
from tasks_lib.agents.settings import SETTING as AGENT_SETTING
from tasks_lib.agents.settings import AgentSettings
from tasks_lib.databases.upstreams import Upstreams
from tasks_lib.episodes import grading, live
from tasks_lib.episodes.database_plan import databases_for
from tasks_lib.episodes.driver import EpisodeVoidError, drive, plain_phases
from tasks_lib.episodes.needs import build_environments, needs_of
from tasks_lib.episodes.plan import Player, episodes_for, make_manifest, open_run
from tasks_lib.episodes.work import EpisodeWork, load_work
from tasks_lib.records import Ending, Evidence, MachineSettings, Stage, Step, Verdict, VoidRecord, now
from tasks_lib.records.errors import MachineLostError
from tasks_lib.sandbox import Machine, provider
from tasks_lib.store import AttemptFolder, Store
from tasks_lib.taskdefs import LoadedTask


@dataclass(frozen=True, kw_only=True)
class OutsideOrder:
    """What is to be played, and how.

    Attributes
    ----------
    player : str
        Who plays, a key of `plan.OUTSIDE`.
    loaded : LoadedTask
    task_set_digest : str
    taskdefs : Path
        Root of the task definitions.
    machine : MachineSettings
    asked : AgentSettings
        What the player is shown and told: marks, hints and with them the set-up; and budgets that are cut.
    seed : int
        Of the run.
    """

    player: str
    loaded: LoadedTask
    task_set_digest: str
    taskdefs: Path
    machine: MachineSettings
    asked: AgentSettings = field(default_factory=AgentSettings)
    seed: int = 0


def open_outside(order: OutsideOrder, store: Store, say: Callable[[str], None] = lambda _: None) -> OutsideEpisode:
    """Write down a run of one episode for a player from outside, and start it.

    Raises
    ------
    ConfigurationError
        If the provider is unknown, or the databases of the task cannot be had.
    ProvisionError
        If the Python environment of the task cannot be built.
    """
    provider(order.machine.provider)
    tasks = [order.loaded]
    databases = databases_for(tasks, Upstreams(), live=False, faults=())
    # Resets of an environment follow each other within a second, so the time alone is no name.
    run_id = f"{now():%Y%m%d-%H%M%S}-{order.player}-{secrets.token_hex(4)}"
    manifest = make_manifest(
        order.player,
        episodes_for(tasks, [Player(order.player)], trials=1, seed=order.seed),
        run_id=run_id,
        seed=order.seed,
        # Marks of the accessibility tree need programs that serve one.
        machine=order.machine.model_copy(
            update={"accessibility": order.machine.accessibility or order.asked.marks == "accessibility"}
        ),
        task_set_digest=order.task_set_digest,
        # No second attempt: the one outside would find a task that it has half done begun anew.
        settings={
            "hints": order.asked.hints,
            "retries": 0,
            AGENT_SETTING: order.asked.model_dump(mode="json"),
            **needs_of(tasks, databases),
        },
    )
    open_run(store, manifest)
    build_environments(manifest, order.taskdefs, say)
    return OutsideEpisode(load_work(store, run_id, manifest.episodes[0].id, order.taskdefs))


class OutsideEpisode:
    """An episode under way; its methods are called by one thread at a time.

    Parameters
    ----------
    work : EpisodeWork
        Its run has no retries.

    Attributes
    ----------
    last : Step or None
        The newest step.
    stage : Stage
        The stage that the newest view belongs to.
    ending : Ending or None
        How the newest ended stage has ended.
    verdict : Verdict or None
        None before the end, and where the episode is VOID.
    void : VoidRecord or None
        Why it is VOID.
    """

    def __init__(self, work: EpisodeWork) -> None:
        self.work = work
        self.last: Step | None = None
        self.stage: Stage = work.task.stages[0]
        self.ending: Ending | None = None
        self.verdict: Verdict | None = None
        self.void: VoidRecord | None = None
        self._evidence: dict[str, Evidence] = {}
        self._views: queue.SimpleQueue[View | None] = queue.SimpleQueue()
        self._lock = threading.Lock()
        self._agent: OutsideAgent | None = None
        self._place: tuple[AttemptFolder, Machine] | None = None
        self._left = False
        self._bug: BaseException | None = None
        # Not joined when the interpreter ends: whoever forgets to leave must not wait for the end of the budget.
        self._thread = threading.Thread(target=self._drive, name="outside episode", daemon=True)
        self._thread.start()

    @property
    def is_over(self) -> bool:
        """Whether the episode has been judged, or is VOID."""
        return not self._thread.is_alive()

    def view(self) -> View | None:
        """Wait for the first view; None where the episode has ended before anything was asked."""
        found = self._views.get()
        if found is None:
            self._end()
        return found

    def raise_void(self) -> None:
        """Raise EpisodeVoidError where the episode is VOID."""
        if self.void is not None:
            raise EpisodeVoidError(self.work.spec.id, self.void)

    def answer(self, text: str) -> View | None:
        """Answer the newest view and wait for the next one.

        Returns
        -------
        View or None
            None where the episode is over; then `verdict` or `void` says how it went.
        """
        with self._lock:
            agent = self._agent
        if agent is not None:
            agent.answer(text)  # where its time ran out meanwhile, what is next says so
        return self.view()

    def leave(self) -> None:
        """Answer everything with FAIL from now on, and wait until the episode has been judged; idempotent."""
        with self._lock:
            self._left = True
            agent = self._agent
        if agent is not None:
            agent.leave()
        self._end()

    def earned(self) -> dict[str, int]:
        """Judge the present state; return the points of each criterion, and nothing else of the judgement.

        What it takes is no time of the budget. It is called while a view waits for its answer, or at the end. It is
        empty where the episode is VOID, or the machine went while it was asked: the next view says so.
        """
        if self.is_over or self._agent is None or self._place is None:
            return {} if self.verdict is None else {record.id: record.earned for record in self.verdict.criteria}
        attempt, machine = self._place
        with self._agent.held():
            try:
                present = live.gather(self.work, attempt, self.stage, machine.computer, Ending.STEPS)
            except MachineLostError:
                return {}
            verdict = grading.judged(self.work, {**self._evidence, self.stage.id: present})
        return {record.id: record.earned for record in verdict.criteria}

    def final(self) -> Evidence | None:
        """Return the evidence of the newest ended stage."""
        return next(reversed(self._evidence.values()), None)

    def _end(self) -> None:
        self._thread.join()
        if self._bug is not None:
            raise self._bug

    def _drive(self) -> None:
        phases = replace(plain_phases(), act=self._act, collect=self._collect)
        try:
            self.verdict = asyncio.run(drive(self.work, phases))
        except EpisodeVoidError as error:
            self.void = error.record
        except BaseException as error:  # noqa: BLE001  # raised again in the thread of the one outside
            self._bug = error
        finally:
            self._views.put(None)

    async def _act(self, work: EpisodeWork, attempt: AttemptFolder, stage: Stage, machine: Machine) -> Ending:
        agent = OutsideAgent(work.spec.agent, self._views.put)
        with self._lock:
            self._agent, self._place, self.stage = agent, (attempt, machine), stage
            left = self._left
        if left:
            agent.leave()
        ending: Ending = await _aside(
            live.act, work, attempt, stage, machine, player=agent, clock=agent.clock, on_step=self._stepped
        )
        return ending

    async def _collect(
        self, work: EpisodeWork, attempt: AttemptFolder, stage: Stage, machine: Machine, ending: Ending
    ) -> Evidence:
        evidence = await asyncio.to_thread(live.collect, work, attempt, stage, machine, ending)
        self._evidence[stage.id], self.ending = evidence, ending
        return evidence

    def _stepped(self, step: Step) -> None:
        self.last = step


async def _aside(function: Callable[..., Any], *arguments: Any, **named: Any) -> Any:
    """Call a function in a thread that the interpreter does not wait for when it ends."""
    loop = asyncio.get_running_loop()
    future: asyncio.Future[Any] = loop.create_future()
    context = contextvars.copy_context()

    def settle(result: Any, error: BaseException | None) -> None:
        if future.done():
            return
        if error is None:
            future.set_result(result)
        else:
            future.set_exception(error)

    def call() -> None:
        try:
            result, error = context.run(function, *arguments, **named), None
        except BaseException as problem:  # noqa: BLE001  # raised again by the one who waits
            result, error = None, problem
        loop.call_soon_threadsafe(settle, result, error)

    threading.Thread(target=call, name="outside act", daemon=True).start()
    return await future
