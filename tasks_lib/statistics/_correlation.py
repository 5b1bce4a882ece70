"""Rank correlation of ratings with those of people, and whether one rater follows people better than another."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

_LEAST = 4


@dataclass(frozen=True, slots=True)
class Correlation:
    """A correlation over `pairs` units; `low` and `high` are None where the pairs are too few or all in one order."""

    value: float
    low: float | None
    high: float | None
    pairs: int


@dataclass(frozen=True, slots=True)
class DependentTest:
    """Williams' test: `t` with `degrees` of freedom, and its two-sided `p`."""

    t: float
    degrees: int
    p: float


def spearman(first: Sequence[float], second: Sequence[float], confidence: float = 0.95) -> Correlation | None:
    """Return Spearman's rank correlation of two ratings of the same units.

    Parameters
    ----------
    first, second : sequence of float
        Ratings, unit by unit; ties get their mean rank.
    confidence : float, optional
        Coverage of the interval, between 0 and 1.

    Returns
    -------
    Correlation or None
        None where there are fewer than two pairs or one side does not vary.

    Raises
    ------
    ValueError
        If the lengths differ or a rating is not finite.

    Notes
    -----
    Interval through Fisher's z with the variance of D. G. Bonett and T. A. Wright, Psychometrika 65 (2000) 23:
    (1 + r² / 2) / (n - 3).
    """
    if len(first) != len(second):
        msg = f"two ratings of the same units have one length, got {len(first)} and {len(second)}: pair them by unit"
        raise ValueError(msg)
    if not all(map(math.isfinite, (*first, *second))):
        msg = "ratings are finite numbers, NaN or infinity came: leave the unit out"
        raise ValueError(msg)
    pairs = len(first)
    if pairs < 2 or len(set(first)) < 2 or len(set(second)) < 2:
        return None
    from scipy.stats import norm, spearmanr

    # Ranks in one order give 0.9999999999999999 at times.
    value = min(1.0, max(-1.0, round(float(spearmanr(first, second).statistic), 12)))
    if pairs < _LEAST or abs(value) == 1.0:
        return Correlation(value, None, None, pairs)
    half = float(norm.ppf((1 + confidence) / 2)) * math.sqrt((1 + value**2 / 2) / (pairs - 3))
    middle = math.atanh(value)
    return Correlation(value, math.tanh(middle - half), math.tanh(middle + half), pairs)


def williams_test(first: float, second: float, between: float, pairs: int) -> DependentTest | None:
    """Test whether two raters correlate differently with a third, say people, over the same units.

    Parameters
    ----------
    first, second : float
        Correlation of each of the two raters with the third.
    between : float
        Correlation of the two raters with each other.
    pairs : int
        Units.

    Returns
    -------
    DependentTest or None
        None where the test is not defined: fewer than four units, or both raters the same up to a linear map.

    Raises
    ------
    ValueError
        If a correlation is out of range or the three cannot come from one set of data.

    Notes
    -----
    E. J. Williams, J. R. Stat. Soc. B 21 (1959) 396, recommended by J. H. Steiger, Psychol. Bull. 87 (1980) 245. It is
    made for Pearson's correlation; with Spearman's, p is an approximation.
    """
    for value in (first, second, between):
        if not -1 <= value <= 1:
            msg = f"a correlation is in [-1, 1], got {value}: give correlations, not covariances"
            raise ValueError(msg)
    determinant = 1 - first**2 - second**2 - between**2 + 2 * first * second * between
    if determinant < -1e-9:
        msg = f"correlations {first}, {second} and {between} cannot come from one set of data: take the same units"
        raise ValueError(msg)
    if pairs < _LEAST:
        return None
    mean = (first + second) / 2
    spread = 2 * (pairs - 1) / (pairs - 3) * max(0.0, determinant) + mean**2 * (1 - between) ** 3
    if spread <= 1e-12:
        return None
    from scipy.stats import t as student

    statistic = (first - second) * math.sqrt((pairs - 1) * (1 + between) / spread)
    return DependentTest(statistic, pairs - 3, 2 * float(student.sf(abs(statistic), pairs - 3)))
