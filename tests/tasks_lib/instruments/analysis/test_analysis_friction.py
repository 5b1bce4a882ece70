"""Friction: half the difference, volts until a calibration is given, and where it comes from."""

from __future__ import annotations

import dataclasses
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tasks_lib.instruments.analysis import (
    AnalysisError,
    FrictionForce,
    FrictionSignal,
    LateralCalibration,
    frame_friction,
    friction,
)
from tasks_lib.instruments.frame import FRICTION, Channel, Direction, Frame, Gains, ScanSettings

CALIBRATION = LateralCalibration(newton_per_volt=2e-6, uncertainty=1e-7, source="wedge method, 2025-03-01")


def frame(unit="V", ways=tuple(Direction)):
    data = {Direction.FORWARD: np.full((4, 5), 0.5), Direction.BACKWARD: np.full((4, 5), 0.1)}
    return Frame(
        channels={(FRICTION, way): Channel(FRICTION, way, unit, data[way]) for way in ways},
        scan=ScanSettings(width_m=1e-6, height_m=1e-6, points=5, lines=4, time_per_line_s=0.1),
        gains=Gains(p=100, i=1000),
        setpoint=0.2,
        mode="Lateral Force",
        lever="ContAl-G",
        lines_done=4,
        source="a.nid",
    )


def test_offset_and_slope_coupling_cancel_and_the_friction_stays():
    rng = np.random.default_rng(0)
    coupling, true = rng.normal(size=(16, 20)), rng.uniform(0.1, 0.2, size=(16, 20))
    result = friction(3 + coupling + true, 3 + coupling - true)
    assert result.signal_v == pytest.approx(true)
    assert result.mean_v == pytest.approx(true.mean())
    assert result.samples == true.size
    assert result.unit == "V"


@given(st.integers(0, 2**32 - 1))
def test_exchanging_the_directions_turns_the_sign(seed):
    one, two = np.random.default_rng(seed).normal(size=(2, 6, 7))
    first, second = friction(one, two), friction(two, one)
    assert np.array_equal(first.signal_v, -second.signal_v)
    assert (first.mean_v, first.standard_error_v) == (
        pytest.approx(-second.mean_v, abs=1e-15),
        pytest.approx(second.standard_error_v),
    )


def test_volts_carry_no_newtons_and_newtons_carry_their_calibration():
    signal = friction(np.full((4, 5), 0.3) + 0.01 * np.arange(4)[:, None], np.full((4, 5), 0.1))
    assert not [one.name for one in dataclasses.fields(FrictionSignal) if one.name.endswith("_n")]
    force = signal.calibrated(CALIBRATION)
    assert isinstance(force, FrictionForce)
    assert (force.unit, force.calibration) == ("N", CALIBRATION)
    assert force.mean_n == pytest.approx(2e-6 * signal.mean_v)
    assert force.standard_error_n == pytest.approx(2e-6 * signal.standard_error_v)
    assert force.uncertainty_n == pytest.approx(math.hypot(force.standard_error_n, 1e-7 * signal.mean_v))
    assert force.force_n == pytest.approx(2e-6 * signal.signal_v)


def test_the_standard_error_is_that_of_lines_and_not_of_samples():
    lines = np.random.default_rng(1).normal(size=(400, 1)) * np.ones((1, 50))
    assert friction(2 * lines, 0 * lines).standard_error_v == pytest.approx(1 / math.sqrt(400), rel=0.15)
    assert math.isnan(friction(lines[:1], lines[:1]).standard_error_v)


def test_one_line_has_the_uncertainty_of_the_calibration_left():
    force = friction(np.full((1, 5), 0.3), np.full((1, 5), 0.1)).calibrated(CALIBRATION)
    assert force.uncertainty_n == pytest.approx(1e-7 * 0.1)


def test_a_mask_and_unscanned_lines_leave_samples_out():
    forward, backward = np.full((6, 4), 0.4), np.zeros((6, 4))
    forward[3:] = np.nan
    where = np.ones((6, 4), bool)
    where[0] = False
    forward[0] = 99
    result = friction(forward, backward, where)
    assert (result.mean_v, result.samples) == (pytest.approx(0.2), 8)
    assert np.isnan(result.signal_v[[0, 3, 4, 5]]).all()


def test_a_frame_gives_its_lateral_channel():
    assert frame_friction(frame()).mean_v == pytest.approx(0.2)
    with pytest.raises(AnalysisError, match=r"a\.nid has no channel Friction force backward"):
        frame_friction(frame(ways=(Direction.FORWARD,)))
    with pytest.raises(AnalysisError, match="is in 'N'; a friction signal is in volts"):
        frame_friction(frame(unit="N"))


@pytest.mark.parametrize(
    ("factor", "uncertainty", "source"),
    [(0, 0, "x"), (-1, 0, "x"), (math.nan, 0, "x"), (1, -1, "x"), (1, math.inf, "x"), (1, 0, "  ")],
)
def test_a_calibration_is_positive_and_traceable(factor, uncertainty, source):
    with pytest.raises(AnalysisError, match="calibration"):
        LateralCalibration(factor, uncertainty, source)


def test_nothing_to_average_is_an_error():
    with pytest.raises(AnalysisError, match="0 usable samples"):
        friction(np.zeros((3, 3)), np.zeros((3, 3)), np.zeros((3, 3), bool))
    with pytest.raises(AnalysisError, match="one shape"):
        friction(np.zeros((3, 3)), np.zeros((3, 4)))
