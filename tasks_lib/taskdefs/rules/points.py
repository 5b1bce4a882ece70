"""Rules on points, difficulty and budget."""

from __future__ import annotations

from collections.abc import Iterator

from tasks_lib.records import Difficulty, Modality, Task
from tasks_lib.taskdefs._folder import TaskFolder
from tasks_lib.taskdefs.rules.files import stage_at
from tasks_lib.taskdefs.rules.registry import Broken, Known, rule

# The published budget of GUI and figure episodes; code episodes have 10 replies and fit below it.
MAX_STEPS = 50


def expected_difficulty(points: int) -> Difficulty:
    """Return the difficulty that the benchmark's convention gives to a number of points."""
    if points <= 3:
        return Difficulty.EASY
    return Difficulty.MEDIUM if points == 4 else Difficulty.HARD


@rule("points-sum", "The points that the task states are the sum of its criteria's points.")
def _points_sum(folder: TaskFolder, task: Task, _known: Known) -> Iterator[Broken]:
    stated = folder.form.points if folder.form else None
    if stated is not None and stated != task.points:
        value = f"points is {stated}, the criteria sum to {task.points}"
        yield Broken(value, "mend the total or a criterion", ("points",))


@rule("difficulty", "In GUI and mixed tasks, 1-3 points are easy, 4 medium, 5 and more hard.")
def _difficulty(_folder: TaskFolder, task: Task, _known: Known) -> Iterator[Broken]:
    if task.modality in (Modality.GUI, Modality.MIXED):
        wanted = expected_difficulty(task.points)
        if task.difficulty is not wanted:
            value = f"difficulty is {task.difficulty} with {task.points} points"
            yield Broken(value, f"write `difficulty: {wanted}` or change the points", ("difficulty",))


@rule("budget", "No stage has more than the published 50 steps.")
def _budget(_folder: TaskFolder, task: Task, _known: Known) -> Iterator[Broken]:
    for index, stage in enumerate(task.stages):
        if stage.budget.steps > MAX_STEPS:
            at = (*stage_at(task, index), "budget", "steps")
            yield Broken(f"{stage.budget.steps} steps, at most {MAX_STEPS}", "lower the budget or split the task", at)
