"""Which screen an oracle will have before it when it does what a person did, and where it has to hover for it.

A submenu opens when the pointer rests on its entry, without a click. Of all the ways of a pointer, those places count
that the next click could not do without: where it goes to was not to be seen before. What a click or a key brought up
needs no hovering: a window of its own, or what was there before the pointer moved.
"""

from __future__ import annotations

import bisect
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from tasks_lib.sandbox import RecordedEvent, RecordedFrame

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

Pixels = Callable[[RecordedFrame], "NDArray[np.uint8]"]
# Half the size of the place that is compared, pixels: within one entry of a menu.
_HALF = (24, 7)
# A place that looks like another up to a highlight; light text on dark counts as its negative.
_ALIKE = 0.8
_FLAT = 6.0
_SAME_LEVEL = 12.0
# Between pointer and place, pixels: what changed there is the place's own highlight.
_OWN = (40, 12)
_MOVED = 3


@dataclass(frozen=True, slots=True)
class Hover:
    """A place that the pointer has to rest on, and the screen on which it is looked for."""

    x: int
    y: int
    frame: RecordedFrame


def frame_at(frames: Sequence[RecordedFrame], time: float) -> RecordedFrame:
    """Return the screen that stood at a time; the first where it is earlier than all."""
    return frames[max(0, bisect.bisect_right([frame.since for frame in frames], time) - 1)]


def way_to(
    place: tuple[int, int],
    frames: Sequence[RecordedFrame],
    events: Sequence[RecordedEvent],
    after: float,
    until: float,
    pixels: Pixels,
) -> tuple[list[Hover], RecordedFrame]:
    """Return where to hover before a press, and the screen that shows its place before the pointer comes to it.

    Parameters
    ----------
    place : tuple of int
        Where the press was, pixels.
    frames : sequence of RecordedFrame
        By time.
    events : sequence of RecordedEvent
        By time.
    after, until : float
        End of what was done before, and the press, s on the recording's clock.
    pixels : callable
        Returns the picture of a frame.
    """
    states = [frame_at(frames, after), *(frame for frame in frames if after < frame.since < until)]
    start = _place_at(events, after)
    moved = next(
        (e.time for e in events if after < e.time < until and start and math.dist((e.x, e.y), start) > _MOVED), until
    )
    base = 0
    for index in range(1, len(states)):
        if states[index].since < moved or _ids(states[index]) != _ids(states[index - 1]):
            base = index
    return _needed(place, states[base:], events, pixels)


def _needed(
    place: tuple[int, int], states: Sequence[RecordedFrame], events: Sequence[RecordedEvent], pixels: Pixels
) -> tuple[list[Hover], RecordedFrame]:
    last = pixels(states[-1])
    first = next(index for index, state in enumerate(states) if alike(pixels(state), last, place))
    if first == 0:
        return [], states[0]
    rest = _place_at(events, states[first].seen)
    if rest is None or _close(rest, place):
        # It looks different because the pointer is on it: how it looks before is what counts.
        return _needed(place, states[:first], events, pixels)
    before, frame = _needed(rest, states[: first + 1], events, pixels)
    if frame is states[first]:
        return [], frame  # not even what was hovered on was there before: a click brought up both
    return [*before, Hover(*rest, frame)], states[first]


def alike(one: NDArray[np.uint8], other: NDArray[np.uint8], place: tuple[int, int]) -> bool:
    """Whether two screens show the same at a place, but for a highlight."""
    x, y = place
    box = slice(max(0, y - _HALF[1]), y + _HALF[1]), slice(max(0, x - _HALF[0]), x + _HALF[0])
    a, b = one[box].mean(axis=2), other[box].mean(axis=2)
    if a.shape != b.shape or a.size == 0:
        return False
    a_flat, b_flat = float(a.std()) < _FLAT, float(b.std()) < _FLAT
    if a_flat or b_flat:
        return a_flat and b_flat and abs(float(a.mean()) - float(b.mean())) < _SAME_LEVEL
    p, q = a - a.mean(), b - b.mean()
    return abs(float((p * q).sum())) / math.sqrt(float((p * p).sum() * (q * q).sum())) >= _ALIKE


def pointed_at(place: tuple[int, int], frame: RecordedFrame, events: Sequence[RecordedEvent]) -> bool:
    """Whether the pointer lay on a place when a screen came about, so that it may show a highlight there."""
    rest = _place_at(events, frame.seen)
    return rest is not None and _close(rest, place)


def _close(pointer: tuple[int, int], place: tuple[int, int]) -> bool:
    return abs(pointer[0] - place[0]) <= _OWN[0] and abs(pointer[1] - place[1]) <= _OWN[1]


def _place_at(events: Sequence[RecordedEvent], time: float) -> tuple[int, int] | None:
    index = bisect.bisect_right([event.time for event in events], time)
    return (events[index - 1].x, events[index - 1].y) if index else None


def _ids(frame: RecordedFrame) -> set[int]:
    return {window.id for window in frame.windows}
