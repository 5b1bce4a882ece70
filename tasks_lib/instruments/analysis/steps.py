"""Height of a step: between two masked terraces, found by a threshold, or line by line."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.polynomial import legendre
from numpy.typing import ArrayLike, NDArray

from tasks_lib.instruments.analysis._field import AnalysisError, Mask, as_image, usable, whole
from tasks_lib.instruments.analysis.levelling import MAX_DEGREE, Levelling, ground_mask, level
from tasks_lib.instruments.frame import Samples


@dataclass(frozen=True, slots=True)
class StepHeight:
    """A step height with its standard uncertainty.

    Attributes
    ----------
    height : float
        In the unit of the image. Upper above lower terrace; for `step_height_by_line`, positive where the surface
        rises with x.
    uncertainty : float
        Standard uncertainty from the scatter of the lines; no part of it is the calibration of the z axis. NaN with
        fewer than two lines.
    lines : int
        Lines that the uncertainty rests on.
    samples : int
        Samples that the fit saw.
    """

    height: float
    uncertainty: float
    lines: int
    samples: int


def two_level_fit(z: ArrayLike, upper: ArrayLike, lower: ArrayLike, *, degree: int = 1) -> StepHeight:
    """Fit one background and two levels to the samples of two terraces.

    Least squares of z = Σ c_ij xⁱyʲ (i + j ≤ degree) + h · [sample is on the upper terrace]. Samples of neither
    terrace, such as the edge itself, play no part.

    Parameters
    ----------
    z : array of shape (lines, points)
        Heights; need not be levelled, the background is part of the fit.
    upper, lower : boolean arrays of the shape of `z`
        The terraces; disjoint.
    degree : int
        Total degree of the background.

    Returns
    -------
    StepHeight
        The uncertainty is that of a linear regression whose errors are correlated within lines (cluster-robust
        covariance), since noise of the z loop and drift are.

    Raises
    ------
    AnalysisError
        If the terraces overlap, one is empty, or they do not determine the background.

    Notes
    -----
    Sources: ISO 5436-1:2000 (least squares of two parallel levels, edges left out); Liang and Zeger, Biometrika
    73 (1986) 13 (covariance).
    """
    image = as_image(z)
    return _fit(image, np.asarray(upper), np.asarray(lower), degree)[0]


def step_masks(z: ArrayLike, *, guard: int = 2, where: ArrayLike | None = None) -> tuple[Mask, Mask]:
    """Part a levelled image into an upper and a lower terrace.

    The threshold is Otsu's; samples within `guard` of the boundary (by erosion with a square) belong to neither.

    Parameters
    ----------
    z : array of shape (lines, points)
        Levelled heights.
    guard : int
        Samples to leave out at each side of the edge.
    where : boolean array, optional
        Samples that count.

    Returns
    -------
    upper, lower : boolean arrays of the shape of `z`

    Raises
    ------
    AnalysisError
        If the image has one height only, or the guard leaves nothing of a terrace.
    """
    from scipy.ndimage import binary_erosion
    from skimage.filters import threshold_otsu

    image = as_image(z)
    guard = whole(guard, 0, max(image.shape), "the guard of a step in samples")
    keep = usable(image, where, least=2)
    if np.ptp(image[keep]) == 0:
        raise AnalysisError("the image has one height only, so no step: look for the edge and scan across it")
    over = image > threshold_otsu(image[keep])  # type: ignore[no-untyped-call]
    masks: list[Mask] = []
    for side, name in ((keep & over, "upper"), (keep & ~over, "lower")):
        # A terrace ends at the other one and at what does not count, not at the rim of the frame.
        core = binary_erosion(side, np.ones((3, 3), bool), iterations=guard, border_value=1) if guard else side
        if not core.any():
            raise AnalysisError(
                f"a guard of {guard} samples leaves nothing of the {name} terrace: choose a smaller one"
            )
        masks.append(core)
    return masks[0], masks[1]


def step_height(z: ArrayLike, *, guard: int = 2, degree: int = 1) -> StepHeight:
    """Find the two terraces of an image with one edge and fit the step between them.

    Level by the largest flat part (`ground_mask`), because a plane through both terraces would lean into the step; part
    by Otsu's threshold; fit both levels with a common background (`two_level_fit`); and part twice more without that
    background.

    Parameters
    ----------
    z : array of shape (lines, points)
        Heights, not levelled.
    guard : int
        Samples left out at each side of the edge.
    degree : int
        Total degree of the background.

    Raises
    ------
    AnalysisError
        If no two terraces are found.
    """
    image = as_image(z)
    shape = Levelling("polynomial", degree)
    masks = step_masks(level(image, shape, ground_mask(image, shape)).z, guard=guard)
    for _ in range(2):
        _, background = _fit(image, *masks, degree)
        masks = step_masks(image - background, guard=guard)
    return _fit(image, *masks, degree)[0]


def step_height_by_line(z: ArrayLike, *, degree: int = 2, guard: int = 2) -> StepHeight:
    """Fit a step to every line and take the median.

    Each line is fitted by z = Σ c_i xⁱ (i ≤ degree) + s · H(x - x₀); x₀ runs over the line, `guard` samples at each
    side of it are left out, and the x₀ of the least mean square residual is taken. Drift between lines and an edge
    that is not straight do no harm.

    Parameters
    ----------
    z : array of shape (lines, points)
        Heights, not levelled; every line must cross one edge. Lines with NaN are left out.
    degree : int
        Degree of the polynomial of each line.
    guard : int
        Samples left out at each side of the edge.

    Returns
    -------
    StepHeight
        Median over the lines; its standard error is 1.2533 σ / √n with σ = 1.4826 times the median absolute deviation.

    Raises
    ------
    AnalysisError
        If lines are too short or none is finite from end to end.
    """
    image = as_image(z)
    degree = whole(degree, 0, MAX_DEGREE, "the degree of a line")
    guard = whole(guard, 0, image.shape[1], "the guard of a step in samples")
    full = image[np.isfinite(image).all(axis=1)]
    points = image.shape[1]
    # The short side of the edge must hold enough samples that its level is more than the polynomial's freedom.
    margin = max(guard + degree + 2, points // 16)
    if not full.size or points < 2 * margin + 1:
        raise AnalysisError(
            f"{full.shape[0]} whole lines of {points} points: a step fit of degree {degree} with a guard of {guard} "
            f"needs at least one whole line of {2 * margin + 1} points"
        )
    column = np.arange(points)
    terms = legendre.legvander(2 * column / (points - 1) - 1, degree)
    best = np.full(full.shape[0], np.inf)
    heights = np.zeros(full.shape[0])
    for edge in range(margin, points - margin):
        keep = (column < edge - guard) | (column >= edge + guard)
        # One small QR for all lines at once; the margins make every design full rank.
        basis, triangle = np.linalg.qr(np.column_stack([terms, column >= edge])[keep])
        seen = full[:, keep]
        parts = seen @ basis
        solution = np.linalg.solve(triangle, parts.T)
        misfit = np.mean((seen - parts @ basis.T) ** 2, axis=1)
        better = misfit < best
        best[better], heights[better] = misfit[better], solution[-1][better]
    middle = float(np.median(heights))
    sigma = 1.4826 * float(np.median(np.abs(heights - middle)))
    error = 1.2533 * sigma / math.sqrt(heights.size) if heights.size > 1 else math.nan
    return StepHeight(middle, error, heights.size, full.size)


def _fit(image: Samples, upper: Mask, lower: Mask, degree: int) -> tuple[StepHeight, Samples]:
    degree = whole(degree, 0, MAX_DEGREE, "the degree of a background")
    top = usable(image, upper, what="the upper terrace")
    bottom = usable(image, lower, what="the lower terrace")
    if (top & bottom).any():
        raise AnalysisError(f"{np.count_nonzero(top & bottom)} samples are on both terraces: make the masks disjoint")
    lines, points = image.shape
    y = legendre.legvander(np.linspace(-1.0, 1.0, lines) if lines > 1 else np.zeros(1), degree)
    x = legendre.legvander(np.linspace(-1.0, 1.0, points) if points > 1 else np.zeros(1), degree)
    # A single line has no slope along y.
    pairs = [(i, j) for i in range(degree + 1) for j in range(degree + 1 - i) if lines > 1 or j == 0]
    forms = np.stack([np.outer(y[:, j], x[:, i]) for i, j in pairs], axis=-1)
    chosen = top | bottom
    terms = np.column_stack([forms[chosen], top[chosen].astype(np.float64)])
    heights = image[chosen]
    solution, _, rank, _ = np.linalg.lstsq(terms, heights, rcond=None)
    if rank < terms.shape[1]:
        raise AnalysisError(
            f"the terraces ({np.count_nonzero(top)} and {np.count_nonzero(bottom)} samples) do not tell a step from a "
            f"background of degree {degree}: widen the masks or lower the degree"
        )
    uncertainty, clusters = _clustered(terms, heights - terms @ solution, np.nonzero(chosen)[0])
    return StepHeight(float(solution[-1]), uncertainty, clusters, heights.size), forms @ solution[:-1]


def _clustered(terms: Samples, residual: Samples, cluster: NDArray[np.intp]) -> tuple[float, int]:
    """Return the standard error of the last coefficient where errors are correlated within clusters."""
    names, index = np.unique(cluster, return_inverse=True)
    if names.size < 2:
        return math.nan, int(names.size)
    inverse = np.linalg.pinv(terms.T @ terms)
    scores = np.zeros((names.size, terms.shape[1]))
    np.add.at(scores, index, terms * residual[:, None])
    # The usual correction for few clusters and for the degrees of freedom that the fit used.
    count, free = residual.size, max(residual.size - terms.shape[1], 1)
    factor = names.size / (names.size - 1) * (count - 1) / free
    variance = factor * (inverse @ (scores.T @ scores) @ inverse)[-1, -1]
    return math.sqrt(max(float(variance), 0.0)), int(names.size)
