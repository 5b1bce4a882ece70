"""How much a part of the screen looks like a reference picture."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import ndimage
from skimage.feature import match_template
from skimage.metrics import structural_similarity

from tasks_lib.evaluation.detectors.pixels import Pixels

WINDOW = 7
"""Side of the window of SSIM, pixels."""
FAR = 128.0
"""Colours that are further apart are as unlike as can be, of 255."""
BLOCK = 12
"""Side of the squares of which the worst is looked for, pixels."""


@dataclass(frozen=True, slots=True)
class Likeness:
    """How alike two pictures are: mean SSIM, that of the worst square, and where the reference was found."""

    mean: float
    worst: float
    x: int
    y: int


def compare(seen: Pixels, wanted: NDArray[np.uint8]) -> Likeness:
    """Find the reference in a region that is as large or larger, and say how alike both are there.

    The structural similarity (SSIM, Wang et al. 2004, windows of 7 pixels, over the three colours) is computed for
    every pixel, and lowered to the agreement of the colours where that is less: 1 for equal, 0 where a channel is off
    by 128 on the average of the window. Pixels that are transparent in the reference, and those whose window holds such
    a pixel, do not count.
    The mean alone overlooks a small change in a large picture, so the worst square of 12 pixels is told as well.

    Accuracy, by ``test_detectors_likeness``: on 100 drawn windows that were moved by up to 12 pixels and had a pointer
    over a masked part, the place is exact and the worst square at least 0.98 on all; with one word, icon or colour
    changed, the worst square is below 0.8 on at least 0.99 of 102.

    Parameters
    ----------
    seen : array, height × width × 3
        The region of the screenshot.
    wanted : array, height × width × 4
        The reference with its opacity, 0 for what does not count.

    Returns
    -------
    Likeness
        1 is equal, 0 is unlike; ``x`` and ``y`` are the place of the reference in the region.

    Raises
    ------
    ValueError
        If the region is smaller than the reference, the reference smaller than 16 pixels, or nothing of it counts.
    """
    height, width = wanted.shape[:2]
    if seen.shape[0] < height or seen.shape[1] < width or min(height, width) < 16:
        said = f"{seen.shape[1]} x {seen.shape[0]} pixels were seen, the reference has {width} x {height}"
        msg = f"the region must hold the reference, which has 16 pixels or more a side: {said}"
        raise ValueError(msg)
    counts = ndimage.binary_erosion(wanted[..., 3] > 0, np.ones((WINDOW, WINDOW)), border_value=1)
    if not counts.any():
        msg = "nothing of the reference counts: all of it is transparent, or too narrow between what is"
        raise ValueError(msg)
    x, y = _place(seen, wanted)
    part = seen[y : y + height, x : x + width]
    _, values = structural_similarity(  # type: ignore[no-untyped-call]
        part, wanted[..., :3], win_size=WINDOW, channel_axis=-1, data_range=255, full=True
    )
    # SSIM hardly sees that an even surface has another colour, so the colours have to agree as well.
    apart = np.abs(part.astype(np.float64) - wanted[..., :3]).max(axis=-1)
    colours = 1 - np.minimum(ndimage.uniform_filter(apart, WINDOW) / FAR, 1)
    alike = np.minimum(values.mean(axis=-1), colours)
    weight = ndimage.uniform_filter(counts.astype(np.float64), BLOCK, mode="constant")
    means = ndimage.uniform_filter(np.where(counts, alike, 0.0), BLOCK, mode="constant") / np.maximum(weight, 1e-9)
    # A square of which less than a quarter counts says little.
    worst = float(means[weight >= 0.25].min()) if (weight >= 0.25).any() else float(alike[counts].min())
    return Likeness(round(float(alike[counts].mean()), 4), round(worst, 4), x, y)


def _place(seen: Pixels, wanted: NDArray[np.uint8]) -> tuple[int, int]:
    if seen.shape[:2] == wanted.shape[:2]:
        return 0, 0
    opaque = wanted[..., 3] > 0
    grey = wanted[..., :3].mean(axis=-1)
    template = np.where(opaque, grey, grey[opaque].mean())
    if float(np.ptp(template)) < 1:
        return 0, 0
    found: NDArray[Any] = match_template(seen.mean(axis=-1), template)  # type: ignore[no-untyped-call]
    y, x = np.unravel_index(int(np.nan_to_num(found, nan=-1.0).argmax()), found.shape)
    return int(x), int(y)
