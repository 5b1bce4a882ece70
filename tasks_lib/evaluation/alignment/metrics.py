"""The published metrics of one trajectory, from its matches.

n and m are the numbers of calls of reference and prediction, M the matched pairs, s their similarities, gₐ the calls
and mₐ the matched calls of reference step a, kₐ the number of prediction steps that these hit, and W[a, b] the sum of
s over the pairs between reference step a and prediction step b:

* recall = |M| / n, precision = |M| / m
* argument similarity = Σ s / n; the strong one sums over s ≥ τ_strong alone
* step coherence = (1/n) Σₐ mₐ / kₐ
* order consistency = (1 − inversions / comparable pairs) · Σ_{a<b} mₐ m_b / Σ_{a<b} gₐ g_b
* merge purity = recall · (1 − H / ln A), H the entropy of W's columns over reference steps, weighted by the columns'
  mass, A the number of reference steps with mass; 1 instead of the bracket where A ≤ 1
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tasks_lib.evaluation.alignment.assignment import Match

# Keeps the logarithm of an empty cell finite, as published.
_TINY = 1e-12


@dataclass(frozen=True)
class Measures:
    """The seven numbers of a trajectory, and what they came from."""

    recall: float
    precision: float
    argument_similarity: float
    strong_similarity: float
    step_coherence: float
    order_consistency: float
    merge_purity: float
    weights: NDArray[np.float64]
    fragmentation: tuple[float, ...]


def measure(
    reference_steps: Sequence[int],
    prediction_steps: Sequence[int],
    matches: Sequence[Match],
    strong: float,
    shape: tuple[int, int],
) -> Measures:
    """Compute the published metrics of one trajectory.

    Parameters
    ----------
    reference_steps, prediction_steps : sequence of int
        Step of each call, counted from 0.
    matches : sequence of Match
        From `assign`.
    strong : float
        τ_strong.
    shape : tuple of int
        Numbers of steps of reference and prediction, those without calls included.

    Returns
    -------
    Measures
        All zero where nothing matched; where neither has a call, similarities are 0 and everything else is 1.
    """
    n, m = len(reference_steps), len(prediction_steps)
    weights = np.zeros(shape)
    rows = np.array([reference_steps[match.reference] for match in matches], dtype=np.int64)
    columns = np.array([prediction_steps[match.prediction] for match in matches], dtype=np.int64)
    similarities = np.array([match.similarity for match in matches])
    np.add.at(weights, (rows, columns), similarities)
    hit = [len({*columns[rows == a]}) for a in range(shape[0])]
    fragmentation = tuple(1 - 1 / k if k else 0.0 for k in hit)
    if not matches:
        nothing = float(n == m == 0)
        return Measures(nothing, nothing, 0.0, 0.0, nothing, nothing, nothing, weights, fragmentation)
    matched = np.bincount(rows, minlength=shape[0])
    recall = len(matches) / n
    return Measures(
        recall=recall,
        precision=len(matches) / m,
        argument_similarity=float(similarities.sum()) / n,
        strong_similarity=float(similarities[similarities >= strong].sum()) / n,
        step_coherence=sum(int(matched[a]) / k for a, k in enumerate(hit) if k) / n,
        order_consistency=_order(rows, columns, np.bincount(reference_steps, minlength=shape[0])),
        merge_purity=recall * _purity(weights),
        weights=weights,
        fragmentation=fragmentation,
    )


def _order(rows: NDArray[np.int64], columns: NDArray[np.int64], calls: NDArray[np.int64]) -> float:
    """Return order consistency; calls merged into one step of the prediction are no inversion."""
    product = np.sign(rows[:, None] - rows[None, :]) * np.sign(columns[:, None] - columns[None, :])
    comparable, inverted = np.count_nonzero(product), np.count_nonzero(product < 0)
    possible = _pairs(calls)
    if not possible:
        return 0.0
    kept = 1 - inverted / comparable if comparable else 1.0
    return float(kept * _pairs(np.bincount(rows, minlength=len(calls))) / possible)


def _pairs(counts: NDArray[np.int64]) -> int:
    """Return how many pairs of calls lie in two different steps."""
    return (int(counts.sum()) ** 2 - int((counts * counts).sum())) // 2


def _purity(weights: NDArray[np.float64]) -> float:
    """Return 1 − H / ln A: 1 where every step of the prediction draws on one step of the reference."""
    sources = int(np.count_nonzero(weights.sum(axis=1) > 0))
    if sources <= 1:
        return 1.0
    mass = weights.sum(axis=0)
    used = mass > 0
    shares = weights[:, used] / mass[used]
    entropies = -(shares * np.log(shares + _TINY)).sum(axis=0)
    entropy = float((mass[used] / mass.sum() * entropies).sum())
    return min(1.0, max(0.0, 1 - entropy / math.log(sources)))
