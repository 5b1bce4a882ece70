"""Single presses and releases put together to the actions that agents have."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Literal

from tasks_lib.sandbox import SCROLL_NOTCHES, RecordedEvent

Kind = Literal["move", "click", "double_click", "right_click", "drag", "scroll", "press", "write"]
# A button that is let go farther away than this, pixels, was dragged.
DRAG_PIXELS = 5
# Two clicks on one place within this time are a double click, s; between the limits of GTK and of others.
DOUBLE_SECONDS = 0.4
# Turns of the wheel within this time are one scroll, s.
SCROLL_SECONDS = 0.8
_LEFT, _MIDDLE, _RIGHT, _UP, _DOWN = 1, 2, 3, 4, 5
_BUTTONS = {_LEFT: "left", _MIDDLE: "middle", _RIGHT: "right"}
_CHORD_KEYS = ("ctrl", "alt", "win")


@dataclass(frozen=True, slots=True)
class Gesture:
    """One action of a person.

    Attributes
    ----------
    kind : str
        Of the actions that agents have.
    began, ended : float
        First press and last release, s on the recording's clock.
    x, y : int
        Where the pointer was at the first press, pixels.
    to : tuple of int or None
        Where a drag ended.
    text : str
        What was written, the chord that was pressed, or the direction of the wheel.
    count : int
        Notches of the wheel.
    """

    kind: Kind
    began: float
    ended: float
    x: int
    y: int
    to: tuple[int, int] | None = None
    text: str = ""
    count: int = 1


def gestures_of(events: Iterable[RecordedEvent]) -> tuple[list[Gesture], list[tuple[float, str]]]:
    """Return what was done, in order, and what could not be told in the actions of agents, each with its time."""
    reader = _Reader()
    for event in events:
        if event.kind == "button":
            reader.button(event)
        elif event.kind == "key":
            reader.key(event)
    return reader.found, reader.notes


class _Reader:
    def __init__(self) -> None:
        self.found: list[Gesture] = []
        self.notes: list[tuple[float, str]] = []
        self._down: dict[int, RecordedEvent] = {}

    def button(self, event: RecordedEvent) -> None:
        if event.button in {_UP, _DOWN}:
            if event.down:
                self._wheel(event)
        elif event.button not in _BUTTONS:
            if event.down:
                self._note(event, f"button {event.button} of the mouse")
        elif event.down:
            self._down[event.button] = event
        elif (start := self._down.pop(event.button, None)) is not None:
            self._released(start, event)

    def key(self, event: RecordedEvent) -> None:
        held = [name for name in event.modifiers if name in _CHORD_KEYS]
        if event.text and not held:
            self._write(event)
        elif event.key:
            # Shift is part of the sign where a sign is typed, and a key beside others elsewhere.
            held += ["shift"] if "shift" in event.modifiers and (not event.text or event.text.isalpha()) else []
            chord = "+".join([*held, event.key])
            self.found.append(Gesture("press", event.time, event.time, event.x, event.y, text=chord))
        else:
            self._note(event, "a key that has no name")

    def _write(self, event: RecordedEvent) -> None:
        last = self.found[-1] if self.found else None
        if last is not None and last.kind == "write":
            self.found[-1] = replace(last, text=last.text + event.text, ended=event.time)
        else:
            self.found.append(Gesture("write", event.time, event.time, event.x, event.y, text=event.text))

    def _wheel(self, event: RecordedEvent) -> None:
        direction = "up" if event.button == _UP else "down"
        last = self.found[-1] if self.found else None
        again = last is not None and last.kind == "scroll" and last.text == direction
        if event.modifiers:
            self._note(event, f"the wheel with {'+'.join(event.modifiers)} held")
        elif last is not None and again and event.time - last.ended <= SCROLL_SECONDS and _near(last, event):
            self.found[-1] = replace(last, ended=event.time, count=last.count + 1)
        else:
            self.found.append(Gesture("scroll", event.time, event.time, event.x, event.y, text=direction))

    def _released(self, start: RecordedEvent, end: RecordedEvent) -> None:
        dragged = math.dist((start.x, start.y), (end.x, end.y)) > DRAG_PIXELS
        what = f"a {'drag' if dragged else 'click'} of the {_BUTTONS[start.button]} button"
        if start.modifiers:
            self._note(start, f"{what} with {'+'.join(start.modifiers)} held")
        elif start.button == _MIDDLE or (dragged and start.button == _RIGHT):
            self._note(start, what)
        elif dragged:
            to = (end.x, end.y)
            self.found.append(Gesture("drag", start.time, end.time, start.x, start.y, to=to))
        elif start.button == _RIGHT:
            self.found.append(Gesture("right_click", start.time, end.time, start.x, start.y))
        else:
            last = self.found[-1] if self.found else None
            soon = last is not None and start.time - last.began <= DOUBLE_SECONDS
            if last is not None and last.kind == "click" and soon and _near(last, start):
                self.found[-1] = replace(last, kind="double_click", ended=end.time)
            else:
                self.found.append(Gesture("click", start.time, end.time, start.x, start.y))

    def _note(self, event: RecordedEvent, what: str) -> None:
        self.notes.append((event.time, f"{what} at ({event.x}, {event.y}): no action of an agent does that"))


def _near(gesture: Gesture, event: RecordedEvent) -> bool:
    return math.dist((gesture.x, gesture.y), (event.x, event.y)) <= DRAG_PIXELS


def scrolls(gesture: Gesture) -> int:
    """Return how many times an agent scrolls for the notches of a gesture; one scroll is `SCROLL_NOTCHES`."""
    return max(1, round(gesture.count / SCROLL_NOTCHES))
