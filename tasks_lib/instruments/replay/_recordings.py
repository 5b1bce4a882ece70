"""What is known of each recorded file before it is served."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from tasks_lib.instruments.analysis import frame_validity
from tasks_lib.instruments.frame import Z_AXIS, Frame
from tasks_lib.instruments.nid import NidFile, read_nid
from tasks_lib.instruments.protocol import ApproachStatus, Lever, Limits, Parameter, Span, State
from tasks_lib.records.errors import ConfigurationError

# Modes whose setpoint is a percentage; files name them so.
_DYNAMIC = ("Dynamic Force", "Phase Contrast")


@dataclass(frozen=True)
class Recording:
    """A file, the state that it was recorded in, and whether the tip was in contact.

    `lever` holds the constants of the file's header; `engaged` is False only where the frame shows it.
    """

    path: Path
    state: State
    lever: Lever
    engaged: bool

    def frame(self) -> Frame:
        """Read the frame."""
        return read_nid(self.path).frame()


def load(folder: Path) -> tuple[Recording, ...]:
    """Read every `.nid` file of a folder, in order of name.

    Raises
    ------
    ConfigurationError
        If the folder has none.
    NidError
        If one cannot be read as a frame.
    """
    paths = sorted(path for path in folder.glob("*") if path.suffix.lower() == ".nid" and path.is_file())
    if not paths:
        msg = f"{folder} has no .nid file to replay: name a folder that has"
        raise ConfigurationError(msg)
    return tuple(_recording(path) for path in paths)


def _recording(path: Path) -> Recording:
    nid = read_nid(path)
    frame = nid.frame()
    validity = frame_validity(frame)
    engaged = validity.engaged is not False
    state = State(
        scan=frame.scan,
        gains=frame.gains,
        setpoint=frame.setpoint,
        mode=frame.mode,
        lever=frame.lever,
        approach=ApproachStatus.WITHDRAWN,
        z_saturated=any(channel.startswith(Z_AXIS) for channel in validity.saturated),
    )
    return Recording(path, state, _lever(nid), engaged)


def _lever(nid: NidFile) -> Lever:
    lever = nid.settings.lever
    known = lever.spring_constant_n_per_m is not None
    return Lever(
        name=lever.name,
        spring_constant_n_per_m=lever.spring_constant_n_per_m or 0.0,
        resonance_hz=lever.resonance_hz or 0.0,
        sensitivity_m_per_v=lever.deflection_m_per_v if known else None,
    )


def limits(recordings: Sequence[Recording]) -> Limits:
    """Return limits that hold the recordings and nothing more."""
    values = [one.state.values() for one in recordings]
    spans: dict[Parameter, Span] = {}
    for name in sorted(values[0]):
        numbers = [float(one[name]) for one in values if name != "direction"] or [0.0]
        spans[name] = Span(low=min(numbers), high=max(numbers))  # type: ignore[index]
    # A lever that was calibrated anew for every file stands with its stiffest calibration.
    levers: dict[str, Lever] = {}
    for one in recordings:
        held = levers.get(one.lever.name)
        if held is None or _per_volt(one.lever) > _per_volt(held):
            levers[one.lever.name] = one.lever
    modes = sorted({one.state.mode for one in recordings})
    scans = [one.state.scan for one in recordings]
    forces = [one.state.setpoint * _per_volt(levers[one.lever.name]) for one in recordings]
    return Limits(
        spans=spans,
        modes=tuple(modes),
        dynamic_modes=tuple(mode for mode in modes if mode in _DYNAMIC),
        levers=tuple(levers[name] for name in sorted(levers)),
        max_speed_m_s=max(one.width_m * (1 + 2 * one.overscan_percent / 100) / one.time_per_line_s for one in scans),
        # The guard multiplies in another order: its last digit must not decide.
        max_force_n=max(forces) * (1 + 1e-9) if max(forces) > 0 else 0.0,
    )


def _per_volt(lever: Lever) -> float:
    return lever.spring_constant_n_per_m * (lever.sensitivity_m_per_v or 0.0)
