"""Facts of files that real microscopes wrote."""

from __future__ import annotations

from datetime import datetime

import numpy as np
import pytest

from tasks_lib.instruments.frame import DEFLECTION, FRICTION, Z_AXIS, Z_SENSOR, Direction, Gains, ScanSettings
from tasks_lib.instruments.nid import NidError, Trouble, read_nid, sanity_report, write_nid

FORWARD, BACKWARD = Direction


def test_settings_of_a_frame_of_the_drive_afm(shared_file):
    nid = read_nid(shared_file("nid/graphite_flake_zoom_9um.nid"))
    frame, settings = nid.frame(), nid.settings
    assert frame.scan == ScanSettings(
        width_m=8.90625e-06,
        height_m=8.67187e-06,
        points=128,
        lines=128,
        time_per_line_s=0.1,
        center_x_m=-2.99869e-05,
        center_y_m=2.38847e-05,
        rotation_deg=10.0,
        slope_x_deg=0.624937,
        slope_y_deg=0.44161,
        direction="up",
    )
    assert (frame.gains, frame.setpoint) == (Gains(p=209, i=2419, d=9), 0.1)
    assert (frame.mode, frame.lever) == ("Lateral Force", "Multi75Al-G")
    assert frame.taken_at == settings.taken_at_local == datetime(2025, 6, 13, 20, 16, 8)  # noqa: DTZ001 - none in files
    assert (frame.lines_done, frame.complete, frame.engaged) == (128, True, None)
    assert sorted(frame.channels) == sorted(
        (name, way) for name in (DEFLECTION, FRICTION, Z_AXIS, Z_SENSOR) for way in Direction
    )
    assert {channel.unit for channel in frame.channels.values()} == {"m", "V"}
    assert settings.lever.deflection_m_per_v == pytest.approx(8e-8)
    assert (settings.lever.spring_constant_n_per_m, settings.lever.resonance_hz) == (3.0, 75000.0)
    assert (settings.head, settings.environment, settings.software) == ("DriveAFM", "Air", "3.10.2.19")


def test_what_the_header_displays_agrees_with_its_parameters_and_keeps_the_signs_for_micro_and_degree(recorded_file):
    nid = read_nid(recorded_file)
    shown = {key: value for key, value in nid.header["DataSet-Info"].items() if not isinstance(value.value, str)}
    settings = nid.settings
    pairs = {
        "Image size": settings.width_m, "Time/Line": settings.time_per_line_s, "X-Slope": settings.slope_x_deg,
        "Y-Slope": settings.slope_y_deg, "Rotation": settings.rotation_deg, "X-Pos": settings.center_x_m,
        "Y-Pos": settings.center_y_m, "Setpoint": settings.setpoint, "Set point": settings.setpoint,
        "Overscan": settings.overscan_percent, "Points": settings.points, "Lines": settings.lines,
    }  # fmt: skip
    seen = {key: (shown[key].value, value) for key, value in pairs.items() if key in shown}
    for key, (displayed, value) in seen.items():
        assert displayed == pytest.approx(value, rel=6e-3, abs=1e-12), key
    assert len(seen) >= 10 or not any(channel.frame.startswith("Scan") for channel in nid.channels)


def test_friction_of_the_reference_comes_out(shared_file):
    for name, volts in (
        ("hopg_step_setpoint_0p2V", 3.0594588963595e-4),
        ("hopg_step_setpoint_0p6V", 4.9296794998099e-4),
    ):
        frame = read_nid(shared_file(f"nid/{name}.nid")).frame()
        half = (frame.data(FRICTION, FORWARD) - frame.data(FRICTION, BACKWARD)) / 2
        assert half.mean() == pytest.approx(volts, rel=1e-13)
    noisy = read_nid(shared_file("nid/grid_corrupt_rows.nid")).frame()
    assert (noisy.data(FRICTION, FORWARD) - noisy.data(FRICTION, BACKWARD)).mean() / 2 == pytest.approx(
        0.042127356, rel=1e-8
    )


def test_a_frame_scanned_up_that_was_stopped_is_incomplete(shared_file):
    nid = read_nid(shared_file("nid/incomplete_frame.nid"))
    assert nid.settings.direction == "up"
    assert (nid.lines_done, nid.complete, nid.frame().complete) == (7, False, False)


def test_a_frame_scanned_down_begins_at_the_last_row_and_holds_the_frame_before_below(example_file):
    """Row 0 is the lowest line in both directions: the current line is a row, and the new part lies above it."""
    nid = read_nid(example_file("spectroscopy.nid"))
    frame = nid.frame()
    current = nid.channel("Z-Axis").current_line
    assert (nid.settings.direction, current, frame.lines_done, frame.complete) == ("down", 156, 100, False)
    for way in Direction:
        steps = np.abs(np.diff(frame.data(Z_AXIS, way).mean(axis=1)))
        assert steps.argmax() == current - 1  # between the last row of the frame before and the first of this one
        assert steps[current - 1] > 5 * np.median(steps)


@pytest.mark.parametrize(
    ("name", "lines", "lever", "setpoint", "mode"),
    [
        ("MoS2.nid", 256, "ACL-A", 50.0, "Phase Contrast"),
        ("SBS-PMMA.nid", 256, "ContAl-G", 0.934579, "Lateral Force"),
        ("circles.nid", 256, "NCLR", 61.0, "Dynamic Force"),
    ],
)
def test_frames_of_older_instruments_come_out_in_the_same_terms(example_file, name, lines, lever, setpoint, mode):
    frame = read_nid(example_file(name)).frame()
    assert (frame.scan.lines, frame.lever, frame.mode, frame.complete) == (lines, lever, mode, True)
    assert frame.setpoint == pytest.approx(setpoint, rel=1e-6)
    assert frame.data(Z_AXIS, BACKWARD).shape == frame.data(Z_AXIS, FORWARD).shape == (lines, frame.scan.points)


def test_a_setpoint_in_newtons_becomes_volts_by_the_levers_constants_and_says_so(example_file):
    nid = read_nid(example_file("SBS-PMMA.nid"))
    assert (nid.settings.setpoint, nid.settings.setpoint_unit) == (2e-8, "N")
    frame = nid.frame()
    # 20 nN / 0.2 N/m / (1.07 µm / 10 V)
    assert frame.setpoint == pytest.approx(20e-9 / 0.2 / 1.07e-7)
    assert frame.notes["setpoint in the file"] == "2e-08 N"


def test_a_file_without_an_image_is_read_and_has_no_frame(example_file):
    nid = read_nid(example_file("thermal.nid"))
    assert [channel.label for channel in nid.channels] == [
        "Spectrum FFT Amplitude Spectral Density",
        "Spectrum Fit Amplitude Spectral Density",
    ]
    assert nid.channels[0].unit == "m/sqrt(Hz)"
    assert (nid.lines_done, nid.complete, nid.settings.gains) == (None, None, None)
    assert nid.settings.taken_at_local == datetime(2018, 7, 2, 14, 29, 13)  # noqa: DTZ001 - none in files
    with pytest.raises(NidError, match=r"thermal\.nid.*no scanned image"):
        nid.frame()


def test_the_grid_file_is_read_and_exactly_its_rows_of_noise_are_flagged(shared_file):
    nid = read_nid(shared_file("nid/grid_corrupt_rows.nid"))
    report = sanity_report(nid)
    assert {(one.trouble, one.name, one.direction) for one in report.findings} == {
        (Trouble.NOISE, Z_AXIS, BACKWARD),
        (Trouble.NOISE, FRICTION, BACKWARD),
    }
    assert report.rows("noise", Z_AXIS, "backward") == tuple(range(234, 256))
    assert report.rows("noise", FRICTION, "backward") == tuple(range(27))
    first, second = report.findings
    # One block of twelve disk pages, from the middle of row 234 to the first samples of row 26.
    assert second.first_byte == first.last_byte + 1
    assert second.last_byte - first.first_byte + 1 == 12 * 4096
    assert not report.clean
    assert (report.lines, report.lines_done) == (256, 256)
    assert "Z-Axis backward: noise in rows 234–255" in str(first)


def test_other_recorded_images_have_no_row_of_noise(recorded_file):
    if recorded_file.name == "grid_corrupt_rows.nid":
        pytest.skip("the one with noise")
    report = sanity_report(read_nid(recorded_file))
    assert [one for one in report.findings if one.trouble is Trouble.NOISE] == []


def test_a_tip_that_never_touched_shows_as_a_constant_z(shared_file):
    report = sanity_report(read_nid(shared_file("nid/not_engaged.nid")))
    for way in Direction:
        assert report.rows("constant", Z_AXIS, way) == tuple(range(10))
    assert not report.clean
    assert sanity_report(read_nid(shared_file("nid/glass_256.nid"))).clean


def test_a_recorded_frame_written_again_has_the_same_settings_and_codes(recorded_file):
    nid = read_nid(recorded_file)
    if not any(channel.frame.startswith("Scan ") for channel in nid.channels):
        pytest.skip("no image in this file")
    frame = nid.frame()
    images = [channel for channel in nid.channels if channel.frame.startswith("Scan ")]
    ranges = dict(
        zip((key[0] for key in frame.channels), ((one.start, one.start + one.extent) for one in images), strict=True)
    )
    written = read_nid(write_nid(frame, ranges=ranges, lever=nid.settings.lever))
    again = written.frame()
    for field in ("scan", "gains", "setpoint", "mode", "lever", "lines_done", "taken_at", "source", "notes"):
        assert getattr(again, field) == getattr(frame, field), field
    assert list(again.channels) == list(frame.channels)
    for one, channel in zip(written.channels, images, strict=True):
        assert (one.unit, one.current_line) == (channel.unit, channel.current_line)
        finer = 2 ** (32 - 8 * channel.codes.itemsize)
        np.testing.assert_array_equal(one.codes, channel.codes.astype(np.int64) * finer)
