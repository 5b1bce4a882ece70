"""The same numbers from Gwyddion's own C library, where both define a quantity alike."""

from __future__ import annotations

import numpy as np
import pytest

from tasks_lib.instruments.analysis import PLANE, RAW, Levelling, level, roughness, segment
from tasks_lib.instruments.frame import Z_AXIS

PIXELS = [(2e-9, 2e-9), (2e-9, 3e-9)]


def surface(seed=0, shape=(48, 64)):
    """A rough surface with tilt, at the scale of an AFM image."""
    return np.random.default_rng(seed).normal(size=shape).cumsum(0).cumsum(1) * 1e-9 + 1e-6


def framed(z):
    """The surface with a flat rim: Gwyddion extends an image by half a pixel at each side, we do not."""
    z = z - z.mean()
    z[[0, -1]] = z[:, [0, -1]] = 0
    return z


@pytest.mark.parametrize("seed", range(3))
def test_height_parameters(gwyddion, seed):
    z = surface(seed)
    sa, sq, ssk, excess = gwyddion.statistics(z)
    ours = roughness(z, PIXELS[0], RAW)
    assert (ours.sa_m, ours.sq_m) == (pytest.approx(sa, rel=1e-12), pytest.approx(sq, rel=1e-12))
    assert (ours.ssk, ours.sku - 3) == (pytest.approx(ssk, rel=1e-9), pytest.approx(excess, rel=1e-9))


def test_the_gradient_on_a_square_frame(gwyddion):
    z = surface(shape=(50, 50))
    for pixel in PIXELS:
        assert roughness(z, pixel, RAW).sdq == pytest.approx(gwyddion.slope(z, pixel), rel=1e-12)


@pytest.mark.parametrize("pixel", PIXELS)
def test_the_surface_area(gwyddion, pixel):
    z = framed(surface(1))
    lines, points = z.shape
    inside = (lines - 1) * (points - 1) * pixel[0] * pixel[1]
    excess = gwyddion.area(z, pixel) - lines * points * pixel[0] * pixel[1]
    assert roughness(z, pixel, RAW).sdr * inside == pytest.approx(excess, rel=1e-10)


@pytest.mark.parametrize("share", [1.0, 0.4, 0.05])
def test_the_plane_of_masked_samples(gwyddion, share):
    z = surface(2)
    mask = np.random.default_rng(3).random(z.shape) <= share
    assert level(z, PLANE, mask).z == pytest.approx(gwyddion.without_plane(z, mask), abs=1e-12 * np.ptp(z))


@pytest.mark.parametrize("degree", [1, 2, 3, 4])
def test_polynomials_of_total_degree(gwyddion, degree):
    z = surface(3)
    theirs = gwyddion.without_polynomial(z, degree)
    assert level(z, Levelling("polynomial", degree)).z == pytest.approx(theirs, abs=1e-12 * np.ptp(z))


def test_the_number_of_grains_and_the_threshold(gwyddion):
    z = surface(4)
    found = segment(z, PIXELS[0])
    assert found.count == gwyddion.grains(z > found.threshold_m)
    # Gwyddion bins the heights more finely; a bin of ours is 1/256 of the range.
    assert found.threshold_m == pytest.approx(gwyddion.otsu(z), abs=2 * np.ptp(z) / 256)


@pytest.mark.parametrize("stem", ["glass_256", "graphite_flake_30um", "hopg_step_setpoint_0p2V"])
def test_real_frames_after_levelling(gwyddion, real_frame, stem):
    frame = real_frame(stem)
    z = frame.data(Z_AXIS)
    theirs = gwyddion.without_plane(z, np.ones(z.shape, bool))
    sa, sq, ssk, excess = gwyddion.statistics(theirs)
    ours = roughness(z, frame.scan.pixel_m)
    assert (ours.sa_m, ours.sq_m) == (pytest.approx(sa, rel=1e-9), pytest.approx(sq, rel=1e-9))
    assert (ours.ssk, ours.sku - 3) == (pytest.approx(ssk, rel=1e-8), pytest.approx(excess, rel=1e-8))
    assert ours.sdq == pytest.approx(gwyddion.slope(theirs, frame.scan.pixel_m), rel=1e-9)
