"""The player ``human``: a person does the stages of a run, on the desktop in the browser or on a page to write scripts.

Hands are no replies: what they did is seen on the machine, cut into steps like those of any agent, and read by the same
parser. The time budget is kept; the step budget cannot be, since nobody knows where a step ends before it has ended.
What is written is a reply: code and figure stages go through the loop of every agent, with its budgets and caps.
"""

from __future__ import annotations

import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from tasks_lib.episodes import live
from tasks_lib.episodes.asking import settings_of_agents
from tasks_lib.episodes.bench import Bench
from tasks_lib.episodes.progress import tell
from tasks_lib.episodes.sitting import Desk, Sitting
from tasks_lib.episodes.work import EpisodeWork
from tasks_lib.episodes.writing import Writer
from tasks_lib.records import Ending, Modality, Stage, Step
from tasks_lib.records.errors import ConfigurationError
from tasks_lib.sandbox import Machine
from tasks_lib.sandbox.viewing import ScreenServer, viewing_problems
from tasks_lib.store import AttemptFolder
from tasks_lib.taskdefs import LoadedTask

_desks: list[Callable[[], Desk]] = []
# Episodes of a run go side by side; a person has two hands.
_one_at_a_time = threading.Lock()


@contextmanager
def seated(desk: Callable[[], Desk]) -> Iterator[None]:
    """Say how a person is told of a desktop in this process; the innermost counts.

    Parameters
    ----------
    desk : callable
        Makes the desk of a stage; raises ConfigurationError where nobody can be told.
    """
    _desks.append(desk)
    try:
        yield
    finally:
        _desks.remove(desk)


def check_human(tasks: Sequence[LoadedTask]) -> None:
    """Refuse what no person can play here.

    Raises
    ------
    ConfigurationError
        If a task needs a desktop and there is none in the browser, or there is nobody to tell of it.
    """
    problems = viewing_problems() if any(loaded.task.needs_desktop for loaded in tasks) else []
    if problems:
        raise ConfigurationError("; ".join(problems))
    _desk()


def act(
    work: EpisodeWork,
    attempt: AttemptFolder,
    stage: Stage,
    machine: Machine,
    *,
    clock: Callable[[], float] = time.monotonic,
) -> Ending:
    """Let the person work until they are done or the time is spent; write the trajectory.

    Raises
    ------
    ConfigurationError
        If nobody can be told.
    MachineLostError
        If the machine stops answering.
    """
    with _one_at_a_time, tempfile.TemporaryDirectory(prefix="matassay-human-") as folder:
        desk = _desk()
        if stage.modality is not Modality.GUI:
            return _write_scripts(work, attempt, stage, machine, desk, Path(folder), clock)
        sitting = Sitting(work, stage, machine.computer, Path(folder))
        deadline = clock() + stage.budget.seconds
        ended = False
        try:
            sitting.watch(desk, until=lambda: clock() >= deadline)
            ended = clock() < deadline
        finally:  # a lost machine takes nothing of what was done along
            _write(sitting, desk, work, attempt, stage, done=ended)
        if not ended:
            desk.tell(f"the time of stage {stage.id} is over ({stage.budget.seconds:.0f} s)")
    return Ending.DONE if ended else Ending.SECONDS


def _write_scripts(
    work: EpisodeWork,
    attempt: AttemptFolder,
    stage: Stage,
    machine: Machine,
    desk: Desk,
    folder: Path,
    clock: Callable[[], float],
) -> Ending:
    """Let the person reply to the loop of all agents, on a page beside the desktop where there is one."""
    settings = settings_of_agents(work)
    budget = settings.budget(stage.budget)
    computer = machine.computer
    sitting = Sitting(work, stage, computer, folder) if stage.needs_desktop else None
    bench = Bench(stage, settings, desk.tell)
    writer = Writer(computer, desk, bench, sitting, most=budget.steps, clock=clock)
    try:
        if sitting is not None:
            sitting.begin()
        with ScreenServer(None if sitting is None else computer.open_screen, desk.tell, bench) as server:
            desk.begin(stage, server.url)
            ending = live.act(work, attempt, stage, machine, player=writer, clock=clock, kept=writer.kept)
        if sitting is not None:
            sitting.end()
    finally:  # a lost machine takes nothing of what was done along
        for step in writer.rest():
            _keep(step, work, attempt, stage)
    if writer.is_spent:
        ending = Ending.STEPS
    if ending in {Ending.STEPS, Ending.SECONDS}:
        spent = f"{budget.steps} steps" if ending is Ending.STEPS else f"{budget.seconds:.0f} s"
        desk.tell(f"the budget of stage {stage.id} is spent ({spent})")
    return ending


def _keep(step: Step, work: EpisodeWork, attempt: AttemptFolder, stage: Stage) -> None:
    work.store.append_line(attempt.stage(stage.id).trajectory, step.to_line())
    tell("step", work.run_id, work.spec.id, attempt=attempt.number, stage=stage.id, step=step.index)


def _write(
    sitting: Sitting, desk: Desk, work: EpisodeWork, attempt: AttemptFolder, stage: Stage, *, done: bool
) -> None:
    draft = sitting.draft()
    if draft is None:
        return
    for step in sitting.steps(draft, done=done):
        _keep(step, work, attempt, stage)
    for note in draft.notes:
        desk.tell(note)


def _desk() -> Desk:
    if not _desks:
        msg = (
            "agent 'human' needs a person at this process's terminal: run `matassay run --agent human` in one, with "
            "executor inline"
        )
        raise ConfigurationError(msg)
    return _desks[-1]()
