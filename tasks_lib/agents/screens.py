"""Whether a screen is one that was there before; a blinking caret and a running clock count for nothing."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from tasks_lib.taskdefs.targets import read_screen

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

# A pixel has changed where its grey value differs by more, of 255.
_CHANGED = 10
# A caret, pixels: a bar, higher than the letters of its line. An "l" is as thin, but lower.
_CARET_WIDTH, _CARET_HEIGHT = 2, (12, 48)
# What changes by itself is taken for a clock where it is at most so much of the screen, and did so that often.
_CLOCK_SHARE = 0.005
_CLOCK_TIMES = 2
# More places than a caret and some clocks are another screen, whatever they are: noise has tens of thousands.
_MOST_PLACES = 64
_MOST_RESTLESS = 256
# Screens that are remembered: as long as the longest circle that is looked for, and its repetition.
REMEMBERED = 8

Box = tuple[int, int, int, int]


@dataclass(slots=True)
class _Known:
    number: int
    png: bytes
    grey: NDArray[np.uint8]


@dataclass(slots=True)
class Screens:
    """The last screens of a stage.

    Attributes
    ----------
    remembered : int
        How many are kept; each takes a byte a pixel.
    """

    remembered: int = REMEMBERED
    _known: deque[_Known] = field(default_factory=deque)
    _count: int = 0
    _restless: dict[Box, int] = field(default_factory=dict)

    def look(self, png: bytes, *, idle: bool) -> tuple[int, bool]:
        """Say which screen this is.

        Parameters
        ----------
        png : bytes
            The screenshot.
        idle : bool
            Whether nothing was done on the screen since the last look: what changes then changes by itself.

        Returns
        -------
        number : int
            The same for the same screen.
        unchanged : bool
            Whether it is the screen of the last look.
        """
        last = self._known[-1] if self._known else None
        grey = last.grey if last is not None and last.png == png else _grey(png)
        unchanged = False
        if last is not None:
            places = _changes(last.grey, grey)
            unchanged = self._same(places)
            if idle and not unchanged:
                self._learn(places, grey.size)
        number = next((known.number for known in reversed(self._known) if self._same(_changes(known.grey, grey))), None)
        if number is None:
            self._count += 1
            number = self._count
        self._known.append(_Known(number, png, grey))
        while len(self._known) > self.remembered:
            self._known.popleft()
        return number, unchanged

    def _same(self, places: list[tuple[Box, int]] | None) -> bool:
        if places is None:
            return False
        rest = [place for place in places if not any(_inside(place[0], box) for box in self._clocks())]
        return not rest or (len(rest) == 1 and _is_caret(*rest[0]))

    def _clocks(self) -> list[Box]:
        return [box for box, times in self._restless.items() if times >= _CLOCK_TIMES]

    def _learn(self, places: list[tuple[Box, int]] | None, pixels: int) -> None:
        for box, _ in places or ():
            if box[2] * box[3] > _CLOCK_SHARE * pixels:
                continue
            known = next((other for other in self._restless if _inside(box, other) or _inside(other, box)), None)
            times = self._restless.pop(known, 0) if known is not None else 0
            self._restless[_around(box, known)] = times + 1
            while len(self._restless) > _MOST_RESTLESS:
                # The oldest: a clock that is still going was renewed since.
                del self._restless[next(iter(self._restless))]


def _grey(png: bytes) -> NDArray[np.uint8]:
    import cv2
    import numpy as np

    return np.asarray(cv2.cvtColor(read_screen(png), cv2.COLOR_RGB2GRAY), dtype=np.uint8)


def _changes(before: NDArray[np.uint8], after: NDArray[np.uint8]) -> list[tuple[Box, int]] | None:
    """Return box and number of changed pixels of every place that differs; None where sizes or too many places do."""
    import cv2
    import numpy as np

    if before is after:
        return []
    if before.shape != after.shape:
        return None
    changed = (cv2.absdiff(before, after) > _CHANGED).astype(np.uint8)
    if not changed.any():
        return []
    count, labels, stats, _ = cv2.connectedComponentsWithStats(
        cv2.dilate(changed, np.ones((5, 5), np.uint8)), connectivity=8
    )
    if count - 1 > _MOST_PLACES:
        return None
    found: list[tuple[Box, int]] = []
    for number, (x, y, width, height, _) in enumerate(stats[1:count].tolist(), start=1):
        part: NDArray[Any] = (labels[y : y + height, x : x + width] == number) & (
            changed[y : y + height, x : x + width] > 0
        )
        rows, columns = np.flatnonzero(part.any(axis=1)), np.flatnonzero(part.any(axis=0))
        box = (
            x + int(columns[0]),
            y + int(rows[0]),
            int(columns[-1] - columns[0]) + 1,
            int(rows[-1] - rows[0]) + 1,
        )
        found.append((box, int(part.sum())))
    return found


def _is_caret(box: Box, pixels: int) -> bool:
    _, _, width, height = box
    return width <= _CARET_WIDTH and _CARET_HEIGHT[0] <= height <= _CARET_HEIGHT[1] and pixels == width * height


def _inside(box: Box, other: Box) -> bool:
    """Whether a box is in another one, a few pixels of room around that one."""
    room = 4
    return (
        box[0] >= other[0] - room
        and box[1] >= other[1] - room
        and box[0] + box[2] <= other[0] + other[2] + room
        and box[1] + box[3] <= other[1] + other[3] + room
    )


def _around(box: Box, other: Box | None) -> Box:
    if other is None:
        return box
    left, top = min(box[0], other[0]), min(box[1], other[1])
    right, bottom = max(box[0] + box[2], other[0] + other[2]), max(box[1] + box[3], other[1] + other[3])
    return left, top, right - left, bottom - top
