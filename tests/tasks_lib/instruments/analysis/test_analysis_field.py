"""What every analysis asks of an image, and that asking costs no heavy import."""

from __future__ import annotations

import dataclasses
import pickle
import subprocess
import sys

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tasks_lib.instruments.analysis import (
    AnalysisError,
    LateralCalibration,
    analyse_indent,
    count_layers,
    friction,
    grid_pitch,
    level,
    profile,
    roughness,
    segment,
    tilt,
    trace_retrace_shift,
    trace_retrace_similarity,
    two_level_fit,
)
from tasks_lib.instruments.analysis._field import as_image, pixel_size, scanned_lines, without_spread


def test_importing_the_room_loads_no_heavy_library():
    code = (
        "import sys, tasks_lib.instruments.analysis; print(sorted({'scipy', 'skimage', 'sklearn'} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=120)
    assert done.stdout.strip() == "[]"


@given(st.lists(st.booleans(), min_size=1, max_size=30))
def test_the_scanned_lines_are_the_longest_run_of_whole_ones(good):
    z = np.where(np.array(good)[:, None], 1.0, np.nan) * np.ones((1, 3))
    z[~np.array(good), 1:] = 0  # one sample that is missing spoils a line
    if not any(good):
        with pytest.raises(AnalysisError, match="no line is finite"):
            scanned_lines(z)
        return
    rows = scanned_lines(z)
    assert all(good[rows])
    longest = max(len(run) for run in "".join("x" if one else " " for one in good).split())
    assert rows.stop - rows.start == longest


def test_results_can_be_stored_and_sent_to_a_worker():
    image = np.random.default_rng(0).normal(size=(24, 24))
    hollow = np.minimum(np.hypot(*np.mgrid[-12:12, -12:12]) - 8, 0)
    one = (1.0, 1.0)
    for result in (
        level(image),
        tilt(image, one),
        roughness(image, one),
        trace_retrace_similarity(image, image),
        trace_retrace_shift(image, image, 1.0),
        friction(image, -image).calibrated(LateralCalibration(1e-6, 1e-8, "wedge")),
        profile(image, one, (1, 1), (9, 9)),
        two_level_fit(image, image > 0, image <= 0),
        segment(image, one),
        count_layers(image, image > 1, image < 0),
        grid_pitch(image, one),
        analyse_indent(hollow, one),
    ):
        again = pickle.loads(pickle.dumps(result))  # noqa: S301 - our own bytes
        assert repr(dataclasses.asdict(again)) == repr(dataclasses.asdict(result))


@pytest.mark.parametrize("z", [[[1, 2], [3, 4]], np.ones((2, 2), np.int32), np.ones((2, 2), np.float32)])
def test_numbers_of_any_kind_become_doubles(z):
    assert as_image(z).dtype == np.float64


@pytest.mark.parametrize("z", [np.ones((2, 2), bool), np.array([["a"]]), np.ones((2, 2, 2)), 1.0])
def test_what_is_no_image_is_an_error(z):
    with pytest.raises(AnalysisError, match="must be a real array"):
        as_image(z)


@pytest.mark.parametrize("pixel", [(0, 1), (1, -1), (float("nan"), 1), (1, float("inf"))])
def test_a_pixel_has_a_positive_finite_size(pixel):
    with pytest.raises(AnalysisError, match="positive width and height"):
        pixel_size(pixel)


def test_a_constant_differs_by_its_rounding_only():
    assert without_spread(np.array([0.1, np.nextafter(0.1, 1)]))
    assert without_spread(np.zeros(3))
    assert not without_spread(np.array([0.1, 0.1 + 1e-12]))
