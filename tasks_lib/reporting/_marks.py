"""Where an agent clicked: the pointer followed through its actions, in pixels of the screenshot."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Literal

from tasks_lib.records import ActionRecord

MarkKind = Literal["move", "click", "double", "right", "drag", "scroll"]

_BUTTONS: dict[str, MarkKind] = {
    "single_click": "click",
    "click": "click",
    "double_click": "double",
    "right_click": "right",
    "scroll": "scroll",
}
_WORDS: dict[MarkKind, str] = {
    "move": "pointer",
    "click": "click",
    "double": "double click",
    "right": "right click",
    "drag": "drag to",
    "scroll": "scroll",
}


@dataclass(frozen=True, slots=True)
class Point:
    """A place on the screen, pixels, origin top left."""

    x: float
    y: float


@dataclass(frozen=True, slots=True)
class Mark:
    """An action with a place.

    Attributes
    ----------
    number : int
        Position of the action among the step's actions, from 1.
    kind : str
        What was done there.
    at : Point
        Where, pixels of the screenshot.
    start : Point or None
        Where a drag began.
    """

    number: int
    kind: MarkKind
    at: Point
    start: Point | None = None

    @property
    def words(self) -> str:
        """The mark in words, for those who do not see it."""
        return f"{_WORDS[self.kind]} ({self.at.x:g}, {self.at.y:g})"


def follow(actions: Iterable[ActionRecord], pointer: Point | None) -> tuple[list[Mark], Point | None]:
    """Follow the pointer through a step.

    Actions that did not work leave no mark. A move that a click follows at the same place is part of the click.

    Parameters
    ----------
    actions : iterable of ActionRecord
        The step's actions, in order.
    pointer : Point or None
        Where the pointer stood before the step; None where nothing is known.

    Returns
    -------
    marks : list of Mark
        In the order of the actions.
    pointer : Point or None
        Where the pointer stands afterwards.
    """
    marks: list[Mark] = []
    for number, action in enumerate(actions, start=1):
        if not action.ok:
            continue
        verb = action.kind.rsplit(".", 1)[-1]
        place = _place(action)
        if verb == "drag" and place is not None:
            marks.append(Mark(number, "drag", place, start=pointer))
            pointer = place
        elif verb.startswith("move"):
            # A move to a numbered mark is recorded without its pixels: where the pointer stands is unknown then.
            pointer = place
            if place is not None:
                marks.append(Mark(number, "move", place))
        elif verb in _BUTTONS:
            pointer = place or pointer
            if pointer is not None:
                _add_click(marks, Mark(number, _BUTTONS[verb], pointer))
    return marks, pointer


def _add_click(marks: list[Mark], mark: Mark) -> None:
    if marks and marks[-1].kind == "move" and marks[-1].at == mark.at:
        marks[-1] = replace(mark, number=mark.number)
    else:
        marks.append(mark)


def inside(mark: Mark, width: int, height: int) -> bool:
    """Whether a mark lies on a screen of that size, pixels."""
    return 0 <= mark.at.x < width and 0 <= mark.at.y < height


def _place(action: ActionRecord) -> Point | None:
    x, y = action.arguments.get("x"), action.arguments.get("y")
    numbers = [value for value in (x, y) if isinstance(value, int | float) and not isinstance(value, bool)]
    if len(numbers) != 2 or not all(math.isfinite(value) and abs(value) < 1e6 for value in numbers):
        return None
    return Point(float(numbers[0]), float(numbers[1]))
