"""The twin as a back end: what a client can do to a real microscope, it can do to this one."""

from __future__ import annotations

import threading
from collections.abc import Mapping

from tasks_lib.instruments.frame import Z_AXIS, Direction, Frame, Gains, ScanSettings
from tasks_lib.instruments.protocol import (
    ApproachStatus,
    Lever,
    Limits,
    LineReport,
    OnLine,
    Parameter,
    RefusedError,
    Span,
    State,
    Value,
)
from tasks_lib.instruments.twin._path import MAX_TICKS, MIN_SIZE_M
from tasks_lib.instruments.twin.errors import TwinError
from tasks_lib.instruments.twin.microscope import DYNAMIC, LATERAL, MODES, Line, Microscope
from tasks_lib.instruments.twin.presets import LEVERS, Preset
from tasks_lib.instruments.twin.presets import Lever as TwinLever
from tasks_lib.instruments.twin.presets import lever as find_lever

# Envelopes of the twin: a tip speed and a force that its presets were compared with real files for.
MAX_SPEED_M_S = 2e-3
MAX_FORCE_N = 5e-6


def twin_limits(preset: Preset, size_m: tuple[float, float], mounted: TwinLever | None = None) -> Limits:
    """Return what a twin with these constants accepts over a sample of this width and height, in metres.

    The levers are those of `LEVERS`, and `mounted` where it is another.
    """
    gain = Span(low=0, high=preset.gain_limit)
    spans: dict[Parameter, Span] = {
        "width_m": Span(low=MIN_SIZE_M, high=max(size_m)),
        "height_m": Span(low=MIN_SIZE_M, high=max(size_m)),
        "points": Span(low=2, high=4096),
        "lines": Span(low=1, high=4096),
        "time_per_line_s": Span(low=0.01, high=min(60.0, MAX_TICKS / preset.sample_rate_hz)),
        "center_x_m": Span(low=-size_m[0] / 2, high=size_m[0] / 2),
        "center_y_m": Span(low=-size_m[1] / 2, high=size_m[1] / 2),
        "rotation_deg": Span(low=-180, high=180),
        "slope_x_deg": Span(low=-10, high=10),
        "slope_y_deg": Span(low=-10, high=10),
        "overscan_percent": Span(low=0, high=50),
        "direction": Span(low=0, high=0),
        "p": gain,
        "i": gain,
        "d": gain,
        "setpoint": Span(low=-10, high=100),
    }
    levers = tuple(
        Lever(
            name=one.name,
            spring_constant_n_per_m=one.spring_n_per_m,
            resonance_hz=one.resonance_hz,
            sensitivity_m_per_v=preset.sensitivity_m_per_v,
        )
        for one in (LEVERS if mounted is None else {**LEVERS, mounted.name: mounted}).values()
    )
    return Limits(
        spans=spans,
        modes=MODES,
        dynamic_modes=(DYNAMIC,),
        levers=levers,
        max_speed_m_s=MAX_SPEED_M_S,
        max_force_n=MAX_FORCE_N,
        free_deflection_v=preset.free_deflection_v,
    )


class TwinBackEnd:
    """A simulated microscope behind the protocol.

    Parameters
    ----------
    microscope : Microscope
        What is simulated; its lever is the one that is mounted first.
    scan : ScanSettings
        Settings at the start.
    gains : Gains
        Gains at the start.
    setpoint : float
        In volts of deflection.
    name : str, optional
        By default the preset's, as ``twin-flex``.
    """

    def __init__(
        self, microscope: Microscope, scan: ScanSettings, gains: Gains, setpoint: float, *, name: str | None = None
    ) -> None:
        self._microscope = microscope
        self._name = name or f"twin-{microscope.preset.name.lower()}"
        self._mounted_first = microscope.lever
        self._limits = twin_limits(microscope.preset, microscope.sample.size_m, microscope.lever)
        self._stopped = threading.Event()
        self._state = State(
            scan=scan,
            gains=gains,
            setpoint=setpoint,
            mode=LATERAL,
            lever=microscope.lever.name,
            approach=ApproachStatus.WITHDRAWN,
        )

    @property
    def name(self) -> str:
        """Name of the instrument."""
        return self._name

    @property
    def limits(self) -> Limits:
        """What it accepts."""
        return self._limits

    @property
    def microscope(self) -> Microscope:
        """What is simulated, for whoever knows the truth."""
        return self._microscope

    def read(self) -> State:
        """Return the state."""
        return self._state

    def write(self, values: Mapping[str, Value]) -> None:
        """Set parameters, which arrive checked."""
        whole = self._state.values() | dict(values)
        self._change(
            scan=ScanSettings.model_validate({name: whole[name] for name in ScanSettings.model_fields}),
            gains=Gains.model_validate({name: whole[name] for name in Gains.model_fields}),
            setpoint=float(whole["setpoint"]),
        )

    def set_mode(self, mode: str) -> None:
        """Change the mode."""
        self._change(mode=mode)

    def select_lever(self, name: str) -> None:
        """Mount another lever; noise and clock go on."""
        first = self._mounted_first
        self._microscope.lever = first if name == first.name else find_lever(name)
        self._change(lever=name)

    def approach(self, timeout_s: float) -> None:
        """Engage where the setpoint can be reached: a lever that is to show less than in the air never touches."""
        dynamic = self._state.mode == DYNAMIC
        reachable = self._state.setpoint < 100 if dynamic else self._state.setpoint > self._free_v
        self._change(approach=ApproachStatus.ENGAGED if reachable else ApproachStatus.FAILED)

    @property
    def _free_v(self) -> float:
        return self._microscope.preset.free_deflection_v

    def withdraw(self) -> None:
        """Lift the tip."""
        self._change(approach=ApproachStatus.WITHDRAWN)

    def retract(self) -> None:
        """Move the tip away."""
        self._change(approach=ApproachStatus.WITHDRAWN)

    def scan(self, name: str, on_line: OnLine) -> Frame:
        """Scan a frame as fast as the machine computes; the clock of the twin counts the real times.

        Raises
        ------
        RefusedError
            If the settings fit one by one and make no scan together: one that leaves the sample, or whose lines are
            too short for their points. No line was scanned.
        """
        state, serial = self._state, self._microscope.progress.scans
        try:
            scanned = self._microscope.scan_lines(state.scan, state.gains, state.setpoint, state.mode)
        except TwinError as error:
            msg = f"{self._name} cannot scan {name}: {error}"
            raise RefusedError(msg) from error
        self._stopped.clear()
        self._change(scanning=True)
        lines: list[Line] = []
        try:
            for line in scanned:
                lines.append(line)
                z = {way: line.samples[Z_AXIS, way] for way in Direction}
                report = LineReport(line.number, z[Direction.FORWARD], z[Direction.BACKWARD])
                if not on_line(report) or self._stopped.is_set():
                    break
        finally:
            self._change(scanning=False)
        self._change(last_frame=name)
        return self._microscope.gather(lines, state.scan, state.gains, state.setpoint, state.mode, serial=serial)

    def stop(self) -> None:
        """End a scan at the next line."""
        self._stopped.set()

    def _change(self, **fields: object) -> None:
        self._state = self._state.model_copy(update=fields)
