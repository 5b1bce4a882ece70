"""A named target for a place that was clicked on: one that is there already, or a word or an icon cut around it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from tasks_lib.agents._matching import find_target
from tasks_lib.agents.targets import place_of
from tasks_lib.records import WindowState
from tasks_lib.records.errors import TaskError
from tasks_lib.taskdefs.target_calls import TargetCall
from tasks_lib.taskdefs.targets import PictureError, Target, cut_target, read_target, target_files

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

FOLDER = "draft"
# The part of the screen in which the word around a place is looked for, half width and height, pixels.
_AROUND = (170, 40)
_BACKGROUND = (40, 10)
_INK = 24  # levels of 255 from the background
_LETTER_GAP = (9, 3)
_LARGEST = (240, 64)
_FARTHEST = 10  # pixels from the place to the word
_MARGINS = (3, 8, 16, 28)
# A line with a target has `LONGEST_LINE` characters; a quote in a title takes two.
_LONGEST_TITLE = 100


@dataclass(frozen=True, slots=True)
class _Spot:
    x: int
    y: int
    screen: NDArray[np.uint8]
    windows: Sequence[WindowState]


class Pictures:
    """Finds and cuts the targets of one draft.

    Parameters
    ----------
    root : Path
        Root of the task definitions, whose targets are taken where they fit.
    taken : int
        How many targets of a draft before this one are called ``draft/01`` and so on.
    """

    def __init__(self, root: Path, taken: int = 0) -> None:
        self._taken = taken
        self.cut: dict[str, Target] = {}
        self._known: list[Target] = []
        for name in sorted(target_files(root)):
            try:
                self._known.append(read_target(root, name))
            except TaskError:
                continue  # lint says what is wrong with it

    def call_for(
        self, place: tuple[int, int], screen: NDArray[np.uint8], windows: Sequence[WindowState], *, cut: bool = True
    ) -> TargetCall | None:
        """Return a target that leads to a place of a screen; None where nothing there can be told from the rest.

        Without `cut`, only targets that are there already.
        """
        spot = _Spot(*place, screen, windows)
        for target in (*self._known, *self.cut.values()):
            if (found := _known_here(target, spot)) is not None:
                return found
        if not cut:
            return None
        name = f"{FOLDER}/{self._taken + len(self.cut) + 1:02d}"
        for box in _boxes(spot):
            try:
                target = cut_target(screen, box, name)
            except PictureError:
                continue
            if (found := _call(target, box, spot)) is not None:
                self.cut[name] = target
                return found
        return None


def _known_here(target: Target, spot: _Spot) -> TargetCall | None:
    height, width = target.pixels.shape[:2]
    box = (spot.x - width - 4, spot.y - height - 4, 2 * width + 8, 2 * height + 8)
    for match in find_target(spot.screen, target, box).matches:
        inside = match.x <= spot.x < match.x + width and match.y <= spot.y < match.y + height
        if inside and (call := _call(target, (match.x, match.y, width, height), spot)) is not None:
            return call
    return None


def _call(target: Target, box: tuple[int, int, int, int], spot: _Spot) -> TargetCall | None:
    """Return a call that leads to the box of a target, or from it to the place, and to nothing else."""
    x, y, width, height = box
    middle = (x + width // 2, y + height // 2)
    tight = height <= _LARGEST[1] // 2 and x <= spot.x < x + width and y <= spot.y < y + height
    dx, dy = (0, 0) if tight else (spot.x - middle[0], spot.y - middle[1])
    for title in (None, *titles_at((spot.x, spot.y), spot.windows)):
        call = TargetCall(target.name, within=title, dx=dx, dy=dy)
        try:
            if place_of(spot.screen, target, call, spot.windows) == (middle[0] + dx, middle[1] + dy):
                return call
        except TaskError:
            continue
    return None


def titles_at(place: tuple[int, int], windows: Sequence[WindowState]) -> Iterator[str]:
    """Yield titles of the windows at a place, the focused one first, each as far as a transcript can hold it.

    Left out are those without a title, and those whose title begins with signs that cannot be seen.
    """
    for window in sorted(windows, key=lambda window: not window.focused):
        inside = 0 <= place[0] - window.x < window.width and 0 <= place[1] - window.y < window.height
        title = window.title[:_LONGEST_TITLE]
        if inside and title.strip() and title.isprintable():
            yield title


def _boxes(spot: _Spot) -> Iterator[tuple[int, int, int, int]]:
    """Yield boxes around the word or icon at the place, closest first."""
    word = _word_at(spot)
    if word is None:
        return
    x, y, width, height = word
    for margin in _MARGINS:
        left, top = max(0, x - margin), max(0, y - min(margin, 10))
        right = min(spot.screen.shape[1], x + width + margin)
        bottom = min(spot.screen.shape[0], y + height + min(margin, 10))
        yield left, top, right - left, bottom - top


def _word_at(spot: _Spot) -> tuple[int, int, int, int] | None:
    """Return the box of what stands out from the background at a place; None where nothing small does."""
    import cv2
    import numpy as np

    x, y, screen = spot.x, spot.y, spot.screen
    left, top = max(0, x - _AROUND[0]), max(0, y - _AROUND[1])
    part = screen[top : y + _AROUND[1], left : x + _AROUND[0]].astype(int)
    near = screen[max(0, y - _BACKGROUND[1]) : y + _BACKGROUND[1], max(0, x - _BACKGROUND[0]) : x + _BACKGROUND[0]]
    if part.size == 0 or near.size == 0:
        return None
    colours, counts = np.unique(near.reshape(-1, 3), axis=0, return_counts=True)
    ink = (abs(part - colours[counts.argmax()].astype(int)).max(axis=2) > _INK).astype(np.uint8)
    joined = cv2.dilate(ink, np.ones(_LETTER_GAP[::-1], np.uint8))
    best: tuple[int, tuple[int, int, int, int]] | None = None
    for bx, by, width, height, _ in np.asarray(cv2.connectedComponentsWithStats(joined)[2])[1:].tolist():
        at_edge = bx == 0 or by == 0 or bx + width >= part.shape[1] or by + height >= part.shape[0]
        if at_edge or width > _LARGEST[0] or height > _LARGEST[1]:
            continue
        px, py = x - left, y - top
        far = max(bx - px, px - (bx + width - 1), by - py, py - (by + height - 1), 0)
        if far <= _FARTHEST and (best is None or far < best[0]):
            # Less the dilation.
            box = (left + bx + _LETTER_GAP[0] // 2, top + by + 1, width - 2 * (_LETTER_GAP[0] // 2), height - 2)
            best = far, box
    return None if best is None else best[1]
