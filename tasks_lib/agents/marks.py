"""Numbered marks on the screenshot: taken from the accessibility tree, or from what is detected on the picture."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Literal

from tasks_lib.agents._mark_detection import detect
from tasks_lib.agents._mark_drawing import draw_marks
from tasks_lib.agents._text_matching import ReadText
from tasks_lib.agents.elements import Element, numbered
from tasks_lib.records import Mark, Observation, WindowState
from tasks_lib.records.errors import ConfigurationError
from tasks_lib.sandbox import AccessibleElement, Computer
from tasks_lib.taskdefs.targets import read_screen

# Roles of the accessibility tree that one points at, and what they are called in the list.
_ROLES = {
    "button": "button",
    "check box": "check box",
    "check menu item": "menu item",
    "combo box": "combo box",
    "entry": "field",
    "icon": "icon",
    "link": "link",
    "list item": "list item",
    "menu": "menu",
    "menu item": "menu item",
    "page tab": "tab",
    "password text": "field",
    "push button": "button",
    "radio button": "radio button",
    "radio menu item": "menu item",
    "slider": "slider",
    "spin button": "field",
    "table cell": "cell",
    "table column header": "column header",
    "tearoff menu item": "menu item",
    "text": "field",
    "toggle button": "button",
    "tree item": "list item",
}
_HIGHEST_FIELD = 80  # pixels
# Roles of widgets whose inside a program may paint itself, and how large such a place is at least, pixels.
_PAINTED = frozenset({"canvas", "drawing area", "filler", "image", "unknown"})
_LEAST_PAINTED = 24


@dataclass(slots=True)
class Marker:
    """Numbers what can be pointed at on the screens of one stage.

    Attributes
    ----------
    source : {"accessibility", "detected"}
        Where marks come from. Where a program serves no accessibility tree, or paints what the tree does not know of,
        elements are detected all the same, so that a model is not blind there.
    computer : Computer
        The machine.
    read_text : ReadText
        The OCR.
    """

    source: Literal["accessibility", "detected"]
    computer: Computer
    read_text: ReadText
    _png: bytes = b""
    _marked: bytes = b""
    _marks: tuple[Mark, ...] = field(default=())

    def look(self, png: bytes, seen: Observation) -> tuple[tuple[Mark, ...], bytes]:
        """Return the marks of a screen, and the picture with their numbers drawn into it (PNG).

        Parameters
        ----------
        png : bytes
            The screenshot.
        seen : Observation
            Taken with it.
        """
        if png != self._png:
            front = next((_window(window) for window in seen.windows if window.focused), None)
            self._marks = numbered(self._elements(png, seen), (seen.width, seen.height), front)
            self._png, self._marked = png, draw_marks(png, self._marks)
        return self._marks, self._marked

    def _elements(self, png: bytes, seen: Observation) -> list[Element]:
        if self.source == "detected":
            return self._detected(png)
        tree = self.computer.accessible().elements
        served = list(_pointed_at(tree))
        blind = list(_blind(tree, served))
        windows = [_window(window) for window in seen.windows]
        lit = [window for window in windows if any(map(window.holds, served))]
        if lit and len(lit) == len(windows) and not blind:
            return served
        # Over a window that is served the tree knows better, but for what the program paints itself.
        found = [
            element
            for element in self._detected(png)
            if any(part.holds(element) for part in blind) or not any(window.holds(element) for window in lit)
        ]
        return [*served, *found]

    def _detected(self, png: bytes) -> list[Element]:
        return detect(read_screen(png), self.read_text(png, None))


def marker_for(
    source: Literal["none", "accessibility", "detected"], computer: Computer, read_text: ReadText | None
) -> Marker | None:
    """Return the marker that the settings ask for; None for none.

    Raises
    ------
    ConfigurationError
        If there is no OCR to detect elements with.
    """
    if source == "none":
        return None
    if read_text is None:
        msg = f"marks = {source!r} needs an OCR, and the caller gave none: pass read_text to play"
        raise ConfigurationError(msg)
    return Marker(source, computer, read_text)


def _pointed_at(found: Iterable[AccessibleElement]) -> Iterator[Element]:
    for one in found:
        role = _ROLES.get(one.role)
        # A text higher than a few lines is a page, a console, a drawing.
        if role is not None and (role != "field" or one.height <= _HIGHEST_FIELD):
            yield Element(role, one.name or one.text, one.x, one.y, one.width, one.height)


def _blind(found: Sequence[AccessibleElement], served: Sequence[Element]) -> Iterator[Element]:
    """Return the places that a program paints itself and says nothing of."""
    for one in found:
        part = Element(one.role, one.name, one.x, one.y, one.width, one.height)
        if one.role in _PAINTED and min(one.width, one.height) >= _LEAST_PAINTED and not any(map(part.holds, served)):
            yield part


def _window(window: WindowState) -> Element:
    return Element("window", window.title, window.x, window.y, window.width, window.height)
