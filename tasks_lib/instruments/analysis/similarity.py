"""How alike trace and retrace are: the structural similarity index, levelled and raw."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from tasks_lib.instruments.analysis._field import (
    AnalysisError,
    as_image,
    same_shape,
    scanned_lines,
    whole,
    without_spread,
)
from tasks_lib.instruments.analysis.levelling import ROWS, Levelling, level
from tasks_lib.instruments.frame import Samples


@dataclass(frozen=True, slots=True)
class Similarity:
    """Structural similarity of trace and retrace, -1 to 1, without a unit.

    Attributes
    ----------
    levelled : float
        After `levelling` of each image: the number to judge a scan by.
    raw : float
        Without levelling. On a tilted sample both images share the tilt and this is near 1 whatever the loop does: it
        tells of tilt, not of tracking.
    levelling : Levelling
        What was subtracted for `levelled`.
    lines : int
        Lines that were compared.
    """

    levelled: float
    raw: float
    levelling: Levelling
    lines: int


def trace_retrace_similarity(
    trace: ArrayLike, retrace: ArrayLike, levelling: Levelling = ROWS, *, window: int = 7
) -> Similarity:
    """Compare trace and retrace by the mean structural similarity index.

    SSIM = (2 μ_t μ_r + C₁)(2 σ_tr + C₂) / ((μ_t² + μ_r² + C₁)(σ_t² + σ_r² + C₂)), averaged over all positions of a
    uniform window, with C₁ = (0.01 L)², C₂ = (0.03 L)² and L the range (maximum - minimum) of the retrace.

    Parameters
    ----------
    trace, retrace : arrays of shape (lines, points)
        One channel forward and backward, both with x rising, in one unit. Of an unfinished frame, the longest run of
        finite lines is compared.
    levelling : Levelling
        Background to subtract from each image by itself.
    window : int
        Side of the window in samples; odd.

    Returns
    -------
    Similarity
        Levelled and raw index.

    Raises
    ------
    AnalysisError
        If fewer lines or points are there than the window is wide, or the retrace is constant.

    Notes
    -----
    Source: Wang, Bovik, Sheikh, Simoncelli, IEEE Trans. Image Process. 13 (2004) 600; scikit-image's
    `structural_similarity`. L from the retrace is the convention of the published AFM work, and makes the index
    depend a little on which image is called retrace.
    """
    first, second = as_image(trace, what="the trace"), as_image(retrace, what="the retrace")
    same_shape(first, second, "trace and retrace")
    if whole(window, 3, 9999, "the window of the similarity") % 2 == 0:
        raise AnalysisError(f"the window of the similarity is odd; it is {window}")
    rows = scanned_lines(first, second)
    first, second = first[rows], second[rows]
    if min(first.shape) < window:
        raise AnalysisError(
            f"{first.shape[0]} whole lines of {first.shape[1]} points are fewer than the window of {window} samples: "
            "scan more lines and points, or name a smaller window"
        )
    return Similarity(
        levelled=_index(level(first, levelling).z, level(second, levelling).z, window, second),
        raw=_index(first, second, window, second),
        levelling=levelling,
        lines=first.shape[0],
    )


def _index(trace: Samples, retrace: Samples, window: int, before: Samples) -> float:
    from skimage.metrics import structural_similarity

    span = float(np.ptp(retrace))
    if without_spread(before) or span <= 64 * np.finfo(np.float64).eps * float(np.max(np.abs(before))):
        raise AnalysisError(
            "the retrace is constant (after levelling), so a similarity has no scale: check that the tip is engaged "
            "and that the channel is recorded"
        )
    value = float(structural_similarity(retrace, trace, win_size=window, data_range=span))  # type: ignore[no-untyped-call]
    if not math.isfinite(value):
        raise AnalysisError(f"the retrace spans {span:g}, too little to be squared as a float: check its unit")
    return value
