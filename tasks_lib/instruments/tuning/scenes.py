"""Scenes for the tuning study: a sample under the FLEX preset with the settings of its probe frames."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType

from tasks_lib.instruments.frame import Frame, Gains, ScanSettings
from tasks_lib.instruments.twin import FLEX, LATERAL, Microscope, Preset, Sample, closed_loop_radius, samples
from tasks_lib.records.errors import ConfigurationError


@dataclass(frozen=True)
class Scene:
    """What is scanned, and how.

    Attributes
    ----------
    name : str
    sample : callable
        Makes the sample; the same in every search, so that only the noise differs between seeds.
    scan : ScanSettings
        Of one probe frame.
    setpoint : float
        Volts of deflection.
    preset : Preset
    lever : str
    """

    name: str
    sample: Callable[[], Sample]
    scan: ScanSettings
    setpoint: float
    preset: Preset = FLEX
    lever: str = "ContAl-G"

    def microscope(self, seed: int) -> Microscope:
        """Return a microscope over the sample whose noise has this seed."""
        return Microscope(self.sample(), self.preset, self.lever, seed=seed)

    def probe(self, microscope: Microscope, gains: Gains) -> Frame:
        """Scan one probe frame."""
        return microscope.scan(self.scan, gains, self.setpoint, LATERAL)

    def stable(self, gains: Gains) -> bool:
        """Whether the loop is stable by the spectral radius of its equations, which no search is told."""
        return closed_loop_radius(self.preset, gains) < 1.0


def _probe(width_m: float, time_per_line_s: float, lines: int = 16) -> ScanSettings:
    # A probe is a narrow band over the middle of the sample: as wide as the picture, with fewer lines.
    return ScanSettings(
        width_m=width_m, height_m=width_m * lines / 128, points=128, lines=lines, time_per_line_s=time_per_line_s
    )


SCENES: Mapping[str, Scene] = MappingProxyType(
    {
        one.name: one
        for one in (
            Scene("grid", lambda: samples.calibration_grid(size_m=60e-6, rotation_deg=1.7), _probe(50e-6, 0.9), 0.5),
            Scene("hopg", lambda: samples.hopg_steps(layers=(10, 6, 12)), _probe(1e-6, 1.0), 0.2),
            Scene("hopg-thin", lambda: samples.hopg_steps(layers=(4, 3, 5)), _probe(1e-6, 2.0), 0.2),
            Scene("particles", lambda: samples.nanoparticles(), _probe(5e-6, 0.3), 0.3),
            Scene("rough", lambda: samples.rough_surface(rms_m=30e-9), _probe(10e-6, 0.65), 0.2),
        )
    }
)


def scene(name: str) -> Scene:
    """Return a scene by name.

    Raises
    ------
    ConfigurationError
        If there is no such scene; the message lists those there are.
    """
    if name not in SCENES:
        msg = f"there is no scene {name!r}; take one of {', '.join(SCENES)}"
        raise ConfigurationError(msg)
    return SCENES[name]
