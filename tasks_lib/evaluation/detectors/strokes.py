"""The colours of what is drawn in a region: lines, text, filled marks."""

from __future__ import annotations

import colorsys
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tasks_lib.evaluation.detectors.pixels import Colour, Pixels, commonest

FAINT = 40
"""A pixel is drawn where its colour is further than this from the background, Euclidean, of 442."""
SAME = 0.97
"""Cosine of two directions away from the background that are one colour and its smoothed edges."""
MOST_STROKES = 12
_HUES = ((15, "red"), (45, "orange"), (70, "yellow"), (165, "green"), (200, "cyan"), (255, "blue"), (290, "purple"),
         (335, "magenta"), (360, "red"))  # fmt: skip


@dataclass(frozen=True, slots=True)
class Stroke:
    """A colour that was drawn: its value, its name, and its share of the region's pixels."""

    colour: str
    name: str
    share: float


def find_strokes(pixels: Pixels, background: Colour | None = None, least: float = 0.0005) -> list[Stroke]:
    """Find the colours of what is drawn on an even background, the largest share first.

    A smoothed line has few pixels of its full colour: its pixels lie between the background and the colour, so they are
    grouped by their direction away from the background, and the far end of a group is its colour.

    Accuracy, by ``test_detectors_strokes``: for one smoothed line or text of 1 to 4 pixels on light and dark
    backgrounds, each channel within 40 of 255 on at least 0.98 and the right name on at least 0.97 of 400 drawn
    regions; for three lines that cross, all three names on at least 0.95 of 200; and the curves of Fityk and Gwyddion.
    Two colours in one direction from the background, such as grey and black on white, are one stroke.

    Parameters
    ----------
    pixels : array, height × width × 3
        The region.
    background : Colour, optional
        Default: the commonest colour of the region.
    least : float
        A colour with a smaller share of the pixels is left out.
    """
    flat = pixels.reshape(-1, 3)
    if flat.shape[0] == 0:
        return []
    ground = np.array(commonest(pixels) if background is None else background, dtype=np.float64)
    away = flat.astype(np.float64) - ground
    far = np.sqrt((away**2).sum(axis=1))
    drawn = far > FAINT
    away, far = away[drawn], far[drawn]
    found: list[Stroke] = []
    while far.size > least * flat.shape[0] and len(found) < MOST_STROKES:
        group = _group(away, far)
        share = float(group.sum()) / flat.shape[0]
        if share >= least:
            found.append(_stroke(away[group], far[group], ground, share))
        away, far = away[~group], far[~group]
    return sorted(found, key=lambda stroke: (-stroke.share, stroke.colour))


def _group(away: NDArray[np.float64], far: NDArray[np.float64]) -> NDArray[np.bool_]:
    """Return the pixels of one colour: those in the direction of the strongest of the commonest colours."""
    coarse = np.round(away / 24).astype(np.int64)
    codes, place, counts = np.unique(coarse, axis=0, return_inverse=True, return_counts=True)
    weight = counts * np.sqrt((codes.astype(np.float64) ** 2).sum(axis=1)) ** 2
    seed = away[place.ravel() == int(weight.argmax())].mean(axis=0)
    cosine = (away @ seed) / (far * np.sqrt((seed**2).sum()))
    return cosine >= SAME  # type: ignore[no-any-return]


def _stroke(away: NDArray[np.float64], far: NDArray[np.float64], ground: NDArray[np.float64], share: float) -> Stroke:
    end = away[far >= np.quantile(far, 0.9)].mean(axis=0)
    red, green, blue = (int(value) for value in np.clip(np.round(ground + end), 0, 255))
    return Stroke(f"#{red:02x}{green:02x}{blue:02x}", name_of((red, green, blue)), round(share, 6))


def name_of(colour: Colour) -> str:
    """Return the name of a colour: black, white, grey, red, orange, brown, yellow, green, cyan, blue, purple, magenta.

    The borders are those of hue, saturation and value; a colour near a border may be called by either name.
    """
    hue, saturation, value = colorsys.rgb_to_hsv(*(part / 255 for part in colour))
    if value < 0.18:
        return "black"
    if saturation < 0.15:
        return "white" if value > 0.88 else "grey"
    name = next(name for limit, name in _HUES if hue * 360 <= limit)
    return "brown" if name == "orange" and value < 0.7 else name
