"""Finding what can be pointed at from the pixels alone: texts that OCR reads, outlined controls, icons."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from tasks_lib.agents._text_matching import TextLine, word_columns
from tasks_lib.agents.elements import Element

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

# OCR guesses at icons below this.
_LEAST_CONFIDENCE = 0.6
# A gap between words that is wider than this share of the line's height parts two things, as in a menu bar.
_WIDE = 0.55
_LEAST_GAP = 8
# Two neighbouring pixels are at an edge where a colour differs by more, levels of 255: the border of a flat button is
# about 40 levels off its ground, the dithering of a slope less than 8.
_EDGE = 12
# A control that has an outline, pixels.
_LEAST_SIDE, _MOST_HEIGHT, _MOST_WIDTH = 9, 56, 640
# Share of its box that a control's inside fills: rounded corners do, a letter such as "O" does not.
_FILLED = 0.85
# An icon, pixels.
_LEAST_ICON, _MOST_ICON = 11, 52


def detect(screen: NDArray[np.uint8], lines: Sequence[TextLine]) -> list[Element]:
    """Find texts, outlined controls and icons.

    Parameters
    ----------
    screen : ndarray of uint8, shape (height, width, 3)
        The screenshot.
    lines : sequence of TextLine
        What OCR read from it.

    Returns
    -------
    list of Element
        Of role ``text``, ``box`` (a button, a field, a check box; with the text inside it) or ``icon``.
    """
    texts = [part for line in lines if line.confidence >= _LEAST_CONFIDENCE for part in _parts(screen, line)]
    edges = _edges(screen)
    boxes = _outlined(edges)
    found, free = _with_texts(boxes, texts)
    return [*found, *free, *_icons(edges, [*found, *texts])]


def _parts(screen: NDArray[np.uint8], line: TextLine) -> Iterator[Element]:
    """Part a line where OCR joined what stands far apart."""
    words = line.text.split()
    columns = word_columns(screen, line, words)
    top, height = round(line.y), max(1, round(line.height))
    if not words:
        return
    if not columns:
        yield Element("text", " ".join(words), round(line.x), top, max(1, round(line.width)), height)
        return
    wide = max(_WIDE * height, _LEAST_GAP)
    starts = [0, *(n + 1 for n, (a, b) in enumerate(itertools.pairwise(columns)) if b[0] - a[1] > wide), len(words)]
    for first, last in itertools.pairwise(starts):
        left, right = columns[first][0], columns[last - 1][1]
        yield Element("text", " ".join(words[first:last]), left, top, max(1, right - left), height)


def _edges(screen: NDArray[np.uint8]) -> NDArray[np.uint8]:
    """Return 1 where a pixel differs from the one to its right or below it."""
    import cv2
    import numpy as np

    edges = np.zeros(screen.shape[:2], np.uint8)
    edges[:, :-1] |= (cv2.absdiff(screen[:, 1:], screen[:, :-1]).max(axis=2) > _EDGE).astype(np.uint8)
    edges[:-1] |= (cv2.absdiff(screen[1:], screen[:-1]).max(axis=2) > _EDGE).astype(np.uint8)
    return edges


def _outlined(edges: NDArray[np.uint8]) -> list[Element]:
    """Return the boxes whose outline is closed and about a rectangle, by the holes that they leave among the edges."""
    import cv2

    height, width = edges.shape
    count, _, stats, _ = cv2.connectedComponentsWithStats(1 - edges, connectivity=4)
    found = []
    for x, y, across, down, area in stats[1:count].tolist():
        at_rim = x == 0 or y == 0 or x + across == width or y + down == height
        if at_rim or not (_LEAST_SIDE <= across <= _MOST_WIDTH and _LEAST_SIDE <= down <= _MOST_HEIGHT):
            continue
        found.append((Element("box", "", x - 1, y - 1, across + 2, down + 2), area))
    return [box for box, area in found if area + _ink_inside(edges, box) >= _FILLED * box.area]


def _ink_inside(edges: NDArray[np.uint8], box: Element) -> int:
    """Count the edges inside a box, away from its rim: a label's letters, a tick."""
    inside = edges[box.y + 2 : box.y + box.height - 2, box.x + 2 : box.x + box.width - 2]
    return int(inside.sum()) + 2 * (box.width + box.height) - 4


def _with_texts(boxes: Sequence[Element], texts: Sequence[Element]) -> tuple[list[Element], list[Element]]:
    """Give each box the one text inside it; a box around several things is a frame and none of them.

    Returns
    -------
    boxes, texts : list of Element
        The boxes that are left, and the texts that are in none of them.
    """
    found: list[Element] = []
    inside: set[int] = set()
    for box in boxes:
        within = [number for number, text in enumerate(texts) if box.holds(text)]
        smaller = [other for other in boxes if other is not box and box.holds(other) and other.area < 0.5 * box.area]
        if len(within) > 1 or len(smaller) > 1:
            continue
        text = texts[within[0]] if within else None
        if text is not None and text.height > 1.6 * box.height:
            continue
        found.append(Element("box", text.text if text else "", box.x, box.y, box.width, box.height))
        inside.update(within)
    return found, [text for number, text in enumerate(texts) if number not in inside]


def _icons(edges: NDArray[np.uint8], others: Sequence[Element]) -> Iterator[Element]:
    """Return what has edges, is as large as an icon and is neither text nor in a box."""
    import cv2
    import numpy as np

    free = edges.copy()
    for other in others:
        free[max(other.y - 2, 0) : other.y + other.height + 2, max(other.x - 2, 0) : other.x + other.width + 2] = 0
    joined = cv2.dilate(free, np.ones((3, 3), np.uint8))
    count, _, stats, _ = cv2.connectedComponentsWithStats(joined, connectivity=8)
    for x, y, across, down, area in stats[1:count].tolist():
        if not (_LEAST_ICON <= across <= _MOST_ICON and _LEAST_ICON <= down <= _MOST_ICON):
            continue
        # A frame's corner or a rule is nearly empty, and long.
        if area >= 0.25 * across * down and max(across, down) <= 2.5 * min(across, down):
            yield Element("icon", "", x, y, across, down)
