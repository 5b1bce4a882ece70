"""The simulated microscope: seeds, what it refuses, and what the tip does when all is well and when it is not."""

from __future__ import annotations

import hashlib
import subprocess
import sys
from dataclasses import replace

import numpy as np
import pytest
from pydantic import ValidationError

from tasks_lib.instruments.frame import (
    AMPLITUDE,
    DEFLECTION,
    FRICTION,
    PHASE,
    Z_AXIS,
    Z_SENSOR,
    Direction,
    Frame,
    Gains,
    ScanSettings,
)
from tasks_lib.instruments.twin import DRIVE, DYNAMIC, FLEX, LATERAL, STATIC, Microscope, Progress, TwinError, samples
from tasks_lib.records.errors import ConfigurationError

MULTI = "Multi75Al-G"
GAINS = Gains(p=50, i=4000)
STEP = ScanSettings(width_m=1e-6, height_m=1e-6, points=64, lines=6, time_per_line_s=0.1)


def quiet(preset=DRIVE, **changes):
    """A preset without noise, drift, lag and hysteresis, so that what is left can be compared to its formula."""
    still = dict.fromkeys(
        (
            "deflection_noise_m",
            "sensor_noise_m",
            "lateral_noise_v",
            "hum_m",
            "hysteresis",
            "lag_s",
            "creep",
            "z_hysteresis_m",
        ),
        0.0,
    )
    return replace(preset, **still | {"drift_m_per_s": (0.0, 0.0, 0.0)} | changes)


def digest(frame: Frame) -> str:
    whole = hashlib.sha256()
    for key in sorted(frame.channels):
        whole.update(frame.channels[key].data.tobytes())
    return whole.hexdigest()


ELSEWHERE = """
import hashlib, sys
from tasks_lib.instruments.frame import Gains, ScanSettings
from tasks_lib.instruments.twin import FLEX, Microscope, samples
scope = Microscope(samples.nanoparticles(seed=4), FLEX, "Multi75Al-G", seed=9)
scan = ScanSettings(
    width_m=3e-6, height_m=3e-6, points=64, lines=5, time_per_line_s=0.05, rotation_deg=20, overscan_percent=5)
for _ in range(2):
    frame = scope.scan(scan, Gains(p=50, i=4000, d=3), 0.3)
whole = hashlib.sha256()
for key in sorted(frame.channels):
    whole.update(frame.channels[key].data.tobytes())
print(whole.hexdigest())
"""


class TestSeeds:
    def test_two_processes_make_the_same_bytes(self):
        seen = {
            subprocess.run([sys.executable, "-c", ELSEWHERE], capture_output=True, text=True, check=True).stdout
            for _ in range(2)
        }
        assert len(seen) == 1
        assert len(seen.pop().strip()) == 64

    def test_each_scan_of_a_session_has_its_own_noise(self):
        scope = Microscope(samples.hopg_steps(), DRIVE, MULTI, seed=1)
        first, second = (scope.scan(STEP, GAINS, 0.2) for _ in range(2))
        assert digest(first) != digest(second)
        assert first.source == "twin DRIVE, seed 1, scan 0"
        assert second.source == "twin DRIVE, seed 1, scan 1"

    def test_another_seed_makes_other_noise_on_the_same_sample(self):
        one, two = (Microscope(samples.hopg_steps(), DRIVE, MULTI, seed=seed).scan(STEP, GAINS, 0.2) for seed in (1, 2))
        difference = one.data(Z_AXIS) - two.data(Z_AXIS)
        assert 0 < np.abs(difference).max() < 0.3e-9

    def test_a_session_goes_on_in_another_microscope(self):
        sample = samples.hopg_steps()
        whole = Microscope(sample, DRIVE, MULTI, seed=5)
        moved = STEP.model_copy(update={"center_x_m": 5e-8})
        whole.scan(STEP, GAINS, 0.2)
        stands = whole.progress
        after = whole.scan(moved, GAINS, 0.2)
        again = Microscope(sample, DRIVE, MULTI, seed=5, progress=stands).scan(moved, GAINS, 0.2)
        assert digest(after) == digest(again)
        assert stands == Progress(scans=1, clock_s=pytest.approx(1.2), center_m=(0.0, 0.0))

    def test_a_scan_that_was_stopped_takes_its_number_and_its_time(self):
        scope = Microscope(samples.hopg_steps(), DRIVE, MULTI, seed=5)
        lines = scope.scan_lines(STEP, GAINS, 0.2)
        taken = [next(lines), next(lines)]
        lines.close()
        assert scope.progress.scans == 1
        assert scope.progress.clock_s == pytest.approx(0.4)
        frame = scope.gather(taken, STEP, GAINS, 0.2)
        assert (frame.lines_done, frame.complete) == (2, False)
        assert np.isfinite(frame.data(Z_AXIS)[:2]).all()
        assert np.isnan(frame.data(Z_AXIS)[2:]).all()


@pytest.fixture(scope="module")
def scope():
    return Microscope(samples.hopg_steps(size_m=1.2e-6), DRIVE, MULTI, seed=1)


class TestRefusals:
    @pytest.mark.parametrize("setpoint", [float("nan"), float("inf"), 11.0, -11.0])
    def test_a_setpoint_that_is_no_voltage(self, scope, setpoint):
        with pytest.raises(TwinError, match="setpoint in volts must"):
            scope.scan_lines(STEP, GAINS, setpoint)

    @pytest.mark.parametrize("setpoint", [0.0, 101.0, float("nan")])
    def test_a_setpoint_that_is_no_share_of_the_amplitude(self, scope, setpoint):
        with pytest.raises(TwinError, match="percent of the free amplitude"):
            scope.scan_lines(STEP, GAINS, setpoint, DYNAMIC)

    @pytest.mark.parametrize("gain", ["p", "i", "d"])
    def test_a_gain_beyond_the_range(self, scope, gain):
        gains = Gains(**{"p": 1, "i": 1, "d": 1} | {gain: 30_001})
        with pytest.raises(TwinError, match=rf"gain {gain.upper()} of DRIVE must lie in \[0, 30000\], not 30001"):
            scope.scan_lines(STEP, gains, 0.2)

    def test_a_negative_gain_and_no_lines_are_no_settings_at_all(self):
        with pytest.raises(ValidationError):
            Gains(p=0, i=-1)
        for change in ({"lines": 0}, {"points": 1}, {"width_m": float("nan")}, {"time_per_line_s": 0}):
            with pytest.raises(ValidationError):
                ScanSettings(**STEP.model_dump() | change)

    @pytest.mark.parametrize(
        ("change", "match"),
        [
            ({"width_m": 1.3e-6}, "ends at 6e-07 m"),
            ({"center_x_m": 1.5e-7}, "along x"),
            ({"center_y_m": -1.5e-7}, "along y"),
            ({"rotation_deg": 45.0}, "take a smaller scan"),
            ({"overscan_percent": 11.0}, "along x"),
            ({"center_x_m": float("nan")}, "center_x_m must be a finite number"),
            ({"rotation_deg": float("inf")}, "rotation_deg must be a finite number"),
            ({"slope_x_deg": 31.0}, "slope_x_deg must lie within ±30°"),
            ({"slope_y_deg": float("nan")}, "slope_y_deg must be a finite number"),
            ({"width_m": float("inf")}, "finite"),
            ({"time_per_line_s": 0.002}, "too short for 64 points"),
            ({"time_per_line_s": 1e6}, "too long for the twin"),
        ],
    )
    def test_a_scan_that_cannot_be(self, scope, change, match):
        before = scope.progress
        with pytest.raises(TwinError, match=match):
            scope.scan_lines(STEP.model_copy(update=change), GAINS, 0.2)
        assert scope.progress == before

    def test_names_that_are_not_there(self, scope):
        with pytest.raises(TwinError, match="Dynamic Force"):
            scope.scan_lines(STEP, GAINS, 0.2, "Tapping")
        with pytest.raises(TwinError, match="ContAl-G, Multi75Al-G"):
            Microscope(samples.hopg_steps(), DRIVE, "Multi99", seed=1)
        with pytest.raises(TwinError, match="seed"):
            Microscope(samples.hopg_steps(), DRIVE, MULTI, seed=-1)

    def test_it_is_an_error_of_what_the_user_set(self):
        assert issubclass(TwinError, ConfigurationError)


class TestContact:
    def test_the_flat_parts_show_height_force_and_friction_of_the_truth(self):
        sample = samples.hopg_steps(layers=(30,), roughness_m=0.0, direction_deg=0)
        frame = Microscope(sample, quiet(), MULTI, seed=0).scan(STEP, Gains(p=0, i=4000), 0.2)
        z, lateral = frame.data(Z_AXIS), frame.data(FRICTION) - frame.data(FRICTION, "backward")
        rise = z[:, -3:].mean() - z[:, :3].mean()
        assert rise == pytest.approx(sample.truth["step_1_height_m"], rel=1e-4)
        assert frame.data(DEFLECTION)[:, -3:] == pytest.approx(0.2, abs=1e-5)
        bend = (0.2 - DRIVE.free_deflection_v) * DRIVE.sensitivity_m_per_v
        force = 0.006 * (3.0 * bend + sample.adhesion_n)
        assert lateral[:, -3:].mean() / 2 == pytest.approx(6e4 * force, rel=1e-3)

    def test_what_trace_and_retrace_differ_by_on_a_ramp_is_the_lag_of_loop_and_scanner(self):
        # shift = 2 v (τ + 1/K), so Δz = slope · shift. Z-Axis is the drive, which is ahead of the tip by the dead time,
        # half a tick of its hold and the actuator's own 1/(Q w).
        sample = samples.rough_surface(size_m=12e-6, rms_m=1e-15, correlation_m=1e-6).mounted(tilt_x_deg=2.0)
        scan = STEP.model_copy(update={"width_m": 1e-5, "height_m": 1e-6})
        frame = Microscope(sample, quiet(lag_s=0.5e-3), MULTI, seed=0).scan(scan, Gains(p=0, i=4000), 0.2)
        speed, rate = 1e-5 / 0.1, 1.129 * 4000 * 80 / 382
        ahead = 2.5 / 25e3 + 1 / (2 * np.pi * 12e3 * 5)
        lag = np.tan(np.radians(2)) * 2 * speed * (0.5e-3 + 1 / rate - ahead)
        apart = frame.data(Z_AXIS, "backward") - frame.data(Z_AXIS)
        assert np.median(apart) == pytest.approx(lag, rel=0.002)
        error = frame.data(DEFLECTION) - 0.2
        ramp = np.tan(np.radians(2)) * speed / rate / DRIVE.sensitivity_m_per_v
        assert np.median(error) == pytest.approx(ramp, rel=0.002)

    def test_the_slope_of_the_scan_takes_the_tilt_out(self):
        sample = samples.hopg_steps(layers=(2,)).mounted(tilt_x_deg=1.0, tilt_y_deg=-0.5)
        scope = Microscope(sample, quiet(), MULTI, seed=0)
        tilted = scope.scan(STEP, GAINS, 0.2).data(Z_AXIS)
        level = scope.scan(STEP.model_copy(update={"slope_x_deg": 1.0, "slope_y_deg": -0.5}), GAINS, 0.2).data(Z_AXIS)
        assert np.ptp(tilted) > 15e-9
        assert np.ptp(level) < 2e-9

    def test_a_frame_from_above_has_the_same_rows_as_one_from_below(self):
        sample = samples.indent("Vickers", size_m=20e-6, depth_m=300e-9)
        scan = STEP.model_copy(update={"width_m": 4e-6, "height_m": 4e-6, "lines": 9})
        up, down = (
            Microscope(sample, quiet(), MULTI, seed=0).scan(scan.model_copy(update={"direction": way}), GAINS, 0.2)
            for way in ("up", "down")
        )
        assert down.data(Z_AXIS)[1:-1, 3:] == pytest.approx(up.data(Z_AXIS)[1:-1, 3:], abs=1e-9)

    def test_rotation_and_offset_show_the_sample_where_it_is(self):
        sample = samples.indent("Knoop", size_m=40e-6, depth_m=200e-9, center_m=(3e-6, -2e-6), rotation_deg=30)
        scan = ScanSettings(
            width_m=8e-6, height_m=2e-6, points=128, lines=16, time_per_line_s=0.5, rotation_deg=30,
            center_x_m=3e-6, center_y_m=-2e-6,
        )  # fmt: skip
        frame = Microscope(sample, quiet(), MULTI, seed=0).scan(scan, GAINS, 0.2)
        z = frame.data(Z_AXIS)
        row, column = np.unravel_index(z.argmin(), z.shape)
        assert abs(row - 7.5) <= 1
        assert abs(column - 63.5) <= 2
        # The long diagonal lies along the fast axis: 30.51 depths long, against 4.29 across.
        assert (z[7] < z.max() - 60e-9).sum() * 8e-6 / 128 > 3.5e-6

    def test_the_tip_widens_what_stands_out(self):
        sample = samples.nanoparticles(size_m=2e-6, count=1, radius_m=(40e-9, 40e-9), roughness_m=0.0, seed=3)
        scan = ScanSettings(width_m=1.9e-6, height_m=1.9e-6, points=256, lines=64, time_per_line_s=0.5)
        sharp, blunt = (
            Microscope(sample, quiet(), replace(_lever(), tip_radius_m=radius), seed=0).scan(scan, GAINS, 0.2)
            for radius in (1e-12, 30e-9)
        )
        seen = [(frame.data(Z_AXIS) - np.median(frame.data(Z_AXIS)) > 10e-9).sum() for frame in (sharp, blunt)]
        assert seen[1] > 1.5 * seen[0] > 0

    def test_drift_dies_out_and_creep_follows_a_move(self):
        sample = samples.hopg_steps(size_m=4e-6, layers=(30,))
        scope = Microscope(sample, quiet(creep=0.02), MULTI, seed=0)
        scan = STEP.model_copy(update={"lines": 40, "points": 256, "center_x_m": 1e-7})
        still = scope.scan(scan.model_copy(update={"center_x_m": 0.0}), GAINS, 0.2)
        crept = scope.scan(scan, GAINS, 0.2)
        assert _edge(still)[0] == pytest.approx(_edge(still)[-1], abs=40e-9)
        # 2 % of 100 nm by decade, and 8 s are 1.9 decades: some 4 nm on top of the move itself
        steps = _edge(still) - _edge(crept)
        assert steps[-1] - steps[0] == pytest.approx(2e-9 * np.log10(1 + 7.8 / 0.1), abs=1.5e-9)
        far = Microscope(sample, DRIVE, MULTI, seed=0, progress=Progress(scans=9, clock_s=1e7))
        assert far._drifted(1, 1e7) == pytest.approx(0.08e-9 * 1800)


def _lever():
    from tasks_lib.instruments.twin import LEVERS

    return LEVERS[MULTI]


def _edge(frame: Frame) -> np.ndarray:
    """Where each line crosses half of its step, in metres."""
    z = frame.data(Z_AXIS)
    middle = (z[:, :5].mean(axis=1) + z[:, -5:].mean(axis=1))[:, None] / 2
    at = np.argmax(z > middle, axis=1)
    rows = np.arange(z.shape[0])
    part = (middle[:, 0] - z[rows, at - 1]) / (z[rows, at] - z[rows, at - 1])
    return (at - 1 + part) * frame.scan.width_m / frame.scan.points


class TestTrouble:
    def test_a_tip_that_never_engaged_shows_the_frames_of_the_real_file(self):
        scope = Microscope(samples.hopg_steps(), DRIVE, MULTI, seed=1)
        frame = scope.scan(STEP, GAINS, 0.1, engaged=False)
        for way in Direction:
            assert np.unique(frame.data(Z_AXIS, way)).tolist() == [-5.076e-6]
            assert frame.data(DEFLECTION, way) == pytest.approx(-0.394, abs=0.01)
            assert np.ptp(frame.data(FRICTION, way)) < 1e-3
        assert (frame.engaged, frame.notes["contact_share"]) == (False, "0.000000")

    def test_no_contact_in_dynamic_mode_is_the_free_amplitude_at_90_degrees(self):
        frame = Microscope(samples.hopg_steps(), DRIVE, "Tap190Al-G", seed=1).scan(
            STEP, GAINS, 70, DYNAMIC, engaged=False
        )
        assert frame.data(AMPLITUDE) == pytest.approx(25 / 382, rel=0.02)
        assert frame.data(PHASE) == pytest.approx(90, abs=1)

    def test_behind_a_wall_the_tip_sinks_no_faster_than_the_saturated_error_lets_it(self):
        # The error of a free tip is the setpoint, so it falls at K s (SP - free): parachuting.
        sample = samples.calibration_grid(size_m=30e-6, depth_m=400e-9, roughness_m=0.0, edge_m=30e-9)
        scan = ScanSettings(width_m=8e-6, height_m=1e-7, points=256, lines=2, time_per_line_s=0.1)
        preset = quiet(FLEX, averaged_share=1.0)
        frame = Microscope(sample, preset, MULTI, seed=0).scan(scan, Gains(p=0, i=2000), 0.1)
        z = frame.data(Z_AXIS)[0]
        pixel_s = 0.1 / 256
        wall = int(np.argmax(np.diff(z) < -1e-9))
        falling = np.diff(z[wall + 4 : wall + 12]) / pixel_s
        assert falling == pytest.approx(-0.17 * 2000 * 0.1 * 80e-9, rel=0.02)
        assert float(frame.notes["contact_share"]) < 0.8
        assert frame.data(DEFLECTION)[0, wall + 4 : wall + 12] == pytest.approx(0.0, abs=1e-3)

    def test_in_dynamic_mode_the_error_saturates_at_the_free_amplitude(self):
        sample = samples.calibration_grid(size_m=30e-6, depth_m=400e-9, roughness_m=0.0, edge_m=30e-9)
        scan = ScanSettings(width_m=8e-6, height_m=1e-7, points=256, lines=2, time_per_line_s=0.5)
        preset = quiet(FLEX, averaged_share=1.0)
        frame = Microscope(sample, preset, "Tap190Al-G", seed=0).scan(scan, Gains(p=0, i=500), 70, DYNAMIC)
        z = frame.data(Z_AXIS)[0]
        wall = int(np.argmax(np.diff(z) < -0.5e-9))
        falling = np.diff(z[wall + 6 : wall + 20]) / (0.5 / 256)
        assert falling == pytest.approx(-0.17 * 500 * 0.3 * 25e-9, rel=0.02)
        assert frame.data(AMPLITUDE)[0, wall + 6 : wall + 20] == pytest.approx(25 / 80, rel=1e-2)
        assert frame.data(PHASE)[0, wall + 6 : wall + 20] == pytest.approx(90, abs=10)

    def test_the_friction_of_a_tilted_terrace_is_that_of_a_level_one(self):
        level, tilted = (
            Microscope(samples.hopg_steps(roughness_m=0.0).mounted(tilt_x_deg=tilt), quiet(), MULTI, seed=0).scan(
                STEP.model_copy(update={"rotation_deg": 0.0}), GAINS, 0.2
            )
            for tilt in (0.0, 1.5)
        )
        friction = [np.median(one.data(FRICTION) - one.data(FRICTION, "backward")) for one in (level, tilted)]
        assert friction[1] == pytest.approx(friction[0], rel=0.05)

    def test_a_surface_out_of_reach_leaves_z_at_the_end_of_its_range(self):
        sample = samples.indent("sphere", size_m=60e-6, depth_m=9e-6, ball_radius_m=20e-6, roughness_m=0.0)
        scan = ScanSettings(width_m=2e-6, height_m=2e-6, points=32, lines=3, time_per_line_s=0.1)
        frame = Microscope(sample, DRIVE, MULTI, seed=0).scan(scan, GAINS, 0.1)
        assert frame.data(Z_AXIS) == pytest.approx(-5.076e-6, abs=1e-9)
        assert frame.data(DEFLECTION) == pytest.approx(-0.394, abs=1e-3)
        assert float(frame.notes["contact_share"]) < 0.01

    def test_a_setpoint_below_the_pull_off_takes_the_tip_off_the_surface(self):
        frame = Microscope(samples.hopg_steps(), DRIVE, MULTI, seed=0).scan(STEP, GAINS, -0.6)
        assert frame.data(Z_AXIS)[-1] == pytest.approx(5.076e-6, abs=1e-9)
        assert float(frame.notes["contact_share"]) < 0.2

    def test_adhesion_holds_the_tip_at_a_setpoint_below_the_free_signal(self):
        held = samples.hopg_steps().mounted(adhesion_n=200e-9)
        frame = Microscope(held, DRIVE, MULTI, seed=0).scan(STEP, GAINS, -0.45)
        assert frame.data(DEFLECTION) == pytest.approx(-0.45, abs=2e-3)
        assert frame.notes["contact_share"] == "1.000000"

    def test_the_integral_comes_back_at_once_from_the_end_of_the_range(self):
        # A trench below the reach of z: with wind-up the tip would stay down behind it.
        sample = samples.calibration_grid(size_m=60e-6, pitch_m=20e-6, depth_m=3e-6, roughness_m=0.0, edge_m=2e-6)
        scan = ScanSettings(width_m=30e-6, height_m=1e-7, points=256, lines=2, time_per_line_s=2.0)
        frame = Microscope(sample, quiet(FLEX), MULTI, seed=0).scan(scan, Gains(p=0, i=4000), 1.0)
        z = frame.data(Z_AXIS)[0]
        bottom = z < -2.5e-6 + 1e-15
        assert bottom.sum() > 20
        out = int(np.flatnonzero(bottom)[-1]) + 1
        x = ((np.arange(256) + 0.5) / 256 - 0.5) * 30e-6
        truth = sample.height(x, 0.0) - 80e-9
        ready = out + 3 + int(np.argmax(truth[out:] > -2.5e-6))
        assert z[ready : ready + 20] == pytest.approx(truth[ready : ready + 20], abs=40e-9)


class TestModes:
    @pytest.mark.parametrize(
        ("mode", "setpoint", "names"),
        [
            (STATIC, 0.2, {DEFLECTION, Z_AXIS, Z_SENSOR}),
            (LATERAL, 0.2, {DEFLECTION, Z_AXIS, Z_SENSOR, FRICTION}),
            (DYNAMIC, 70, {AMPLITUDE, PHASE, Z_AXIS, Z_SENSOR}),
        ],
    )
    def test_each_mode_has_its_channels_in_both_directions(self, mode, setpoint, names):
        frame = Microscope(samples.hopg_steps(), DRIVE, MULTI, seed=1).scan(STEP, GAINS, setpoint, mode)
        assert set(frame.channels) == {(name, way) for name in names for way in Direction}
        assert all(channel.data.shape == (6, 64) for channel in frame.channels.values())
        assert all(np.isfinite(channel.data).all() for channel in frame.channels.values())
        assert (frame.mode, frame.lever, frame.complete, frame.engaged) == (mode, MULTI, True, True)

    def test_dynamic_mode_holds_its_amplitude_and_follows_the_surface(self):
        sample = samples.nanoparticles(count=20, radius_m=(10e-9, 30e-9))
        scan = ScanSettings(width_m=5e-6, height_m=5e-6, points=128, lines=20, time_per_line_s=2.0)
        frame = Microscope(sample, FLEX, "Tap190Al-G", seed=1).scan(scan, Gains(p=0, i=1500), 70, DYNAMIC)
        amplitude = frame.data(AMPLITUDE)
        assert np.median(amplitude) == pytest.approx(0.7 * 25 / 80, rel=0.02)
        assert amplitude.max() < 1.05 * 25 / 80
        assert 30 < np.median(frame.data(PHASE)) < 60
        assert np.ptp(frame.data(Z_AXIS)) > 20e-9

    def test_the_drive_leads_the_sensor_by_the_hysteresis_of_the_actuator(self):
        # On a ramp the actuator stays behind its drive by the hysteresis, once the travel after the turn is done.
        ramp = samples.rough_surface(size_m=12e-6, rms_m=1e-15, correlation_m=1e-6).mounted(tilt_x_deg=2.0)
        slow = STEP.model_copy(update={"time_per_line_s": 2.0, "width_m": 10e-6})
        preset = quiet(z_hysteresis_m=2e-9, z_hysteresis_travel_m=10e-9, sensor_noise_m=0.03e-9)
        frame = Microscope(ramp, preset, MULTI, seed=1).scan(slow, Gains(p=0, i=8000), 0.2)
        for way, sign in ((Direction.FORWARD, 1), (Direction.BACKWARD, -1)):
            apart = (frame.data(Z_AXIS, way) - frame.data(Z_SENSOR, way))[1:, 20:-20]
            assert apart.mean() == pytest.approx(sign * 2e-9, rel=0.02)
            assert apart.std() == pytest.approx(0.03e-9, rel=0.15)
