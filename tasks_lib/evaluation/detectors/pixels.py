"""Pixels of a screenshot: parts of it, its background, distances of colours."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
from numpy.typing import NDArray

Pixels = NDArray[np.uint8]
"""Height × width × 3: red, green, blue."""
Box = tuple[int, int, int, int]
"""x, y, width, height in pixels, origin top left."""
Colour = tuple[int, int, int]

_NAMED: dict[str, Colour] = {
    "black": (0, 0, 0), "white": (255, 255, 255), "red": (255, 0, 0), "green": (0, 255, 0), "blue": (0, 0, 255),
    "yellow": (255, 255, 0), "cyan": (0, 255, 255), "magenta": (255, 0, 255),
}  # fmt: skip


def parse_colour(text: str) -> Colour | None:
    """Read ``#rrggbb`` or one of the eight names of pure colours (``red``, ``white``, …); None for anything else."""
    if text.casefold() in _NAMED:
        return _NAMED[text.casefold()]
    match = re.fullmatch(r"#([0-9a-fA-F]{2})([0-9a-fA-F]{2})([0-9a-fA-F]{2})", text)
    return None if match is None else (int(match[1], 16), int(match[2], 16), int(match[3], 16))


def cut(pixels: Pixels, box: Box) -> Pixels:
    """Return the part of the picture in `box`, clipped to the picture; it may be empty."""
    x, y, width, height = box
    left, top = max(x, 0), max(y, 0)
    return pixels[top : max(y + height, top), left : max(x + width, left)]


def commonest(pixels: Pixels, where: NDArray[np.bool_] | None = None) -> Colour:
    """Return the colour that most of the pixels have, those of `where` if it is given."""
    flat = (pixels if where is None else pixels[where]).reshape(-1, 3).astype(np.uint32)
    if flat.size == 0:
        return (0, 0, 0)
    codes, counts = np.unique((flat[:, 0] << 16) | (flat[:, 1] << 8) | flat[:, 2], return_counts=True)
    code = int(codes[counts.argmax()])
    return (code >> 16, (code >> 8) & 255, code & 255)


def distance(pixels: Pixels, colour: Colour) -> NDArray[np.int16]:
    """Return for each pixel how far its furthest channel is from `colour`, 0 to 255."""
    return np.abs(pixels.astype(np.int16) - np.array(colour, dtype=np.int16)).max(axis=-1)  # type: ignore[no-any-return]


def boxes_of(labels: NDArray[Any]) -> list[tuple[int, Box]]:
    """Return number and box of every labelled part of a picture."""
    from scipy import ndimage

    found = []
    for number, place in enumerate(ndimage.find_objects(labels), start=1):
        if place is not None:
            rows, columns = place
            box = (columns.start, rows.start, columns.stop - columns.start, rows.stop - rows.start)
            found.append((number, box))
    return found
