"""What can be pointed at on a screen, brought into a short list: no box twice, in reading order, capped."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from tasks_lib.records import Mark

# A list costs a model about a dozen tokens a line.
MOST_MARKS = 120
LONGEST_TEXT = 60
# Every two are compared; of a sheet of thousands of cells most would be left out in the end.
MOST_COMPARED = 800
# Two boxes that share so much of what they cover together are one.
_SAME = 0.6
# Of a row: middles that are less apart than this share of the smaller height.
_ROW = 0.6


@dataclass(frozen=True, slots=True)
class Element:
    """Something on the screen.

    Attributes
    ----------
    role : str
        What it is.
    text : str
        What it is called, or what it says.
    x, y, width, height : int
        Its box, pixels of the screen.
    """

    role: str
    text: str
    x: int
    y: int
    width: int
    height: int

    @property
    def area(self) -> int:
        """Pixels of its box."""
        return self.width * self.height

    @property
    def middle(self) -> tuple[float, float]:
        """The middle of its box."""
        return self.x + self.width / 2, self.y + self.height / 2

    def holds(self, other: Element) -> bool:
        """Whether the middle of another element is inside its box."""
        x, y = other.middle
        return self.x <= x < self.x + self.width and self.y <= y < self.y + self.height

    def overlap(self, other: Element) -> float:
        """Return the share of the union of both boxes that both cover, 0 to 1."""
        across = min(self.x + self.width, other.x + other.width) - max(self.x, other.x)
        down = min(self.y + self.height, other.y + other.height) - max(self.y, other.y)
        if across <= 0 or down <= 0:
            return 0.0
        return across * down / (self.area + other.area - across * down)


def numbered(
    found: Iterable[Element], screen: tuple[int, int], front: Element | None = None, most: int = MOST_MARKS
) -> tuple[Mark, ...]:
    """Return marks for elements, numbered from 1 in reading order.

    Parameters
    ----------
    found : iterable of Element
        Boxes may stick out of the screen: they are cut; those outside it or less than 3 pixels wide or high are left
        out.
    screen : tuple of int
        Width and height of the screen, pixels.
    front : Element, optional
        The window in front: where there are too many elements, its own come first.
    most : int
        How many are kept at most: those with a text before those without.
    """
    cut = [part for part in (_on_screen(element, screen) for element in found) if part is not None]
    kept = _no_frames(_once(sorted(cut, key=_rank)[:MOST_COMPARED]))
    if len(kept) > most:

        def behind(element: Element) -> tuple[bool, bool, int, int]:
            return not element.text, front is not None and not front.holds(element), element.y, element.x

        kept = sorted(kept, key=lambda item: (*behind(item), *_rank(item)))[:most]
    return tuple(
        Mark(
            id=number,
            role=element.role,
            text=_short(element.text),
            x=element.x,
            y=element.y,
            width=element.width,
            height=element.height,
        )
        for number, element in enumerate(in_reading_order(kept), start=1)
    )


def in_reading_order(found: Sequence[Element]) -> list[Element]:
    """Sort elements into rows from the top, each from the left."""
    rows: list[list[Element]] = []
    for element in sorted(found, key=lambda item: (item.middle[1], item.x, *_rank(item))):
        row = rows[-1] if rows else []
        if row and abs(element.middle[1] - row[0].middle[1]) <= _ROW * min(element.height, row[0].height):
            row.append(element)
        else:
            rows.append([element])
    return [element for row in rows for element in sorted(row, key=lambda item: (item.x, *_rank(item)))]


def mark_lines(marks: Iterable[Mark]) -> list[str]:
    """Return a line for each mark, as a prompt lists them: ``12 button "Save" 80x24 at (412, 96)``."""
    return [
        " ".join(
            [
                f"{mark.id} {mark.role}",
                *([f'"{mark.text}"'] if mark.text else []),
                f"{mark.width}x{mark.height} at ({mark.x}, {mark.y})",
            ]
        )
        for mark in marks
    ]


def _on_screen(element: Element, screen: tuple[int, int]) -> Element | None:
    left, top = max(element.x, 0), max(element.y, 0)
    right, bottom = min(element.x + element.width, screen[0]), min(element.y + element.height, screen[1])
    if right - left < 3 or bottom - top < 3:
        return None
    return replace(element, x=left, y=top, width=right - left, height=bottom - top)


def _once(found: Sequence[Element]) -> list[Element]:
    """Keep one of the elements, sorted by rank, that are at the same place: the one with a text, or the smaller."""
    kept: list[Element] = []
    for element in found:
        if all(element.overlap(other) < _SAME for other in kept):
            kept.append(element)
    return kept


def _rank(element: Element) -> tuple[bool, int, int, int, int, str, str]:
    # Down to the last difference, so that the list does not hang on the order in which things were found.
    x, y, width = element.x, element.y, element.width
    return not element.text, element.area, y, x, width, element.role, element.text


def _no_frames(found: Sequence[Element]) -> list[Element]:
    """Leave out what several others are in: its middle is one of theirs, and nobody wants to click there."""
    return [
        element
        for element in found
        if sum(other is not element and other.area < element.area / 2 and element.holds(other) for other in found) < 2
    ]


def _short(text: str) -> str:
    # A line end inside a text would look like a line of the list; controls and marks of direction hide what is read.
    shown = "".join(char if char.isprintable() else " " for char in text[: 10 * LONGEST_TEXT])
    plain = " ".join(shown.split()).replace('"', "'")
    return plain if len(plain) <= LONGEST_TEXT else f"{plain[: LONGEST_TEXT - 1]}…"
