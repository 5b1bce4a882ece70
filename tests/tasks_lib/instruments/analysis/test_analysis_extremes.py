"""Numbers that no instrument measures and options that are none are refused in words, before they cost anything."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import pytest

from tasks_lib.instruments.analysis import (
    PLANE,
    AnalysisError,
    Levelling,
    analyse_indent,
    count_layers,
    find_flakes,
    grid_pitch,
    level,
    profile,
    roughness,
    segment,
    step_height,
    step_height_by_line,
    tilt,
    trace_retrace_shift,
    trace_retrace_similarity,
)

Z = np.random.default_rng(2).normal(size=(32, 32)) * 1e-9
PIXEL = (1e-9, 1e-9)
ON = Z > 0


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize(
    "measure",
    [
        lambda z: level(z, PLANE),
        lambda z: roughness(z, PIXEL, PLANE),
        lambda z: trace_retrace_similarity(z, z),
        lambda z: trace_retrace_shift(z, z, 1e-9),
        step_height,
        step_height_by_line,
        lambda z: segment(z, PIXEL),
        lambda z: grid_pitch(z, PIXEL),
        lambda z: analyse_indent(z, PIXEL),
    ],
)
def test_a_sample_beyond_any_measurement_is_named(measure: Callable) -> None:
    z = Z.copy()
    z[3, 4] = -1e300
    with pytest.raises(AnalysisError, match=r"holds 1e\+300, beyond"):
        measure(z)


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("pixel", [(1e-320, 1e-9), (1e-9, 1e300), (math.nan, 1e-9), (1e-9,), (1, 2, 3), "ab", None])
@pytest.mark.parametrize(
    "measure",
    [
        lambda pixel: tilt(Z, pixel),
        lambda pixel: roughness(Z, pixel, PLANE),
        lambda pixel: segment(Z, pixel),
        lambda pixel: grid_pitch(Z, pixel),
        lambda pixel: profile(Z, pixel, (0, 0), (1e-9, 1e-9)),
    ],
)
def test_a_pixel_that_is_none_is_named(measure: Callable, pixel: object) -> None:
    with pytest.raises(AnalysisError, match="a pixel has a"):
        measure(pixel)


@pytest.mark.parametrize(
    ("measure", "rule"),
    [
        (lambda: Levelling("polynomial", 1.5), "the degree of a levelling is a whole number from 0 to 8; it is 1.5"),
        (lambda: Levelling("rows", math.nan), "the degree of a levelling"),
        (lambda: Levelling("rows", 10**6), "the degree of a levelling"),
        (lambda: step_height_by_line(Z, degree=-1), "the degree of a line"),
        (lambda: step_height_by_line(Z, guard=1.5), "the guard of a step"),
        (lambda: step_height(Z, guard=-1), "the guard of a step"),
        (lambda: find_flakes(Z, PIXEL, guard=-1), "the guard of a flake"),
        (lambda: trace_retrace_similarity(Z, Z, window=7.0), "the window of the similarity"),
        (lambda: trace_retrace_similarity(Z, Z, window=math.nan), "the window of the similarity"),
        (lambda: trace_retrace_shift(Z, Z, math.inf), "a pixel has a positive width"),
        (lambda: trace_retrace_shift(Z, Z, 1e-9, most=math.nan), "the largest displacement"),
        (lambda: segment(Z, PIXEL, threshold_m=math.nan), "a threshold in m is a finite number"),
        (lambda: count_layers(Z, ON, ~ON, layer_m=1e-320), "the height of a layer"),
        (lambda: count_layers(Z, ON, ~ON, first_layer_offset_m=math.inf), "the offset of the first layer"),
        (lambda: profile(Z, PIXEL, (0, 0), (1e-9, 1e-9), samples=10**9), "2 to 100000 samples"),
        (lambda: profile(Z, PIXEL, (0, 0), (1e-9, 1e-9), width_m=1.0), "the frame's diagonal"),
    ],
)
def test_an_option_that_is_none_is_named(measure: Callable, rule: str) -> None:
    with pytest.raises(AnalysisError, match=rule):
        measure()


@pytest.mark.filterwarnings("ignore:invalid value:RuntimeWarning")
def test_heights_too_small_to_be_squared_have_no_similarity() -> None:
    with pytest.raises(AnalysisError, match="too little to be squared"):
        trace_retrace_similarity(Z * 1e-180, Z * 1e-180)
