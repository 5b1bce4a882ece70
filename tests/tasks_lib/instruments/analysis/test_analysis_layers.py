"""Layers of graphene: flakes of known thickness on a tilted, noisy substrate."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tasks_lib.instruments.analysis import GRAPHENE_LAYER_M, ROWS, AnalysisError, count_layers, find_flakes

PIXEL = (20e-9, 20e-9)


def flake_frame(layers=(3,), *, seed=0, shape=(80, 96), noise=0.05e-9, tilt=60e-9, offset=0.0, drift=0.0):
    """Square flakes side by side; thickness in layers."""
    rng = np.random.default_rng(seed)
    y, x = np.mgrid[0 : shape[0], 0 : shape[1]]
    z = tilt * (x / shape[1] - 0.6 * y / shape[0])
    masks = []
    for number, count in enumerate(layers):
        mask = np.zeros(shape, bool)
        mask[30:55, 8 + 22 * number : 24 + 22 * number] = True
        z = z + mask * (count * GRAPHENE_LAYER_M + (offset if count else 0))
        masks.append(mask)
    return z + rng.normal(scale=noise, size=shape) + rng.normal(size=(shape[0], 1)) * drift, masks


@given(layers=st.integers(1, 300), seed=st.integers(0, 1000))
@settings(max_examples=40, deadline=None)
def test_the_layers_of_a_flake_are_counted_against_the_substrate(layers, seed):
    z, (mask,) = flake_frame((layers,), seed=seed)
    result = count_layers(z, mask, ~mask)
    assert (result.layers, result.low_layers, result.high_layers) == (layers, layers, layers)
    assert result.low_m <= result.thickness_m <= result.high_m
    assert result.uncertainty_m < 0.02e-9


def test_the_spread_shows_a_step_within_the_flake():
    z, (mask,) = flake_frame((2,))
    z[42:55, 8:24] += 3 * GRAPHENE_LAYER_M
    result = count_layers(z, mask, ~mask)
    assert (result.low_layers, result.high_layers) == (2, 5)


def test_an_offset_of_the_first_layer_is_taken_off_where_it_is_known():
    z, (mask,) = flake_frame((2,), offset=0.5e-9)
    assert count_layers(z, mask, ~mask).layers != 2
    known = count_layers(z, mask, ~mask, first_layer_offset_m=0.5e-9)
    assert (known.layers, known.exact_layers) == (2, pytest.approx(2, abs=0.1))


def test_lines_that_drift_are_levelled_by_the_substrate_beside_the_flake():
    z, (mask,) = flake_frame((2,), drift=2e-9)
    assert count_layers(z, mask, ~mask, ROWS).layers == 2


def test_all_flakes_are_found_thinnest_first():
    z, masks = flake_frame((4, 1, 10))
    flakes = find_flakes(z, PIXEL)
    assert [one.count.layers for one in flakes] == [1, 4, 10]
    assert (flakes[0].mask & masks[1]).sum() > 0.95 * masks[1].sum()
    x, y = flakes[0].grain.center_m
    assert (x, y) == (pytest.approx(38 * PIXEL[0], abs=PIXEL[0]), pytest.approx(42.5 * PIXEL[1], abs=PIXEL[1]))


def test_a_bare_substrate_has_no_flake():
    z, _ = flake_frame(())
    assert find_flakes(z, PIXEL) == ()
    assert find_flakes(np.full((10, 10), 1e-7), PIXEL) == ()


def test_an_unfinished_frame_shows_the_flakes_it_holds():
    z, _ = flake_frame((4, 1))
    z[50:] = np.nan
    assert [one.count.layers for one in find_flakes(z, PIXEL)] == [1, 4]


def test_one_line_of_a_flake_has_no_uncertainty():
    z, (mask,) = flake_frame((5,))
    one = mask & (np.arange(80)[:, None] == 40)
    result = count_layers(z, one, ~mask)
    assert result.layers == 5
    assert math.isnan(result.uncertainty_m)


def test_a_hollow_has_no_layers_and_keeps_its_sign():
    z, (mask,) = flake_frame((2,))
    result = count_layers(-z, mask, ~mask)
    assert result.layers == 0
    assert result.thickness_m < 0


@pytest.mark.parametrize(
    ("flake", "substrate", "keys", "words"),
    [
        (np.zeros((80, 96), bool), np.ones((80, 96), bool), {}, "the flake has 0 usable"),
        (np.ones((80, 96), bool), np.zeros((80, 96), bool), {}, "the substrate has 0 usable"),
        (np.ones((80, 96), bool), np.ones((80, 96), bool), {}, "flake and substrate at once"),
        (np.eye(80, 96, dtype=bool), np.eye(80, 96, 1, dtype=bool), {"layer_m": 0.0}, "height of a layer"),
        (np.arange(80)[:, None] * np.ones(96) < 5, np.arange(80)[:, None] * np.ones(96) > 9, {"by": 1}, "no line of"),
    ],
)
def test_what_cannot_be_counted_is_an_error(flake, substrate, keys, words):
    z, _ = flake_frame()
    levelling = [ROWS] if keys.pop("by", 0) else []
    with pytest.raises(AnalysisError, match=words):
        count_layers(z, flake, substrate, *levelling, **keys)
