"""From tasks to groups of tasks: a task weighs what its reference calls, also where nothing was predicted."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from tasks_lib.evaluation.alignment.strict.report import StrictGroup, StrictScores, StrictTask

NOTHING = StrictScores(score=0.0, calls=0.0, order=None, recall=0.0, precision=0.0, tools=0.0)


def aggregate(name: str, tasks: Sequence[StrictTask]) -> StrictGroup:
    """Sum tasks up. The order is over tasks that have one; where there is no task all numbers are 0."""
    return StrictGroup(
        name=name,
        tasks=len(tasks),
        missing=sum(bool(task.missing) for task in tasks),
        reference_calls=sum(task.reference.calls for task in tasks),
        prediction_calls=sum(task.prediction.calls for task in tasks),
        matched=sum(len(task.matches) for task in tasks),
        scores=mean_scores([(task.scores, task.reference.calls) for task in tasks]),
        over_budget=sum(task.over_budget for task in tasks),
    )


def mean_scores(scores: Sequence[tuple[StrictScores, int]]) -> StrictScores:
    """Average the numbers of tasks, weighted by the calls of their references, of at least one."""
    if not scores:
        return NOTHING
    found = {}
    for field in StrictScores.model_fields:
        weighed = [(value, max(1, calls)) for one, calls in scores if (value := getattr(one, field)) is not None]
        total = sum(weight for _, weight in weighed)
        found[field] = min(1.0, sum(value * weight for value, weight in weighed) / total) if total else None
    return StrictScores(**found)


def groups(tasks: Iterable[StrictTask], key: Callable[[StrictTask], str]) -> tuple[StrictGroup, ...]:
    """Sum tasks up by a key, sorted by it."""
    found: dict[str, list[StrictTask]] = {}
    for task in tasks:
        found.setdefault(key(task), []).append(task)
    return tuple(aggregate(name, found[name]) for name in sorted(found))
