"""Pitch: known grids and gratings to a hundredth of a bin, turned, skewed, tilted, on oblong pixels."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tasks_lib.instruments.analysis import AnalysisError, grid_pitch


def grid(pitch=(1.07e-6, 1.07e-6), turn=0.0, skew=90.0, shape=(96, 128), pixel=(0.1e-6, 0.12e-6), duty=0.5, noise=0.0):
    """Pits of 80 nm on a lattice whose vectors point along `turn` and `turn + skew` degrees."""
    lines, points = shape
    x = (np.arange(points) + 0.5) * pixel[0]
    y = (np.arange(lines)[:, None] + 0.5) * pixel[1]
    one, two = (np.array([math.cos(math.radians(t)), math.sin(math.radians(t))]) for t in (turn, turn + skew))
    u, v = np.tensordot(
        np.linalg.inv(np.column_stack([one * pitch[0], two * pitch[1]])), np.stack(np.broadcast_arrays(x, y)), axes=1
    )
    # A soft edge of a tenth of a period: what a real tip makes of a wall, and no aliasing of a sampled jump.
    soft = [1 / (1 + np.exp(-(np.cos(2 * np.pi * w) - math.cos(math.pi * duty)) / 0.15)) for w in (u, v)]
    z = -80e-9 * soft[0] * soft[1]
    return z + np.random.default_rng(0).normal(scale=noise or 1e-30, size=shape) + 0.002 * x - 0.001 * y, pixel


@given(pitch=st.floats(0.9e-6, 2.2e-6), turn=st.floats(-20, 20))
@settings(max_examples=20, deadline=None)
def test_a_square_grid_is_measured_far_below_a_bin(pitch, turn):
    z, pixel = grid((pitch, pitch), turn, noise=2e-9)
    found = grid_pitch(z, pixel)
    assert found.pitch_m == pytest.approx(pitch, abs=0.03 * found.bin_m)
    assert found.second_pitch_m == pytest.approx(pitch, abs=0.03 * found.bin_m)
    assert found.angle_deg == pytest.approx(turn, abs=0.2)
    assert found.second_angle_deg == pytest.approx(90 + turn, abs=0.2)
    assert found.periods == pytest.approx(found.pitch_m / found.bin_m)


def test_a_skewed_grid_has_its_lattice_vectors_and_not_the_distances_of_its_lines():
    z, pixel = grid((1.4e-6, 1.1e-6), turn=5, skew=75)
    found = grid_pitch(z, pixel)
    assert (found.pitch_m, found.second_pitch_m) == (pytest.approx(1.4e-6, rel=3e-3), pytest.approx(1.1e-6, rel=3e-3))
    assert (found.angle_deg, found.second_angle_deg) == (pytest.approx(5, abs=0.3), pytest.approx(80, abs=0.3))


@pytest.mark.parametrize("turn", [0, 30, -60, 90])
def test_a_grating_has_one_pitch_and_the_direction_of_its_normal(turn):
    x, y = (np.arange(100) + 0.5) * 0.1, (np.arange(80)[:, None] + 0.5) * 0.1
    phase = (x * math.cos(math.radians(turn)) + y * math.sin(math.radians(turn))) / 1.13
    found = grid_pitch(np.tanh(4 * np.cos(2 * np.pi * phase)) + 0.3 * x, (0.1, 0.1))
    assert found.pitch_m == pytest.approx(1.13, rel=2e-3)
    assert abs(found.angle_deg - turn) % 180 == pytest.approx(0, abs=0.3)
    assert found.second_pitch_m is None
    assert found.second_angle_deg is None


def test_an_unfinished_frame_is_measured_on_its_lines():
    z, pixel = grid()
    z[60:] = np.nan
    assert grid_pitch(z, pixel).pitch_m == pytest.approx(1.07e-6, rel=2e-3)


@given(scale=st.floats(1e-6, 1e6))
@settings(max_examples=10, deadline=None)
def test_heights_do_not_matter_and_lengths_scale(scale):
    z, pixel = grid()
    one = grid_pitch(z, pixel)
    assert grid_pitch(z * scale, pixel).pitch_m == pytest.approx(one.pitch_m, rel=1e-6)
    assert grid_pitch(z, (pixel[0] * scale, pixel[1] * scale)).pitch_m == pytest.approx(one.pitch_m * scale, rel=1e-6)


@pytest.mark.parametrize(
    ("z", "words"),
    [
        (np.full((16, 16), 3e-7), "flat"),
        (np.arange(16.0) * np.ones((16, 1)), "flat"),
        (np.full((16, 16), np.nan), "no line is finite"),
        (np.ones((2, 2)), "at least 8 × 8"),
        (np.where(np.arange(16)[:, None] < 5, 1.0, np.nan) * np.random.default_rng(0).normal(size=(16, 16)), "5 whole"),
    ],
)
def test_what_has_no_pitch_is_an_error(z, words):
    with pytest.raises(AnalysisError, match=words):
        grid_pitch(z, (1e-9, 1e-9))
