"""The XPS inputs: what criteria want is the generator's truth, and an independent fit of the counts finds it again."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.optimize import curve_fit

from infra.inputs import xps_fits, xps_regions
from infra.inputs.spectra import Line, axis, profile, shirley
from tasks_lib.taskdefs import load_task

ROOT = Path(__file__).parents[2] / "taskdefs" / "mattoolbench" / "xps"
FILES = xps_regions.files() | xps_fits.files()


def _want(task: str, criterion: str) -> Any:
    found = {entry.id: entry for entry in load_task(ROOT / task).task.criteria}
    return found[criterion].compares.want


def _mean(path: str, low: float = -np.inf, high: float = np.inf) -> float:
    x, y = xps_regions.columns(FILES[path])
    return float(y[(x >= low - 1e-9) & (x <= high + 1e-9)].mean())


def _without_shirley(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Shirley's rule by fixed-point iteration from the end channels."""
    background = np.full_like(y, y[0])
    for _ in range(60):
        background = shirley(x, y - background, float(y[0]), float(y[-1]))
    return y - background


def _fitted(x: np.ndarray, y: np.ndarray, start: Line) -> Line:
    best, _ = curve_fit(
        lambda x, *values: profile(x, (Line(*values),)), x, y, p0=(start.centre, start.height, start.fwhm)
    )
    return Line(*best)


@pytest.mark.parametrize(
    ("task", "criterion", "mean"),
    [
        ("import-region", "sputtered-counts", ("import-region/inputs/c1s_sputtered.xy", 284.0, 285.6)),
        ("duplicate-survey", "copy-of-spot-1", ("duplicate-survey/inputs/survey.xy", 525, 540)),
        ("offset-copy", "original-kept", ("offset-copy/inputs/c1s.xy",)),
        ("offset-copy", "copy-raised", ("offset-copy/gold/c1s_raised.xy",)),
        ("smooth-survey", "original-kept", ("smooth-survey/inputs/survey.xy", 530, 534)),
        ("smooth-survey", "copy-smoothed", ("smooth-survey/gold/survey_smooth.xy", 530, 534)),
        ("stacked-oxide-growth", "spectra-in-order", ("stacked-oxide-growth/inputs/si_30min.xy", 103, 104)),
    ],
)
def test_means_that_are_wanted_are_those_of_the_files(task: str, criterion: str, mean: tuple[Any, ...]) -> None:
    assert _want(task, criterion) == pytest.approx(_mean(*mean), abs=0.006)


def test_wanted_positions_heights_and_areas_are_the_truth() -> None:
    doublet = (xps_fits.TITANIUM_3_2, xps_fits.TITANIUM_1_2)
    assert _want("ti2p-constrained", "positions") == pytest.approx([line.centre for line in doublet])
    assert _want("ti2p-constrained", "widths") == pytest.approx([line.fwhm for line in doublet])
    assert _want("ti2p-constrained", "areas") == pytest.approx([line.area for line in doublet], abs=0.5)
    assert doublet[0].area == pytest.approx(2 * doublet[1].area)
    oxygen = xps_fits.COMPARED_O1S
    assert _want("one-or-two-components", "positions-of-two") == [line.centre for line in oxygen]
    assert _want("one-or-two-components", "areas-of-two") == pytest.approx([line.area for line in oxygen], abs=0.5)
    assert _want("automatic-peak", "position") == [xps_regions.SINGLE_ZN.centre]
    assert _want("automatic-peak", "fitted-model") == [xps_regions.SINGLE_ZN.height]
    assert _want("active-range", "line-fitted") == [xps_regions.RANGE_C1S.centre]
    assert _want("report-of-session", "peaks-of-day-2") == [line.centre for line in xps_regions.MODEL_DAYS["n1s_day2"]]


def test_the_composition_is_that_of_the_areas() -> None:
    others = [list(row.values()) for row in _want("atomic-percent", "shares-of-the-others")]
    assert [[*_want("atomic-percent", "carbon-share"), *row] for row in others] == [list(xps_fits.PERCENT.values())]
    assert sum(xps_fits.PERCENT.values()) == pytest.approx(100)
    names = {"c1s": "carbon-area", "n1s": "nitrogen-area", "o1s": "oxygen-area"}
    for name, criterion in names.items():
        assert _want("atomic-percent", criterion) == [pytest.approx(xps_fits.nylon(name).area, abs=0.5)]


def test_spans_and_shifts_that_are_wanted_are_those_of_the_generator() -> None:
    spans = [end for _, span, _ in xps_regions.FOUR.values() for end in span[:2]]
    assert _want("import-four-regions", "order-of-regions") == spans == sorted(spans)
    shifted = np.array([526.0, 540.0]) - xps_regions.KNOWN_SHIFT
    assert _want("known-charge-shift", "axis-in-session") == pytest.approx(shifted)
    assert _want("active-range", "active-interval") == list(xps_regions.RANGE_LIMITS)
    low, high, step = xps_regions.RANGE_SPAN
    assert _want("active-range", "points-kept") == len(axis(low, high, step))
    assert _want("shirley-in-own-slot", "background-beside-data") == xps_regions.SHIRLEY_HIGH
    x = axis(*xps_regions.LINE_SPAN)
    inside = (x >= 22.4 - 1e-9) & (x <= 24.4 + 1e-9)
    line = profile(x, xps_regions.LINE_PEAK)[inside].mean()
    assert _want("linear-background", "line-kept") == pytest.approx(line, abs=0.05)


@pytest.mark.parametrize(("criterion", "lines"), [("report-of-one", 1), ("report-of-two", 2)])
def test_goodness_of_fit_is_scipys_minimum(criterion: str, lines: int) -> None:
    residual, freedom = xps_fits.weighted_residual(xps_fits.compared(), xps_fits.COMPARED_O1S[:lines])
    assert _want("one-or-two-components", criterion) == pytest.approx(residual, abs=0.006)
    assert (residual / freedom < 1.2) == (lines == 2)


@pytest.mark.parametrize("name", list(xps_fits.FACTORS))
def test_a_fit_behind_shirleys_rule_finds_the_amounts(name: str) -> None:
    x, y = xps_regions.columns(FILES[f"atomic-percent/inputs/{name}.xy"])
    truth = xps_fits.nylon(name)
    found = _fitted(x, _without_shirley(x, y), truth)
    assert found.area == pytest.approx(truth.area, rel=0.04)
    assert found.centre == pytest.approx(truth.centre, abs=0.02)


def test_a_moving_average_repeats_the_end_channels() -> None:
    smooth = xps_regions.moving_average(np.array([10.0, 0.0, 0.0, 0.0, 5.0, 0.0]), 5)
    assert smooth == pytest.approx([6.0, 4.0, 3.0, 1.0, 1.0, 1.0])


def test_surveys_of_two_spots_differ_in_their_noise_alone() -> None:
    first = xps_regions.columns(FILES["duplicate-survey/inputs/survey.xy"])[1]
    second = xps_regions.columns(FILES["duplicate-survey/inputs/survey_spot2.xy"])[1]
    assert not np.array_equal(first, second)
    assert first.sum() == pytest.approx(second.sum(), rel=0.001)


def test_each_region_has_noise_of_its_own() -> None:
    regions = [data for path, data in FILES.items() if "/inputs/" in path and path.endswith(".xy")]
    assert len(set(regions)) == len(regions)
