"""What the instrument was set to when the file was written."""

from __future__ import annotations

import re
from datetime import datetime
from typing import Literal

from tasks_lib.instruments.frame import Gains
from tasks_lib.instruments.lever import Lever, quotient
from tasks_lib.instruments.nid._errors import NidError
from tasks_lib.instruments.nid._header import NidHeader
from tasks_lib.instruments.nid._values import HeaderValue, number
from tasks_lib.records import Record

INFO = "DataSet-Info"
IMAGING = "DataSet\\Parameters\\Imaging"
FEEDBACK = "DataSet\\Parameters\\ZFeedback"
CANTILEVER = "DataSet\\Calibration\\Cantilever"
SCANHEAD = "DataSet\\Calibration\\Scanhead"

_DAY_FIRST = re.compile(r"(\d{2})-(\d{2})-(\d{4}) (\d{2}):(\d{2}):(\d{2})", re.ASCII)
_INPUT = re.compile(r"In(0|[1-9]\d{0,3})", re.ASCII)


class Acquisition(Record):
    """Settings of the instrument, in SI units, degrees and percent; None where the file does not have them.

    `time_per_line_s` counts for one direction. `setpoint` is as the file has it, in `setpoint_unit` (V, N, m or %).
    `taken_at_local` is the clock of the instrument's computer: it has no zone, and no file says which one it was in.
    The slopes are named by the axis along which the plane rises, as the program shows them: the header's
    ``ScanRotation`` holds rotations about x, y and z, so that its first number is the slope along y.
    """

    gains: Gains | None = None
    setpoint: float | None = None
    setpoint_unit: str = ""
    width_m: float | None = None
    height_m: float | None = None
    points: int | None = None
    lines: int | None = None
    center_x_m: float | None = None
    center_y_m: float | None = None
    plane_z_m: float | None = None
    rotation_deg: float | None = None
    slope_x_deg: float | None = None
    slope_y_deg: float | None = None
    overscan_percent: float | None = None
    time_per_line_s: float | None = None
    direction: Literal["up", "down"] | None = None
    taken_at_local: datetime | None = None
    mode: str = ""
    lever: Lever = Lever()
    head: str = ""
    environment: str = ""
    software: str = ""

    @property
    def setpoint_native(self) -> float | None:
        """The setpoint in volts of deflection, or in percent of the free amplitude.

        Forces and deflections are turned back into volts with the lever's constants (F/k and d/s); None where these
        are not in the file.
        """
        return self.lever.native_setpoint(self.setpoint, self.setpoint_unit)


def read_settings(header: NidHeader) -> Acquisition:
    """Gather the settings; the typed parameters come first, the displayed ones (three digits) where those are absent.

    Raises
    ------
    NidError
        If a value has the wrong type or unit.
    """
    read = _Reader(header)
    setpoint = read.value(FEEDBACK, "SetPoint") or read.value(INFO, "Setpoint") or read.value(INFO, "Set point")
    direction = header.text(INFO, "Scan direction")
    gains = [read.gain(letter) for letter in "PID"]
    return Acquisition(
        gains=None if gains[0] is None or gains[1] is None else Gains(p=gains[0], i=gains[1], d=gains[2] or 0),
        setpoint=None if setpoint is None else read.plain(setpoint, "SetPoint"),
        setpoint_unit=str(setpoint.unit) if setpoint else "",
        width_m=read.part("ScanRange", 0, "m", "Image size"),
        height_m=read.part("ScanRange", 1, "m", "Image size"),
        points=read.count(0, "Points"),
        lines=read.count(1, "Lines"),
        center_x_m=read.part("ScanOffset", 0, "m", "X-Pos"),
        center_y_m=read.part("ScanOffset", 1, "m", "Y-Pos"),
        plane_z_m=read.part("ScanOffset", 2, "m", "Z-Plane"),
        rotation_deg=read.part("ScanRotation", 2, "°", "Rotation"),
        slope_x_deg=read.part("ScanRotation", 1, "°", "X-Slope"),
        slope_y_deg=read.part("ScanRotation", 0, "°", "Y-Slope"),
        overscan_percent=read.part("OverScanSize", 0, "%", "Overscan"),
        time_per_line_s=read.part("ScanTime", 0, "s", "Time/Line"),
        direction={"Up": "up", "Down": "down"}.get(direction),
        taken_at_local=_taken_at(header),
        mode=header.text(INFO, "Op. mode"),
        lever=_lever(read),
        head=header.text(INFO, "Head type"),
        environment=header.text(INFO, "Measurement environment"),
        software=header.text(INFO, "Software ver."),
    )


class _Reader:
    """Looks values up and says where one is not what it should be."""

    def __init__(self, header: NidHeader) -> None:
        self.header = header

    def value(self, section: str, key: str) -> HeaderValue | None:
        return self.header.value(section, key)

    def refuse(self, section: str, key: str, why: str) -> NidError:
        byte = self.header.byte_of(section, key)
        return NidError(f"[{section}] {key}: {why}", source=self.header.source, byte=byte)

    def plain(self, found: HeaderValue, key: str) -> float:
        if isinstance(found.value, bool | str | tuple):
            section = FEEDBACK if FEEDBACK in self.header else INFO
            raise self.refuse(section, key, "is not a number")
        return float(found.value)

    def part(self, parameter: str, place: int, unit: str, shown: str) -> float | None:
        """One number of a parameter of the scan, or what the program displays for it."""
        found = self.value(IMAGING, parameter)
        if found is None:
            return self.measured(INFO, shown, unit)
        values = found.value if isinstance(found.value, tuple) else (found.value,)
        units = found.unit if isinstance(found.unit, tuple) else (found.unit,)
        if place >= len(values) or isinstance(values[place], bool | str) or units[place] != unit:
            raise self.refuse(IMAGING, parameter, f"has no value number {place + 1} in {unit or 'no unit'}")
        return float(values[place])

    def measured(self, section: str, key: str, unit: str) -> float | None:
        found = self.value(section, key)
        if found is None:
            return None
        if isinstance(found.value, bool | str | tuple) or found.unit != unit:
            raise self.refuse(section, key, f"is not a number in {unit or 'no unit'}")
        return float(found.value)

    def count(self, place: int, shown: str) -> int | None:
        found = self.part("Datapoints", place, "", shown)
        return None if found is None else int(found)

    def gain(self, letter: str) -> int | None:
        for section, key in ((FEEDBACK, f"{letter}Gain"), (INFO, f"{letter}-Gain")):
            found = self.value(section, key)
            if found is not None:
                if not isinstance(found.value, int) or isinstance(found.value, bool) or found.value < 0:
                    raise self.refuse(section, key, "a gain is an integer, zero or more")
                return found.value
        return None

    def full_scale(self, signal: str, unit: str) -> float | None:
        """Full scale of an input of the scan head, by the signal's name."""
        if SCANHEAD not in self.header:
            return None
        section = self.header[SCANHEAD]
        for key in section:
            fields = section.text(key).split(",") if _INPUT.fullmatch(key) else []
            if len(fields) == 6 and fields[1] == signal and fields[3] == unit:
                try:
                    return number(fields[4])
                except ValueError as error:
                    raise self.refuse(SCANHEAD, key, str(error)) from None
        return None


def _lever(read: _Reader) -> Lever:
    header = read.header
    metres, volts = read.full_scale("TipSignalDC", "m"), read.full_scale("TipSignalDC1", "V")
    if volts is None:
        volts = read.full_scale("Channel0", "V")
    return Lever(
        name=header.text(CANTILEVER, "Name") or header.text(INFO, "Cantilever type"),
        manufacturer=header.text(CANTILEVER, "Manufacturer"),
        spring_constant_n_per_m=read.measured(CANTILEVER, "Prop0", "N/m"),
        resonance_hz=read.measured(CANTILEVER, "Prop1", "Hz"),
        deflection_m_per_v=quotient(metres, volts),
    )


def _taken_at(header: NidHeader) -> datetime | None:
    """Read day, month, year; None where the date is written in another way."""
    match = _DAY_FIRST.fullmatch(f"{header.text(INFO, 'Date')} {header.text(INFO, 'Time')}")
    if not match:
        return None
    day, month, year, hour, minute, second = (int(one) for one in match.groups())
    try:
        return datetime(year, month, day, hour, minute, second)  # noqa: DTZ001 - the file names no zone
    except ValueError:
        return None
