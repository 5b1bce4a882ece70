"""Check boxes and radio buttons beside a label."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from tasks_lib.evaluation.detectors.pixels import Box, Pixels, boxes_of, commonest, cut, distance

SMALLEST, LARGEST = 11, 30
"""Sides of a check box, pixels; a smaller shape, or one lower than 0.58 of the label, is a letter."""
OUTLINE = 12
"""A pixel belongs to an outline where a channel differs from the background by more, of 255."""
INK = 30
"""A pixel belongs to a tick or a dot where a channel differs from the inside of the box by more, of 255."""
LEAST_INK = 0.05
"""Share of the inside that a tick or a dot covers at least."""


@dataclass(frozen=True, slots=True)
class Toggle:
    """A check box or radio button: what it is, whether it is on, and where it stands."""

    kind: Literal["check", "radio"]
    state: Literal["on", "off", "mixed"]
    box: Box


def find_toggle(pixels: Pixels, label: Box, side: Literal["left", "right"] = "left") -> Toggle | None:
    """Find the check box or radio button beside a label, and its state.

    It looks for a closed outline, as high as the label or nearly, on the label's line and next to it. It is on where
    something stands out from the inside: a tick, a cross, a dot; ``mixed`` where that is a flat bar.

    Accuracy, by ``test_detectors_toggles``: kind and state of at least 0.99 of 600 drawn ones (a line with a tick,
    filled with a light tick, a bevel with a cross, square and round, on light and dark; 12 to 20 pixels and not lower
    than 0.85 of the label), of at least 0.97 where the label's box is off by up to 3 pixels, and of all 22 on screens
    of Gwyddion and Fityk. A filled square or circle without a mark on it is read as off; where there is no button, a
    capital O or D of more than 11 pixels beside the place is taken for one. It does not see whether the button can be
    used.

    Parameters
    ----------
    pixels : array, height × width × 3
        The screenshot.
    label : Box
        The box around the text, as OCR gives it.
    side : {"left", "right"}
        On which side of the label the button stands.

    Returns
    -------
    Toggle or None
        None where nothing beside the label looks like one.
    """
    x, y, width, height = label
    reach = round(2.6 * max(height, 14))
    middle = y + height / 2
    top = round(middle - max(1.1 * height, 16))
    # OCR may take a tick for a letter, so that the label's box begins with the button.
    inward = round(1.7 * height)
    area = (x - reach, top, reach + inward, round(2 * (middle - top)))
    if side == "right":
        area = (x + width - inward, area[1], reach + inward, area[3])
    part = cut(pixels, area)
    if part.shape[0] < SMALLEST or part.shape[1] < SMALLEST:
        return None
    left, above = max(area[0], 0), max(area[1], 0)
    best: tuple[float, Toggle] | None = None
    for box, filled in _outlines(part, max(SMALLEST, round(0.58 * height))):
        away = abs(box[1] + box[3] / 2 + above - middle)
        if away > 0.45 * max(height, box[3]):
            continue
        gap = x - (left + box[0] + box[2]) if side == "left" else left + box[0] - (x + width)
        found = Toggle(_kind(filled), _state(cut(part, box)), (left + box[0], above + box[1], box[2], box[3]))
        if best is None or abs(gap) + away < best[0]:
            best = (abs(gap) + away, found)
    return None if best is None else best[1]


def state_in(pixels: Pixels, region: Box) -> Toggle | None:
    """Find the one check box or radio button in a region, the largest where there are several, see `find_toggle`."""
    part = cut(pixels, region)
    left, above = max(region[0], 0), max(region[1], 0)
    found = _outlines(part, SMALLEST) if min(part.shape[:2]) >= SMALLEST else []
    if not found:
        return None
    box, filled = max(found, key=lambda row: row[0][2] * row[0][3])
    return Toggle(_kind(filled), _state(cut(part, box)), (left + box[0], above + box[1], box[2], box[3]))


def _outlines(part: Pixels, smallest: int) -> list[tuple[Box, NDArray[np.bool_]]]:
    """Return the boxes of closed shapes that are about square, each with its filled shape."""
    from scipy import ndimage

    drawn = distance(part, commonest(part)) > OUTLINE
    found = []
    labels, _ = ndimage.label(drawn, np.ones((3, 3)))
    for number, box in boxes_of(labels):
        if not (smallest <= box[2] <= LARGEST and smallest <= box[3] <= LARGEST):
            continue
        if abs(box[2] - box[3]) > max(2, 0.15 * max(box[2], box[3])):
            continue
        shape = _cut_any(labels, box) == number
        filled = ndimage.binary_fill_holes(shape)
        # A letter such as "o" or "D" leaves corners open or is not filled; a box and a circle are.
        if filled.mean() >= 0.68:
            found.append((box, filled))
    return found


def _cut_any(values: NDArray[Any], box: Box) -> NDArray[Any]:
    x, y, width, height = box
    return values[y : y + height, x : x + width]


def _kind(filled: NDArray[np.bool_]) -> Literal["check", "radio"]:
    # A circle fills 0.79 of its square; a box whose corners are rounded by a quarter of its side 0.95.
    return "radio" if filled.mean() < 0.87 else "check"


def _state(part: Pixels) -> Literal["on", "off", "mixed"]:
    inset = max(2, round(0.24 * min(part.shape[:2])))
    inside = part[inset:-inset, inset:-inset]
    if inside.size == 0:
        return "off"
    ink = distance(inside, commonest(inside)) > INK
    if ink.mean() < LEAST_INK:
        return "off"
    rows, columns = np.nonzero(ink)
    flat = np.ptp(rows) + 1 <= 0.45 * inside.shape[0] and np.ptp(columns) + 1 >= 0.7 * inside.shape[1]
    return "mixed" if flat and ink[rows.min() : rows.max() + 1].mean() > 0.6 else "on"
