"""The draft of an oracle: what a person did, as replies that an agent could give."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from tasks_lib.agents.actions import MOST_ACTIONS
from tasks_lib.agents.recording.gestures import Gesture, gestures_of, scrolls
from tasks_lib.agents.recording.hovers import frame_at, pointed_at, way_to
from tasks_lib.agents.recording.pictures import Pictures, titles_at
from tasks_lib.sandbox import SCROLL_NOTCHES, RecordedEvent, RecordedFrame
from tasks_lib.taskdefs.target_calls import TargetCall
from tasks_lib.taskdefs.targets import Target, read_screen

DONE = "```decision\nDONE\n```"
# A pause after a key that acts (Enter, a chord), s, after which what follows belongs to what the key brought up.
PAUSE_SECONDS = 0.5
_KEYBOARD = frozenset({"press", "write"})
# Keys that only move or change text within a field.
_EDITING = frozenset({"tab", "shift+tab", "backspace", "delete", "left", "right", "up", "down", "home", "end", "space"})
_WORDS = {
    "click": "Click",
    "double_click": "Double click",
    "right_click": "Click with the right button",
    "drag": "Drag",
    "move": "Rest the pointer",
    "scroll": "Turn the wheel",
}


@dataclass(frozen=True, slots=True)
class DraftStep:
    """A step of a draft.

    Attributes
    ----------
    said : str
        A sentence for the reader.
    lines : tuple of str
        The actions, with targets by name.
    plain : tuple of str
        The same with pixels.
    frame : RecordedFrame
        The screen before it.
    began : float
        s on the recording's clock.
    """

    said: str
    lines: tuple[str, ...]
    plain: tuple[str, ...]
    frame: RecordedFrame
    began: float

    def reply(self, *, named: bool) -> str:
        """Return the step as an agent would answer it, with named targets or with pixels."""
        return f"{self.said}\n\n```python\n" + "\n".join(self.lines if named else self.plain) + "\n```"


@dataclass(frozen=True, slots=True)
class Draft:
    """A draft.

    Attributes
    ----------
    steps : tuple of DraftStep
        In order.
    targets : dict of str to Target
        What was cut for it.
    notes : tuple of str
        What was done and could not be told, for the author.
    """

    steps: tuple[DraftStep, ...]
    targets: Mapping[str, Target]
    notes: tuple[str, ...]

    def transcript(self) -> str:
        """Return the text of an ``oracle.md``."""
        return "\n\n---\n\n".join([*(step.reply(named=True) for step in self.steps), DONE]) + "\n"


class Frames:
    """The screens of a recording: facts by time, and pictures that are decoded when they are looked at."""

    def __init__(self, frames: Sequence[RecordedFrame], png: Callable[[int], bytes]) -> None:
        self.all = sorted(frames, key=lambda frame: frame.since)
        self.png = png
        self.pixels = lru_cache(maxsize=24)(lambda frame: read_screen(png(frame.number)))


def draft_of(events: Sequence[RecordedEvent], frames: Frames, root: Path, *, taken: int = 0) -> Draft:
    """Make the draft of an oracle from a recording.

    Parameters
    ----------
    events : sequence of RecordedEvent
        By time.
    frames : Frames
        At least one.
    root : Path
        Root of the task definitions, whose targets are taken where they fit.
    taken : int
        How many targets were cut for the stages before.

    Returns
    -------
    Draft
        Without steps where nothing was done.
    """
    gestures, remarks = gestures_of(events)
    return _Drafter(events, frames, Pictures(root, taken)).draft(gestures, remarks)


class _Drafter:
    def __init__(self, events: Sequence[RecordedEvent], frames: Frames, pictures: Pictures) -> None:
        self._events = events
        self._frames = frames
        self._pictures = pictures
        self._steps: list[DraftStep] = []
        self._notes: list[tuple[float, str]] = []

    def draft(self, gestures: Sequence[Gesture], remarks: Sequence[tuple[float, str]]) -> Draft:
        before = float("-inf")
        group: list[Gesture] = []
        for gesture in gestures:
            if gesture.kind in _KEYBOARD:
                if group and _acts(group[-1]) and gesture.began - group[-1].ended >= PAUSE_SECONDS:
                    self._keys(group)
                    group = []
                group.append(gesture)
            else:
                self._keys(group)
                group = []
                self._mouse(gesture, before)
            before = gesture.ended
        self._keys(group)
        notes = sorted([*remarks, *self._notes])
        told = tuple(f"after step {self._begun(time)}: {text}" for time, text in notes)
        return Draft(tuple(self._steps), dict(self._pictures.cut), told)

    def _begun(self, time: float) -> int:
        return sum(step.began <= time for step in self._steps)

    def _keys(self, group: Sequence[Gesture]) -> None:
        if not group:
            return
        frame = frame_at(self._frames.all, group[0].began)
        lines = tuple(f"computer.keyboard.{gesture.kind}({_quoted(gesture.text)})" for gesture in group)
        said = "Type" if any(gesture.kind == "write" for gesture in group) else "Press keys"
        self._add(_sentence(said, (window.title for window in frame.windows if window.focused)),
                  lines, lines, frame, group[0])  # fmt: skip

    def _mouse(self, gesture: Gesture, before: float) -> None:
        way, frame = way_to(
            (gesture.x, gesture.y), self._frames.all, self._events, before, gesture.began, self._frames.pixels
        )
        for hover in way:
            there = Gesture("move", gesture.began, gesture.began, hover.x, hover.y)
            self._point(there, hover.frame)
        self._point(gesture, frame)

    def _point(self, gesture: Gesture, frame: RecordedFrame) -> None:
        place = (gesture.x, gesture.y)
        call = self._call(place, frame)
        named, plain = [_move(place, call)], [_move(place, None)]
        if gesture.kind == "drag" and gesture.to is not None:
            end = f"computer.mouse.drag({gesture.to[0]}, {gesture.to[1]})"
            named.append(end)
            plain.append(end)
        elif gesture.kind == "scroll":
            turns = [f'computer.mouse.scroll("{gesture.text}")'] * scrolls(gesture)
            if gesture.count % SCROLL_NOTCHES:
                self._notes.append(
                    (gesture.began, f"{gesture.count} notches of the wheel; a scroll is {SCROLL_NOTCHES}")
                )
            named += turns
            plain += turns
        elif gesture.kind != "move":
            act = {"click": "single_click"}.get(gesture.kind, gesture.kind)
            named.append(f"computer.mouse.{act}()")
            plain.append(f"computer.mouse.{act}()")
        self._add(_sentence(_WORDS[gesture.kind], titles_at(place, frame.windows)), named, plain, frame, gesture)

    def _call(self, place: tuple[int, int], frame: RecordedFrame) -> TargetCall | None:
        # A word that the pointer lies on may be highlighted, and looks otherwise to whoever comes from elsewhere.
        fit_to_cut = not pointed_at(place, frame, self._events)
        return self._pictures.call_for(place, self._frames.pixels(frame), frame.windows, cut=fit_to_cut)

    def _add(
        self, said: str, named: Sequence[str], plain: Sequence[str], frame: RecordedFrame, gesture: Gesture
    ) -> None:
        for start in range(0, len(named), MOST_ACTIONS):  # a key that is held repeats itself for as long
            part = slice(start, start + MOST_ACTIONS)
            self._steps.append(DraftStep(said, tuple(named[part]), tuple(plain[part]), frame, gesture.began))


def _move(place: tuple[int, int], call: TargetCall | None) -> str:
    if call is None:
        return f"computer.mouse.move_abs({place[0]}, {place[1]})"
    more = "" if call.within is None else f", within={_quoted(call.within)}"
    more += "".join(f", {name}={value}" for name, value in (("dx", call.dx), ("dy", call.dy)) if value)
    return f"computer.mouse.move_abs(target({_quoted(call.name)}{more}))"


def _sentence(said: str, titles: Iterable[str]) -> str:
    title = " ".join(next(iter(titles), "").split()).strip("`")
    return f"{said} in the window {_quoted(title)}." if title else f"{said}."


def _acts(gesture: Gesture) -> bool:
    return gesture.kind == "press" and gesture.text not in _EDITING


def _quoted(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)
