"""The limit of stability: what the spectral radius says, and where the simulated loop really collapses."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from tasks_lib.instruments.frame import DEFLECTION, Gains, ScanSettings
from tasks_lib.instruments.twin import DRIVE, FLEX, Microscope, TwinError, closed_loop_radius, samples

FLAT = samples.rough_surface(size_m=2e-6, rms_m=0.2e-9, correlation_m=100e-9)
PROBE = ScanSettings(width_m=1e-6, height_m=1e-6, points=64, lines=2, time_per_line_s=0.25)


def error_v(gains: Gains, preset=FLEX, seed=0) -> float:
    """Rms of deflection minus setpoint on the last line."""
    frame = Microscope(FLAT, preset, "Multi75Al-G", seed=seed).scan(PROBE, gains, 0.2)
    return float(np.sqrt(np.mean((frame.data(DEFLECTION)[-1] - 0.2) ** 2)))


def limit_by_radius(p: int, d: int) -> float:
    """Lowest integral gain whose loop is unstable, by bisection of the spectral radius."""
    stable, unstable = 100, 30_000
    while unstable - stable > 1:
        middle = (stable + unstable) // 2
        if closed_loop_radius(FLEX, Gains(p=p, i=middle, d=d)) > 1:
            unstable = middle
        else:
            stable = middle
    return unstable


def limit_by_collapse(p: int, d: int, preset=FLEX) -> float:
    """Integral gain at which the rms error passes 10 times that of a third of the expected limit, by bisection."""
    stable, unstable = limit_by_radius(p, d) / 3, limit_by_radius(p, d) * 3
    calm = error_v(Gains(p=p, i=int(stable), d=d), preset)
    assert error_v(Gains(p=p, i=int(min(unstable, 30_000)), d=d), preset) > 10 * calm
    while unstable / stable > 1.01:
        middle = np.sqrt(stable * unstable)
        if error_v(Gains(p=p, i=int(middle), d=d), preset) > 10 * calm:
            unstable = middle
        else:
            stable = middle
    return np.sqrt(stable * unstable)


@pytest.mark.parametrize(("p", "d"), [(0, 0), (50, 0), (200, 0), (50, 30)])
def test_the_loop_collapses_where_the_spectral_radius_says(p, d):
    assert limit_by_collapse(p, d) == pytest.approx(limit_by_radius(p, d), rel=0.10)


def test_without_dead_time_the_limit_is_that_of_routh():
    # K_I < (w/Q + w² K_D)(1 + K_P) for a continuous loop; a tick of 1 µs is nearly that.
    fast = replace(FLEX, sample_rate_hz=1e6, dead_time_ticks=0)
    w = 2 * np.pi * FLEX.z_resonance_hz
    for p in (0, 200):
        limit = w / FLEX.z_quality * (1 + FLEX.p_factor * p) / FLEX.i_rate_per_s
        assert closed_loop_radius(fast, Gains(p=p, i=int(limit * 0.98))) < 1
        assert closed_loop_radius(fast, Gains(p=p, i=int(limit * 1.02))) > 1


def test_the_radius_is_that_of_the_published_landscape():
    # P 50, D 0: the loop of the study is unstable from I 6000 on.
    radius = {i: closed_loop_radius(FLEX, Gains(p=50, i=i)) for i in (500, 2000, 5000, 5500, 6000, 7000, 9000)}
    assert radius[5500] < 1 < radius[6000] < radius[7000] < radius[9000]
    # A slow loop is an integrator alone: its pole is 1 - K dt.
    assert radius[500] == pytest.approx(1 - 0.17 * 500 / 50e3, abs=2e-4)


def test_drive_is_stable_in_the_whole_box_of_gains():
    corners = [Gains(p=p, i=i, d=d) for p in (0, 250, 500) for i in (500, 4000, 9000) for d in (0, 50, 100)]
    assert max(closed_loop_radius(DRIVE, gains) for gains in corners) < 1


def test_the_error_is_least_near_the_limit_and_explodes_beyond():
    limit = limit_by_radius(50, 0)
    share = {s: error_v(Gains(p=50, i=int(limit * s))) for s in (0.1, 0.9, 1.3)}
    assert share[1.3] > 10 * share[0.1]
    assert share[0.9] < 3 * share[0.1]


def test_a_gain_beyond_the_range_has_no_radius():
    with pytest.raises(TwinError, match="gain I of FLEX"):
        closed_loop_radius(FLEX, Gains(p=0, i=30_001))
