"""Step heights: known steps under tilt, bow, drift and noise, with an uncertainty that covers the truth."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tasks_lib.instruments.analysis import (
    AnalysisError,
    step_height,
    step_height_by_line,
    step_masks,
    two_level_fit,
)

STEP = 0.67e-9


def stepped(seed=0, *, shape=(48, 64), height=STEP, noise=0.05e-9, drift=0.0, tilt=5e-9, edge=30, lean=0.2, bow=0.0):
    """A step at column `edge`, leaning along y, on a tilted surface; upper terrace to the right."""
    rng = np.random.default_rng(seed)
    lines, points = shape
    y, x = np.mgrid[0:lines, 0:points]
    upper = x >= edge + lean * (y - lines / 2)
    z = height * upper + tilt * (x / points - 0.4 * y / lines) + bow * (x / points) ** 2
    return z + rng.normal(scale=noise, size=shape) + rng.normal(scale=drift or 1e-30, size=(lines, 1)), upper


def test_with_masks_the_step_is_exact_under_any_background_of_the_degree():
    z, upper = stepped(noise=0, bow=4e-9)
    result = two_level_fit(z, upper, ~upper, degree=2)
    assert result.height == pytest.approx(STEP, rel=1e-9)
    assert result.uncertainty < 1e-18
    assert (result.lines, result.samples) == (48, z.size)


@pytest.mark.parametrize("correlated", [0.0, 0.1e-9], ids=["white noise", "noise common to a line"])
def test_the_uncertainty_covers_the_truth_as_often_as_it_says(correlated):
    inside = 0
    for seed in range(150):
        z, upper = stepped(seed, drift=correlated, lean=0.0)
        z += np.random.default_rng(1000 + seed).normal(scale=correlated or 1e-30, size=(48, 1)) * upper
        result = two_level_fit(z, upper, ~upper)
        inside += abs(result.height - STEP) <= 2 * result.uncertainty
    assert 0.90 <= inside / 150 <= 0.99


def test_independent_noise_would_be_told_too_small_an_uncertainty_without_the_lines():
    z, upper = stepped(lean=0.0, noise=0.01e-9)
    z += np.random.default_rng(5).normal(scale=0.2e-9, size=(48, 1)) * upper
    assert two_level_fit(z, upper, ~upper).uncertainty > 0.5 * 0.2e-9 / math.sqrt(48)


@pytest.mark.parametrize("share", [0.25, 0.5, 0.7])
def test_the_terraces_are_found_whatever_the_tilt(share):
    z, _ = stepped(height=5e-9, edge=int(64 * share), tilt=40e-9)
    result = step_height(z)
    assert result.height == pytest.approx(5e-9, abs=0.1e-9)


def test_an_atomic_step_is_measured_line_by_line_under_bow_and_drift():
    z, _ = stepped(3, shape=(64, 128), edge=70, drift=5e-9, bow=3e-9)
    result = step_height_by_line(z)
    assert result.height == pytest.approx(STEP, abs=4 * result.uncertainty)
    assert result.uncertainty < 0.02e-9
    assert result.lines == 64


@given(height=st.floats(-50e-9, 50e-9), edge=st.integers(20, 100))
@settings(max_examples=30, deadline=None)
def test_line_by_line_the_sign_says_whether_the_surface_rises(height, edge):
    z, _ = stepped(shape=(4, 128), height=height, edge=edge, noise=0, bow=20e-9, lean=0)
    assert step_height_by_line(z).height == pytest.approx(height, rel=1e-6, abs=1e-15)


@given(scale=st.floats(1e-3, 1e3))
@settings(max_examples=20, deadline=None)
def test_a_step_scales_with_the_heights(scale):
    z, upper = stepped(1)
    one, two = two_level_fit(z, upper, ~upper), two_level_fit(z * scale, upper, ~upper)
    assert (two.height, two.uncertainty) == (pytest.approx(one.height * scale), pytest.approx(one.uncertainty * scale))
    assert two_level_fit(z, ~upper, upper).height == pytest.approx(-one.height)


def test_an_unfinished_frame_gives_its_lines():
    z, upper = stepped(2)
    z[30:] = np.nan
    assert two_level_fit(z, upper, ~upper).lines == 30
    assert step_height_by_line(z).lines == 30


def test_one_line_has_a_height_and_no_uncertainty():
    z, upper = stepped(shape=(1, 64), noise=0)
    assert two_level_fit(z, upper, ~upper).height == pytest.approx(STEP, rel=1e-9)
    assert math.isnan(two_level_fit(z, upper, ~upper).uncertainty)
    assert math.isnan(step_height_by_line(z).uncertainty)


def test_the_guard_keeps_the_edge_out_and_not_the_rim_of_the_frame():
    z = np.zeros((10, 20))
    z[:, 10:] = 1
    upper, lower = step_masks(z, guard=2)
    assert np.flatnonzero(upper.any(axis=0)).tolist() == list(range(12, 20))
    assert np.flatnonzero(lower.any(axis=0)).tolist() == list(range(8))
    assert upper[:, 12:].all()


def test_what_holds_no_step_is_an_error():
    z, upper = stepped()
    none = np.zeros(z.shape, bool)
    for call, words in (
        (lambda: two_level_fit(z, none, ~upper), "the upper terrace has 0 usable"),
        (lambda: two_level_fit(z, upper, none), "the lower terrace has 0 usable"),
        (lambda: two_level_fit(z, upper, upper), "on both terraces"),
        (lambda: two_level_fit(z[:2, :2], *(np.eye(2, dtype=bool)[::way] for way in (1, -1)), degree=1), None),
        (lambda: two_level_fit(np.zeros((2, 2)), np.tri(2, k=-1).astype(bool), np.eye(2, dtype=bool)), "do not tell"),
        (lambda: step_masks(np.ones((5, 5))), "one height only"),
        (lambda: step_masks(np.eye(5), guard=3), "leaves nothing"),
        (lambda: step_height(np.zeros((9, 9))), "one height only"),
        (lambda: step_height_by_line(z[:, :8]), "needs at least one whole line"),
        (lambda: step_height_by_line(np.full((4, 64), np.nan)), "needs at least one whole line"),
    ):
        if words is None:  # four samples, four unknowns: exact
            assert math.isfinite(call().height)
            continue
        with pytest.raises(AnalysisError, match=words):
            call()
