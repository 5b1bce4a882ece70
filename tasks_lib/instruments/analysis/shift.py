"""How far trace and retrace are displaced along the line: the lag of loop and scanner, finer than a pixel."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from tasks_lib.instruments.analysis._field import (
    AnalysisError,
    as_image,
    pixel_size,
    same_shape,
    scanned_lines,
    without_spread,
)
from tasks_lib.instruments.analysis.levelling import ROWS, Levelling, level
from tasks_lib.instruments.frame import Samples

#: A peak of the correlation as high as this share of the highest is as good.
_AS_HIGH = 0.95


@dataclass(frozen=True, slots=True)
class Shift:
    """Displacement of trace against retrace along x.

    Attributes
    ----------
    shift_m, shift_pixels : float
        Position of a feature in the trace minus its position in the retrace. A loop that lags moves features along
        with the tip, to higher x in the trace and to lower x in the retrace, so lag is positive.
    correlation : float
        Correlation of both images at that displacement, -1 to 1; near 0, the shift means nothing.
    levelling : Levelling
        What was subtracted before.
    """

    shift_m: float
    shift_pixels: float
    correlation: float
    levelling: Levelling


def trace_retrace_shift(
    trace: ArrayLike,
    retrace: ArrayLike,
    pixel_x_m: float,
    levelling: Levelling = ROWS,
    *,
    most: float = 0.25,
) -> Shift:
    """Find the displacement that makes trace and retrace most alike.

    The correlation coefficient of trace(x) and retrace(x - s) over the columns that both have, for all lines at once,
    is taken at whole pixels s. Of its peaks within 5 % of the highest, the one at the smallest displacement counts: a
    periodic sample repeats itself. Round it, both images are levelled again on the columns they have in common,
    and the maximum of a cubic spline through the correlations is the answer. (A spline through the images would draw it
    to half pixels, because interpolated noise is smaller noise.)

    Parameters
    ----------
    trace, retrace : arrays of shape (lines, points)
        One channel forward and backward, both with x rising. Of an unfinished frame, the longest run of finite
        lines is used.
    pixel_x_m : float
        Distance of neighbouring samples of a line, metres.
    levelling : Levelling
        Background to subtract from each image; a common tilt would hide the features.
    most : float
        Largest displacement looked at, as a share of the line, up to 0.5.

    Returns
    -------
    Shift
        In metres and pixels; over periodic samples, known only up to the period.

    Raises
    ------
    AnalysisError
        If lines are shorter than 16 points, an image is constant, or the correlation has no peak in the range.

    Notes
    -----
    With scan speed v, a loop of integral gain K_I and a lateral lag τ_x, the shift is 2 v (τ_x + 1 / K_I).
    """
    from scipy.interpolate import CubicSpline

    first = as_image(trace, least=(1, 16), what="the trace")
    second = as_image(retrace, least=(1, 16), what="the retrace")
    same_shape(first, second, "trace and retrace")
    pixel_size((pixel_x_m, pixel_x_m))
    if not 0 < most <= 0.5:
        raise AnalysisError(f"the largest displacement is a share above 0, up to 0.5; it is {most}")
    rows = scanned_lines(first, second)
    first, second = first[rows], second[rows]
    flat: list[Samples] = []
    for image, name in ((first, "trace"), (second, "retrace")):
        left = level(image, levelling).z
        if without_spread(image) or float(np.ptp(left)) <= 1e-12 * float(np.max(np.abs(image))):
            raise AnalysisError(f"the {name} is constant after levelling: check that the tip is engaged")
        flat.append(left)
    points = first.shape[1]
    reach = max(2, int(most * points))
    lags = range(-reach, reach + 1)
    alike = np.array([_correlation(*_common(flat[0], flat[1], lag)) for lag in lags])
    middle = alike[1:-1]
    peaks = 1 + np.flatnonzero((middle >= alike[:-2]) & (middle >= alike[2:]) & (middle > 0))
    high = [int(peak) for peak in peaks if alike[peak] >= _AS_HIGH * alike[peaks].max()]
    if not high:
        raise AnalysisError(
            f"the correlation of trace and retrace has no peak within {reach} pixels: they show no common features, "
            "or the shift is larger than the share named"
        )
    nearest = lags[min(high, key=lambda peak: abs(lags[peak]))]
    around = range(nearest - 3, nearest + 4)
    curve = CubicSpline(
        around,
        [_correlation(*(level(part, levelling).z for part in _common(first, second, lag))) for lag in around],
    )
    turns = curve.derivative().roots(extrapolate=False)
    near = [float(turn) for turn in turns if abs(turn - nearest) <= 2] or [float(nearest)]
    shift = max(near, key=lambda turn: float(curve(turn)))
    return Shift(shift * pixel_x_m, shift, float(curve(shift)), levelling)


def _common(trace: Samples, retrace: Samples, lag: int) -> tuple[Samples, Samples]:
    """Return the columns that trace(x) and retrace(x - lag) both have."""
    points = trace.shape[1]
    return trace[:, max(0, lag) : points + min(0, lag)], retrace[:, max(0, -lag) : points - max(0, lag)]


def _correlation(first: Samples, second: Samples) -> float:
    one, two = first - first.mean(), second - second.mean()
    scale = float(np.sqrt(np.sum(one**2) * np.sum(two**2)))
    return float(np.sum(one * two)) / scale if scale > 0 else -1.0
