"""Profiles: physical distances and values on any line, any width, and pixels that are not square."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tasks_lib.instruments.analysis import AnalysisError, profile

PIXEL = (2e-9, 5e-9)
SHAPE = (20, 50)  # 100 nm × 100 nm
SIZE = 100e-9


def ramp():
    """Plane of slope 0.3 along x and -0.2 along y, value at the pixel centres."""
    y, x = np.mgrid[0 : SHAPE[0], 0 : SHAPE[1]]
    return 0.3 * (x + 0.5) * PIXEL[0] - 0.2 * (y + 0.5) * PIXEL[1]


inner = st.floats(5e-9, 95e-9)


@given(start=st.tuples(inner, inner), end=st.tuples(inner, inner), width=st.sampled_from([0.0, 3e-9]))
@settings(max_examples=60, deadline=None)
def test_on_a_plane_every_line_reads_the_plane(start, end, width):
    if math.dist(start, end) < 1e-9:
        return
    result = profile(ramp(), PIXEL, start, end, width_m=width, samples=17)
    share = np.linspace(0, 1, 17)
    x, y = (a + share * (b - a) for a, b in zip(start, end, strict=True))
    assert result.distance_m == pytest.approx(share * math.dist(start, end))
    # Half of the width may reach past the outermost pixel centre, where the value is repeated.
    assert result.value == pytest.approx(0.3 * x - 0.2 * y, abs=1e-21 if width == 0 else 2e-10)


def test_there_and_back_is_the_same_line():
    z = np.random.default_rng(0).normal(size=SHAPE)
    there = profile(z, PIXEL, (10e-9, 10e-9), (80e-9, 60e-9), width_m=8e-9, samples=30)
    back = profile(z, PIXEL, (80e-9, 60e-9), (10e-9, 10e-9), width_m=8e-9, samples=30)
    assert back.value[::-1] == pytest.approx(there.value, rel=1e-9, abs=1e-12)


def test_without_a_number_there_is_a_sample_for_each_small_pixel_side():
    result = profile(ramp(), PIXEL, (0, 50e-9), (SIZE, 50e-9))
    assert result.distance_m.size == 51
    assert np.diff(result.distance_m) == pytest.approx(2e-9)


def test_the_width_averages_across_the_line_in_metres():
    z = np.zeros(SHAPE)
    z[10] = 1.0  # a ridge along x, one pixel of 5 nm
    along = profile(z, PIXEL, (20e-9, 52.5e-9), (80e-9, 52.5e-9), width_m=40e-9)
    assert along.width_m == 40e-9
    assert along.value == pytest.approx(5 / 40, rel=0.1)
    across = profile(z, PIXEL, (51e-9, 2.5e-9), (51e-9, 97.5e-9), width_m=40e-9, samples=20)
    assert across.value == pytest.approx(np.eye(20)[10])


def test_the_first_line_of_the_image_is_the_lowest():
    z = np.arange(20.0)[:, None] * np.ones((1, 50))
    up = profile(z, PIXEL, (50e-9, 2.5e-9), (50e-9, 97.5e-9), samples=20)
    assert up.value == pytest.approx(np.arange(20))


def test_what_was_not_scanned_is_unknown_and_the_width_averages_the_rest():
    z = np.ones(SHAPE)
    z[12:] = np.nan
    up = profile(z, PIXEL, (50e-9, 2.5e-9), (50e-9, 97.5e-9), samples=20)
    assert np.isnan(up.value[12:]).all()
    assert (up.value[:11] == 1).all()
    at_the_edge = profile(z, PIXEL, (10e-9, 57e-9), (90e-9, 57e-9), width_m=30e-9)
    assert at_the_edge.value == pytest.approx(1)


def test_the_smallest_frame_has_profiles():
    result = profile(np.array([[0.0, 1.0], [2.0, 3.0]]), (1.0, 1.0), (0.5, 0.5), (1.5, 1.5), samples=3)
    assert result.value == pytest.approx([0, 1.5, 3])
    assert result.distance_m[-1] == pytest.approx(math.sqrt(2))


@pytest.mark.parametrize(
    ("start", "end", "keys", "words"),
    [
        ((-1e-9, 0), (SIZE, 0), {}, "start .* outside the frame"),
        ((0, 0), (0, 2 * SIZE), {}, "end .* outside the frame"),
        ((0, math.nan), (SIZE, 0), {}, "start .* outside the frame"),
        ((0, 0), (0, 0), {}, "start and end .* differ"),
        ((0, 0), (SIZE, 0), {"width_m": -1e-9}, "width"),
        ((0, 0), (SIZE, 0), {"width_m": math.inf}, "width"),
        ((0, 0), (SIZE, 0), {"samples": 1}, "2 to 100000 samples"),
    ],
)
def test_a_line_that_is_none_is_an_error(start, end, keys, words):
    with pytest.raises(AnalysisError, match=words):
        profile(ramp(), PIXEL, start, end, **keys)
