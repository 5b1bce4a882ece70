"""Roughness: known surfaces, the invariants of the definitions, and frames that have none."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tasks_lib.instruments.analysis import PLANE, RAW, ROWS, AnalysisError, Levelling, roughness

PIXEL = (4e-9, 4e-9)


def waves(lines=64, points=64, amplitude=5e-9, periods=4):
    return amplitude * np.sin(2 * np.pi * periods * np.arange(points) / points) * np.ones((lines, 1))


def test_a_sine_has_the_parameters_of_a_sine():
    result = roughness(waves(points=4096, lines=2), PIXEL, RAW)
    amplitude, step = 5e-9, 2 * np.pi * 4 / 4096
    assert result.sa_m == pytest.approx(2 * amplitude / np.pi, rel=1e-5)
    assert result.sq_m == pytest.approx(amplitude / math.sqrt(2), rel=1e-9)
    assert result.ssk == pytest.approx(0, abs=1e-9)
    assert result.sku == pytest.approx(1.5, rel=1e-9)
    assert result.sdq == pytest.approx(amplitude * step / PIXEL[0] / math.sqrt(2), rel=1e-3)
    assert result.sdr == pytest.approx(result.sdq**2 / 2, rel=1e-3)  # smooth surface: Sdr ≈ Sdq² / 2
    assert result.samples == 2 * 4096


def test_a_gaussian_surface_has_kurtosis_three_and_a_lone_peak_is_skewed():
    noise = np.random.default_rng(0).normal(size=(300, 300))
    result = roughness(noise, (1, 1), RAW)
    assert (result.ssk, result.sku) == (pytest.approx(0, abs=0.03), pytest.approx(3, abs=0.06))
    peak = np.zeros((20, 20))
    peak[10, 10] = 1
    assert roughness(peak, (1, 1), RAW).ssk > 10
    assert roughness(-peak, (1, 1), RAW).ssk < -10


@pytest.mark.parametrize("pixel", [(1e-9, 1e-9), (1e-9, 3e-9)])
def test_a_tilted_plane_has_the_gradient_and_area_of_the_plane_on_any_pixel(pixel):
    y, x = np.mgrid[0:9, 0:13]
    z = 0.75 * x * pixel[0] + 0.5 * y * pixel[1]
    raw = roughness(z, pixel, RAW)
    assert raw.sdq == pytest.approx(math.hypot(0.75, 0.5), rel=1e-12)
    assert raw.sdr == pytest.approx(math.sqrt(1 + 0.75**2 + 0.5**2) - 1, rel=1e-12)
    level = roughness(z, pixel, PLANE)
    assert level.sq_m < 1e-23
    assert level.sdr < 1e-20
    assert math.isnan(level.ssk)
    assert math.isnan(level.sku)


def test_the_area_ratio_of_a_smooth_surface_keeps_its_digits():
    result = roughness(waves(amplitude=1e-14), PIXEL, RAW)
    assert result.sdr == pytest.approx(result.sdq**2 / 2, rel=2e-3)
    assert 0 < result.sdr < 1e-11


def test_a_constant_frame_is_smooth_and_its_shape_undefined():
    result = roughness(np.full((10, 10), -5.076e-6), PIXEL, RAW)
    assert result.sq_m < 1e-20
    assert (result.sdq, result.sdr) == (0, 0)
    assert math.isnan(result.ssk)
    assert math.isnan(result.sku)


def test_the_smallest_frames():
    result = roughness(np.array([[0.0, 1.0], [1.0, 0.0]]) * 1e-9, PIXEL, RAW)
    assert (result.sa_m, result.sq_m) == (pytest.approx(0.5e-9), pytest.approx(0.5e-9))
    assert result.sdr > 0
    line = roughness(np.array([[0.0, 1.0, 0.0]]) * 1e-9, PIXEL, RAW)
    assert line.sdq == pytest.approx(0.25)
    assert math.isnan(line.sdr)
    point = roughness(np.array([[1e-9]]), PIXEL, RAW)
    assert point.sa_m == 0
    assert math.isnan(point.sdq)


def test_an_unfinished_frame_is_measured_on_its_lines():
    z = np.random.default_rng(2).normal(size=(20, 16))
    part = z.copy()
    part[12:] = np.nan
    for levelling in (RAW, PLANE, ROWS):
        whole, cut = roughness(z[:12], (1, 1), levelling), roughness(part, (1, 1), levelling)
        for name in ("sa_m", "sq_m", "ssk", "sku", "sdq", "sdr"):
            assert getattr(cut, name) == pytest.approx(getattr(whole, name), rel=1e-9), name
        assert cut.samples == 12 * 16


def test_a_mask_leaves_out_what_it_masks():
    z = np.random.default_rng(2).normal(size=(20, 16))
    dirty, where = z.copy(), np.ones(z.shape, bool)
    dirty[3:6, 4:9], where[3:6, 4:9] = 1e6, False
    assert roughness(dirty, (1, 1), PLANE, where) == roughness(np.where(where, z, np.nan), (1, 1), PLANE)
    assert roughness(dirty, (1, 1), PLANE, where).sdq < 10


@given(
    seed=st.integers(0, 2**32 - 1),
    levelling=st.sampled_from([RAW, PLANE, ROWS, Levelling("polynomial", 3)]),
    scale=st.floats(1e-3, 1e3),
    offset=st.floats(-1e3, 1e3),
)
@settings(max_examples=60, deadline=None)
def test_the_invariants_of_the_definitions(seed, levelling, scale, offset):
    z = np.random.default_rng(seed).normal(size=(8, 9))
    one = roughness(z, (1, 2), levelling)
    assert 0 <= one.sa_m <= one.sq_m * (1 + 1e-12)
    assert one.sku >= 1 + one.ssk**2 - 1e-9  # Pearson's inequality
    assert one.sdr >= 0
    moved = roughness(z + offset, (1, 2), levelling)
    assert (moved.sa_m, moved.sq_m) == (pytest.approx(one.sa_m, rel=1e-9), pytest.approx(one.sq_m, rel=1e-9))
    scaled = roughness(z * scale, (scale, 2 * scale), levelling)
    assert (scaled.sa_m, scaled.sq_m) == (pytest.approx(scale * one.sa_m), pytest.approx(scale * one.sq_m))
    for name in ("ssk", "sku", "sdq", "sdr"):
        assert getattr(scaled, name) == pytest.approx(getattr(one, name), rel=1e-7, abs=1e-9), name
    flipped = roughness(-z, (1, 2), levelling)
    assert (flipped.ssk, flipped.sku) == (pytest.approx(-one.ssk, abs=1e-9), pytest.approx(one.sku))
    y, x = np.mgrid[0:8, 0:9]
    if levelling != RAW:
        assert roughness(z + 5 * x - 2 * y, (1, 2), levelling).sq_m == pytest.approx(one.sq_m, rel=1e-9)


def test_a_frame_without_samples_is_an_error():
    with pytest.raises(AnalysisError, match="0 usable samples"):
        roughness(np.full((4, 4), np.nan), PIXEL)
    with pytest.raises(AnalysisError, match="0 usable samples"):
        roughness(np.zeros((4, 4)), PIXEL, PLANE, np.zeros((4, 4), bool))
    with pytest.raises(AnalysisError, match="positive width"):
        roughness(np.zeros((4, 4)), (1e-9, float("nan")))
