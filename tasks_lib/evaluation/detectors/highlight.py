"""Which of several icons or buttons is highlighted: pressed, selected, the tool at hand."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Literal

import numpy as np

from tasks_lib.evaluation.detectors.pixels import Box, Pixels, cut

LEAST = 3.5
"""Difference of two backgrounds that is a highlight, in units of CIE L*a*b* (1 is the least that an eye sees)."""
RIM = 0.08
"""The background of a cell is read from its rim, this share of its side, where the icon does not reach."""


def highlighted(
    pixels: Pixels, cells: Mapping[str, Box], shade: Literal["any", "darker", "lighter"] = "any", least: float = LEAST
) -> list[str]:
    """Return the names of the cells whose background differs from that of the others.

    What the others look like is the median over all cells, so three cells are the least, and fewer than half of them
    may be highlighted.

    Accuracy, by ``test_detectors_highlight``: exactly the right names on at least 0.99 of 400 drawn tool bars with 3 to
    12 cells, none or one of them highlighted by a background that differs by 5 or more, cells off by up to 2 pixels;
    and on the tool boxes of Gwyddion, ImageJ and Fityk. It takes a cell under the pointer for highlighted where the
    toolkit lights it up: with `shade` a pressed button (darker) is told from a lit one (lighter) where they differ so.

    Parameters
    ----------
    pixels : array, height × width × 3
        The screenshot.
    cells : mapping of str to Box
        Name -> the whole cell around each icon, all of about one size.
    shade : {"any", "darker", "lighter"}
        Whether only a darker or a lighter background counts.
    least : float
        The least difference, in units of CIE L*a*b*.

    Returns
    -------
    list of str
        In the order of `cells`.

    Raises
    ------
    ValueError
        If there are fewer than three cells, or one lies outside the picture.
    """
    if len(cells) < 3:
        msg = f"three cells are the least to tell which one differs, got {len(cells)}"
        raise ValueError(msg)
    grounds = np.array([_ground(pixels, name, box) for name, box in cells.items()])
    usual = np.median(grounds, axis=0)
    found = []
    for name, ground in zip(cells, grounds, strict=True):
        lighter = ground[0] > usual[0]
        if math.dist(ground, usual) >= least and (shade == "any" or lighter == (shade == "lighter")):
            found.append(name)
    return found


def _ground(pixels: Pixels, name: str, box: Box) -> tuple[float, float, float]:
    from skimage.color import rgb2lab

    part = cut(pixels, box)
    if part.shape[:2] != (box[3], box[2]) or min(part.shape[:2]) < 8:
        msg = f"the cell {name!r} {box} does not lie in the picture of {pixels.shape[1]} x {pixels.shape[0]} pixels"
        raise ValueError(msg)
    # The outermost pixels are a bevel or a gap between cells.
    edge = max(2, round(0.08 * min(part.shape[:2])))
    part = part[edge:-edge, edge:-edge]
    rim = max(2, round(RIM * min(part.shape[:2])))
    mask = np.ones(part.shape[:2], dtype=bool)
    mask[rim:-rim, rim:-rim] = False
    lab = rgb2lab(part[mask].reshape(1, -1, 3))[0]
    light, a, b = np.median(lab, axis=0)
    return float(light), float(a), float(b)
