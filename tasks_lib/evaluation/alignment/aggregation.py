"""From tasks to groups of tasks and to one number, as published."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from statistics import fmean

from tasks_lib.evaluation.alignment.report import GroupScore, Scores, TaskScore

# The strong similarity is reported and not averaged.
AVERAGED = (
    "recall",
    "precision",
    "argument_similarity",
    "step_coherence",
    "order_consistency",
    "merge_purity",
)
_WEIGHTED = tuple(name for name in Scores.model_fields if name not in {"recall", "precision"})


def aggregate(name: str, tasks: Sequence[TaskScore]) -> GroupScore:
    """Sum tasks up: recall and precision over all calls, the other numbers weighted by the reference's calls.

    A task whose reference has no call has no weight; where nothing has weight the numbers are 0, as published.
    """
    n, m = sum(task.reference.calls for task in tasks), sum(task.prediction.calls for task in tasks)
    matched = sum(task.matched for task in tasks)
    weighted = {
        field: sum(task.reference.calls * getattr(task.scores, field) for task in tasks) / n if n else 0.0
        for field in _WEIGHTED
    }
    return GroupScore(
        name=name,
        tasks=len(tasks),
        reference_calls=n,
        prediction_calls=m,
        matched=matched,
        scores=Scores(recall=matched / n if n else 0.0, precision=matched / m if m else 0.0, **weighted),
        steps_per_task=fmean(task.prediction.steps for task in tasks) if tasks else 0.0,
        calls_per_task=m / len(tasks) if tasks else 0.0,
        over_budget=sum(task.over_budget for task in tasks),
    )


def groups(tasks: Iterable[TaskScore], key: Callable[[TaskScore], str]) -> tuple[GroupScore, ...]:
    """Sum tasks up by a key, sorted by it."""
    found: dict[str, list[TaskScore]] = {}
    for task in tasks:
        found.setdefault(key(task), []).append(task)
    return tuple(aggregate(name, found[name]) for name in sorted(found))


def average_score(
    scores: Scores, *, information_grounding: float | None = None, task_completion: float | None = None
) -> float:
    """Return the published Average Score: the mean of six numbers and of the judges' numbers that are given.

    Two variants are published: the plots average seven numbers, with information grounding; the project's page says
    eight, with task completion as well. A number that is missing leaves the mean, as in the plots, so scores with and
    without judges must not be compared.

    Parameters
    ----------
    scores : Scores
        Aggregated numbers.
    information_grounding, task_completion : float, optional
        The judges' numbers, in [0, 1].
    """
    judged = [value for value in (information_grounding, task_completion) if value is not None]
    return fmean([*(getattr(scores, name) for name in AVERAGED), *judged])
