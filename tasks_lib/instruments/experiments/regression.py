"""A straight line through points with known standard errors."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike

from tasks_lib.instruments.experiments.procedure import ExperimentError


@dataclass(frozen=True, slots=True)
class Line:
    """y = intercept + slope · x with standard errors.

    Attributes
    ----------
    slope, intercept, slope_error, intercept_error, covariance : float
    birge : float
        √(χ² / (n - 2)): how much more the points scatter about the line than their errors say. Above 1 the errors of
        the line were multiplied by it. NaN with two points, whose line nothing checks.
    points : int
    coverage : float
        Factor from these standard errors to 95 %.
    """

    slope: float
    intercept: float
    slope_error: float
    intercept_error: float
    covariance: float
    birge: float
    points: int
    coverage: float = 1.959964

    def at(self, x: float) -> tuple[float, float]:
        """Return the line at a place with its standard error."""
        variance = self.intercept_error**2 + 2 * x * self.covariance + (x * self.slope_error) ** 2
        return self.intercept + self.slope * x, math.sqrt(max(variance, 0.0))

    def root(self) -> tuple[float, float]:
        """Return where the line meets y = 0, with its standard error to first order.

        Raises
        ------
        ExperimentError
            If the slope is less than two standard errors from 0.
        """
        if abs(self.slope) < 2 * self.slope_error:
            raise ExperimentError(
                f"the line has a slope of {self.slope:.3g} ± {self.slope_error:.2g}, which may be none: measure over a "
                "wider range, or more frames"
            )
        root = -self.intercept / self.slope
        variance = self.intercept_error**2 + 2 * root * self.covariance + (root * self.slope_error) ** 2
        return root, math.sqrt(max(variance, 0.0)) / abs(self.slope)


def weighted_line(x: ArrayLike, y: ArrayLike, errors: ArrayLike) -> Line:
    """Fit a line by least squares with weights 1 / error².

    Parameters
    ----------
    x, y : arrays of shape (n,)
    errors : array of shape (n,)
        Standard errors of `y`, all above 0; `x` counts as exact.

    Raises
    ------
    ExperimentError
        If there are fewer than two points, all at one x, or an error is not positive.

    Notes
    -----
    The errors of the line are those of the weights, or those of the scatter about the line where that is more (the
    ratio of Birge, Phys. Rev. 40 (1932) 207). They never shrink below what the points claim.
    """
    at, value, sigma = (np.asarray(one, dtype=float) for one in (x, y, errors))
    if at.size < 2 or np.ptp(at) == 0:
        raise ExperimentError(f"a line needs two places at least; there are {at.size} points at {np.unique(at).size}")
    if not (np.isfinite(sigma).all() and (sigma > 0).all()):
        raise ExperimentError("every point of a weighted line needs a standard error above 0")
    weight = sigma**-2
    total = weight.sum()
    middle = float((weight * at).sum() / total)
    centred = at - middle
    spread = float((weight * centred**2).sum())
    slope = float((weight * centred * value).sum() / spread)
    level = float((weight * value).sum() / total)
    free = at.size - 2
    birge = math.nan
    if free:
        birge = math.sqrt(float((weight * (value - level - slope * centred) ** 2).sum()) / free)
    factor = max(1.0, birge) if free else 1.0
    slope_error = factor / math.sqrt(spread)
    level_error = factor / math.sqrt(total)
    return Line(
        slope=slope,
        intercept=level - slope * middle,
        slope_error=slope_error,
        intercept_error=math.hypot(level_error, middle * slope_error),
        covariance=-middle * slope_error**2,
        birge=birge,
        points=int(at.size),
    )


def line_by_bands(x: ArrayLike, bands: ArrayLike) -> Line:
    """Fit a line through the means of bands that were seen again at every `x`.

    A place that resists more than its neighbours does so at every load, so the errors of the points are not
    independent. Each band gets a line of its own; the scatter of these lines is the error of the line through the
    means, whatever the bands share from point to point.

    Parameters
    ----------
    x : array of shape (n,)
    bands : array of shape (n, m)
        Row by row the same m bands, two at least.

    Raises
    ------
    ExperimentError
        If there are too few points or bands for a line.

    Notes
    -----
    All lines have the weights of the points' own standard errors, so their mean is the line through the means. As in
    `weighted_line`, a scatter of the means about the line that is more than their errors widens the errors.
    """
    from scipy.stats import t

    at, values = np.asarray(x, dtype=float), np.asarray(bands, dtype=float)
    if values.ndim != 2 or values.shape[1] < 2 or values.shape[0] != at.size:
        raise ExperimentError(f"bands have the shape (points, bands), two bands at least; they have {values.shape}")
    count = values.shape[1]
    errors = values.std(axis=1, ddof=1) / math.sqrt(count)
    errors = np.maximum(errors, 1e-12 * float(np.abs(values).max()) or 1e-300)
    whole = weighted_line(at, values.mean(axis=1), errors)
    alone = [weighted_line(at, values[:, one], errors) for one in range(count)]
    spread = np.cov([one.slope for one in alone], [one.intercept for one in alone]) / count
    factor = max(1.0, whole.birge) if math.isfinite(whole.birge) else 1.0
    return replace(
        whole,
        slope_error=factor * math.sqrt(spread[0, 0]) or whole.slope_error,
        intercept_error=factor * math.sqrt(spread[1, 1]) or whole.intercept_error,
        covariance=factor**2 * float(spread[0, 1]),
        coverage=float(t.ppf(0.975, count - 1)),
    )


def line_by_bands_or_pairs(x: ArrayLike, bands: ArrayLike, least: int = 6) -> Line:
    """Fit as `line_by_bands` does, once with the bands and once with pairs of them; return the wider of the two.

    Many bands know their scatter well, and it is too small where neighbours are alike; pairs are less alike. Whichever
    has the wider 95 % interval of the slope counts.

    Parameters
    ----------
    x : array of shape (n,)
    bands : array of shape (n, m)
        In order of place.
    least : int
        Pairs are asked only where there are so many.

    Raises
    ------
    ExperimentError
        As `line_by_bands` does.
    """
    values = np.asarray(bands, dtype=float)
    whole = line_by_bands(x, values)
    pairs = values.shape[1] // 2
    if pairs < least:
        return whole
    paired = line_by_bands(x, values[:, : 2 * pairs].reshape(len(values), pairs, 2).mean(axis=2))
    return max(whole, paired, key=lambda line: line.coverage * line.slope_error)
