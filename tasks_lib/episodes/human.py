"""The player ``human``: a person does the gui stages of a run with their own hands, on the desktop in the browser.

Hands are no replies: what they did is seen on the machine, cut into steps like those of any agent, and read by the same
parser. The time budget is kept; the step budget cannot be, since nobody knows where a step ends before it has ended.
"""

from __future__ import annotations

import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from tasks_lib.episodes.progress import tell
from tasks_lib.episodes.sitting import Desk, Sitting
from tasks_lib.episodes.work import EpisodeWork
from tasks_lib.records import Ending, Modality, Stage
from tasks_lib.records.errors import ConfigurationError
from tasks_lib.sandbox import Machine
from tasks_lib.sandbox.viewing import viewing_problems
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
        If a stage is not done with mouse and keyboard, or there is no desktop in the browser, or nobody to tell of it.
    """
    for loaded in tasks:
        other = next((stage for stage in loaded.task.stages if stage.modality is not Modality.GUI), None)
        if other is not None:
            msg = (
                f"stage {other.id} of task {loaded.id} is of modality {other.modality}, and a person plays gui stages "
                "alone: leave the task out, or choose another agent"
            )
            raise ConfigurationError(msg)
    problems = viewing_problems()
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


def _write(
    sitting: Sitting, desk: Desk, work: EpisodeWork, attempt: AttemptFolder, stage: Stage, *, done: bool
) -> None:
    draft = sitting.draft()
    if draft is None:
        return
    for step in sitting.steps(draft, done=done):
        work.store.append_line(attempt.stage(stage.id).trajectory, step.to_line())
        tell("step", work.run_id, work.spec.id, attempt=attempt.number, stage=stage.id, step=step.index)
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
