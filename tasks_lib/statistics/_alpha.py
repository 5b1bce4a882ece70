"""Krippendorff's alpha: how far several raters agree beyond chance, with ratings missing."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

Scale = Literal["nominal", "ordinal", "interval", "ratio"]
Ratings = Sequence[Sequence[float | None]]


@dataclass(frozen=True, slots=True)
class AlphaInterval:
    """Alpha with a percentile interval of its bootstrap over units.

    Attributes
    ----------
    alpha, low, high : float or None
        None where nothing varies or no unit has two ratings; low and high also where too few redraws had an alpha.
    units, ratings : int
        Units with at least two ratings, and their ratings.
    """

    alpha: float | None
    low: float | None
    high: float | None
    units: int
    ratings: int


def krippendorff_alpha(ratings: Ratings, scale: Scale = "interval") -> float | None:
    """Return Krippendorff's alpha.

    Parameters
    ----------
    ratings : sequence of sequence of float or None
        Shape (raters, units); None where a rater gave no rating. A unit with one rating says nothing of agreement and
        does not count.
    scale : {'nominal', 'ordinal', 'interval', 'ratio'}, optional
        What differences between ratings mean.

    Returns
    -------
    float or None
        1 for perfect agreement, 0 for chance, below 0 for systematic disagreement; None where every rating is the same
        or no unit has two, since agreement beyond chance cannot be told then.

    Raises
    ------
    ValueError
        If the rows are not equally long, a rating is not finite, or the ratio scale gets a negative one.

    Notes
    -----
    K. Krippendorff, Computing Krippendorff's Alpha-Reliability (2011): 1 - D_o / D_e over the matrix of coincidences.
    """
    counts, values = _counts(ratings, scale)
    return _alpha(counts, values, scale)


def alpha_interval(
    ratings: Ratings, scale: Scale = "interval", *, confidence: float = 0.95, redraws: int = 1000, seed: int = 0
) -> AlphaInterval:
    """Return Krippendorff's alpha with an interval: units are drawn anew with replacement.

    Parameters
    ----------
    ratings, scale
        As of `krippendorff_alpha`.
    confidence : float, optional
        Coverage, between 0 and 1.
    redraws : int, optional
        Of the bootstrap.
    seed : int, optional
        Of the bootstrap; equal seeds give equal intervals.
    """
    counts, values = _counts(ratings, scale)
    units = len(counts)
    alpha = _alpha(counts, values, scale)
    found: list[float] = []
    if alpha is not None and units > 1:
        drawn = np.random.default_rng(seed).integers(0, units, size=(redraws, units))
        found = [one for rows in drawn if (one := _alpha(counts[rows], values, scale)) is not None]
    low = high = None
    # Where half of the redraws have no alpha, the others do not stand for them.
    if len(found) * 2 > redraws:
        low, high = (float(end) for end in np.quantile(found, [(1 - confidence) / 2, (1 + confidence) / 2]))
    return AlphaInterval(alpha, low, high, units, int(counts.sum()))


def _counts(ratings: Ratings, scale: Scale) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return how often each value was given, shape (units with two ratings, values), and the values in order."""
    if len({len(row) for row in ratings}) > 1:
        msg = "each rater has a place for each unit, the rows have different lengths: write None for a missing rating"
        raise ValueError(msg)
    table = np.array([[np.nan if one is None else one for one in row] for row in ratings], dtype=np.float64)
    given = np.array([[one is not None for one in row] for row in ratings], dtype=bool)
    if not given.any():
        return np.zeros((0, 0)), np.zeros(0)
    if not np.isfinite(table[given]).all():
        msg = "a rating is a finite number or None, NaN or infinity came: write None for a missing one"
        raise ValueError(msg)
    if scale == "ratio" and (table[given] < 0).any():
        msg = f"ratings on a ratio scale are not negative, got {table[given].min()}: use the interval scale"
        raise ValueError(msg)
    values = np.unique(table[given])
    counts = np.stack([(table == value).sum(axis=0) for value in values], axis=1).astype(np.float64)
    return counts[counts.sum(axis=1) >= 2], values


def _alpha(counts: NDArray[np.float64], values: NDArray[np.float64], scale: Scale) -> float | None:
    if not counts.size:
        return None
    per_unit = counts.sum(axis=1)
    weighted = counts / (per_unit - 1)[:, None]
    coincidences = weighted.T @ counts - np.diag(weighted.sum(axis=0))
    marginals = coincidences.sum(axis=1)
    total = marginals.sum()
    distances = _distances(values, marginals, scale)
    expected = float(marginals @ distances @ marginals) / float(total - 1)
    if expected <= 0:
        return None
    alpha: float = 1.0 - float((coincidences * distances).sum()) / expected
    return alpha


def _distances(values: NDArray[np.float64], marginals: NDArray[np.float64], scale: Scale) -> NDArray[np.float64]:
    """Return the squared differences of the scale, shape (values, values)."""
    if scale == "nominal":
        return 1.0 - np.eye(len(values))
    if scale == "ordinal":
        # The ratings between two values, with half of those at each: differences of the middles of their ranks.
        values = np.cumsum(marginals) - marginals / 2
    difference = np.abs(values[:, None] - values[None, :])
    if scale == "ratio":
        sums = values[:, None] + values[None, :]
        difference = np.divide(difference, sums, out=np.zeros_like(difference), where=sums > 0)
    squared: NDArray[np.float64] = difference**2
    return squared
