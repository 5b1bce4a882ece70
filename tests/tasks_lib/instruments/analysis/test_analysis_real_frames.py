"""Frames of a real microscope against values found independently of this code, to all digits that were noted.

The files are of the AILA authors (MIT licence, M3RG 2025). Values without levelling and friction equal what the
authors' own tool printed; the rest was computed once with numpy and scikit-image by other code.
"""

from __future__ import annotations

import numpy as np
import pytest
from scipy.ndimage import binary_dilation

from tasks_lib.instruments.analysis import (
    PLANE,
    RAW,
    ROWS,
    count_layers,
    find_flakes,
    frame_friction,
    frame_validity,
    friction,
    grid_pitch,
    ground_mask,
    level,
    roughness,
    segment,
    step_height_by_line,
    trace_retrace_shift,
    trace_retrace_similarity,
)
from tasks_lib.instruments.frame import FRICTION, Z_AXIS, Z_SENSOR, Direction

# stem: Sa and Sq raw, Sa and Sq after a plane, Sq after rows of degree 1 (nm); SSIM raw and levelled.
HEIGHTS = {
    "hopg_step_setpoint_0p2V": (9.46598838, 11.5576315, 0.96955525, 1.58085042, 0.178789807, 0.998779935, 0.270303306),
    "hopg_step_setpoint_0p6V": (9.44071084, 11.528657, 1.07540738, 1.74996422, 0.181267116, 0.998767627, 0.273758864),
    "graphite_flake_30um": (86.8701473, 101.319221, 8.26243993, 17.8021964, 16.4388271, 0.936481386, 0.7941325),
    "graphite_flake_zoom_9um": (46.9941296, 55.545431, 36.7337428, 42.4755263, 33.3633542, 0.780759008, 0.450221248),
    "glass_256": (83.2490693, 97.1772816, 24.2895378, 30.1140394, 28.0877045, 0.861410088, 0.567795708),
}
# What the authors' tool printed, SI units.
PRINTED_SA = {"glass_256": 8.324906927523874e-08, "grid_corrupt_rows": 4.1815864144685475e-08}
PRINTED_SQ = {"glass_256": 9.717728164562728e-08}
PRINTED_FRICTION = {
    "hopg_step_setpoint_0p2V": 0.00030594588963595015,
    "hopg_step_setpoint_0p6V": 0.0004929679499809936,
    "glass_256": 0.014318622956963623,
    "grid_corrupt_rows": 0.04212735600731321,
}
FRICTION_V = {"graphite_flake_30um": 1.43097187e-2, "graphite_flake_zoom_9um": 1.24952486e-2}


def both(frame, channel=Z_AXIS):
    return frame.data(channel, Direction.FORWARD), frame.data(channel, Direction.BACKWARD)


@pytest.mark.parametrize("stem", HEIGHTS)
def test_roughness_and_similarity(real_frame, stem):
    frame = real_frame(stem)
    forward, backward = both(frame)
    alike = trace_retrace_similarity(forward, backward)
    raw, plane, rows = (roughness(forward, frame.scan.pixel_m, how) for how in (RAW, PLANE, ROWS))
    found = (raw.sa_m * 1e9, raw.sq_m * 1e9, plane.sa_m * 1e9, plane.sq_m * 1e9, rows.sq_m * 1e9)
    # Nine digits were noted.
    assert (*found, alike.raw, alike.levelled) == pytest.approx(HEIGHTS[stem], rel=6e-9)


@pytest.mark.parametrize("stem", PRINTED_SA)
def test_raw_roughness_is_what_the_authors_tool_printed(real_frame, stem):
    frame = real_frame(stem)
    raw = roughness(frame.data(Z_AXIS), frame.scan.pixel_m, RAW)
    assert raw.sa_m == pytest.approx(PRINTED_SA[stem], rel=1e-14)
    assert raw.sq_m == pytest.approx(PRINTED_SQ.get(stem, raw.sq_m), rel=1e-14)


@pytest.mark.parametrize("stem", PRINTED_FRICTION)
def test_friction_is_what_the_authors_tool_printed_and_in_volts(real_frame, stem):
    found = frame_friction(real_frame(stem))
    assert found.mean_v == pytest.approx(PRINTED_FRICTION[stem], rel=1e-13)
    assert found.unit == "V"


@pytest.mark.parametrize("stem", FRICTION_V)
def test_friction_of_the_flake(real_frame, stem):
    assert frame_friction(real_frame(stem)).mean_v == pytest.approx(FRICTION_V[stem], rel=4e-9)


def test_friction_of_the_grid_without_its_corrupt_lines(real_frame):
    forward, backward = both(real_frame("grid_corrupt_rows"), FRICTION)
    assert friction(forward[27:], backward[27:]).mean_v == pytest.approx(0.041301, abs=5e-7)


def test_the_corrupt_lines_of_the_grid_show_in_the_similarity(real_frame):
    forward, backward = both(real_frame("grid_corrupt_rows"))
    assert trace_retrace_similarity(forward, backward).raw == pytest.approx(0.911450952, rel=6e-9)
    clean = trace_retrace_similarity(forward[:233], backward[:233])
    assert clean.raw == pytest.approx(0.7637, abs=5e-5)


@pytest.mark.parametrize(
    ("stem", "way", "noted_nm"),
    [
        ("hopg_step_setpoint_0p2V", "forward", 0.642),
        ("hopg_step_setpoint_0p2V", "backward", 0.653),
        ("hopg_step_setpoint_0p6V", "forward", 0.651),
        ("hopg_step_setpoint_0p6V", "backward", 0.689),
    ],
)
def test_the_step_on_graphite_is_two_layers_high(real_frame, stem, way, noted_nm):
    frame = real_frame(stem)
    # Noted as the median of 32 lines.
    found = step_height_by_line(frame.data(Z_AXIS, way)[::4])
    assert found.height * 1e9 == pytest.approx(noted_nm, abs=0.015)
    assert found.lines == 32
    sensor = step_height_by_line(frame.data(Z_SENSOR, way))
    assert 0.57 <= sensor.height * 1e9 <= 0.63
    assert sensor.uncertainty * 1e9 < 0.01


@pytest.mark.parametrize(("stem", "noted_mv"), [("hopg_step_setpoint_0p2V", 0.178), ("hopg_step_setpoint_0p6V", 0.301)])
def test_friction_on_the_terraces_rises_with_the_load(real_frame, stem, noted_mv):
    forward, backward = both(real_frame(stem), FRICTION)
    edge = segment(friction(forward, backward).signal_v, (1.0, 1.0)).labels > 0
    terraces = ~binary_dilation(edge, iterations=4)
    found = friction(forward, backward, terraces)
    assert found.mean_v * 1e3 == pytest.approx(noted_mv, rel=0.08)
    assert friction(forward, backward, edge).mean_v > 5 * found.mean_v


def test_the_flake_is_graphite_of_two_hundred_layers_and_not_of_four_hundred_and_seventy(real_frame):
    frame = real_frame("graphite_flake_30um")
    for way, noted_nm in (("forward", 68.5), ("backward", 73.0)):
        z = frame.data(Z_AXIS, way)
        largest = max(find_flakes(z, frame.scan.pixel_m), key=lambda one: one.grain.pixels)
        assert largest.count.thickness_m * 1e9 == pytest.approx(noted_nm, abs=12)
        assert 160 <= largest.count.layers <= 240
        assert largest.count.low_m * 1e9 == pytest.approx(32, abs=12)
        assert largest.count.high_m * 1e9 == pytest.approx(122, abs=12)
        # Noted from all that lies beyond Otsu's threshold.
        substrate = ground_mask(z)
        higher = segment(level(z, PLANE, substrate).z, frame.scan.pixel_m).labels > 0
        by_otsu = count_layers(z, higher & ~substrate, substrate)
        assert by_otsu.thickness_m * 1e9 == pytest.approx(noted_nm, rel=0.06)
        assert 190 <= by_otsu.layers <= 220


def test_the_grid_has_a_pitch_of_ten_micrometres_and_its_pits_are_counted(real_frame):
    frame = real_frame("grid_corrupt_rows")
    z = frame.data(Z_AXIS)
    pitch = grid_pitch(z, frame.scan.pixel_m)
    assert (pitch.pitch_m, pitch.second_pitch_m) == (pytest.approx(10e-6, rel=2e-3), pytest.approx(10e-6, rel=2e-3))
    assert pitch.pitch_m / frame.scan.pixel_m[0] == pytest.approx(25.6, abs=0.05)
    assert (pitch.angle_deg, pitch.second_angle_deg) == (pytest.approx(0, abs=0.2), pytest.approx(90, abs=0.2))
    pits = segment(level(z, ROWS).z, frame.scan.pixel_m, "pit", min_pixels=21)
    assert (pits.count, pits.count_inside) == (105, 99)
    assert pits.class_height_m * 1e9 == pytest.approx(79.5, abs=2.5)


@pytest.mark.parametrize(
    ("stem", "noted", "lines"),
    [("glass_256", 2.45, None), ("graphite_flake_30um", 3.11, None), ("grid_corrupt_rows", 1.06, 233)],
)
def test_trace_and_retrace_are_displaced_by_the_lag(real_frame, stem, noted, lines):
    frame = real_frame(stem)
    forward, backward = both(frame)
    found = trace_retrace_shift(forward[:lines], backward[:lines], frame.scan.pixel_m[0])
    assert found.shift_pixels == pytest.approx(noted, abs=0.25)
    assert found.correlation > 0.95


def test_a_frame_that_was_not_engaged_is_not_valid(real_frame):
    frame = real_frame("not_engaged")
    found = frame_validity(frame)
    assert (found.valid, found.engaged, found.constant, found.complete) == (False, False, True, True)
    assert roughness(frame.data(Z_AXIS), frame.scan.pixel_m, RAW).sa_m == pytest.approx(8.47e-22, rel=1e-3)
    assert np.isnan(roughness(frame.data(Z_AXIS), frame.scan.pixel_m, RAW).ssk)


def test_an_unfinished_frame_is_not_valid_and_says_how_far_it_went(real_frame):
    found = frame_validity(real_frame("incomplete_frame"))
    assert (found.valid, found.complete, found.engaged, found.unscanned_lines) == (False, False, True, 3)


@pytest.mark.parametrize("stem", [*HEIGHTS, "scan_128x10"])
def test_the_other_frames_are_valid(real_frame, stem):
    found = frame_validity(real_frame(stem))
    assert found.problems == ()
    # The deflection of the glass is in newtons and its setpoint in volts: nothing tells.
    assert found.engaged is (None if stem == "glass_256" else True)
