"""Named targets of transcripts, found on the screenshot that the agent is shown."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from tasks_lib.agents._matching import THRESHOLD, Box, Search, find_target
from tasks_lib.agents._text_matching import ReadText, TextLine, find_text
from tasks_lib.agents.protocol import View
from tasks_lib.records import WindowState
from tasks_lib.records.errors import TaskError
from tasks_lib.taskdefs.target_calls import TargetCall, fill_targets
from tasks_lib.taskdefs.targets import Target, read_screen, read_target

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


class TargetError(TaskError):
    """A target cannot be taken: the message says which and why."""


class TargetAbsentError(TargetError):
    """It is not on the screen, or not yet."""


def place_of(
    screen: NDArray[np.uint8], target: Target, call: TargetCall, windows: Sequence[WindowState] = ()
) -> tuple[int, int]:
    """Return the pixel that a call of ``target`` with a picture means on a screen.

    Parameters
    ----------
    screen : ndarray of uint8, shape (height, width, 3)
        The screenshot.
    target : Target
        The target that the call names.
    call : TargetCall
        With its rules for ties and its offset.
    windows : sequence of WindowState
        The windows on the screen.

    Raises
    ------
    TargetAbsentError
        If the target or its window is not there.
    TargetError
        If it is there more than once and no rule decides, or the offset leads off the screen.
    """
    return _chosen(find_target(screen, target, _box(call, windows)), call, screen)


def place_of_text(
    screen: NDArray[np.uint8],
    call: TargetCall,
    windows: Sequence[WindowState],
    read: Callable[[Box | None], Sequence[TextLine]],
) -> tuple[int, int]:
    """Return the pixel that a call of ``target`` with a text means on a screen.

    Parameters
    ----------
    screen, call, windows
        As for `place_of`.
    read : callable
        Reads the text in a box of this screen; a window is read alone, which takes less time than the whole screen.

    Raises
    ------
    TargetAbsentError, TargetError
        As `place_of` does.
    """
    return _chosen(find_text(screen, read(_box(call, windows)), call.text or ""), call, screen)


def _chosen(search: Search, call: TargetCall, screen: NDArray[np.uint8]) -> tuple[int, int]:
    matches = search.matches
    if not matches:
        where = "the screen" if call.within is None else f"the window {call.within!r}"
        why = search.but or f"best score {search.best:.2f}, wanted {THRESHOLD:g}"
        msg = f"target {call.label} is not on {where} ({why})"
        raise TargetAbsentError(msg)
    if call.near is not None:
        near = call.near
        found = min(matches, key=lambda match: (math.dist(match.middle, near), match.y, match.x))
    elif len(matches) > 1:
        places = ", ".join(str(match.middle) for match in matches[:5])
        msg = f"target {call.label} is {len(matches)} times on the screen, at {places}: say near=(x, y) or within=title"
        raise TargetError(msg)
    else:
        found = matches[0]
    x, y = found.middle[0] + call.dx, found.middle[1] + call.dy
    if not (0 <= x < screen.shape[1] and 0 <= y < screen.shape[0]):
        msg = f"target {call.label} with dx={call.dx}, dy={call.dy} is ({x}, {y}), outside the screen"
        raise TargetError(msg)
    return x, y


def _box(call: TargetCall, windows: Sequence[WindowState]) -> Box | None:
    return None if call.within is None else _window(call, windows)


def _window(call: TargetCall, windows: Sequence[WindowState]) -> Box:
    wanted = (call.within or "").casefold()
    found = [window for window in windows if wanted in window.title.casefold()]
    if len(found) > 1:
        found = [window for window in found if window.focused] or found
    if len(found) != 1:
        shown = ", ".join(repr(window.title) for window in windows) or "none"
        msg = f"target {call.label}: {len(found)} windows have {call.within!r} in their title; open windows: {shown}"
        raise (TargetError if found else TargetAbsentError)(msg)
    window = found[0]
    return window.x, window.y, window.width, window.height


class Targets:
    """The targets of a root of task definitions, each read once when it is first asked for.

    Parameters
    ----------
    root : Path
        The folder that holds ``targets/``.
    read_text : callable, optional
        The OCR that finds targets by their text; without it they cannot be found.
    """

    def __init__(self, root: Path, read_text: ReadText | None = None) -> None:
        self._root = root
        self._read_text = read_text
        self._read: dict[str, Target] = {}

    def fill(self, reply: str, view: View) -> str:
        """Put pixels in the place of the targets that a reply names, as the screenshot of the view shows them.

        Raises
        ------
        TargetAbsentError
            If a target is not on the screen.
        TargetError
            If a target has no picture, is there more than once, or there is no screenshot or no OCR to find it by.
        TargetCallError
            If a call is malformed.
        """
        screens: list[NDArray[np.uint8]] = []

        def place(call: TargetCall) -> tuple[int, int]:
            png, windows = view.screenshot, view.observation.windows
            if png is None:
                msg = f"target {call.label} is looked for on a machine without a screen: it needs a gui stage"
                raise TargetError(msg)
            if not screens:
                screens.append(read_screen(png))
            if call.text is not None:
                read = self._read_text
                if read is None:
                    msg = f"target {call.label} is found by its text, and there is no OCR here: use a picture"
                    raise TargetError(msg)
                return place_of_text(screens[0], call, windows, lambda box: read(png, box))
            if call.name not in self._read:
                self._read[call.name] = read_target(self._root, call.name)
            return place_of(screens[0], self._read[call.name], call, windows)

        return fill_targets(reply, view.brief.modality, place)
