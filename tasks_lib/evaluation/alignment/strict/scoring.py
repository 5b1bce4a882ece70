"""Scores predictions against references in strict mode (docs/0017)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from tasks_lib.evaluation.alignment.assignment import Match
from tasks_lib.evaluation.alignment.report import Budget, UnmatchedCall, Used
from tasks_lib.evaluation.alignment.strict.aggregation import NOTHING
from tasks_lib.evaluation.alignment.strict.comparison import ArgumentScore
from tasks_lib.evaluation.alignment.strict.order import Dependencies, Source, dependencies, order_score
from tasks_lib.evaluation.alignment.strict.pairing import pair
from tasks_lib.evaluation.alignment.strict.reading import Comparer, ReadTrajectory
from tasks_lib.evaluation.alignment.strict.report import StrictMatch, StrictScores, StrictTask
from tasks_lib.evaluation.alignment.trajectories import Call, Trajectory
from tasks_lib.records import Json

GATE = 0.5
NO_BUDGET = Budget()
# Of an argument in the list of matches, characters; the files have them whole.
_SHOWN = 400


@dataclass(frozen=True)
class _Following:
    """How a prediction followed one way to do the task."""

    scores: StrictScores
    matches: tuple[Match, ...]
    dependencies: int
    order_from: Source


def score_task(
    ways: Sequence[ReadTrajectory], prediction: ReadTrajectory, comparer: Comparer, *, budget: Budget = NO_BUDGET
) -> StrictTask:
    """Score one prediction against the ways in which its task can be done; the one followed best counts.

    Parameters
    ----------
    ways : sequence of ReadTrajectory
        The reference and its alternatives, at least one.
    prediction : ReadTrajectory
        What a model did.
    comparer : Comparer
        Compares calls; it knows the texts of both sides.
    budget : Budget, optional
        Who spends more is told.

    Returns
    -------
    StrictTask
        With every pair of calls; where several ways are followed equally well, of the first.
    """
    found = [_follow(way, prediction, comparer) for way in ways]
    best = max(range(len(ways)), key=lambda index: (found[index].scores.score, -index))
    following, way = found[best], ways[best]
    reference, seen = way.trajectory, prediction.trajectory
    spent = _used(seen)
    return StrictTask(
        id=reference.id,
        kind=reference.kind,
        family=reference.family,
        scores=following.scores,
        way=best,
        dependencies=following.dependencies,
        order_from=following.order_from,
        reference=_used(reference),
        prediction=spent,
        over_budget=not budget.holds(spent),
        matches=tuple(_record(match, way, prediction, comparer) for match in following.matches),
        unmatched_reference=_unmatched(reference, {match.reference for match in following.matches}),
        unmatched_prediction=_unmatched(seen, {match.prediction for match in following.matches}),
    )


def missing_task(reference: Trajectory, why: str) -> StrictTask:
    """Return the 0 of a task that was not predicted."""
    waits = dependencies(reference)
    return StrictTask(
        id=reference.id,
        kind=reference.kind,
        family=reference.family,
        scores=NOTHING.model_copy(update={"order": _nothing_kept(waits)}),
        missing=why,
        dependencies=waits.count,
        order_from=waits.source,
        reference=_used(reference),
        prediction=Used(steps=0, calls=0),
        unmatched_reference=_unmatched(reference, set()),
    )


def _follow(way: ReadTrajectory, prediction: ReadTrajectory, comparer: Comparer) -> _Following:
    reference, seen = way.trajectory, prediction.trajectory
    n, m = len(reference.calls), len(seen.calls)
    waits = dependencies(reference)
    if not n or not m:
        both = float(n == m)
        order = _nothing_kept(waits)
        scores = StrictScores(score=both, calls=both, order=order, recall=both, precision=both, tools=both)
        return _Following(scores, (), waits.count, waits.source)
    similarities = comparer.matrix(way, prediction)
    matches = pair(similarities, GATE, reference.step_of, seen.step_of)
    earned = np.zeros(n)
    for match in matches:
        earned[match.reference] = match.similarity
    total = float(sum(match.similarity for match in matches))
    order = order_score(waits.before, earned, similarities, seen.step_of)
    calls = min(1.0, 2 * total / (n + m))
    scores = StrictScores(
        score=calls if order is None else (calls + order) / 2,
        calls=calls,
        order=order,
        recall=min(1.0, total / n),
        precision=min(1.0, total / m),
        tools=2 * (Counter(c.tool for c in reference.calls) & Counter(c.tool for c in seen.calls)).total() / (n + m),
    )
    return _Following(scores, matches, waits.count, waits.source)


def _nothing_kept(waits: Dependencies) -> float | None:
    return 0.0 if waits.count else None


def _used(trajectory: Trajectory) -> Used:
    return Used(steps=len(trajectory.steps), calls=len(trajectory.calls))


def _record(match: Match, way: ReadTrajectory, prediction: ReadTrajectory, comparer: Comparer) -> StrictMatch:
    judged = comparer.call(way, match.reference, prediction, match.prediction)
    return StrictMatch(
        tool=way.trajectory.calls[match.reference].tool,
        score=match.similarity,
        reference_call=match.reference,
        reference_step=way.trajectory.step_of[match.reference],
        prediction_call=match.prediction,
        prediction_step=prediction.trajectory.step_of[match.prediction],
        arguments=tuple(_shortened(one) for one in judged.arguments),
    )


def _shortened(one: ArgumentScore) -> ArgumentScore:
    return one.model_copy(update={"reference": _shown(one.reference), "prediction": _shown(one.prediction)})


def _shown(value: Json) -> Json:
    text = value if isinstance(value, str) else repr(value)
    return value if len(text) <= _SHOWN else f"{text[: _SHOWN - 1]}…"


def _unmatched(trajectory: Trajectory, matched: set[int]) -> tuple[UnmatchedCall, ...]:
    return tuple(
        UnmatchedCall(call=index, step=trajectory.step_of[index], tool=call.tool, arguments=_cut(call))
        for index, call in enumerate(trajectory.calls)
        if index not in matched
    )


def _cut(call: Call) -> str:
    return call.text if len(call.text) <= _SHOWN else f"{call.text[: _SHOWN - 1]}…"
