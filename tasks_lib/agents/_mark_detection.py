"""Finding what can be pointed at from the pixels alone: texts that OCR reads, outlined controls, icons."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from tasks_lib.agents._text_matching import TextLine, ink_columns, word_columns
from tasks_lib.agents.elements import MOST_COMPARED, Element

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
_LEAST_SIDE, _MOST_HEIGHT, _MOST_WIDTH = 9, 56, 1200
# A check box is smaller; a hole inside an icon is as small, but has other edges around it: their share at most.
_SMALL, _CROWDED = 24, 0.35
# Share of its box that a control's inside fills: rounded corners do, a letter such as "O" does not.
_FILLED = 0.85
# Room that a text has on either side, so that its outline does not cover it, pixels.
_ROOM = 2
# OCR reads single signs into icons: a letter of a program's font is not as large, pixels.
_LARGE_SIGN = 14
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
    texts = [
        part
        for line in lines
        if line.confidence >= _LEAST_CONFIDENCE and not _is_icon(line)
        for part in _parts(screen, line)
    ]
    edges = _edges(screen)
    boxes = _outlined(edges)
    found, free = _with_texts(boxes, texts)
    return [*found, *free, *_icons(edges, [*found, *texts])]


def _is_icon(line: TextLine) -> bool:
    return len(line.text.strip()) == 1 and min(line.width, line.height) >= _LARGE_SIGN


def _parts(screen: NDArray[np.uint8], line: TextLine) -> Iterator[Element]:
    """Part a line where OCR joined what stands far apart."""
    words = line.text.split()
    if not words:
        return
    top, height = round(line.y), max(1, round(line.height))
    wide = max(_WIDE * height, _LEAST_GAP)
    columns = word_columns(screen, line, words)
    if columns:
        starts = [0, *(n + 1 for n, (a, b) in enumerate(itertools.pairwise(columns)) if b[0] - a[1] > wide)]
        spans = [(columns[a][0], columns[b - 1][1]) for a, b in itertools.pairwise([*starts, len(words)])]
    else:
        spans = _spans(screen, line, wide)
        starts = _shared_out(words, [right - left for left, right in spans])
    for first, last, (left, right) in zip(starts, [*starts[1:], len(words)], spans, strict=True):
        yield Element("text", " ".join(words[first:last]), left - _ROOM, top, right - left + 2 * _ROOM, height)


def _spans(screen: NDArray[np.uint8], line: TextLine, wide: float) -> list[tuple[int, int]]:
    """Return first column and the column behind the last of what stands apart on a line; the line's own if nothing."""
    whole = [(round(line.x), max(round(line.x + line.width), round(line.x) + 1))]
    ink = ink_columns(screen, line)
    breaks = [(a, b) for a, b in itertools.pairwise(ink) if b - a - 1 > wide]
    # Fewer words than pieces: what stands apart are no words.
    if not breaks or len(breaks) >= len(line.text.split()):
        return whole
    return list(zip([ink[0], *(b for _, b in breaks)], [*(a + 1 for a, _ in breaks), ink[-1] + 1], strict=True))


def _shared_out(words: Sequence[str], widths: Sequence[int]) -> list[int]:
    """Return the first word of each piece of a line, so that letters are shared out as widths are."""
    lengths = [0, *itertools.accumulate(len(word) for word in words)]
    starts = [0]
    for number, width in enumerate(itertools.accumulate(widths[:-1]), start=1):
        share = width / sum(widths) * lengths[-1]
        possible = range(starts[-1] + 1, len(words) - len(widths) + number + 1)
        starts.append(min(possible, key=lambda n: abs(lengths[n] - share)))
    return starts


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
    boxes = [
        box
        for box, area in found
        if area + _ink_inside(edges, box) >= _FILLED * box.area
        and (max(box.width, box.height) > _SMALL or _crowd(edges, box) <= _CROWDED)
    ]
    return boxes[:MOST_COMPARED]


def _crowd(edges: NDArray[np.uint8], box: Element) -> float:
    """Return the share of edges in the three pixels around a box."""
    wide = edges[max(box.y - 3, 0) : box.y + box.height + 3, max(box.x - 3, 0) : box.x + box.width + 3]
    own = edges[box.y : box.y + box.height, box.x : box.x + box.width]
    return float(wide.sum() - own.sum()) / max(1, wide.size - own.size)


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
