"""How often people prefer one of two trajectories: the share, its interval, and a test."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True, slots=True)
class Choice:
    """One answer of one person about one pair; `unit` is what was asked about, say the task.

    Attributes
    ----------
    unit : hashable
        Answers of one unit are not independent of each other.
    score : float
        1 where the first was preferred, 0 where the second was, 0.5 for a tie.
    """

    unit: Hashable
    score: float


@dataclass(frozen=True, slots=True)
class PreferenceShare:
    """Share of answers for the first of two, ties counted half.

    Attributes
    ----------
    share : float
        In [0, 1]; 0.5 is no preference.
    low, high : float
        Interval of the share.
    p : float
        Two-sided sign test over units against no preference; units in balance are left out.
    answers, ties, units : int
        Answers, those among them that were ties, and units asked about.
    method : str
        ``wilson`` where each unit was asked about once, else ``cluster bootstrap``.
    """

    share: float
    low: float
    high: float
    p: float
    answers: int
    ties: int
    units: int
    method: str


def preference_share(
    choices: Sequence[Choice], *, confidence: float = 0.95, redraws: int = 2000, seed: int = 0
) -> PreferenceShare | None:
    """Return the share of answers that prefer the first of two.

    Parameters
    ----------
    choices : sequence of Choice
        Answers in any order.
    confidence : float, optional
        Coverage, between 0 and 1.
    redraws, seed : int, optional
        Of the bootstrap.

    Returns
    -------
    PreferenceShare or None
        None without an answer.

    Raises
    ------
    ValueError
        If a score is none of 0, 0.5 and 1.

    Notes
    -----
    One answer a unit: the Wilson interval with wins + ties / 2 for the successes. A tie varies less than a coin, so it
    is on the wide side. Several answers a unit: units are drawn anew with replacement, all their answers together, and
    the ends are never inside the Wilson interval over units, since a bootstrap of few units is too narrow.
    """
    for one in choices:
        if one.score not in {0.0, 0.5, 1.0}:
            msg = f"an answer is 1, 0 or 0.5 for a tie, got {one.score} for {one.unit!r}: correct the results file"
            raise ValueError(msg)
    if not choices:
        return None
    units: dict[Hashable, list[float]] = {}
    for one in choices:
        units.setdefault(one.unit, []).append(one.score)
    share = sum(one.score for one in choices) / len(choices)
    low, high = _wilson(share, len(units), confidence)
    method = "wilson"
    if len(units) < len(choices):
        method = "cluster bootstrap"
        # Sorted, so that the order of the answers does not change what is drawn.
        sums = np.array(sorted((sum(scores), len(scores)) for scores in units.values()))
        drawn = sums[np.random.default_rng(seed).integers(0, len(units), size=(redraws, len(units)))].sum(axis=1)
        ends = np.quantile(drawn[:, 0] / drawn[:, 1], [(1 - confidence) / 2, (1 + confidence) / 2])
        low, high = min(low, float(ends[0])), max(high, float(ends[1]))
    return PreferenceShare(
        share=share,
        low=low,
        high=high,
        p=_sign_test([sum(scores) / len(scores) for scores in units.values()]),
        answers=len(choices),
        ties=sum(one.score == 0.5 for one in choices),
        units=len(units),
        method=method,
    )


def _wilson(share: float, n: int, confidence: float) -> tuple[float, float]:
    from scipy.stats import norm

    z = float(norm.ppf((1 + confidence) / 2))
    middle = (share + z**2 / (2 * n)) / (1 + z**2 / n)
    half = z / (1 + z**2 / n) * (share * (1 - share) / n + z**2 / (4 * n**2)) ** 0.5
    return min(share, max(0.0, middle - half)), max(share, min(1.0, middle + half))


def _sign_test(means: Sequence[float]) -> float:
    from scipy.stats import binomtest

    won, lost = sum(mean > 0.5 for mean in means), sum(mean < 0.5 for mean in means)
    return float(binomtest(won, won + lost).pvalue) if won + lost else 1.0
