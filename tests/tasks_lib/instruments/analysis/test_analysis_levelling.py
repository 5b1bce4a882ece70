"""Levelling: exact on what it models, blind to what is masked, and honest about what it cannot fit."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tasks_lib.instruments.analysis import PLANE, RAW, ROWS, AnalysisError, Levelling, ground_mask, level, tilt

LEVELLINGS = [PLANE, ROWS, Levelling("polynomial", 2), Levelling("polynomial", 4), Levelling("rows", 0)]
PIXEL = (2e-9, 5e-9)


def tilted(lines, points, *, a=3e-9, b=-7e-9, c=2e-9):
    y, x = np.mgrid[0:lines, 0:points]
    return a + b * x / points + c * y / lines


def rough(lines, points, seed=0):
    return np.random.default_rng(seed).normal(scale=1e-9, size=(lines, points))


@pytest.mark.parametrize("levelling", [PLANE, ROWS, Levelling("polynomial", 3)], ids=str)
@pytest.mark.parametrize("shape", [(4, 4), (64, 64), (10, 128), (1, 16)])
def test_a_tilt_alone_leaves_nothing(levelling, shape):
    left = level(tilted(*shape), levelling).z
    assert np.abs(left).max() < 1e-22


def test_a_polynomial_takes_out_its_own_terms_and_no_higher_ones():
    y, x = np.mgrid[-1:1:40j, -1:1:50j]
    bowl = 3 * x**2 - 2 * x * y + y**2 + x - 4
    assert np.abs(level(bowl, Levelling("polynomial", 2)).z).max() < 1e-13
    assert np.abs(level(bowl, PLANE).z).max() > 0.5
    assert level(x**3, Levelling("polynomial", 2)).z.std() > 0.1


def test_rows_remove_what_differs_from_line_to_line_and_a_plane_does_not():
    z = rough(20, 30) + np.random.default_rng(1).normal(scale=1e-6, size=(20, 1))
    assert level(z, ROWS).z.std() < 2e-9
    assert level(z, PLANE).z.std() > 1e-7


def test_a_masked_plane_does_not_see_the_flake():
    z = tilted(40, 40)
    flake = np.zeros(z.shape, bool)
    flake[5:20, 8:30] = True
    left = level(z + 5e-9 * flake, PLANE, ~flake)
    assert np.abs(left.z[~flake]).max() < 1e-22
    assert left.z[flake] == pytest.approx(5e-9, abs=1e-21)
    assert left.reference_samples == np.count_nonzero(~flake)


def test_masked_rows_without_reference_are_unknown_and_the_others_are_levelled():
    z = tilted(6, 20)
    where = np.ones(z.shape, bool)
    where[2] = False
    where[3, 1:] = False  # one sample does not carry a line of degree 1
    left = level(z, ROWS, where).z
    assert np.isnan(left[[2, 3]]).all()
    assert np.abs(left[[0, 1, 4, 5]]).max() < 1e-22


def test_lines_not_scanned_stay_unknown_and_do_no_harm():
    z = tilted(30, 20)
    z[18:] = np.nan
    for levelling in (PLANE, ROWS, RAW):
        result = level(z, levelling)
        assert np.isnan(result.z[18:]).all()
        assert np.array_equal(np.isnan(result.z), np.isnan(z))
    assert np.abs(level(z, PLANE).z[:18]).max() < 1e-22


@pytest.mark.parametrize("levelling", LEVELLINGS, ids=str)
def test_background_and_rest_are_the_input(levelling):
    z = rough(12, 17) + tilted(12, 17)
    result = level(z, levelling)
    assert result.z + result.background == pytest.approx(z, rel=1e-12, abs=1e-24)
    assert result.levelling == levelling


@given(
    seed=st.integers(0, 2**32 - 1),
    levelling=st.sampled_from(LEVELLINGS),
    scale=st.floats(1e-12, 1e6),
    slope=st.tuples(st.floats(-5, 5), st.floats(-5, 5), st.floats(-5, 5)),
)
@settings(max_examples=60, deadline=None)
def test_levelling_is_idempotent_blind_to_tilt_and_scales_with_the_heights(seed, levelling, scale, slope):
    z = np.random.default_rng(seed).normal(size=(9, 11))
    once = level(z, levelling).z
    assert level(once, levelling).z == pytest.approx(once, abs=1e-12)
    assert level(z * scale, levelling).z == pytest.approx(once * scale, abs=1e-11 * scale)
    if levelling.degree >= 1:
        assert level(z + tilted(9, 11, a=slope[0], b=slope[1], c=slope[2]), levelling).z == pytest.approx(
            once, abs=1e-10
        )


def test_a_constant_frame_is_level():
    assert np.abs(level(np.full((5, 6), 7e-7), PLANE).z).max() < 1e-21


@pytest.mark.parametrize("levelling", [PLANE, ROWS, Levelling("polynomial", 2)], ids=str)
def test_a_frame_of_two_by_two_samples_has_no_more_than_a_saddle_left(levelling):
    left = level(np.array([[1.0, 2.0], [4.0, 8.0]]), levelling).z
    saddle = np.array([[1, -1], [-1, 1]]) * 0.75
    assert left == pytest.approx(saddle if levelling == PLANE else 0, abs=1e-14)


@pytest.mark.parametrize(
    ("z", "levelling", "where", "words"),
    [
        (np.zeros((3, 3)), PLANE, np.zeros((3, 3), bool), "0 usable samples"),
        (np.full((3, 3), np.nan), PLANE, None, "0 usable samples"),
        (np.zeros((4, 4)), PLANE, np.eye(4, dtype=bool), "do not determine a plane"),
        (np.zeros((4, 4)), ROWS, np.eye(4, dtype=bool), "no line has the 2 reference samples"),
        (np.zeros(5), PLANE, None, "must be a real array"),
        (np.zeros((3, 3), complex), PLANE, None, "must be a real array"),
        (np.zeros((3, 3)), PLANE, np.ones((2, 3), bool), "mask .* must be boolean"),
        (np.zeros((3, 3)), PLANE, np.ones((3, 3)), "mask .* must be boolean"),
    ],
)
def test_what_does_not_determine_the_background_is_an_error(z, levelling, where, words):
    with pytest.raises(AnalysisError, match=words):
        level(z, levelling, where)


@pytest.mark.parametrize(("kind", "degree"), [("cubic", 1), ("rows", 9), ("rows", -1), ("plane", 2), ("none", 0)])
def test_a_levelling_that_does_not_exist_is_an_error(kind, degree):
    with pytest.raises(AnalysisError, match="levelling"):
        Levelling(kind, degree)


def test_tilt_is_the_slope_in_metres_per_metre():
    y, x = np.mgrid[0:30, 0:40]
    z = 0.02 * x * PIXEL[0] - 0.005 * y * PIXEL[1] + 3e-7
    slope = tilt(z, PIXEL)
    assert (slope.slope_x, slope.slope_y) == (pytest.approx(0.02, rel=1e-9), pytest.approx(-0.005, rel=1e-9))
    with pytest.raises(AnalysisError, match="positive width"):
        tilt(z, (0.0, 1.0))
    with pytest.raises(AnalysisError, match="at least 2 × 2"):
        tilt(z[:1], PIXEL)


@pytest.mark.parametrize("height", [0.335e-9, 40e-9, -80e-9])
@pytest.mark.parametrize("share", [0.1, 0.4])
def test_the_ground_is_found_under_flakes_and_beside_pits_whatever_the_tilt(height, share):
    lines, points = 64, 80
    feature = np.zeros((lines, points), bool)
    feature[8:-8, 10 : 10 + round(share * lines * points / (lines - 16))] = True
    z = tilted(lines, points, b=200e-9, c=-90e-9) + height * feature
    z += np.random.default_rng(3).normal(scale=0.02e-9, size=z.shape)
    ground = ground_mask(z)
    assert not (ground & feature).any()
    assert np.count_nonzero(ground) > 0.98 * np.count_nonzero(~feature)


def test_the_ground_of_a_flat_frame_is_all_of_it():
    assert ground_mask(np.full((6, 6), 3e-7)).all()
    assert ground_mask(tilted(12, 12)).all()
    part = tilted(12, 12)
    part[7:] = np.nan
    assert np.array_equal(ground_mask(part), np.isfinite(part))
