"""Grains and pits: known numbers, areas, heights and volumes, at the rim, touching, and none."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tasks_lib.instruments.analysis import AnalysisError, segment

PIXEL = (10e-9, 20e-9)


def discs(centres, radius=5.0, height=30e-9, shape=(60, 80), noise=1e-9, seed=0):
    y, x = np.mgrid[0 : shape[0], 0 : shape[1]]
    z = np.random.default_rng(seed).normal(scale=noise, size=shape)
    for cx, cy in centres:
        z[(x - cx) ** 2 + (y - cy) ** 2 <= radius**2] += height
    return z


INSIDE = [(15, 15), (40, 15), (15, 45), (60, 40)]


@pytest.mark.parametrize(("polarity", "sign"), [("grain", 1), ("pit", -1)])
def test_grains_and_pits_are_counted_and_measured(polarity, sign):
    found = segment(sign * discs([*INSIDE, (0, 30)]), PIXEL, polarity, min_pixels=10)
    assert (found.count, found.count_inside) == (5, 4)
    assert found.class_height_m == pytest.approx(30e-9, rel=0.03)
    whole = [one for one in found.grains if not one.at_rim]
    assert sorted(
        (round(one.center_m[0] / PIXEL[0] - 0.5), round(one.center_m[1] / PIXEL[1] - 0.5)) for one in whole
    ) == (sorted(INSIDE))
    for grain in whole:
        assert grain.pixels == 81  # lattice points in a disc of radius 5
        assert grain.area_m2 == pytest.approx(81 * PIXEL[0] * PIXEL[1])
        assert grain.diameter_m == pytest.approx((4 * grain.area_m2 / np.pi) ** 0.5)
        assert grain.volume_m3 == pytest.approx(81 * PIXEL[0] * PIXEL[1] * 30e-9, rel=0.05)
        assert grain.mean_height_m == pytest.approx(30e-9, rel=0.05)
        assert grain.height_m >= grain.mean_height_m
        x0, y0, x1, y1 = grain.box_m
        assert ((x1 - x0) / PIXEL[0], (y1 - y0) / PIXEL[1]) == (pytest.approx(11), pytest.approx(11))
    assert found.coverage == pytest.approx(np.count_nonzero(found.labels) / found.labels.size)
    assert sorted(set(found.labels.ravel()) - {0}) == [one.label for one in found.grains]


@given(n=st.integers(0, 12), seed=st.integers(0, 10_000))
@settings(max_examples=40, deadline=None)
def test_the_number_of_separate_discs_is_found(n, seed):
    rng = np.random.default_rng(seed)
    cells = [(12 + 20 * i, 10 + 20 * j) for i in range(4) for j in range(3)]
    chosen = [cells[k] for k in rng.permutation(12)[:n]]
    z = discs(chosen, radius=4, seed=seed)
    assert segment(z, PIXEL, threshold_m=15e-9).count == n
    assert segment(-z, PIXEL, "pit", threshold_m=-15e-9).count == n


@given(scale=st.floats(1e-6, 1e6), offset=st.floats(-1, 1))
@settings(max_examples=20, deadline=None)
def test_neither_unit_nor_offset_changes_the_count(scale, offset):
    one, two = segment(discs(INSIDE), PIXEL), segment((discs(INSIDE) + offset * 1e-8) * scale, PIXEL)
    assert one.count == two.count
    assert two.class_height_m == pytest.approx(one.class_height_m * scale, rel=1e-6)


def test_grains_that_touch_are_one_until_they_are_split():
    z = discs([(30, 30), (38.5, 30), (60, 30)], radius=5, noise=0)
    assert segment(z, (1e-9, 1e-9)).count == 2
    split = segment(z, (1e-9, 1e-9), split=True)
    assert split.count == 3
    assert sum(one.pixels for one in split.grains) == np.count_nonzero(z)


def test_splitting_keeps_a_thin_grain_whole():
    z = np.zeros((20, 40))
    z[10, 5:35] = 1.0
    assert segment(z, (1e-9, 1e-9), split=True).count == 1


def test_small_grains_can_be_left_out():
    z = discs(INSIDE, noise=0)
    z[2, 2] = 30e-9
    assert segment(z, PIXEL).count == 5
    assert segment(z, PIXEL, min_pixels=2).count == 4


def test_what_was_not_scanned_belongs_to_nothing_and_cuts_grains():
    z = discs(INSIDE)
    z[45:] = np.nan
    found = segment(z, PIXEL, min_pixels=10)
    assert (found.count, found.count_inside) == (4, 2)
    assert (found.labels[45:] == 0).all()


def test_no_grain_is_an_answer():
    found = segment(np.zeros((5, 6)), PIXEL, threshold_m=1e-9)
    assert (found.count, found.grains, found.coverage, found.class_height_m) == (0, (), 0, 0)
    assert segment(np.ones((2, 2)), PIXEL, threshold_m=0.0).count == 1


@pytest.mark.parametrize(
    ("z", "keys", "words"),
    [
        (np.ones((4, 4)), {}, "one height only"),
        (np.full((4, 4), np.nan), {}, "0 usable samples"),
        (np.eye(4), {"where": np.zeros((4, 4), bool)}, "0 usable samples"),
        (np.eye(4), {"polarity": "hill"}, "grain or pit"),
        (np.eye(4), {"min_pixels": 0}, "at least 1 pixel"),
    ],
)
def test_what_cannot_be_parted_is_an_error(z, keys, words):
    with pytest.raises(AnalysisError, match=words):
        segment(z, PIXEL, **keys)
