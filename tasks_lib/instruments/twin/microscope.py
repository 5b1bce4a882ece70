"""The microscope itself: a sample under a lever, scanned line after line."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from tasks_lib.instruments.frame import (
    AMPLITUDE,
    DEFLECTION,
    FRICTION,
    PHASE,
    Z_AXIS,
    Z_SENSOR,
    Channel,
    Direction,
    Frame,
    Gains,
    ScanSettings,
)
from tasks_lib.instruments.twin._path import Path, Tip, check_place, path, tip
from tasks_lib.instruments.twin._plant import check_gains, loop
from tasks_lib.instruments.twin.errors import TwinError, whole_seed, within
from tasks_lib.instruments.twin.presets import Lever, Preset
from tasks_lib.instruments.twin.presets import lever as find_lever
from tasks_lib.instruments.twin.samples import Sample
from tasks_lib.records import Json

if TYPE_CHECKING:
    from tasks_lib.instruments.twin._kernels import Loop

STATIC, LATERAL, DYNAMIC = "Static Force", "Lateral Force", "Dynamic Force"
MODES = (STATIC, LATERAL, DYNAMIC)
CHANNELS = MappingProxyType({
    STATIC: (DEFLECTION, Z_AXIS, Z_SENSOR),
    LATERAL: (DEFLECTION, Z_AXIS, FRICTION, Z_SENSOR),
    DYNAMIC: (AMPLITUDE, PHASE, Z_AXIS, Z_SENSOR),
})  # fmt: skip
UNITS = MappingProxyType({DEFLECTION: "V", FRICTION: "V", AMPLITUDE: "V", PHASE: "°", Z_AXIS: "m", Z_SENSOR: "m"})
CREEP_ONSET_S = 0.1
Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Line:
    """A line of a frame.

    Attributes
    ----------
    index : int
        Row in the frame; row 0 is the lowest.
    number : int
        0 for the first line that was scanned.
    samples : mapping of (channel, direction) to array of shape (points,)
        In the units of `UNITS`, x rising.
    contact_share : float
        Share of the samples at which the tip touched the surface; below 1 it flew for a while.
    """

    index: int
    number: int
    samples: Mapping[tuple[str, Direction], Array]
    contact_share: float


@dataclass(frozen=True)
class Progress:
    """Where a session stands: hand it to another `Microscope` of the same seed to go on."""

    scans: int = 0
    clock_s: float = 0.0
    center_m: tuple[float, float] | None = None

    def to_json(self) -> dict[str, Json]:
        """Return it as JSON, for a store."""
        return {"scans": self.scans, "clock_s": self.clock_s, "center_m": self.center_m}

    @classmethod
    def of_json(cls, kept: Mapping[str, Json]) -> Progress:
        """Take over what `to_json` returned; other keys are somebody else's."""
        center = kept["center_m"]
        return cls(kept["scans"], kept["clock_s"], tuple(center) if center else None)


class Microscope:
    """A simulated atomic force microscope with a sample under its tip.

    The noise of a scan depends on the seed and the scan's serial number alone. Thermal drift and the creep after a move
    of the scan's centre go on from scan to scan, so `progress` holds a clock as well.

    Parameters
    ----------
    sample : Sample
    preset : Preset
    lever : Lever or str
        A lever or the name of one in `LEVERS`.
    seed : int
        Not negative.
    progress : Progress, optional
        Where to go on; a fresh session by default.

    Raises
    ------
    TwinError
        If there is no such lever, or the seed is no whole number or negative.
    """

    def __init__(
        self, sample: Sample, preset: Preset, lever: Lever | str, *, seed: int, progress: Progress | None = None
    ) -> None:
        self.sample = sample
        self.preset = preset
        self.lever = find_lever(lever)
        self.seed = whole_seed(seed)
        self.progress = progress or Progress()

    def scan(
        self,
        scan: ScanSettings,
        gains: Gains,
        setpoint: float,
        mode: str = LATERAL,
        *,
        engaged: bool = True,
    ) -> Frame:
        """Scan a whole frame: `scan_lines`, gathered.

        Raises
        ------
        TwinError
            As `scan_lines` does.
        """
        serial = self.progress.scans
        lines = list(self.scan_lines(scan, gains, setpoint, mode, engaged=engaged))
        return self.gather(lines, scan, gains, setpoint, mode, engaged=engaged, serial=serial)

    def gather(
        self,
        lines: list[Line],
        scan: ScanSettings,
        gains: Gains,
        setpoint: float,
        mode: str = LATERAL,
        *,
        engaged: bool = True,
        serial: int | None = None,
    ) -> Frame:
        """Make a frame of the lines that were scanned; rows without a line hold NaN.

        `serial` is the number of the scan, by default that of the last one begun.
        """
        channels = {}
        for name in CHANNELS[mode]:
            for way in Direction:
                data = np.full((scan.lines, scan.points), np.nan)
                for line in lines:
                    data[line.index] = line.samples[name, way]
                channels[name, way] = Channel(name, way, UNITS[name], data)
        number = self.progress.scans - 1 if serial is None else serial
        share = float(np.mean([line.contact_share for line in lines])) if lines else 0.0
        return Frame(
            channels=MappingProxyType(channels),
            scan=scan,
            gains=gains,
            setpoint=setpoint,
            mode=mode,
            lever=self.lever.name,
            lines_done=len(lines),
            engaged=engaged,
            source=f"twin {self.preset.name}, seed {self.seed}, scan {number}",
            notes=MappingProxyType({"sample": self.sample.name, "contact_share": f"{share:.6f}"}),
        )

    def scan_lines(
        self,
        scan: ScanSettings,
        gains: Gains,
        setpoint: float,
        mode: str = LATERAL,
        *,
        engaged: bool = True,
    ) -> Iterator[Line]:
        """Scan line after line; the caller may stop at any.

        The settings are judged, and the scan gets its serial number, when this is called; the clock goes on with each
        line that is taken.

        Parameters
        ----------
        scan, gains
            Geometry and timing, and the gains of the z controller.
        setpoint : float
            Volts of the deflection signal; percent of the free amplitude in `DYNAMIC`.
        mode : str
            One of `MODES`.
        engaged : bool
            False leaves the tip in the air: Z-Axis is constant at the end of its range, as in the real file of a scan
            whose approach failed.

        Raises
        ------
        TwinError
            If a number is not finite, a gain or the setpoint out of range, the mode unknown, a line too short for its
            points or the scan outside the sample.
        """
        if mode not in CHANNELS:
            raise TwinError(f"there is no mode {mode!r}; there are: {', '.join(MODES)}")
        check_gains(self.preset, gains)
        check_place(scan, self.sample)
        if mode == DYNAMIC:
            within(setpoint, 1, 100, "the setpoint in percent of the free amplitude")
        else:
            within(setpoint, -10, 10, "the setpoint in volts")
        course = path(scan, self.preset)
        before = self.progress
        center = (scan.center_x_m, scan.center_y_m)
        self.progress = Progress(before.scans + 1, before.clock_s, center)
        last = before.center_m or center
        moved = (center[0] - last[0], center[1] - last[1])
        chance = np.random.default_rng([self.seed, before.scans])
        if not engaged:
            return self._in_the_air(scan, mode, chance)
        return self._in_contact(scan, gains, setpoint, mode, course, moved, chance)

    # ------------------------------------------------------------------ the two kinds of scan

    def _in_the_air(self, scan: ScanSettings, mode: str, chance: np.random.Generator) -> Iterator[Line]:
        """Yield what a lever shows that touches nothing."""
        p = self.preset
        level = {
            Z_AXIS: (-p.z_range_m, 0.0),
            Z_SENSOR: (-p.z_range_m, p.sensor_noise_m),
            DEFLECTION: (p.free_deflection_v, p.deflection_noise_m / p.sensitivity_m_per_v),
            FRICTION: (p.lateral_offset_v, p.lateral_noise_v),
            AMPLITUDE: (p.free_amplitude_m / p.sensitivity_m_per_v, p.deflection_noise_m / p.sensitivity_m_per_v),
            PHASE: (90.0, 0.1),
        }
        start = self.progress.clock_s
        for number in range(scan.lines):
            samples = {}
            for way in Direction:
                for name in CHANNELS[mode]:
                    mean, noise = level[name]
                    samples[name, way] = np.full(scan.points, mean)
                    if noise:
                        samples[name, way] += noise * chance.standard_normal(scan.points)
            self._tick(start + 2 * scan.time_per_line_s * (number + 1))
            yield Line(_row(scan, number), number, MappingProxyType(samples), 0.0)

    def _in_contact(
        self,
        scan: ScanSettings,
        gains: Gains,
        setpoint: float,
        mode: str,
        course: Path,
        moved: tuple[float, float],
        chance: np.random.Generator,
    ) -> Iterator[Line]:
        from tasks_lib.instruments.twin import _kernels

        p, dynamic = self.preset, mode == DYNAMIC
        target = (
            setpoint / 100 * p.free_amplitude_m if dynamic else (setpoint - p.free_deflection_v) * p.sensitivity_m_per_v
        )
        k = loop(p, gains, lever=self.lever, adhesion_n=self.sample.adhesion_n, dynamic=dynamic, target=target)
        foot = tip(self.lever, self.sample, course.spacing)
        lean = self._lean(scan)[0]
        state, ring = np.zeros(_kernels.STATE), np.zeros(p.dead_time_ticks + 1)
        start = self.progress.clock_s
        for number in range(scan.lines):
            row = _row(scan, number)
            begun = start + 2 * scan.time_per_line_s * number
            height, friction = self._profile(scan, row, course, foot, self._stray(begun, begun - start, moved))
            if number == 0:
                self._settle(state, ring, height, course, k, begun)
            samples: dict[tuple[str, Direction], Array] = {}
            touched = 0.0
            for pass_, way in enumerate(Direction):
                at = begun + pass_ * scan.time_per_line_s
                lift, later = self._lift(at), self._lift(at + scan.time_per_line_s)
                ticks = course.place[pass_].size
                noise = p.deflection_noise_m * chance.standard_normal(ticks, dtype=np.float32)
                sums = np.zeros((_kernels.SUMS, scan.points))
                _kernels.sweep(
                    course.place[pass_], course.pixel[pass_], height, friction, course.spacing, lean, lift,
                    (later - lift) / ticks, noise, 1.0 if way is Direction.FORWARD else -1.0, k, state, ring, sums,
                )  # fmt: skip
                touched += float(sums[_kernels.TOUCHED].sum() / sums[_kernels.COUNT].sum()) / 2
                samples |= {(name, way): data for name, data in self._signals(sums, mode, chance).items()}
            self._tick(begun + 2 * scan.time_per_line_s)
            yield Line(row, number, MappingProxyType(samples), touched)

    # ------------------------------------------------------------------ parts of a scan

    def _tick(self, clock_s: float) -> None:
        self.progress = Progress(self.progress.scans, clock_s, self.progress.center_m)

    def _drifted(self, axis: int, at: float) -> float:
        """Thermal drift: the rate dies out, so a long session stays on its sample."""
        p = self.preset
        return p.drift_m_per_s[axis] * p.drift_decay_s * float(-np.expm1(-at / p.drift_decay_s))

    def _lift(self, at: float) -> float:
        return self._drifted(2, at)

    def _stray(self, at: float, since: float, moved: tuple[float, float]) -> tuple[float, float]:
        """How far the scanner stands from where it should: drift, and creep after the last move."""
        creep = self.preset.creep * float(np.log10(1 + since / CREEP_ONSET_S))
        return self._drifted(0, at) + creep * moved[0], self._drifted(1, at) + creep * moved[1]

    def _profile(
        self, scan: ScanSettings, row: int, course: Path, foot: Tip, stray: tuple[float, float]
    ) -> tuple[Array, Array]:
        """Return what the tip meets along a line, height and coefficient of friction at `course.along`."""
        from tasks_lib.instruments.twin import _kernels

        x = course.along
        y = ((row + 0.5) / scan.lines - 0.5) * scan.height_m + foot.rows[:, None]
        turn = np.radians(scan.rotation_deg)
        xs = np.cos(turn) * x - np.sin(turn) * y + scan.center_x_m + stray[0]
        ys = np.sin(turn) * x + np.cos(turn) * y + scan.center_y_m + stray[1]
        strip = self.sample.height(xs, ys)
        height = strip[0].copy() if foot.sharp else _kernels.dilate(strip, foot.heights)
        middle = foot.rows.size // 2
        friction = self.sample.friction(xs[middle], ys[middle])
        line_y = y[middle, 0]
        lean_x, lean_y = self._lean(scan)
        height += (
            lean_x * x + lean_y * line_y + self._mount() @ (scan.center_x_m + stray[0], scan.center_y_m + stray[1])
        )
        height += self.preset.bow_per_m * (x * x + line_y * line_y)
        return height, friction

    def _mount(self) -> Array:
        """Slope of the mounted sample along its own axes."""
        return np.tan(np.radians(self.sample.tilt_deg))

    def _lean(self, scan: ScanSettings) -> tuple[float, float]:
        """Slope of the mounted sample along the scan's axes, less what the scan plane takes out."""
        turn = np.radians(scan.rotation_deg)
        along, across = self._mount() @ [[np.cos(turn), -np.sin(turn)], [np.sin(turn), np.cos(turn)]]
        return (
            float(along - np.tan(np.radians(scan.slope_x_deg))),
            float(across - np.tan(np.radians(scan.slope_y_deg))),
        )

    def _settle(self, state: Array, ring: Array, height: Array, course: Path, k: Loop, at: float) -> None:
        """Put the tip where the loop rests at the first place of the scan."""
        from tasks_lib.instruments.twin import _kernels

        left = int(course.place[0][0])
        rest = height[left] + self._lift(at) - (k.amplitude - k.target if k.dynamic else k.target)
        rest = float(np.clip(rest, -k.reach, k.reach))
        ring[:] = rest
        state[[_kernels.Z, _kernels.TOTAL, _kernels.HELD]] = rest
        state[_kernels.LEVER] = k.target
        state[_kernels.CONTACT] = 1.0
        phase = 2 * np.pi * self.preset.hum_hz * at
        state[_kernels.HUM_COS], state[_kernels.HUM_SIN] = np.cos(phase), np.sin(phase)

    def _signals(self, sums: Array, mode: str, chance: np.random.Generator) -> dict[str, Array]:
        """Turn the sums by pixel into the channels of a mode."""
        from tasks_lib.instruments.twin import _kernels

        p = self.preset
        count = sums[_kernels.COUNT]
        mean = sums / count
        signals = {
            Z_AXIS: mean[_kernels.DRIVE],
            Z_SENSOR: mean[_kernels.POSITION] + p.sensor_noise_m * chance.standard_normal(count.size),
        }
        if mode == DYNAMIC:
            signals[AMPLITUDE] = mean[_kernels.SIGNAL] / p.sensitivity_m_per_v
            signals[PHASE] = self._phase(mean[_kernels.SIGNAL], mean[_kernels.TOUCHED])
            return signals
        signals[DEFLECTION] = p.free_deflection_v + mean[_kernels.SIGNAL] / p.sensitivity_m_per_v
        if mode == LATERAL:
            noise = p.lateral_noise_v / np.sqrt(count) * chance.standard_normal(count.size)
            signals[FRICTION] = mean[_kernels.LATERAL] + noise
        return {name: signals[name] for name in CHANNELS[mode]}

    def _phase(self, amplitude: Array, touched: Array) -> Array:
        """Phase in degrees by the balance of power of a lever that is driven at resonance.

        sin φ = A/A0 + Q E / (π k A A0) with the energy E that a tap loses (Cleveland et al., Appl. Phys. Lett. 72,
        2613, 1998); φ is 90° in the air.
        """
        free, lever = self.preset.free_amplitude_m, self.lever
        lost = lever.quality * self.preset.dissipation_j * touched
        swing = np.maximum(amplitude, 0.05 * free)
        sine = swing / free + lost / (np.pi * lever.spring_n_per_m * swing * free)
        phase: Array = np.degrees(np.arcsin(np.clip(sine, 0.0, 1.0)))
        return phase


def _row(scan: ScanSettings, number: int) -> int:
    return number if scan.direction == "up" else scan.lines - 1 - number
