"""The frame of a plot on the screen, and the values that its axes stand for."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tasks_lib.evaluation._ocr_engines import Line
from tasks_lib.evaluation.detectors.pixels import Box, Pixels
from tasks_lib.evaluation.units import parse_number

LEAST_SIDE = 60
"""A smaller rectangle is no plot, pixels."""
SAME, CONTRAST = 10, 24
"""Neighbours along a line differ by no more than the first, a line from both sides by more than the second, of 255."""
THICK = 3
"""A line of the frame is thinner than this, pixels; the border of two surfaces is no line."""
GAP, END, TICK = 4, 3, 24
"""Pixels: a curve that crosses a line; ends of two lines that meet; a tick that makes a line longer."""
MOST_LINES = 80
OFF_LINE = 3.0
"""How far the middle of a tick's label may be off its place, pixels."""


@dataclass(frozen=True, slots=True)
class Axis:
    """Pixels to values: ``value = start + step * pixel``, or its power of ten on a logarithmic axis."""

    start: float
    step: float
    logarithmic: bool = False

    def value(self, pixel: float) -> float:
        """Return the value at a pixel."""
        value = self.start + self.step * pixel
        return float(10.0 ** min(value, 300.0)) if self.logarithmic else value


def axis_of_ends(first: float, last: float, low: float, high: float, logarithmic: bool = False) -> Axis:
    """Return the axis that has the value `low` at the pixel `first` and `high` at `last`.

    Raises
    ------
    ValueError
        If both pixels or both values are one, or a logarithmic axis has a value that is not above 0.
    """
    if first == last or low == high or (logarithmic and min(low, high) <= 0):
        msg = f"an axis needs two different ends, above 0 where it is logarithmic; got {low:g} and {high:g}"
        raise ValueError(msg)
    begin, end = (math.log10(low), math.log10(high)) if logarithmic else (low, high)
    step = (end - begin) / (last - first)
    return Axis(begin - step * first, step, logarithmic)


def axis_of_labels(lines: Sequence[Line], along: str) -> Axis | None:
    """Return the linear axis that the labels of its ticks tell, None where fewer than three of them agree.

    Some programs push the outermost labels inwards, and OCR misreads some, so the axis is the one with which the most
    labels agree within 3 pixels.

    Accuracy, by ``test_detectors_curves``: of 24 axes that Matplotlib drew with 4 to 8 ticks, read by rapidocr, one was
    told for at least 0.9 and was right (both ends within 1 % of the span) for at least 0.97 of those told.

    Parameters
    ----------
    lines : sequence of Line
        What OCR read beside the axis.
    along : {"x", "y"}
        The axis.
    """
    places = [
        (line.x + line.width / 2 if along == "x" else line.y + line.height / 2, float(number))
        for line in lines
        if (number := parse_number(line.text.strip().strip("|_").rstrip("-"))) is not None
    ]
    best: tuple[tuple[int, float, float], Axis] | None = None
    for at, (pixel, value) in enumerate(places):
        for other, far in places[at + 1 :]:
            if abs(other - pixel) < 15 or far == value:
                continue
            step = (far - value) / (other - pixel)
            inside = [(p, v) for p, v in places if abs((v - value) / step - (p - pixel)) <= OFF_LINE]
            if len(inside) < 3 or len({v for _, v in inside}) < 3:
                continue
            xs, ys = (np.array(part) for part in zip(*inside, strict=True))
            fit_step, fit_start = np.polyfit(xs, ys, 1)
            rest = float(np.abs((ys - fit_start) / fit_step - xs).max())
            # Of two sets that agree as well, the one without the outermost labels: those may be pushed inwards.
            good = (len(inside), -round(rest, 1), -float(np.ptp(xs)))
            if best is None or good > best[0]:
                best = (good, Axis(float(fit_start), float(fit_step)))
    return None if best is None else best[1]


def find_frame(pixels: Pixels) -> Box | None:
    """Find the rectangle of thin straight lines around a plot; None where there is none.

    Accuracy, by ``test_detectors_curves``: within 2 pixels on at least 0.98 of 80 plots that Matplotlib drew, whatever
    colours, grid and ticks, and on the graphs of Gwyddion. A plot with fewer than four lines, such as Fityk's, has no
    frame that can be found.

    Parameters
    ----------
    pixels : array, height × width × 3
        A window or a region with one plot; of several, the largest is found.

    Returns
    -------
    Box or None
        The inside of the lines: the first pixel right of and below the left and upper line, width and height.
    """
    if min(pixels.shape[:2]) < LEAST_SIDE:
        return None
    rows, columns = _lines(_thin(pixels)), _lines(_thin(pixels.transpose(1, 0, 2)))
    best: tuple[int, Box] | None = None
    for at, left in enumerate(columns):
        for right in columns[at + 1 :]:
            if right.place - left.end < LEAST_SIDE:
                continue
            top_most, bottom_most = max(left.first, right.first), min(left.last, right.last)
            fits = [
                row
                for row in rows
                if row.first <= left.end + END
                and row.last >= right.place - END
                and top_most - END <= row.place
                and row.end <= bottom_most + END
            ]
            if len(fits) < 2 or abs(fits[0].place - top_most) > TICK or abs(fits[-1].end - bottom_most) > TICK:
                continue
            width, height = right.place - left.end - 1, fits[-1].place - fits[0].end - 1
            if height >= LEAST_SIDE and (best is None or width * height > best[0]):
                best = (width * height, (left.end + 1, fits[0].end + 1, width, height))
    return None if best is None else best[1]


@dataclass(frozen=True, slots=True)
class _Line:
    """A straight line: its first and last row (or column), and where along them it begins and ends."""

    place: int
    end: int
    first: int
    last: int


def _thin(pixels: Pixels) -> NDArray[np.bool_]:
    """Return where a pixel goes on as its neighbour to the right, and differs from both sides above and below."""
    whole = pixels.astype(np.int16)
    found = np.zeros(pixels.shape[:2], dtype=bool)
    found[:, :-1] = np.abs(whole[:, 1:] - whole[:, :-1]).max(axis=-1) <= SAME
    step = np.abs(whole[THICK:] - whole[:-THICK]).max(axis=-1) > CONTRAST
    found[THICK:] &= step
    found[:-THICK] &= step
    found[:THICK] = found[-THICK:] = False
    return found


def _lines(thin: NDArray[np.bool_]) -> list[_Line]:
    """Return the longest run of every row that has one long enough, neighbouring rows as one line, by rising row."""
    found: list[_Line] = []
    for row in np.flatnonzero(thin.sum(axis=1) >= LEAST_SIDE):
        edges = np.flatnonzero(np.diff(np.concatenate([[0], thin[row].astype(np.int8), [0]])))
        starts, ends = _bridged(edges[::2], edges[1::2])
        at = int((ends - starts).argmax())
        line = _Line(int(row), int(row), int(starts[at]), int(ends[at]))
        if line.last - line.first < LEAST_SIDE:
            continue
        if found and line.place - found[-1].end == 1 and line.first < found[-1].last and found[-1].first < line.last:
            longer = max(found[-1], line, key=lambda one: one.last - one.first)
            found[-1] = _Line(found[-1].place, line.end, longer.first, longer.last)
        else:
            found.append(line)
    longest = sorted(found, key=lambda line: line.first - line.last)[:MOST_LINES]
    return sorted(longest, key=lambda line: line.place)


def _bridged(starts: NDArray[np.int64], ends: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Join runs with a gap of a few pixels, where a tick or a curve touches the line."""
    keep = np.concatenate([[True], starts[1:] - ends[:-1] > GAP])
    return starts[keep], np.concatenate([ends[:-1][keep[1:]], ends[-1:]])
