"""Frame validity: every way a frame is no measurement has its own finding."""

from __future__ import annotations

import numpy as np
import pytest

from tasks_lib.instruments.analysis import AnalysisError, frame_validity
from tasks_lib.instruments.frame import DEFLECTION, Z_AXIS, Channel, Direction, Frame, Gains, ScanSettings


def frame(*, lines_done=16, engaged=None, setpoint=0.2, unit="V", direction="up", **changes):
    rng = np.random.default_rng(0)
    data = {(Z_AXIS, way): 1e-8 * rng.normal(size=(16, 20)) - 1e-6 for way in Direction} | {
        (DEFLECTION, way): 0.2 + 1e-3 * rng.normal(size=(16, 20)) for way in Direction
    }
    for name, values in changes.items():
        kind, way = name.split("_")
        data[{"z": Z_AXIS, "deflection": DEFLECTION}[kind], Direction(way)] = values
    units = {Z_AXIS: "m", DEFLECTION: unit}
    return Frame(
        channels={key: Channel(*key, units[key[0]], values) for key, values in data.items()},
        scan=ScanSettings(width_m=1e-6, height_m=1e-6, points=20, lines=16, time_per_line_s=0.1, direction=direction),
        gains=Gains(p=100, i=1000), setpoint=setpoint, mode="Static Force", lever="ContAl-G",
        lines_done=lines_done, engaged=engaged, source="b.nid",
    )  # fmt: skip


def test_a_good_frame_has_no_problem():
    found = frame_validity(frame())
    assert found.valid
    assert (found.complete, found.engaged, found.constant, found.saturated) == (True, True, False, ())
    assert found.unscanned_lines == 0


@pytest.mark.parametrize("direction", ["up", "down"])
def test_an_unfinished_frame_is_judged_on_the_lines_it_has(direction):
    scanned = slice(0, 10) if direction == "up" else slice(6, 16)
    values = np.full((16, 20), -0.9)
    values[scanned] = 0.2
    found = frame_validity(frame(lines_done=10, direction=direction, deflection_forward=values))
    assert (found.complete, found.unscanned_lines, found.engaged, found.saturated) == (False, 6, True, ())
    assert "6 of 16 lines" in found.problems[0]


def test_lines_that_are_not_finite_are_not_scanned_whatever_the_counter_says():
    z = np.random.default_rng(0).normal(size=(16, 20))
    z[13:] = np.nan
    found = frame_validity(frame(z_backward=z))
    assert (found.complete, found.unscanned_lines) == (False, 3)


def test_a_frame_of_nothing():
    empty = np.full((16, 20), np.nan)
    found = frame_validity(frame(lines_done=0, z_forward=empty, z_backward=empty))
    assert not found.valid
    assert any("no finite sample" in one for one in found.problems)
    assert not found.constant


def test_a_deflection_far_from_the_setpoint_means_that_the_tip_is_off():
    away = np.full((16, 20), -0.39) + np.random.default_rng(1).normal(scale=1e-3, size=(16, 20))
    found = frame_validity(frame(deflection_forward=away))
    assert found.engaged is False
    assert any("not engaged" in one for one in found.problems)


def test_what_the_frame_says_of_itself_counts_more():
    away = np.full((16, 20), -0.39) + np.random.default_rng(1).normal(scale=1e-3, size=(16, 20))
    assert frame_validity(frame(deflection_forward=away, engaged=True)).engaged is True
    assert frame_validity(frame(engaged=False)).engaged is False


@pytest.mark.parametrize("changes", [{"unit": "N"}, {"setpoint": 0.0}])
def test_where_nothing_tells_the_engagement_is_unknown_and_not_held_against_the_frame(changes):
    found = frame_validity(frame(**changes))
    assert found.engaged is None
    assert found.valid


def test_a_constant_height_is_a_piezo_at_its_stop():
    stop = np.full((16, 20), -5.0759999527260665e-06)
    stop[3, 4] = np.nextafter(stop[3, 4], 0)
    found = frame_validity(frame(z_forward=stop))
    assert (found.constant, found.engaged) == (True, False)
    assert any("constant" in one for one in found.problems)


def test_a_signal_cut_off_at_a_limit_is_saturated_and_named():
    z = np.random.default_rng(2).normal(size=(16, 20))
    found = frame_validity(frame(z_backward=np.minimum(z, 1.0)))
    assert found.saturated == ("Z-Axis backward",)
    assert "Z-Axis backward ran into a limit" in found.problems[0]
    assert frame_validity(frame(z_backward=z)).saturated == ()


def test_a_frame_without_height_is_an_error():
    with pytest.raises(AnalysisError, match="no channel Height; it has: Deflection, Z-Axis"):
        frame_validity(frame(), "Height")
