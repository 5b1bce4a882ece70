"""What every analysis asks of an image: two dimensions, real numbers, a pixel size, and samples that count."""

from __future__ import annotations

import math
import operator

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tasks_lib.instruments.frame import Samples
from tasks_lib.records.errors import MatAssayError

Mask = NDArray[np.bool_]
# Beyond these no image was measured, and squares and products of samples or pixels would leave the range of floats.
_LARGEST_SAMPLE = 1e100
_PIXEL_M = (1e-15, 1e6)


class AnalysisError(MatAssayError):
    """An image cannot answer what was asked of it; the message says which rule it breaks and what to do."""


def as_image(z: ArrayLike, *, least: tuple[int, int] = (1, 1), what: str = "the image") -> Samples:
    """Check that `z` has two dimensions, at least `least` (lines, points), and real numbers; NaN is allowed."""
    image = np.asarray(z)
    if image.ndim != 2 or image.dtype.kind not in "fiu":
        raise AnalysisError(f"{what} must be a real array (lines, points); it is {image.dtype} of shape {image.shape}")
    if image.shape[0] < least[0] or image.shape[1] < least[1]:
        raise AnalysisError(
            f"{what} has {image.shape[0]} × {image.shape[1]} samples (lines × points); this analysis needs at least "
            f"{least[0]} × {least[1]}: scan with more lines and points"
        )
    samples: Samples = np.asarray(image, dtype=np.float64)
    largest = float(np.max(np.abs(samples), initial=0.0, where=np.isfinite(samples)))
    if largest > _LARGEST_SAMPLE:
        raise AnalysisError(
            f"{what} holds {largest:.3g}, beyond ±{_LARGEST_SAMPLE:g}: no instrument measured that; mask such samples "
            "by NaN"
        )
    return samples


def same_shape(first: Samples, second: Samples, what: str) -> None:
    if first.shape != second.shape:
        raise AnalysisError(f"{what} must have one shape; they have {first.shape} and {second.shape}")


def usable(z: Samples, where: ArrayLike | None = None, *, least: int = 1, what: str = "the image") -> Mask:
    """Return the samples that are finite and, where a mask is given, chosen by it; at least `least` of them."""
    keep = np.isfinite(z)
    if where is not None:
        chosen = np.asarray(where)
        if chosen.dtype != np.bool_ or chosen.shape != z.shape:
            raise AnalysisError(
                f"the mask of {what} must be boolean of shape {z.shape}; it is {chosen.dtype} of shape {chosen.shape}"
            )
        keep &= chosen
    if (count := int(np.count_nonzero(keep))) < least:
        raise AnalysisError(
            f"{what} has {count} usable samples (finite and not masked out) of {z.size}; "
            f"this analysis needs at least {least}: scan the frame to its end or widen the mask"
        )
    return keep


def pixel_size(pixel_m: tuple[float, float]) -> tuple[float, float]:
    """Check the distances of neighbouring samples along x and y, in metres."""
    try:
        dx, dy = (float(one) for one in pixel_m)
    except (TypeError, ValueError):
        raise AnalysisError(f"a pixel has a width and a height, two numbers in metres; it is {pixel_m!r}") from None
    low, high = _PIXEL_M
    if not (low <= dx <= high and low <= dy <= high):
        raise AnalysisError(
            f"a pixel has a positive width and height in metres, {low:g} to {high:g}; it has {dx} and {dy}"
        )
    return dx, dy


def scanned_lines(*images: Samples) -> slice:
    """Return the longest run of lines that are finite in every image: what an unfinished frame offers.

    Raises
    ------
    AnalysisError
        If no line is finite from end to end.
    """
    good = np.logical_and.reduce([np.isfinite(image).all(axis=1) for image in images])
    edges = np.flatnonzero(np.diff(np.r_[False, good, False].astype(np.int8)))
    starts, stops = edges[::2], edges[1::2]
    if not starts.size:
        raise AnalysisError("no line is finite from end to end: scan at least one whole line")
    longest = int(np.argmax(stops - starts))
    return slice(int(starts[longest]), int(stops[longest]))


def without_spread(values: Samples) -> bool:
    """Whether values differ by no more than the rounding of their own magnitude: a constant frame."""
    peak = float(np.max(np.abs(values)))
    return float(np.ptp(values)) <= 8 * float(np.finfo(np.float64).eps) * peak


def whole(value: object, low: int, high: int, what: str) -> int:
    """Check that a number is whole and lies in [low, high]."""
    try:
        number = operator.index(value)  # type: ignore[arg-type]
    except TypeError:
        number = low - 1
    if not low <= number <= high:
        raise AnalysisError(f"{what} is a whole number from {low} to {high}; it is {value!r}")
    return number


def finite_number(value: float, what: str) -> float:
    """Check that a number is finite."""
    if not math.isfinite(value):
        raise AnalysisError(f"{what} is a finite number; it is {value!r}")
    return float(value)
