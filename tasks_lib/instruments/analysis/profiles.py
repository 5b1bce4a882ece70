"""Heights along a line across an image, in physical units."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from tasks_lib.instruments.analysis._field import AnalysisError, as_image, pixel_size
from tasks_lib.instruments.frame import Samples

_MOST_SAMPLES = 100_000


@dataclass(frozen=True, eq=False, slots=True)
class Profile:
    """Values along a line.

    Attributes
    ----------
    distance_m : Samples
        Distance from the start, metres, equally spaced.
    value : Samples
        Mean across the width, in the unit of the image; NaN where nothing was scanned.
    width_m : float
        Width over which was averaged.
    """

    distance_m: Samples
    value: Samples
    width_m: float


def profile(
    z: ArrayLike,
    pixel_m: tuple[float, float],
    start_m: tuple[float, float],
    end_m: tuple[float, float],
    *,
    width_m: float = 0.0,
    samples: int | None = None,
) -> Profile:
    """Read an image along a line between two points.

    Values between pixel centres are bilinear. With a width, parallel lines at both sides, not farther apart than the
    smaller pixel, are averaged; distances are physical, so the width is right on pixels that are not square, too.

    Parameters
    ----------
    z : array of shape (lines, points)
        Image in any unit.
    pixel_m : (float, float)
        Distance of neighbouring samples along x and y, in metres.
    start_m, end_m : (float, float)
        End points (x, y) from the lower left corner of the frame, in metres. The centre of the pixel in line j and
        column i lies at ((i + ½) dx, (j + ½) dy). Up to half a pixel at the rim repeats the outermost value.
    width_m : float
        Full width across the line, metres.
    samples : int, optional
        Number of points; without it, one per smaller pixel side.

    Returns
    -------
    Profile
        Distances and values.

    Raises
    ------
    AnalysisError
        If an end point is outside the frame, the points coincide, or a number is out of range.
    """
    from scipy.ndimage import map_coordinates

    image = as_image(z)
    dx, dy = pixel_size(pixel_m)
    size = (image.shape[1] * dx, image.shape[0] * dy)
    for name, point in (("start", start_m), ("end", end_m)):
        if not all(0 <= at <= limit * (1 + 1e-12) for at, limit in zip(point, size, strict=True)):
            raise AnalysisError(
                f"the {name} {point} m lies outside the frame of {size[0]:.6g} × {size[1]:.6g} m: choose a point inside"
            )
    length = math.dist(start_m, end_m)
    if length == 0:
        raise AnalysisError(f"start and end of a profile differ; both are {start_m} m")
    if not 0 <= width_m <= math.hypot(*size):
        raise AnalysisError(
            f"the width of a profile is 0 m to the frame's diagonal, {math.hypot(*size):.6g} m; it is {width_m}"
        )
    fine = min(dx, dy)
    count = samples if samples is not None else max(2, math.floor(length / fine * (1 + 1e-12)) + 1)
    if not 2 <= count <= _MOST_SAMPLES:
        raise AnalysisError(f"a profile has 2 to {_MOST_SAMPLES} samples; {count} were asked for")
    along = np.linspace(0.0, 1.0, count)
    across = np.linspace(-0.5, 0.5, math.ceil(width_m / fine * (1 - 1e-12)) + 1) * width_m if width_m else np.zeros(1)
    step_x, step_y = (end_m[0] - start_m[0]), (end_m[1] - start_m[1])
    x = start_m[0] + along * step_x - across[:, None] * step_y / length
    y = start_m[1] + along * step_y + across[:, None] * step_x / length
    values = map_coordinates(image, [y / dy - 0.5, x / dx - 0.5], order=1, mode="nearest")
    inside = (x >= 0) & (x <= size[0] * (1 + 1e-12)) & (y >= 0) & (y <= size[1] * (1 + 1e-12))
    counted = inside & np.isfinite(values)
    total = np.where(counted, values, 0.0).sum(axis=0)
    number = np.count_nonzero(counted, axis=0)
    mean = np.divide(total, number, out=np.full(count, np.nan), where=number > 0)
    return Profile(along * length, mean, float(width_m))
