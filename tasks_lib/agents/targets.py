"""Named targets of transcripts, found on the screenshot that the agent is shown."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from tasks_lib.agents._matching import THRESHOLD, Box, find_target
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
    """Return the pixel that a call of ``target`` means on a screen.

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
    box = None if call.within is None else _window(call, windows)
    search = find_target(screen, target, box)
    matches = search.matches
    if not matches:
        where = "the screen" if call.within is None else f"the window {call.within!r}"
        why = search.but or f"best score {search.best:.2f}, wanted {THRESHOLD:g}"
        msg = f"target {call.name} is not on {where} ({why})"
        raise TargetAbsentError(msg)
    if call.near is not None:
        near = call.near
        found = min(matches, key=lambda match: (math.dist(match.middle, near), match.y, match.x))
    elif len(matches) > 1:
        places = ", ".join(str(match.middle) for match in matches[:5])
        msg = f"target {call.name} is {len(matches)} times on the screen, at {places}: say near=(x, y) or within=title"
        raise TargetError(msg)
    else:
        found = matches[0]
    x, y = found.middle[0] + call.dx, found.middle[1] + call.dy
    if not (0 <= x < screen.shape[1] and 0 <= y < screen.shape[0]):
        msg = f"target {call.name} with dx={call.dx}, dy={call.dy} is ({x}, {y}), outside the screen"
        raise TargetError(msg)
    return x, y


def _window(call: TargetCall, windows: Sequence[WindowState]) -> Box:
    wanted = (call.within or "").casefold()
    found = [window for window in windows if wanted in window.title.casefold()]
    if len(found) > 1:
        found = [window for window in found if window.focused] or found
    if len(found) != 1:
        shown = ", ".join(repr(window.title) for window in windows) or "none"
        msg = f"target {call.name}: {len(found)} windows have {call.within!r} in their title; open windows: {shown}"
        raise (TargetError if found else TargetAbsentError)(msg)
    window = found[0]
    return window.x, window.y, window.width, window.height


class Targets:
    """The targets of a root of task definitions, each read once when it is first asked for.

    Parameters
    ----------
    root : Path
        The folder that holds ``targets/``.
    """

    def __init__(self, root: Path) -> None:
        self._root = root
        self._read: dict[str, Target] = {}

    def fill(self, reply: str, view: View) -> str:
        """Put pixels in the place of the targets that a reply names, as the screenshot of the view shows them.

        Raises
        ------
        TargetAbsentError
            If a target is not on the screen.
        TargetError
            If a target has no picture, is there more than once, or the view has no screenshot.
        TargetCallError
            If a call is malformed.
        """
        screens: list[NDArray[np.uint8]] = []

        def place(call: TargetCall) -> tuple[int, int]:
            if not screens:
                if view.screenshot is None:
                    msg = f"target {call.name} is looked for on a machine without a screen: it needs a gui stage"
                    raise TargetError(msg)
                screens.append(read_screen(view.screenshot))
            if call.name not in self._read:
                self._read[call.name] = read_target(self._root, call.name)
            return place_of(screens[0], self._read[call.name], call, view.observation.windows)

        return fill_targets(reply, view.brief.modality, place)
