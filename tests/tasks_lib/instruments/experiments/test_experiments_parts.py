"""The parts: lines through points, edges in images, places in scanner coordinates, means and verdicts."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tasks_lib.instruments.experiments import ExperimentError, Report, Verdict
from tasks_lib.instruments.experiments.edge import find_edge
from tasks_lib.instruments.experiments.geometry import scanner_place, zoom
from tasks_lib.instruments.experiments.regression import line_by_bands, weighted_line
from tasks_lib.instruments.experiments.report import Finding, Quantity, mean_of
from tasks_lib.instruments.frame import ScanSettings


def test_a_weighted_line_is_that_of_numpy():
    chance = np.random.default_rng(3)
    x, errors = chance.uniform(0, 5, 9), chance.uniform(0.1, 0.4, 9)
    y = 2 * x - 1 + errors * chance.standard_normal(9)
    found = weighted_line(x, y, errors)
    (slope, intercept), covariance = np.polyfit(x, y, 1, w=1 / errors, cov="unscaled")
    widened = max(1.0, found.birge) ** 2
    assert (found.slope, found.intercept) == pytest.approx((slope, intercept))
    assert found.slope_error**2 == pytest.approx(widened * covariance[0, 0])
    assert found.intercept_error**2 == pytest.approx(widened * covariance[1, 1])
    assert found.covariance == pytest.approx(widened * covariance[0, 1])
    assert found.at(2.0)[1] ** 2 == pytest.approx(
        widened * (covariance[1, 1] + 4 * covariance[0, 1] + 4 * covariance[0, 0])
    )


def test_points_off_the_line_widen_its_errors():
    straight = weighted_line([0, 1, 2, 3], [0, 1, 2, 3], [0.1] * 4)
    crooked = weighted_line([0, 1, 2, 3], [0, 1.5, 1.5, 3], [0.1] * 4)
    assert straight.birge == pytest.approx(0, abs=1e-9)
    assert crooked.birge > 1
    assert crooked.slope_error == pytest.approx(crooked.birge * straight.slope_error)


def test_the_error_of_a_root_is_that_of_many_lines():
    chance = np.random.default_rng(0)
    x, errors = np.array([1.0, 2.0, 3.0, 4.0]), np.full(4, 0.05)
    roots = [weighted_line(x, x - 0.5 + errors * chance.standard_normal(4), errors).root()[0] for _ in range(600)]
    exact = weighted_line(x, x - 0.5, errors)
    assert exact.root()[0] == pytest.approx(0.5)
    assert np.std(roots) == pytest.approx(exact.root()[1], rel=0.12)


def test_what_bands_share_from_point_to_point_is_not_averaged_away():
    chance = np.random.default_rng(1)
    x = np.array([1.0, 2.0, 3.0])
    # Each band has a slope of its own, and no noise at all.
    slopes = 1 + 0.1 * chance.standard_normal(16)
    found = line_by_bands(x, x[:, None] * slopes)
    assert found.slope == pytest.approx(slopes.mean())
    assert found.slope_error == pytest.approx(slopes.std(ddof=1) / 4)
    assert found.intercept_error < 1e-9
    assert found.coverage > 2


@pytest.mark.parametrize(
    ("x", "errors", "why"),
    [([1.0], [1.0], "two places"), ([1.0, 1.0], [1.0, 1.0], "two places"), ([1.0, 2.0], [1.0, 0.0], "above 0")],
)
def test_no_line_without_points_or_errors(x, errors, why):
    with pytest.raises(ExperimentError, match=why):
        weighted_line(x, x, errors)


def test_no_root_of_a_line_that_may_be_level():
    with pytest.raises(ExperimentError, match="may be none"):
        weighted_line([0, 1], [1.0, 1.1], [0.5, 0.5]).root()


@settings(max_examples=25, deadline=None)
@given(
    angle=st.floats(-89, 90), offset=st.floats(-0.3, 0.3), height=st.floats(0.3e-9, 3e-9), down=st.booleans(),
    tilt=st.floats(-1e-2, 1e-2),
)  # fmt: skip
def test_an_edge_is_found_at_any_angle_on_any_tilt(angle, offset, height, down, tilt):
    side, size = 48, 1e-6
    axis = (np.arange(side) + 0.5) / side * size - size / 2
    x, y = np.meshgrid(axis, axis)
    turn = math.radians(angle)
    along = x * math.cos(turn) + y * math.sin(turn) - offset * size
    height = -height if down else height
    z = height * (along > 0) + tilt * x - 0.5 * tilt * y + 300 * x * y
    z = z + 0.03e-9 * np.random.default_rng(0).standard_normal(z.shape)
    found = find_edge(z, (size / side, size / side), "here")
    nearest = np.array(found.nearest()) - offset * size * np.array([math.cos(turn), math.sin(turn)])
    assert np.hypot(*nearest) < 1.5 * size / side
    turned = (found.angle_deg - angle + 90) % 180 - 90
    assert abs(turned) < 3
    flipped = math.cos(math.radians(found.angle_deg - angle)) < 0
    assert found.height_m * (-1 if flipped else 1) == pytest.approx(height, rel=0.1)


SCAN = ScanSettings(
    width_m=4e-6, height_m=2e-6, points=64, lines=32, time_per_line_s=0.1, center_x_m=1e-6, center_y_m=-2e-6,
    rotation_deg=90,
)  # fmt: skip


def test_a_turned_frame_has_its_right_end_up():
    assert scanner_place(SCAN, (2e-6, 1e-6)) == pytest.approx((1e-6, -2e-6))
    assert scanner_place(SCAN, (4e-6, 1e-6)) == pytest.approx((1e-6, 0.0))
    assert scanner_place(SCAN, (2e-6, 2e-6)) == pytest.approx((0.0, -2e-6))


def test_a_zoom_holds_the_box_with_its_margin():
    values = zoom(SCAN, (3e-6, 0.5e-6, 4e-6, 1e-6), 1.5)
    assert values["width_m"] == values["height_m"] == pytest.approx(1.5e-6)
    assert (values["center_x_m"], values["center_y_m"]) == pytest.approx((1.25e-6, -0.5e-6))


def test_the_factor_of_a_mean_is_students_until_a_shared_uncertainty_outweighs_the_scatter():
    alone = mean_of("x", [1.0, 2.0, 3.0], "m", "three")
    assert alone.value == 2
    assert alone.uncertainty == pytest.approx(1 / math.sqrt(3))
    assert alone.coverage == pytest.approx(4.3027, abs=1e-4)
    shared = mean_of("x", [1.0, 2.0, 3.0], "m", "three", also=20)
    assert shared.coverage == pytest.approx(1.96, abs=0.01)
    with pytest.raises(ValueError, match="two observations"):
        mean_of("x", [1.0], "m", "one")


def test_a_mean_covers_what_it_should():
    chance = np.random.default_rng(2)
    draws = [mean_of("x", list(chance.standard_normal(4)), "m", "four") for _ in range(1000)]
    assert 0.93 < np.mean([abs(one.value) <= one.expanded for one in draws]) < 0.97


def quantity(**fields):
    return Quantity(**{"name": "x", "value": 1.0, "unit": "m", "uncertainty": 0.1, "basis": "test"} | fields)


def test_a_report_is_judged_by_all_that_has_a_truth():
    report = Report(
        experiment="e",
        quantities=(quantity(), quantity(name="y")),
        findings=(Finding(name="n", value=2, basis="counted"),),
        frames=(),
    )
    assert report.verdict is Verdict.NO_TRUTH
    assert report.against({"x": 1.19, "n": 2}).verdict is Verdict.AGREES
    assert report.against({"x": 1.21, "n": 2}).verdict is Verdict.DISAGREES
    assert report.against({"x": 1.0, "n": 3}).verdict is Verdict.DISAGREES
    judged = report.against({"x": 1.0})
    assert judged.quantity("y").verdict is Verdict.NO_TRUTH
    assert Report.from_json(judged.to_json()) == judged
    with pytest.raises(KeyError, match="it has: x, y"):
        judged.quantity("z")
