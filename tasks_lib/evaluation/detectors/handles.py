"""The small squares at the corners of what is selected or being drawn."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tasks_lib.evaluation.detectors.pixels import Box, Colour, Pixels, boxes_of, distance

NEAR = 40
"""A pixel has the colour of the handles where no channel is further from it, of 255."""
MOST = 400
"""With more squares than these the picture is a pattern and holds no handles."""


@dataclass(frozen=True, slots=True)
class Frame:
    """Four handles at the corners of a rectangle: the box through their middles, and how many lie on its rim."""

    box: tuple[float, float, float, float]
    handles: int


def find_handles(pixels: Pixels, colour: Colour, sides: tuple[int, int] = (4, 10)) -> list[tuple[float, float]]:
    """Find filled squares of one colour that stand alone or on thin lines.

    Accuracy, by ``test_detectors_handles``: all squares and no other place on at least 0.98 of 400 drawn pictures of
    noise, blobs and text with 0 to 8 handles of 5 to 9 pixels, with and without a dark rim and lines of their colour
    between them; and all eight on a screen of ImageJ. A handle without a rim on a surface of its own colour is lost,
    and a square of the picture itself that has this colour and size is taken for one: ask for frames (`find_frames`)
    where that can be.

    Parameters
    ----------
    pixels : array, height × width × 3
        The part of the screenshot that shows the picture.
    colour : Colour
        Of the squares.
    sides : (int, int)
        Smallest and largest side of a square, pixels.

    Returns
    -------
    list of (x, y)
        The middles, by rows; empty where there are more than 400.
    """
    from scipy import ndimage

    smallest, largest = sides
    alike = distance(pixels, colour) <= NEAR
    # Opening with the smallest square takes away lines, letters and noise, and leaves squares as they are.
    squares = ndimage.binary_opening(alike, np.ones((smallest, smallest)))
    labels, _ = ndimage.label(squares, np.ones((3, 3)))
    found = []
    for number, (x, y, width, height) in boxes_of(labels):
        if not smallest <= min(width, height) <= max(width, height) <= largest or abs(width - height) > 1:
            continue
        if (labels[y : y + height, x : x + width] == number).mean() < 0.9 or not _alone(alike, (x, y, width, height)):
            continue
        found.append((x + (width - 1) / 2, y + (height - 1) / 2))
    return sorted(found, key=lambda place: (place[1], place[0])) if len(found) <= MOST else []


def _alone(alike: np.ndarray[tuple[int, int], np.dtype[np.bool_]], box: Box) -> bool:
    """Tell whether little around a square has its colour: two lines may leave it on each side, a surface may not."""
    x, y, width, height = box
    outer = alike[max(y - 1, 0) : y + height + 1, max(x - 1, 0) : x + width + 1]
    rim = outer.size - width * height
    return rim <= 0 or (outer.sum() - alike[y : y + height, x : x + width].sum()) / rim <= 0.4


def find_frames(handles: list[tuple[float, float]], tolerance: float = 1.5) -> list[Frame]:
    """Find the rectangles whose four corners are handles, largest first.

    Accuracy: as `find_handles` says of the squares; the rectangle itself is exact where they are.

    Parameters
    ----------
    handles : list of (x, y)
        The middles of the squares.
    tolerance : float
        How far a corner may be off, pixels.
    """
    points = np.array(handles, dtype=float).reshape(-1, 2)

    def there(x: float, y: float) -> bool:
        return bool((np.abs(points - (x, y)).max(axis=1) <= tolerance).any())

    found: list[Frame] = []
    for left, top in handles:
        for right, bottom in handles:
            if right - left > 4 and bottom - top > 4 and there(right, top) and there(left, bottom):
                on_rim = (
                    ((np.abs(points[:, 0] - left) <= tolerance) | (np.abs(points[:, 0] - right) <= tolerance))
                    & (points[:, 1] >= top - tolerance)
                    & (points[:, 1] <= bottom + tolerance)
                ) | (
                    ((np.abs(points[:, 1] - top) <= tolerance) | (np.abs(points[:, 1] - bottom) <= tolerance))
                    & (points[:, 0] >= left - tolerance)
                    & (points[:, 0] <= right + tolerance)
                )
                found.append(Frame((left, top, right - left, bottom - top), int(on_rim.sum())))
    return sorted(found, key=lambda frame: (-frame.box[2] * frame.box[3], frame.box))
