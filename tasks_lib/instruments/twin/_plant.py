"""The linear loop: the actuator's exact discretisation and the stability of the loop with its delay."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from tasks_lib.instruments.frame import Gains
from tasks_lib.instruments.twin.errors import TwinError
from tasks_lib.instruments.twin.presets import Lever, Preset

if TYPE_CHECKING:
    from tasks_lib.instruments.twin._kernels import Loop


def check_gains(preset: Preset, gains: Gains) -> None:
    for name, value in (("P", gains.p), ("I", gains.i), ("D", gains.d)):
        if not 0 <= value <= preset.gain_limit:
            raise TwinError(f"gain {name} of {preset.name} must lie in [0, {preset.gain_limit}], not {value}")


def zero_order_hold(preset: Preset) -> tuple[float, float, float, float, float, float]:
    """(a11, a12, a21, a22, b1, b2) of z'' + w/Q z' + w² z = w² u over one tick with u held: a matrix exponential."""
    from scipy.linalg import expm

    w = 2 * np.pi * preset.z_resonance_hz
    system = np.array([[0.0, 1.0, 0.0], [-w * w, -w / preset.z_quality, w * w], [0.0, 0.0, 0.0]])
    step = expm(system / preset.sample_rate_hz)
    (a11, a12, b1), (a21, a22, b2), _ = step.tolist()
    return a11, a12, a21, a22, b1, b2


def loop(preset: Preset, gains: Gains, *, lever: Lever, adhesion_n: float, dynamic: bool, target: float) -> Loop:
    """Gather the constants of the compiled loop. `target` is a deflection or an amplitude in metres."""
    from tasks_lib.instruments.twin._kernels import Loop

    dt = 1 / preset.sample_rate_hz
    # In dynamic modes the amplitude is calibrated by the same photodiode: the same ratio.
    ratio = preset.calibration_m_per_v / preset.sensitivity_m_per_v
    ring_down = lever.quality / (np.pi * lever.resonance_hz)
    turn = 2 * np.pi * preset.hum_hz * dt
    return Loop(
        preset.p_factor * gains.p * ratio,
        preset.i_rate_per_s * gains.i * ratio * dt,
        preset.d_time_s * gains.d * ratio,
        dt,
        dt / (preset.d_filter_s + dt),
        preset.z_range_m,
        *zero_order_hold(preset),
        float(dynamic),
        target,
        adhesion_n / lever.spring_n_per_m,
        preset.free_amplitude_m,
        float(1 - np.exp(-dt / ring_down)),
        preset.hum_m,
        float(np.cos(turn)),
        float(np.sin(turn)),
        lever.spring_n_per_m,
        adhesion_n,
        lever.lateral_v_per_n,
        preset.lateral_tilt,
        preset.lateral_uphill,
        preset.lateral_downhill,
        preset.z_hysteresis_m,
        preset.z_hysteresis_travel_m,
        preset.lateral_offset_v,
    )


def closed_loop_radius(preset: Preset, gains: Gains) -> float:
    """Return the spectral radius of the linear loop with its dead time; above 1 the loop rings without end.

    The state is actuator (2), integral, last error, derivative's low pass and the drives on their way (dead time). One
    tick of a tip in contact on a flat surface is linear in it; its matrix is found by taking the tick of every unit
    vector, with the same functions that the simulation runs.

    Raises
    ------
    TwinError
        If a gain lies outside the instrument's range.
    """
    check_gains(preset, gains)
    return float(np.abs(np.linalg.eigvals(_matrix(preset, gains))).max())


def _matrix(preset: Preset, gains: Gains) -> np.ndarray[tuple[int, int], np.dtype[np.float64]]:
    from tasks_lib.instruments.twin import _kernels

    endless = replace(preset, z_range_m=np.inf)
    k = loop(endless, gains, lever=Lever("", 1.0, 1.0, 1.0), adhesion_n=0.0, dynamic=False, target=0.0)
    size = 5 + preset.dead_time_ticks
    matrix = np.zeros((size, size))
    for column in range(size):
        z, speed, total, last, slow, *waiting = np.eye(size)[column]
        error = -z
        drive, total, slow = _kernels.regulate(error, total, last, slow, k)
        waiting = [drive, *waiting]
        z, speed = _kernels.actuate(z, speed, waiting.pop(), k)
        matrix[:, column] = [z, speed, total, error, slow, *waiting]
    return matrix
