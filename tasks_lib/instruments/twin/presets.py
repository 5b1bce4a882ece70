"""The constants of two instruments and of the levers they carry.

`DRIVE` is the DriveAFM whose files are public: its loop constants were identified from them (docs/microscope.md, "The
digital twin"). `FLEX` has a slow scanner, so that the limit of stability lies inside the box of gains that people
search, and its constants are assumed.
"""

from __future__ import annotations

from dataclasses import dataclass
from types import MappingProxyType

from tasks_lib.instruments.twin.errors import TwinError, within


@dataclass(frozen=True)
class Lever:
    """A cantilever with its tip.

    Attributes
    ----------
    spring_n_per_m, resonance_hz, quality
        Flexural spring constant, first resonance and quality factor in air.
    tip_radius_m, tip_half_angle_deg
        Apex paraboloid and the cone that continues it.
    lateral_v_per_n
        Friction signal by lateral force. No header states it: the public files give its product with the coefficient
        of friction, 0.006 assumed for graphite and 0.3 for glass.

    Raises
    ------
    TwinError
        If a number is not finite or far from any lever's.
    """

    name: str
    spring_n_per_m: float
    resonance_hz: float
    quality: float
    tip_radius_m: float = 10e-9
    tip_half_angle_deg: float = 15.0
    lateral_v_per_n: float = 6e4

    def __post_init__(self) -> None:
        for name, (low, high) in _LEVER_BOUNDS.items():
            within(getattr(self, name), low, high, f"{name} of the lever {self.name}")


# What a lever can be in the equations of the twin; no product of them leaves the range of floats.
_LEVER_BOUNDS = MappingProxyType({
    "spring_n_per_m": (1e-4, 1e4), "resonance_hz": (1.0, 1e9), "quality": (0.1, 1e7), "tip_radius_m": (1e-13, 1e-4),
    "tip_half_angle_deg": (1.0, 80.0), "lateral_v_per_n": (0.0, 1e12),
})  # fmt: skip

LEVERS = MappingProxyType({
    one.name: one
    for one in (
        Lever("ContAl-G", 0.2, 13e3, 50.0, lateral_v_per_n=5e5),
        Lever("Multi75Al-G", 3.0, 75e3, 100.0),
        Lever("Tap190Al-G", 48.0, 190e3, 300.0, lateral_v_per_n=6e3),
    )
})  # fmt: skip


def lever(name: str | Lever) -> Lever:
    """Return a lever by its name.

    Raises
    ------
    TwinError
        If no lever has that name; the message lists those there are.
    """
    if isinstance(name, Lever):
        return name
    if name not in LEVERS:
        raise TwinError(f"there is no lever {name!r}; there are: {', '.join(sorted(LEVERS))}")
    return LEVERS[name]


@dataclass(frozen=True)
class Preset:
    """The constants of an instrument, SI units unless a name says otherwise.

    The controller works on the *calibrated* deflection: the photodiode's volts times `calibration_m_per_v`, which the
    header states. `sensitivity_m_per_v` is what the lever really bends by a volt. A gain I is the rate
    ``i_rate_per_s * I`` by calibrated deflection, and ``i_rate_per_s * I * calibration / sensitivity`` by true one.

    Attributes
    ----------
    sample_rate_hz, dead_time_ticks
        Rate of the control loop, and its delay in ticks.
    z_resonance_hz, z_quality, z_range_m
        Second-order actuator, and its reach to either side of zero.
    p_factor, i_rate_per_s, d_time_s, d_filter_s
        What one unit of the integer gains P, I and D is worth; time constant of the derivative's low pass.
    gain_limit
        Highest gain that the instrument takes.
    sensitivity_m_per_v, calibration_m_per_v, free_deflection_v
        Optical lever: true and believed; the signal of the free lever.
    deflection_noise_m, hum_m, hum_hz
        White noise by tick and mains hum, as deflection.
    sensor_noise_m, lateral_noise_v
        Noise of the z sensor by pixel and of the lateral signal by tick.
    averaged_share
        Share of a pixel's dwell that its sample is the mean of.
    lag_s, hysteresis, bow_per_m
        First-order lag of the scanner along x; deviation at mid-line by scan width; curvature of the scan plane.
    creep
        Creep by decade of time, as a share of the last move of the scan's centre.
    drift_m_per_s, drift_decay_s
        Thermal drift along x, y, z when the session starts, and the time in which it dies out.
    z_hysteresis_m, z_hysteresis_travel_m
        How far the actuator stays behind its drive, and the travel after a turn in which it gets there. 0 is none.
    lateral_offset_v, lateral_tilt, lateral_uphill, lateral_downhill
        Friction signal at rest; coupling of the spatial slope (cancels in half the difference of trace and retrace);
        resistance by the square of the slope, up and down, added to the coefficient of friction.
    free_amplitude_m
        Amplitude of the lever far from the sample in dynamic modes.
    dissipation_j
        Energy that a tap loses, for the phase.
    """

    name: str
    sample_rate_hz: float
    dead_time_ticks: int
    z_resonance_hz: float
    z_quality: float
    z_range_m: float
    p_factor: float
    i_rate_per_s: float
    d_time_s: float
    sensitivity_m_per_v: float
    calibration_m_per_v: float
    free_deflection_v: float
    deflection_noise_m: float
    sensor_noise_m: float
    lateral_noise_v: float
    lag_s: float
    d_filter_s: float = 40e-6
    gain_limit: int = 30_000
    hum_m: float = 0.05e-9
    hum_hz: float = 50.0
    averaged_share: float = 0.15
    hysteresis: float = 0.001
    bow_per_m: float = 0.0
    creep: float = 0.01
    z_hysteresis_m: float = 0.0
    z_hysteresis_travel_m: float = 10e-9
    drift_m_per_s: tuple[float, float, float] = (0.05e-9, 0.08e-9, 0.1e-9)
    drift_decay_s: float = 1800.0
    lateral_offset_v: float = 0.03
    lateral_tilt: float = 0.02
    lateral_uphill: float = 15.0
    lateral_downhill: float = 4.0
    free_amplitude_m: float = 25e-9
    dissipation_j: float = 1.5e-18


DRIVE = Preset(
    name="DRIVE",
    sample_rate_hz=25e3,
    dead_time_ticks=2,
    z_resonance_hz=12e3,
    z_quality=5.0,
    z_range_m=5.076e-6,
    p_factor=2e-4,
    i_rate_per_s=1.129,
    d_time_s=2.5e-7,
    sensitivity_m_per_v=382e-9,
    calibration_m_per_v=80e-9,
    free_deflection_v=-0.394,
    deflection_noise_m=0.056e-9,
    sensor_noise_m=0.03e-9,
    lateral_noise_v=3.5e-5,
    lag_s=0.55e-3,
    hum_m=0.02e-9,
    hysteresis=1e-4,
    creep=0.001,
    z_hysteresis_m=1.0e-9,
    z_hysteresis_travel_m=17e-9,
    lateral_offset_v=0.044,
)

FLEX = Preset(
    name="FLEX",
    sample_rate_hz=50e3,
    dead_time_ticks=4,
    z_resonance_hz=1.5e3,
    z_quality=10.0,
    z_range_m=2.5e-6,
    p_factor=4e-4,
    i_rate_per_s=0.17,
    d_time_s=2.5e-7,
    sensitivity_m_per_v=80e-9,
    calibration_m_per_v=80e-9,
    free_deflection_v=0.0,
    deflection_noise_m=0.15e-9,
    sensor_noise_m=0.05e-9,
    lateral_noise_v=2e-3,
    lag_s=0.2e-3,
)
