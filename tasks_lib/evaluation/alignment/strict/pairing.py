"""Which call of a prediction stands for which of a reference: the largest sum of scores, then steps that agree."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from tasks_lib.evaluation.alignment.assignment import Match
from tasks_lib.evaluation.alignment.similarity import SCALE

# Of the 53 bits of a double, scores take 21 and their sum over a few hundred calls ten more; steps get what is left.
_STEPS = 1 << 20


def pair(
    similarities: NDArray[np.float64],
    gate: float,
    reference_steps: Sequence[int],
    prediction_steps: Sequence[int],
) -> tuple[Match, ...]:
    """Pair calls.

    A pair below the gate is worth nothing, so one pair of 1.0 and none beats no other sum, and a call that stands for
    nothing never moves the others. Among assignments of the same sum, that with the least distance between steps is
    taken, then that with the earlier calls.

    Parameters
    ----------
    similarities : numpy.ndarray of shape (n, m)
        Scores in [0, 1], 0 where the tools differ.
    gate : float
        Least score of a pair.
    reference_steps, prediction_steps : sequence of int
        Step of each call.

    Returns
    -------
    tuple of Match
        By call of the reference; scores are multiples of 2⁻²⁰.
    """
    from scipy.optimize import linear_sum_assignment

    worth = np.rint(similarities * SCALE)
    worth[similarities < gate] = 0
    if not worth.any():
        return ()
    rows, columns = np.flatnonzero(worth.any(axis=1)), np.flatnonzero(worth.any(axis=0))
    part = worth[np.ix_(rows, columns)]
    ours, theirs = np.array(reference_steps)[rows], np.array(prediction_steps)[columns]
    apart = np.abs(ours[:, None] - theirs[None, :]) * (part > 0)
    # Whole numbers throughout: the distances of all pairs together stay below one unit of a score.
    room = max(1.0, min(_STEPS, float(apart.max(axis=1, initial=0).sum()) + 1.0))
    chosen = linear_sum_assignment(part * room - np.minimum(apart, room), maximize=True)
    return tuple(
        Match(int(rows[i]), int(columns[j]), float(part[i, j] / SCALE))
        for i, j in sorted(zip(*chosen, strict=True))
        if part[i, j] > 0
    )
