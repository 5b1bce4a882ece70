"""Indents: each ideal tip is named whatever its turn, and what is no imprint is refused."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.ndimage import gaussian_filter

from tasks_lib.instruments.analysis import AREA_OVER_DEPTH2, AnalysisError, Indenter, analyse_indent

FRAME = 10e-6
DEPTH = {
    Indenter.VICKERS: 0.8e-6,
    Indenter.BERKOVICH: 0.6e-6,
    Indenter.KNOOP: 0.25e-6,
    Indenter.CUBE_CORNER: 1.6e-6,
    Indenter.SPHERE: 0.6e-6,
}
RADIUS = 5e-6


def tip(shape, x, y):
    """Height of the tip over its apex."""
    if shape is Indenter.SPHERE:
        return RADIUS - np.sqrt(np.maximum(RADIUS**2 - x**2 - y**2, 0))
    if shape is Indenter.KNOOP:
        return np.abs(x) / math.tan(math.radians(86.25)) + np.abs(y) / math.tan(math.radians(65))
    faces, angle = {
        Indenter.VICKERS: (4, 68.0),
        Indenter.BERKOVICH: (3, 65.27),
        Indenter.CUBE_CORNER: (3, 35.2644),
    }[shape]
    normals = 2 * np.pi * np.arange(faces) / faces
    return np.max([x * np.cos(t) + y * np.sin(t) for t in normals], axis=0) / math.tan(math.radians(angle))


def imprint(
    shape, *, turn=0.0, points=128, lines=128, recovery=1.0, pile=0.0, noise=2e-9, slope=0.01, stretch=1.0, at=(0, 0)
):
    x = ((np.arange(points) + 0.5) / points - 0.5) * FRAME - at[0]
    y = ((np.arange(lines)[:, None] + 0.5) / lines - 0.5) * FRAME - at[1]
    c, s = math.cos(turn), math.sin(turn)
    depth = DEPTH[shape]
    hollow = np.minimum(tip(shape, (x * c + y * s) / stretch, -x * s + y * c) - depth, 0) * recovery
    rim = pile * depth * np.exp(-(((np.hypot(x, y) - 2.7e-6) / 0.5e-6) ** 2))
    z = hollow + rim + slope * x - 0.5 * slope * y + 1e-6
    return z + np.random.default_rng(0).normal(scale=noise, size=z.shape), (FRAME / points, FRAME / lines)


@given(shape=st.sampled_from(list(Indenter)), turn=st.floats(0, math.pi))
@settings(max_examples=40, deadline=None)
def test_the_ideal_tips_are_named_with_a_margin_whatever_their_turn(shape, turn):
    found = analyse_indent(*imprint(shape, turn=turn))
    assert found.shape is shape
    assert found.margin > 10
    assert found.misfits[shape] < 2
    assert found.runner_up is not shape
    assert abs(found.depth_m - DEPTH[shape]) <= 2 * found.depth_uncertainty_m


@pytest.mark.parametrize("shape", list(AREA_OVER_DEPTH2))
def test_the_section_of_a_pyramid_is_that_of_its_geometry(shape):
    found = analyse_indent(*imprint(shape, points=256, lines=256, noise=0))
    assert found.area_over_depth2 == pytest.approx(AREA_OVER_DEPTH2[shape], rel=0.04)
    assert found.exponent == pytest.approx(2, abs=0.2)  # the deepest sample lies above the tip
    assert found.area_m2 == pytest.approx(AREA_OVER_DEPTH2[shape] * (0.95 * DEPTH[shape]) ** 2, rel=0.04)
    assert found.aspect == pytest.approx(7.11 if shape is Indenter.KNOOP else 1, rel=0.03)


def test_the_constants_are_those_of_the_standards():
    assert {shape: round(value, 1) for shape, value in AREA_OVER_DEPTH2.items()} == {
        Indenter.VICKERS: 24.5,
        Indenter.BERKOVICH: 24.5,
        Indenter.KNOOP: 65.4,
        Indenter.CUBE_CORNER: 2.6,
    }


def test_a_sphere_has_the_section_of_a_sphere():
    found = analyse_indent(*imprint(Indenter.SPHERE, points=256, lines=256, noise=0))
    depth = DEPTH[Indenter.SPHERE]
    eta = 0.95 * depth
    assert found.area_m2 == pytest.approx(math.pi * (2 * RADIUS * eta - eta**2), rel=0.01)
    assert found.exponent == pytest.approx(1, abs=0.1)
    assert math.isnan(found.orientation_deg)


@pytest.mark.parametrize("shape", [Indenter.VICKERS, Indenter.BERKOVICH, Indenter.KNOOP, Indenter.SPHERE])
def test_elastic_recovery_pile_up_and_a_stretched_scanner_do_not_change_the_name(shape):
    found = analyse_indent(*imprint(shape, turn=0.4, recovery=0.7, pile=0.1, stretch=1.1))
    assert found.shape is shape
    assert found.margin > 6


def test_worn_tips_on_imperfect_scanners_are_named_and_where_not_the_margin_says_so():
    rng = np.random.default_rng(0)
    right = 0
    for number in range(60):
        shape = list(Indenter)[number % 5]
        z, pixel = imprint(
            shape,
            turn=rng.uniform(0, math.pi),
            recovery=rng.uniform(0.6, 1),
            pile=rng.uniform(0, 0.2),
            stretch=rng.uniform(0.9, 1.15),
            noise=rng.uniform(0, 5e-9),
            slope=rng.uniform(-0.03, 0.03),
            at=tuple(rng.uniform(-1e-6, 1e-6, 2)),
        )
        found = analyse_indent(gaussian_filter(z, rng.uniform(0.01, 1.5)), pixel)
        right += found.shape is shape
        assert found.shape is shape or found.margin < 6
    assert right >= 58


def test_oblong_pixels_and_a_place_off_the_centre():
    z, pixel = imprint(Indenter.VICKERS, turn=math.radians(10), points=160, lines=100, at=(1e-6, -0.7e-6))
    found = analyse_indent(z, pixel)
    assert found.shape is Indenter.VICKERS
    assert found.center_m == (pytest.approx(6e-6, abs=5e-8), pytest.approx(4.3e-6, abs=5e-8))
    assert found.orientation_deg == pytest.approx(55, abs=2)  # corners lie half-way between the faces' normals
    knoop = analyse_indent(*imprint(Indenter.KNOOP, turn=math.radians(25), points=200, lines=200))
    assert knoop.orientation_deg == pytest.approx(25, abs=1)


def test_a_mask_of_the_unharmed_surface_replaces_the_border():
    z, pixel = imprint(Indenter.VICKERS)
    z[:, :8] += 0.3e-6
    where = np.zeros(z.shape, bool)
    where[:10, 20:] = where[-10:, 20:] = True
    assert analyse_indent(z, pixel, where).depth_m == pytest.approx(0.8e-6, rel=0.03)


def test_an_unfinished_frame_that_holds_the_imprint_is_enough():
    z, pixel = imprint(Indenter.BERKOVICH)
    z[115:] = np.nan
    assert analyse_indent(z, pixel).shape is Indenter.BERKOVICH


def test_a_shape_unlike_any_tip_is_not_named():
    x = (np.arange(128) - 64) / 64 * 5e-6
    y = x[:, None]
    trench = -np.where((np.abs(x) < 4e-6) & (np.abs(y) < 0.3e-6), 0.8e-6, 0) + 1e-9 * (x + y)
    found = analyse_indent(trench, (10e-6 / 128,) * 2)
    assert found.shape is None
    assert min(found.misfits.values()) > 30


@pytest.mark.parametrize(
    ("z", "words"),
    [
        (np.full((32, 32), 1e-7), "five times deeper"),
        (np.random.default_rng(0).normal(size=(32, 32)) * 1e-9, "five times deeper"),
        (np.arange(32.0) * np.ones((32, 1)), "five times deeper"),
        (np.zeros((2, 2)), "at least 8 × 8"),
        (np.full((16, 16), np.nan), "0 usable samples"),
        (imprint(Indenter.VICKERS, at=(4.6e-6, 0), slope=0, noise=0)[0], None),
        (imprint(Indenter.VICKERS, points=8, lines=8)[0], "pixels; symmetry needs|closed outline|five times"),
    ],
)
def test_what_is_no_whole_imprint_is_an_error(z, words):
    with pytest.raises(AnalysisError, match=words or "cut by the rim|five times deeper"):
        analyse_indent(z, (FRAME / z.shape[1], FRAME / z.shape[0]))


def test_the_border_is_a_share_of_the_frame():
    with pytest.raises(AnalysisError, match="border"):
        analyse_indent(*imprint(Indenter.VICKERS), border=0.5)
