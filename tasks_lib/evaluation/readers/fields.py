"""Numbers of a picture whose pixels are measured values: height maps, micrographs, spectra in two dimensions."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from tasks_lib.evaluation._registry import Unreadable

STATISTICS = ("mean", "rms", "sa", "min", "max", "median", "sum", "skew", "kurtosis", "slope-x", "slope-y")


def crop(values: NDArray[Any], region: list[int] | None) -> NDArray[Any]:
    """Return the part ``[x, y, width, height]`` of a field, in its pixels.

    Raises
    ------
    Unreadable
        If the field does not hold the whole of it, as one that was cropped or scaled does.
    """
    if region is None:
        return values
    x, y, width, height = region
    if x < 0 or y < 0 or width < 1 or height < 1 or x + width > values.shape[1] or y + height > values.shape[0]:
        size = f"{values.shape[1]} x {values.shape[0]} pixels"
        msg = f"the region {region} does not lie in the picture of {size}"
        raise Unreadable(msg)
    return values[y : y + height, x : x + width]


def statistics(
    values: NDArray[Any], step: tuple[float, float] = (1.0, 1.0), keep: NDArray[np.bool_] | None = None
) -> dict[str, float | None]:
    """Compute the statistics of a field.

    Parameters
    ----------
    values : array, height × width
        The values.
    step : (float, float)
        Distance of two pixels along x and y.
    keep : array of bool, height × width, optional
        Which pixels count; default: all.

    Returns
    -------
    dict
        ``mean``; ``rms``, the root of the mean square of the distances from the mean (Sq); ``sa``, the mean of their
        sizes; ``min``, ``max``, ``median``, ``sum``; ``skew`` and excess ``kurtosis`` (0 for a normal distribution);
        ``slope-x`` and ``slope-y`` of the least-squares plane, value per unit of length. All are None where a value is
        NaN or infinite, or no pixel counts; a slope is None where the pixels span no plane.
    """
    whole = np.asarray(values, dtype=np.float64)
    mask = np.ones(whole.shape, dtype=bool) if keep is None else keep
    picked = whole[mask]
    if picked.size == 0 or not np.isfinite(picked).all():
        return dict.fromkeys(STATISTICS)
    # The scale keeps the squares of 1e-200 and of 1e200 within the range of a double.
    scale = float(np.abs(picked).max()) or 1.0
    small = picked / scale
    mean = float(small.mean())
    far = small - mean
    square = float((far**2).mean())
    flat = square <= 1e-30
    found: dict[str, float | None] = {
        "mean": mean * scale,
        "rms": square**0.5 * scale,
        "sa": float(np.abs(far).mean()) * scale,
        "min": float(picked.min()),
        "max": float(picked.max()),
        "median": float(np.median(picked)),
        "sum": float(small.sum()) * scale,
        "skew": None if flat else float((far**3).mean()) / square**1.5,
        "kurtosis": None if flat else float((far**4).mean()) / square**2 - 3,
    }
    found["slope-x"], found["slope-y"] = _slopes(far, mask, step, scale)
    return found


def _slopes(
    far: NDArray[np.float64], mask: NDArray[np.bool_], step: tuple[float, float], scale: float
) -> tuple[float | None, float | None]:
    rows, columns = (at.astype(np.float64) for at in np.nonzero(mask))
    columns -= columns.mean()
    rows -= rows.mean()
    xx, yy, xy = float(columns @ columns), float(rows @ rows), float(columns @ rows)
    determinant = xx * yy - xy * xy
    if determinant <= 1e-12 * xx * yy or determinant <= 0:
        return None, None
    zx, zy = float(columns @ far), float(rows @ far)
    along_x, along_y = (zx * yy - zy * xy) / determinant, (zy * xx - zx * xy) / determinant
    return along_x * scale / step[0], along_y * scale / step[1]
