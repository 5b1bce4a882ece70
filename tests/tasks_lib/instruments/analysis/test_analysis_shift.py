"""Trace-retrace shift: known displacements to a twentieth of a pixel, its sign, and what has none."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tasks_lib.instruments.analysis import ROWS, AnalysisError, trace_retrace_shift


def surface(shift, seed=0, lines=24, points=128):
    """Sum of smooth bumps, each moved by `shift` pixels to higher x."""
    rng = np.random.default_rng(seed)
    x, y = np.arange(points), np.arange(lines)[:, None]
    z = np.zeros((lines, points))
    for _ in range(40):
        height, cx, cy, width = rng.normal(), rng.uniform(-10, points + 10), rng.uniform(0, lines), rng.uniform(2, 6)
        z += height * np.exp(-(((x - shift - cx) ** 2 + (y - cy) ** 2) / (2 * width**2)))
    return z * 1e-8


@given(shift=st.floats(-12, 12), seed=st.integers(0, 1000))
@settings(max_examples=40, deadline=None)
def test_a_displacement_is_found_to_a_twentieth_of_a_pixel(shift, seed):
    found = trace_retrace_shift(surface(shift / 2, seed), surface(-shift / 2, seed), 4e-9)
    assert found.shift_pixels == pytest.approx(shift, abs=0.05)
    assert found.shift_m == pytest.approx(found.shift_pixels * 4e-9)
    assert found.correlation > 0.9
    assert found.levelling == ROWS


def test_noise_in_both_images_moves_the_answer_little():
    rng = np.random.default_rng(1)
    one, two = surface(1.15, 3), surface(-1.15, 3)
    one, two = (image + rng.normal(scale=0.2 * image.std(), size=image.shape) for image in (one, two))
    assert trace_retrace_shift(one, two, 1.0).shift_pixels == pytest.approx(2.3, abs=0.1)


def test_exchanging_the_images_turns_the_sign():
    one, two = surface(1.5), surface(-1.5)
    assert trace_retrace_shift(two, one, 1.0).shift_pixels == pytest.approx(
        -trace_retrace_shift(one, two, 1.0).shift_pixels, abs=1e-6
    )


def test_a_common_tilt_and_unscanned_lines_do_not_matter():
    tilt = np.linspace(0, 1e-5, 128)
    one, two = surface(1.5) + tilt, surface(-1.5) + tilt
    two[15:] = np.nan
    assert trace_retrace_shift(one, two, 1.0).shift_pixels == pytest.approx(3, abs=0.05)


def test_on_a_periodic_sample_the_smallest_displacement_counts():
    x = np.arange(200)
    one, two = (np.sin(2 * np.pi * (x - shift) / 20) * np.ones((8, 1)) for shift in (1.0, -1.0))
    assert trace_retrace_shift(one, two, 1.0).shift_pixels == pytest.approx(2, abs=0.05)


@pytest.mark.parametrize(
    ("one", "two", "words"),
    [
        (np.full((8, 40), 2e-7), surface(0)[:8, :40], "trace is constant"),
        (surface(0)[:8, :40], np.arange(40.0) * np.ones((8, 1)), "retrace is constant"),
        (*np.random.default_rng(0).normal(size=(2, 24, 128)), None),
        (np.zeros((2, 2)), np.zeros((2, 2)), "at least 1 × 16"),
        (np.full((8, 40), np.nan), surface(0)[:8, :40], "no line is finite"),
    ],
)
def test_images_without_a_common_feature(one, two, words):
    if words is None:  # noise finds chance likeness only
        assert trace_retrace_shift(one, two, 1.0).correlation < 0.3
        return
    with pytest.raises(AnalysisError, match=words):
        trace_retrace_shift(one, two, 1.0)


def test_a_displacement_beyond_the_range_is_not_made_up():
    x = np.arange(60)
    one, two = (np.exp(-((x - at) ** 2) / 50.0) * np.ones((3, 1)) for at in (44, 16))
    with pytest.raises(AnalysisError, match="no peak within 6 pixels"):
        trace_retrace_shift(one, two, 1.0, most=0.1)
    with pytest.raises(AnalysisError, match=r"a share above 0, up to 0\.5"):
        trace_retrace_shift(one, two, 1.0, most=0.7)
