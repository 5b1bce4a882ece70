"""What every part of the microscope speaks of: gains, the settings of a scan, channels and frames."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from types import MappingProxyType
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from tasks_lib.records import Record

Z_AXIS = "Z-Axis"
Z_SENSOR = "Z-AxisSensor"
DEFLECTION = "Deflection"
FRICTION = "Friction force"
AMPLITUDE = "Amplitude"
PHASE = "Phase"

Samples = NDArray[np.float64]


class Direction(StrEnum):
    """Which way the tip went along a line; both are stored with x rising to the right."""

    FORWARD = "forward"
    BACKWARD = "backward"


class Gains(Record):
    """Integer gains of the z controller in the instrument's own units."""

    p: int = Field(ge=0)
    i: int = Field(ge=0)
    d: int = Field(default=0, ge=0)


class ScanSettings(Record):
    """Geometry and timing of a frame, in SI units, degrees and percent.

    `time_per_line_s` counts for one direction, as Nanosurf's programs have it: a frame takes twice that per line.
    """

    width_m: float = Field(gt=0)
    height_m: float = Field(gt=0)
    points: int = Field(ge=2, le=16384)
    lines: int = Field(ge=1, le=16384)
    time_per_line_s: float = Field(gt=0)
    center_x_m: float = 0.0
    center_y_m: float = 0.0
    rotation_deg: float = 0.0
    slope_x_deg: float = 0.0
    slope_y_deg: float = 0.0
    overscan_percent: float = Field(default=0.0, ge=0, le=100)
    direction: Literal["up", "down"] = "up"

    @property
    def pixel_m(self) -> tuple[float, float]:
        """Distance of neighbouring samples along x and of neighbouring lines along y, in metres."""
        return self.width_m / self.points, self.height_m / self.lines

    @property
    def frame_time_s(self) -> float:
        """Time of a whole frame, trace and retrace, in seconds."""
        return 2 * self.lines * self.time_per_line_s


@dataclass(frozen=True, eq=False)
class Channel:
    """One signal in one direction: `data` of shape (lines, points) in `unit`.

    Row 0 is the lowest line of the frame, whichever way the frame was scanned; x rises with the column. Lines that
    were not scanned yet hold NaN in frames that the twin makes and whatever the file holds in frames that were read.
    """

    name: str
    direction: Direction
    unit: str
    data: Samples


@dataclass(frozen=True, eq=False)
class Frame:
    """A scanned image: its channels, and all that the instrument knew when it was taken.

    Attributes
    ----------
    channels : mapping of (name, direction) to Channel
    scan : ScanSettings
    gains : Gains
    setpoint : float
        In volts of the deflection signal in contact modes, in percent of the free amplitude in dynamic ones.
    mode, lever : str
        As the instrument names them, for example ``Lateral Force`` and ``Multi75Al-G``.
    lines_done : int
        Lines that were scanned; the frame is complete where this equals ``scan.lines``.
    engaged : bool or None
        Whether the tip was in contact during the scan; None where the source does not say.
    taken_at : datetime or None
        Local time of the instrument without a zone, as its files have it.
    source : str
        Where the frame comes from: a file's name, or the back end and its serial number.
    """

    channels: Mapping[tuple[str, Direction], Channel]
    scan: ScanSettings
    gains: Gains
    setpoint: float
    mode: str
    lever: str
    lines_done: int
    engaged: bool | None = None
    taken_at: datetime | None = None
    source: str = ""
    notes: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))

    def __getstate__(self) -> dict[str, Any]:
        # Read-only views cannot be sent to another process; what they show can.
        return self.__dict__ | {"channels": dict(self.channels), "notes": dict(self.notes)}

    def __setstate__(self, state: dict[str, Any]) -> None:
        views = {name: MappingProxyType(state[name]) for name in ("channels", "notes")}
        for name, value in (state | views).items():
            object.__setattr__(self, name, value)

    @property
    def complete(self) -> bool:
        """Whether every line was scanned."""
        return self.lines_done == self.scan.lines

    def data(self, name: str, direction: Direction | str = Direction.FORWARD) -> Samples:
        """Return the samples of a channel, shape (lines, points), in the channel's unit.

        Raises
        ------
        KeyError
            If the frame has no such channel; the message lists those it has.
        """
        try:
            return self.channels[name, Direction(direction)].data
        except KeyError:
            have = ", ".join(f"{one} {way}" for one, way in sorted(self.channels)) or "none"
            raise KeyError(f"{self.source or 'the frame'} has no channel {name} {direction}; it has: {have}") from None
