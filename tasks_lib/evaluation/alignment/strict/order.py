"""Which call has to wait for which, and how much of that a prediction kept."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from tasks_lib.evaluation.alignment.strict.texts import texts_of
from tasks_lib.evaluation.alignment.trajectories import Call, Trajectory
from tasks_lib.records import Json

# Who says what waits for what: the task, the flow of data, or the steps of the reference.
Source = Literal["given", "data", "steps"]

# Shorter values occur everywhere: a yes, a unit, the number of a page.
_SHORTEST = 4
# A whole answer longer than this is no value that an argument takes over.
_LONGEST = 200
# Of one result, characters.
_MOST_READ = 100_000


@dataclass(frozen=True)
class Dependencies:
    """What a reference's calls wait for: `before[i, j]` where call i has to be done before call j, transitively."""

    before: NDArray[np.bool_]
    source: Source

    @property
    def count(self) -> int:
        """Number of pairs."""
        return int(np.count_nonzero(self.before))


def dependencies(reference: Trajectory) -> Dependencies:
    """Find out which calls of a reference wait for which.

    The task's own dependencies win. Else, where all calls but those of the last step have results, data flow decides:
    call j waits for the first call of an earlier step whose result holds a value of j's arguments, or a value of whose
    result stands in j's arguments; values shorter than four characters and those that the question has do not count.
    Else every call waits for all calls of the steps before.

    Parameters
    ----------
    reference : Trajectory
        Calls, their results and, if the task gives them, their dependencies.

    Returns
    -------
    Dependencies
        The transitive closure, of shape (n, n); `source` is ``given``, ``data`` or ``steps``. A pair that would close a
        circle is left out: it cannot be kept.
    """
    calls, steps = reference.calls, np.array(reference.step_of, dtype=np.int64)
    number = len(calls)
    if reference.dependencies is not None:
        before = np.zeros((number, number), dtype=np.bool_)
        for one, other in reference.dependencies:
            before[one, other] = True
        closed = _closed(before)
        return Dependencies(closed & ~closed.T, "given")
    last = max(reference.step_of, default=0)
    if last and all(call.result is not None or step == last for call, step in zip(calls, steps, strict=True)):
        return Dependencies(_closed(_flow(reference, steps)), "data")
    return Dependencies(steps[:, None] < steps[None, :], "steps")


def order_score(
    before: NDArray[np.bool_],
    scores: NDArray[np.float64],
    similarities: NDArray[np.float64],
    prediction_steps: Sequence[int],
) -> float | None:
    """Say how much of the order a prediction kept.

    A pair counts the lower score of its two matches if a call that stands for the first as well as its match does lies
    in an earlier step than one that stands for the second as well. So it does not matter which of several equal calls
    an assignment took.

    Parameters
    ----------
    before : numpy.ndarray of bool and shape (n, n)
        From `dependencies`.
    scores : numpy.ndarray of shape (n,)
        Score of each reference call's match, 0 without one.
    similarities : numpy.ndarray of shape (n, m)
        Scores of all pairs, 0 where the tools differ.
    prediction_steps : sequence of int
        Step of each call of the prediction.

    Returns
    -------
    float or None
        Share in [0, 1]; None where no call waits for another.
    """
    pairs = np.argwhere(before)
    if not len(pairs):
        return None
    steps = np.array(prediction_steps, dtype=np.float64)
    stands = (similarities >= scores[:, None]) & (scores > 0)[:, None]
    earliest = np.where(stands, steps[None, :], np.inf).min(axis=1, initial=np.inf)
    latest = np.where(stands, steps[None, :], -np.inf).max(axis=1, initial=-np.inf)
    first, second = pairs.T
    kept = (earliest[first] < latest[second]) * np.minimum(scores[first], scores[second])
    return float(kept.sum() / len(pairs))


def _closed(before: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Return the transitive closure (Warshall)."""
    closed = before.copy()
    for middle in range(len(closed)):
        closed |= closed[:, middle, None] & closed[None, middle, :]
    return closed


def _flow(reference: Trajectory, steps: NDArray[np.int64]) -> NDArray[np.bool_]:
    calls = reference.calls
    asked = _folded(reference.question)
    gave = [_Given.of(call, asked) for call in calls]
    before = np.zeros((len(calls), len(calls)), dtype=np.bool_)
    for later, call in enumerate(calls):
        wanted = [value for value in map(_folded, result_values(call.arguments)) if _tells(value, asked)]
        whole = "\n".join(map(_folded, result_values(call.arguments)))
        taken: set[str] = set()
        for earlier in range(later):
            if steps[earlier] >= steps[later]:
                break
            new = {value for value in wanted if value in gave[earlier]} - taken
            new |= {value for value in gave[earlier].values if _holds(whole, value)} - taken
            before[earlier, later] = bool(new)
            taken |= new
    return before


@dataclass(frozen=True)
class _Given:
    """What a call gave: its result as one text, and the values within."""

    text: str
    values: frozenset[str]

    @classmethod
    def of(cls, call: Call, asked: str) -> _Given:
        result = _read(call.result)
        values = [_folded(value) for value in result_values(result)]
        return cls(
            "\n".join(values)[:_MOST_READ], frozenset(v for v in values if len(v) <= _LONGEST and _tells(v, asked))
        )

    def __contains__(self, value: str) -> bool:
        return _holds(self.text, value)


def _tells(value: str, asked: str) -> bool:
    return len(value) >= _SHORTEST and not _holds(asked, value)


def _holds(text: str, value: str) -> bool:
    """Say whether a value stands in a text, between ends of words."""
    return value in text and re.search(rf"(?<!\w){re.escape(value)}(?!\w)", text) is not None


def _read(result: Json) -> Json:
    """Read a result that is JSON as a text; servers send most of theirs so."""
    if not isinstance(result, str):
        return result
    try:
        return json.loads(result)
    except (ValueError, RecursionError):
        return result


def result_values(value: Json) -> Iterator[str]:
    """Give the texts and numbers within a value, as data flow is followed by."""
    yield from texts_of(value)
    yield from _numbers(value)


def _numbers(value: Json) -> Iterator[str]:
    if isinstance(value, int | float) and not isinstance(value, bool):
        yield repr(value)
    elif isinstance(value, list):
        for item in value:
            yield from _numbers(item)
    elif isinstance(value, Mapping):
        for item in value.values():
            yield from _numbers(item)


def _folded(value: Any) -> str:
    return " ".join(str(value).casefold().split())
