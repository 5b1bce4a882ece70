"""Regions of the screen, compared with reference pictures."""

from __future__ import annotations

import base64
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tasks_lib.evaluation._registry import CallError, Judgement, Seen, metric
from tasks_lib.evaluation.metrics import _say
from tasks_lib.records import Json


@metric("region-similar")
def region_similar(seen: Seen, want: Json, *, at_least: float = 0.95, worst: float = 0.8, **_: Any) -> Judgement:
    """Pass where a region of the screen, or a picture, looks like the gold picture, pixel for pixel.

    Read the screen with ``screen-picture``, the gold with ``gold_as: {getter: image, what: pixels}``. Pixels that are
    transparent in the gold picture do not count. The region may be larger: the gold picture is looked for in it.

    Parameters
    ----------
    at_least : float
        The smallest mean likeness that passes: SSIM in colour, lowered where the colours differ, 0 to 1.
    worst : float
        The smallest likeness of any square of 12 pixels that passes, so that one changed word is seen.
    """
    from tasks_lib.evaluation.detectors.likeness import compare

    wanted, shown = _pixels(want), _pixels(seen.value)
    if wanted is None:
        msg = "region-similar wants a gold picture, read with gold_as: {getter: image, what: pixels}"
        raise CallError(msg)
    if shown is None:
        msg = "region-similar compares what screen-picture reads, or image with what: pixels"
        raise CallError(msg)
    if shown.shape[0] < wanted.shape[0] or shown.shape[1] < wanted.shape[1]:
        sizes = f"{shown.shape[1]} x {shown.shape[0]} pixels, the reference has {wanted.shape[1]} x {wanted.shape[0]}"
        return Judgement(False, f"the region has {sizes}")
    try:
        found = compare(shown[..., :3], wanted)
    except ValueError as error:
        raise CallError(str(error)) from error
    why = f"the likeness is {_say.number(found.mean)}, at least {_say.number(at_least)} is wanted; that of the worst "
    why += f"square is {_say.number(found.worst)}, at least {_say.number(worst)} is wanted"
    return Judgement(found.mean >= at_least and found.worst >= worst, why)


def _pixels(value: Json) -> NDArray[np.uint8] | None:
    if not isinstance(value, dict) or "pixels" not in value:
        return None
    flat = np.frombuffer(base64.b64decode(value["pixels"]), np.uint8)
    return flat.reshape(value["height"], value["width"], 4)
