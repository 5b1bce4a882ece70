"""A surface that was measured somewhere else."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from tasks_lib.instruments.twin.errors import TwinError
from tasks_lib.instruments.twin.samples._sample import Array, Sample, not_negative, positive, truths


def measured_surface(height_m: ArrayLike, pixel_m: tuple[float, float], *, friction: float = 0.3) -> Sample:
    """Return a surface that is given as an image, linear between its pixels.

    Parameters
    ----------
    height_m : array of shape (lines, points)
        Row 0 is the lowest line, as in a frame. Beyond the image its edge goes on.
    pixel_m : (float, float)
        Size of a pixel along x and along y.

    Raises
    ------
    TwinError
        If the image is smaller than 2 × 2, has a value that is not finite, or a pixel is not above 0.
    """
    image = np.ascontiguousarray(height_m, dtype=np.float64)
    positive(pixel_x_m=pixel_m[0], pixel_y_m=pixel_m[1])
    not_negative(friction=friction)
    if image.ndim != 2 or min(image.shape) < 2 or not np.isfinite(image).all():
        raise TwinError(
            f"a measured surface must be an image of 2 × 2 finite heights or more, not of shape {image.shape}"
            f" with {int((~np.isfinite(image)).sum())} values that are not finite"
        )
    lines, points = image.shape
    size = (points * pixel_m[0], lines * pixel_m[1])

    def height(x: Array, y: Array) -> Array:
        from tasks_lib.instruments.twin import _kernels

        column = np.clip((x + size[0] / 2) / pixel_m[0] - 0.5, 0, points - 1.000001)
        row = np.clip((y + size[1] / 2) / pixel_m[1] - 0.5, 0, lines - 1.000001)
        return _kernels.tiled(image, column, row)

    slope = max(
        float(np.abs(np.diff(image, axis=1)).max()) / pixel_m[0],
        float(np.abs(np.diff(image, axis=0)).max()) / pixel_m[1],
    )
    return Sample(
        "measured surface",
        size,
        truths(kind="measured surface", rms_m=float(image.std()), pixel_x_m=pixel_m[0], pixel_y_m=pixel_m[1]),
        float(np.ptp(image)),
        slope,
        height,
        friction,
    )
