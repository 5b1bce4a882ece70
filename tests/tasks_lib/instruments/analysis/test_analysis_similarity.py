"""Similarity of trace and retrace: 1 for the same, near 0 for noise, and not fooled by a common tilt."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tasks_lib.instruments.analysis import PLANE, ROWS, AnalysisError, trace_retrace_similarity


def features(seed=0, shape=(32, 40)):
    from scipy.ndimage import gaussian_filter

    return gaussian_filter(np.random.default_rng(seed).normal(size=shape), 2) * 1e-8


def noise(seed, shape=(32, 40)):
    return np.random.default_rng(seed).normal(scale=1e-10, size=shape)


def test_the_same_image_has_similarity_one():
    result = trace_retrace_similarity(features(), features())
    assert (result.levelled, result.raw) == (pytest.approx(1), pytest.approx(1))
    assert (result.levelling, result.lines) == (ROWS, 32)


def test_a_common_tilt_makes_noise_alike_in_the_raw_images_only():
    tilt = np.linspace(0, 1e-7, 40) * np.ones((32, 1))
    result = trace_retrace_similarity(noise(1) + tilt, noise(2) + tilt)
    assert result.raw > 0.99
    assert abs(result.levelled) < 0.1


def test_lag_lowers_the_similarity():
    z = features()
    values = [trace_retrace_similarity(z, np.roll(z, lag, axis=1)).levelled for lag in range(4)]
    assert values == sorted(values, reverse=True)
    assert values[3] < 0.8


@given(scale=st.floats(1e-9, 1e3), offset=st.floats(-10, 10))
@settings(max_examples=25, deadline=None)
def test_neither_unit_nor_offset_changes_the_levelled_similarity(scale, offset):
    one, two = features(1), features(1) + 0.2 * features(2)
    before = trace_retrace_similarity(one, two, PLANE).levelled
    after = trace_retrace_similarity((one + offset * 1e-8) * scale, (two + offset * 1e-8) * scale, PLANE).levelled
    assert after == pytest.approx(before, rel=1e-6)


def test_of_an_unfinished_frame_the_scanned_lines_are_compared():
    one, two = features(1), features(1) + 0.2 * features(2)
    part = one.copy()
    part[20:] = np.nan
    part[3, 5] = np.nan
    result = trace_retrace_similarity(part, two)
    assert result.lines == 16
    assert result.levelled == trace_retrace_similarity(one[4:20], two[4:20]).levelled


@pytest.mark.parametrize(
    ("trace", "retrace", "window", "words"),
    [
        (features(), np.full((32, 40), 3e-7), 7, "retrace is constant"),
        (features(), np.linspace(0, 1, 40) * np.ones((32, 1)), 7, "retrace is constant"),
        (features(), features(shape=(31, 40)), 7, "one shape"),
        (features()[:6], features()[:6], 7, "fewer than the window"),
        (np.zeros((2, 2)), np.zeros((2, 2)), 7, "fewer than the window"),
        (np.full((32, 40), np.nan), features(), 7, "no line is finite"),
        (features(), features(), 4, "window .* is odd"),
    ],
)
def test_what_cannot_be_compared_is_an_error(trace, retrace, window, words):
    with pytest.raises(AnalysisError, match=words):
        trace_retrace_similarity(trace, retrace, window=window)
