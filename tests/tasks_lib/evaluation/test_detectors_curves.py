"""Plots: drawn by Matplotlib with known axes and curves, and those of Gwyddion and Fityk."""

from __future__ import annotations

import io
from functools import cache
from pathlib import Path
from typing import Any

import matplotlib as mpl
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from PIL import Image

from tasks_lib.evaluation import ocr
from tasks_lib.evaluation.detectors.axes import Axis, axis_of_ends, axis_of_labels, find_frame
from tasks_lib.evaluation.detectors.curves import at_column, find_curve, highest
from tasks_lib.evaluation.detectors.pixels import Box, Pixels, parse_colour

mpl.use("Agg")
SCREENS = Path(__file__).parents[2] / "fixtures" / "evaluation" / "screens"
COLOURS = ("#d62728", "#1f77b4", "#2ca02c", "#9467bd", "#ff7f0e", "#000000")
PLOTS = 80


class Plot:
    """A drawn plot, and what stands on it."""

    def __init__(self, seed: int) -> None:
        from matplotlib.figure import Figure

        chance = np.random.default_rng(seed)
        low, span = float(chance.choice([0, 20, 280, -5])), float(chance.choice([1, 10, 60]))
        self.x = np.linspace(low, low + span, 400)
        self.curves: dict[str, np.ndarray[Any, Any]] = {}
        dark = bool(chance.random() < 0.3)
        known = [name for name in COLOURS if not (dark and name == "#000000")]
        names = chance.choice(known, size=int(chance.integers(1, 4)), replace=False)
        height = float(chance.choice([1, 50, 4000]))
        for at, name in enumerate(names):
            centre = low + span * chance.uniform(0.2, 0.8)
            shape = np.exp(-(((self.x - centre) / (span * chance.uniform(0.06, 0.2))) ** 2))
            self.curves[str(name)] = height * (0.1 + 0.25 * at + chance.uniform(0.3, 0.6) * shape)
        figure = Figure(figsize=(6, 4), dpi=100, facecolor="#303030" if dark else "white")
        axes = figure.add_axes((0.14, 0.14, 0.82, 0.8), facecolor="#202020" if dark else "white")
        for name, values in self.curves.items():
            axes.plot(self.x, values, color=name, linewidth=float(chance.choice([1.0, 1.5, 2.0])))
        axes.set_xlim(low, low + span)
        axes.set_ylim(0, 1.4 * height)
        if chance.random() < 0.4:
            axes.grid(True, color="#555555" if dark else "#dddddd")
        axes.tick_params(direction=str(chance.choice(["in", "out"])), colors="white" if dark else "black")
        for spine in axes.spines.values():
            spine.set_edgecolor("white" if dark else "black")
        out = io.BytesIO()
        figure.savefig(out, format="png")
        self.png = out.getvalue()
        self.pixels: Pixels = np.asarray(Image.open(out).convert("RGB"))
        inside = axes.get_window_extent()
        self.frame: Box = (round(inside.x0), round(400 - inside.y1), round(inside.width), round(inside.height))
        self.limits = (axes.get_xlim(), axes.get_ylim())

    def axes(self, frame: Box) -> tuple[Axis, Axis]:
        (left, right), (bottom, top) = self.limits
        x = axis_of_ends(frame[0] - 0.5, frame[0] + frame[2] - 0.5, left, right)
        return x, axis_of_ends(frame[1] + frame[3] - 0.5, frame[1] - 0.5, bottom, top)


@cache
def plot(seed: int) -> Plot:
    return Plot(seed)


def test_accuracy_of_frames() -> None:
    wrong = []
    for seed in range(PLOTS):
        found = find_frame(plot(seed).pixels)
        if found is None or max(abs(a - b) for a, b in zip(found, plot(seed).frame, strict=True)) > 2:
            wrong.append((seed, found, plot(seed).frame))
    assert 1 - len(wrong) / PLOTS >= 0.98, wrong[:8]


def test_accuracy_of_curves() -> None:
    number, tops, misses, ghosts = 0, 0, [], []
    for seed in range(PLOTS):
        drawn = plot(seed)
        x, y = drawn.axes(drawn.frame)
        frame = find_frame(drawn.pixels)
        assert frame is not None
        height, span = drawn.limits[1][1], drawn.limits[0][1] - drawn.limits[0][0]
        for name in COLOURS:
            colour = parse_colour(name)
            assert colour is not None
            curve = find_curve(drawn.pixels, frame, colour)
            if name not in drawn.curves:
                # Black is the colour of ticks on a light plot, and nearly the background of a dark one.
                if curve.coverage >= 0.02 and name != "#000000":
                    ghosts.append((seed, name, curve.coverage))
                continue
            number += 1
            values = drawn.curves[name]
            found = np.array(curve.points(x, y))
            error = np.abs(found[:, 1] - np.interp(found[:, 0], drawn.x, values)) / height
            assert np.median(error) <= 0.006, (seed, name, np.median(error))
            place = highest(curve)
            assert place is not None
            best = int(values.argmax())
            if (
                abs(x.value(place[0]) - drawn.x[best]) > 0.015 * span
                or abs(y.value(place[1]) - values[best]) > 0.015 * height
            ):
                misses.append((seed, name, place))
            else:
                tops += 1
    assert number > PLOTS
    assert tops / number >= 0.97, misses[:8]
    assert ghosts == []


def test_accuracy_of_axes_by_their_labels() -> None:
    told, right = 0, 0
    for seed in range(12):
        drawn = plot(seed)
        left, top, width, height = drawn.frame
        below = ocr.read_screen(drawn.png, (0, top + height + 2, 600, 30))
        beside = ocr.read_screen(drawn.png, (0, 0, left - 2, 400))
        for along, lines, ends, pixels in (
            ("x", below, drawn.limits[0], (left, left + width)),
            ("y", beside, drawn.limits[1], (top + height, top)),
        ):
            axis = axis_of_labels(lines, along)
            if axis is not None:
                told += 1
                off = [abs(axis.value(pixel - 0.5) - end) for pixel, end in zip(pixels, ends, strict=True)]
                right += max(off) <= 0.01 * abs(ends[1] - ends[0])
    assert told >= 0.9 * 24
    assert right >= 0.97 * told


def test_a_profile_of_gwyddion() -> None:
    png = (SCREENS / "gwyddion-profile.png").read_bytes()
    pixels = np.asarray(Image.open(io.BytesIO(png)))
    window = (801, 397, 476, 355)
    frame = find_frame(pixels[window[1] : window[1] + window[3], window[0] : window[0] + window[2]])
    assert frame is not None
    frame = (frame[0] + window[0], frame[1] + window[1], frame[2], frame[3])
    assert max(abs(a - b) for a, b in zip(frame, (847, 404, 421, 294), strict=True)) <= 2
    x = axis_of_labels(ocr.read_screen(png, (801, 708, 476, 22)), "x")
    y = axis_of_labels(ocr.read_screen(png, (815, 397, 22, 310)), "y")
    assert x is not None
    assert y is not None
    curve = find_curve(pixels, frame, (0, 0, 0))
    # The profile that Gwyddion extracted (see test_gwyddion) has its highest point of 3.07 nm at 0.08 µm of 0.41.
    place = highest(curve)
    assert place is not None
    assert x.value(place[0]) == pytest.approx(0.08, abs=0.003)
    assert y.value(place[1]) == pytest.approx(3.07, abs=0.06)
    assert curve.coverage == pytest.approx(0.41 / 0.5, abs=0.03)


def test_curves_of_fityk() -> None:
    png = (SCREENS / "fityk-fit.png").read_bytes()
    pixels = np.asarray(Image.open(io.BytesIO(png)))
    frame = (30, 88, 925, 430)
    # The tick before a label reads as a minus, so the labels are read without it.
    x = axis_of_labels(ocr.read_screen(png, (0, 523, 960, 14)), "x")
    y = axis_of_labels(ocr.read_screen(png, (5, 88, 40, 430)), "y")
    assert x is not None
    assert y is not None
    yellow = find_curve(pixels, frame, (255, 255, 0))
    place = highest(yellow)
    assert place is not None
    assert x.value(place[0]) == pytest.approx(284.8, abs=0.05)
    # At both ends the red line of the background lies over the sum, so the yellow one is seen from 282 to 291 alone.
    assert 0.4 < yellow.coverage < 0.7
    row = at_column(yellow, (288.7 - x.start) / x.step)
    assert row is not None
    assert y.value(row) == pytest.approx(1030, abs=40)
    assert find_curve(pixels, frame, (0, 0, 255)).coverage == 0


def test_axes() -> None:
    axis = axis_of_ends(10, 110, 1, 1000, logarithmic=True)
    assert axis.value(60) == pytest.approx(10**1.5)
    with pytest.raises(ValueError, match="two different ends"):
        axis_of_ends(10, 110, 0, 1000, logarithmic=True)
    with pytest.raises(ValueError, match="two different ends"):
        axis_of_ends(10, 10, 0, 1)

    def label(text: str, x: float) -> ocr.Line:
        return ocr.Line(text, x - 10, 0, 20, 10, 1.0)

    pushed = [
        label("0.0", 12),
        label("0.1", 100),
        label("0.2", 200),
        label("0.3", 300),
        label("0.4", 388),
        label("x", 9),
    ]
    found = axis_of_labels(pushed, "x")
    assert found is not None
    assert found.value(400) == pytest.approx(0.4)
    assert axis_of_labels(pushed[:3], "x") is None
    assert axis_of_labels([], "y") is None


def test_no_plot_is_none() -> None:
    assert find_frame(np.full((200, 300, 3), 255, np.uint8)) is None
    assert find_frame(np.zeros((10, 10, 3), np.uint8)) is None
    curve = find_curve(np.full((50, 60, 3), 255, np.uint8), (10, 10, 30, 30), (255, 0, 0))
    assert (curve.coverage, highest(curve), at_column(curve, 20)) == (0, None, None)
    assert find_curve(np.zeros((50, 60, 3), np.uint8), (100, 100, 5, 5), (0, 0, 0)).coverage == 0


@given(pixels=st.binary(min_size=1200, max_size=1200), box=st.tuples(*[st.integers(-30, 120)] * 4))
@settings(max_examples=60, deadline=None)
def test_any_pixels_give_an_answer(pixels: bytes, box: Box) -> None:
    noise = np.repeat(np.repeat(np.frombuffer(pixels, np.uint8).reshape(20, 20, 3), 5, 0), 5, 1)
    frame = find_frame(noise)
    assert frame is None or frame[2] > 0
    curve = find_curve(noise, box, (200, 0, 0))
    assert 0 <= curve.coverage <= 1
