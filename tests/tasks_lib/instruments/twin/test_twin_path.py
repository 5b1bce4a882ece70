"""The passes of a line: every pixel is seen, in its order, and the profile reaches as far as the tip does."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tasks_lib.instruments.frame import ScanSettings
from tasks_lib.instruments.twin import DRIVE, FLEX, LEVERS, samples
from tasks_lib.instruments.twin._path import path, tip

MULTI = LEVERS["Multi75Al-G"]


@given(
    points=st.integers(2, 300),
    ticks_by_point=st.floats(1.0, 12.0),
    overscan=st.sampled_from([0.0, 3.0, 25.0, 100.0]),
    share=st.sampled_from([0.0, 0.15, 1.0]),
)
@settings(max_examples=100, deadline=None)
def test_every_pixel_is_seen_on_trace_and_retrace(points, ticks_by_point, overscan, share):
    ticks = int(np.ceil(points * (1 + overscan / 50) * ticks_by_point))
    scan = ScanSettings(
        width_m=1e-6, height_m=1e-6, points=points, lines=2, time_per_line_s=ticks / 25e3, overscan_percent=overscan
    )
    course = path(scan, replace(DRIVE, averaged_share=share))
    for pixel, step in zip(course.pixel, (1, -1), strict=True):
        seen = pixel[pixel >= 0]
        assert set(seen) == set(range(points))
        assert (np.diff(seen) * step >= 0).all()
    for place in course.place:
        assert place.min() >= 0
        assert place.max() <= course.along.size - 1


def test_the_tip_lags_on_both_passes_and_turns_without_a_jump():
    scan = ScanSettings(width_m=10e-6, height_m=1e-6, points=100, lines=2, time_per_line_s=0.1)
    course = path(scan, replace(FLEX, hysteresis=0.0))
    trace, retrace = (place * course.spacing + course.along[0] for place in course.place)
    commanded = ((np.arange(5000) + 0.5) / 5000 - 0.5) * 10e-6
    lag = 100e-6 * FLEX.lag_s
    assert trace[2500:] == pytest.approx(commanded[2500:] - lag, abs=1e-12)
    assert retrace[2500:] == pytest.approx(commanded[::-1][2500:] + lag, abs=1e-12)
    assert abs(retrace[0] - trace[-1]) < 2 * 100e-6 / 50e3


def test_hysteresis_bends_trace_and_retrace_apart_in_the_middle():
    scan = ScanSettings(width_m=10e-6, height_m=1e-6, points=100, lines=2, time_per_line_s=1.0)
    course = path(scan, replace(FLEX, hysteresis=0.01, lag_s=0.0))
    trace, retrace = (place * course.spacing for place in course.place)
    apart = retrace[::-1] - trace
    assert apart[len(apart) // 2] == pytest.approx(2 * 0.01 * 10e-6, rel=1e-3)
    assert abs(apart[0]) < 1e-10


def test_a_tip_below_the_raster_is_left_out_and_a_flank_reaches_as_far_as_the_relief():
    gentle = samples.rough_surface(rms_m=1e-9, correlation_m=500e-9)
    assert tip(MULTI, gentle, 50e-9).sharp
    foot = tip(MULTI, samples.nanoparticles(), 5e-9)
    assert not foot.sharp
    relief = samples.nanoparticles().relief_m
    assert np.nanmax(np.where(np.isfinite(foot.heights), foot.heights, np.nan)) == pytest.approx(relief, rel=0.2)
    assert foot.heights[foot.rows.size // 2, foot.heights.shape[1] // 2] == 0.0
    assert foot.rows.size <= 9
