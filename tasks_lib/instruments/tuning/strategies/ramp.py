"""What an operator does: raise the integral gain until it no longer helps, then look along the other gains."""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np

from tasks_lib.instruments.frame import Gains
from tasks_lib.instruments.tuning.box import GainBox
from tasks_lib.instruments.tuning.search import Generations

_STEPS = 8


def integral_ramp(box: GainBox, *, seed: int, budget: int) -> Generations:
    """Raise I in eight geometric steps, refine around the best, then do the same along D and P, round after round.

    It begins with no P and D, as scanning probe microscopes are integral-dominated, and goes back to where the score
    was highest; it draws nothing at random.
    Source of the idea: automatic gain setters that raise I until the loop rings, then back off.
    """
    scores: dict[Gains, float] = {}
    best = Gains(p=box.p[0], i=box.i[0], d=box.d[0])
    spans = {name: getattr(box, name) for name in box.free}
    while True:
        before = len(scores)
        for name in [one for one in ("i", "d", "p") if one in box.free]:
            for value in _along(name, spans[name], first=not scores):
                gains = best.model_copy(update={name: value})
                if gains not in scores:
                    (scores[gains],) = yield [gains]
            best = max(scores, key=lambda one: scores[one])
            spans[name] = _closer(getattr(box, name), spans[name], getattr(best, name))
        if len(scores) == before:
            return


def _along(name: str, span: tuple[int, int], *, first: bool) -> Iterator[int]:
    """Return the values of one line: geometric where the whole range of I is seen for the first time."""
    low, high = span
    if first and name == "i":
        yield from (round(value) for value in np.geomspace(max(low, 1), high, _STEPS))
    else:
        yield from sorted({round(value) for value in np.linspace(low, high, _STEPS // 2 + 1)})


def _closer(ends: tuple[int, int], span: tuple[int, int], at: int) -> tuple[int, int]:
    """Return a third of a span around a value, within the ends of the box."""
    half = math.ceil((span[1] - span[0]) / 6)
    return max(ends[0], at - half), min(ends[1], at + half)
