"""The back end on the object tree of Nanosurf's classic programs (Easyscan 2, C3000, Naio, CoreAFM, CX)."""

from __future__ import annotations

import threading
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Any

import numpy as np
from pydantic import ValidationError

from tasks_lib.instruments.frame import Z_AXIS, Channel, Direction, Frame, Gains, Samples, ScanSettings
from tasks_lib.instruments.nanosurf import _vendor
from tasks_lib.instruments.nanosurf._objects import VendorObjects
from tasks_lib.instruments.nid import NidError, read_nid, write_nid
from tasks_lib.instruments.protocol import (
    ApproachStatus,
    InstrumentError,
    InstrumentLostError,
    Limits,
    LineReport,
    OnLine,
    State,
    Value,
)
from tasks_lib.records.errors import ConfigurationError


@dataclass(frozen=True)
class Timing:
    """How long the program is given, s.

    `settle` is the time in which a motion shows that it began: until then the status may still be that of the motion
    before. `line` is what a line may take beyond six times its own time.
    """

    poll: float = 0.1
    settle: float = 2.0
    motion: float = 60.0
    line: float = 30.0
    file: float = 15.0


class ClassicBackEnd:
    """A microscope behind `nanosurf.SPM()`. All methods but `stop` belong to the thread that made the object.

    It withdraws the tip at once: a status that says *done* may be that of an approach or of a withdrawal, and only
    motions ordered here are known.

    Parameters
    ----------
    spm : object
        What ``nanosurf.SPM()`` returned.
    limits : Limits
        What the laboratory allows.
    gallery : Path
        Folder of this worker alone; the program saves its frames there.
    com_error : type of Exception
        ``pywintypes.com_error``.
    name : str
        Name of the instrument.

    Raises
    ------
    ConfigurationError
        If no program with the scripting option runs, or it does not know a lever or a mode of the limits.
    """

    def __init__(
        self,
        spm: Any,
        limits: Limits,
        gallery: Path,
        *,
        com_error: type[Exception],
        name: str = "nanosurf",
        timing: Timing | None = None,
    ) -> None:
        self._limits, self._name, self._gallery = limits, name, gallery
        self._timing = timing or Timing()
        self._stopped = threading.Event()
        self._tick = threading.Event()
        self._direction, self._tip = "up", ApproachStatus.WITHDRAWN
        self._last: str | None = None
        self._content = b""
        app = getattr(spm, "application", None)
        if app is None or getattr(app, "Scan", None) is None:
            msg = (
                "no program of Nanosurf with its scripting option runs here: start it, or ask the vendor for the option"
            )
            raise ConfigurationError(msg)
        self._objects = VendorObjects(app, com_error, name)
        self._levers = {one.name: self._guid(spm, one.name) for one in limits.levers}
        if unknown := sorted(set(limits.modes) - set(_vendor.MODES)):
            msg = f"the limits name modes that the program does not have: {unknown}; it has {sorted(_vendor.MODES)}"
            raise ConfigurationError(msg)
        gallery.mkdir(parents=True, exist_ok=True)
        self.withdraw()

    @property
    def name(self) -> str:
        """Name of the instrument."""
        return self._name

    @property
    def limits(self) -> Limits:
        """What the laboratory allows."""
        return self._limits

    def encode(self, frame: Frame) -> bytes:
        """Return the file that the program saved for the last frame, or one of its lines where it saved none."""
        return self._content or write_nid(frame)

    def read(self) -> State:
        """Ask the program for everything."""
        values = {name: self._objects.get(*place) for name, place in _vendor.PLACES.items() if self._is_there(name)}
        values["direction"] = self._direction
        try:
            scan = {name: values[name] for name in ScanSettings.model_fields if name in values}
            gains = {name: int(values[name]) if name in values else 0 for name in Gains.model_fields}
            return State(
                scan=ScanSettings(**scan),
                gains=Gains(**gains),
                setpoint=float(values["setpoint"]),
                mode=self._mode(int(self._objects.get("OperatingMode", "OperatingMode"))),
                lever=self._lever(str(self._objects.get("ScanHead", "CantileverByGUID"))),
                approach=self._approach(),
                scanning=bool(self._objects.get("Scan", "IsScanning")),
                last_frame=self._last,
            )
        except (ValidationError, TypeError, ValueError, KeyError) as error:
            msg = f"{self._name} reports what cannot be: {error}"
            raise InstrumentError(msg) from error

    def write(self, values: Mapping[str, Value]) -> None:
        """Set parameters, each read back."""
        for name, value in values.items():
            if name == "direction":
                self._direction = str(value)
            else:
                self._objects.put(*_vendor.PLACES[name], value)

    def set_mode(self, mode: str) -> None:
        """Change the mode."""
        self._objects.put("OperatingMode", "OperatingMode", _vendor.MODES[mode])

    def select_lever(self, name: str) -> None:
        """Select a lever by the identifier that the program has for it."""
        self._objects.put_text("ScanHead", "CantileverByGUID", self._levers[name])
        if (reported := self._lever(str(self._objects.get("ScanHead", "CantileverByGUID")))) != name:
            msg = f"{self._name} was told the lever {name} and reports {reported}"
            raise InstrumentError(msg)

    def approach(self, timeout_s: float) -> None:
        """Approach, and wait until it ended or the time is over; `stop` ends it with a withdrawal."""
        self._stopped.clear()
        engaged, before = self._tip is ApproachStatus.ENGAGED, self._status()
        self._tip = ApproachStatus.APPROACHING
        moved = self._move("StartApproach", timeout_s)
        if self._stopped.is_set():
            self.withdraw()
            return
        self._tip = self._after_approach()
        if before is _vendor.Status.DONE and not moved and not engaged:
            # What says done may still be the motion before.
            self._tip = ApproachStatus.FAILED

    def withdraw(self) -> None:
        """Lift the tip."""
        self._away("StartWithdraw")

    def retract(self) -> None:
        """Move the tip away by the motor."""
        self._away("StartRetract")

    def stop(self) -> None:
        """End a scan at the next line, or an approach at once; from any thread."""
        self._stopped.set()

    def scan(self, name: str, on_line: OnLine) -> Frame:
        """Scan a frame.

        Lines come from the program while it scans. The frame is the file that the program saves: it alone has all
        channels, with their units, and the header.
        """
        state, before = self.read(), set(self._gallery.glob("*.nid"))
        self._stopped.clear()
        self._content = b""
        self._objects.call("", "SetGalleryHistoryDirectoryPath", str(self._gallery))
        self._objects.call("", "SetGalleryHistoryFilenameMask", f"{name}-[INDEX]")
        self._objects.put("Scan", "AutoCapture", True)
        self._objects.call("Scan", "StartFrameUp" if self._direction == "up" else "StartFrameDown")
        lines = self._follow(state.scan, on_line)
        self._last = name
        saved = self._saved(before)
        if saved is not None:
            self._content, frame = saved
            return frame
        if len(lines) == state.scan.lines:
            msg = f"{self._name} scanned {name} and saved no file in {self._gallery} within {self._timing.file:g} s"
            raise InstrumentError(msg)
        return self._of_lines(name, state, lines)

    # ------------------------------------------------------------------ a scan

    def _follow(self, scan: ScanSettings, on_line: OnLine) -> list[LineReport]:
        """Report lines as they are done; returns when the program does not scan any more."""
        lines: list[LineReport] = []
        last_line = time.monotonic()
        try:
            while True:
                running = bool(self._objects.get("Scan", "IsScanning"))
                current = int(self._objects.get("Scan", "Currentline"))
                # The current line is still being scanned while the scan runs.
                done = (current if self._direction == "up" else scan.lines - 1 - current) + (not running)
                while len(lines) < min(done, scan.lines):
                    lines.append(self._line(scan, len(lines)))
                    last_line = time.monotonic()
                    if not on_line(lines[-1]) or self._stopped.is_set():
                        return lines
                if not running:
                    return lines
                if self._stopped.is_set():
                    return lines
                if (silent := time.monotonic() - last_line) > self._timing.line + 6 * 2 * scan.time_per_line_s:
                    msg = f"{self._name} has scanned no line for {silent:.0f} s: the scan was stopped"
                    raise InstrumentError(msg)
                self._tick.wait(self._timing.poll)
        finally:
            self._end_scan()

    def _end_scan(self) -> None:
        if not self._objects.get("Scan", "IsScanning"):
            return
        self._objects.call("Scan", "Stop")
        end = time.monotonic() + self._timing.motion
        while self._objects.get("Scan", "IsScanning"):
            if time.monotonic() > end:
                limit = self._timing.motion
                msg = f"{self._name} still scans {limit:g} s after it was told to stop: stop it by hand"
                raise InstrumentLostError(msg)
            self._tick.wait(self._timing.poll)

    def _line(self, scan: ScanSettings, index: int) -> LineReport:
        row = index if self._direction == "up" else scan.lines - 1 - index
        groups = (_vendor.FORWARD, _vendor.BACKWARD)
        return LineReport(index, *(self._heights(group, row, scan.points) for group in groups))

    def _heights(self, group: int, row: int, points: int) -> Samples:
        how = (_vendor.RAW, _vendor.PHYSICAL)
        text = str(self._objects.call("Scan", "GetLine", group, _vendor.TOPOGRAPHY, row, *how))
        try:
            # Where Windows writes numbers with a comma, the program does so too.
            values = np.array([float(one.replace(",", ".")) for one in text.split(";")])
        except ValueError as error:
            msg = f"{self._name} gave a line {row} that holds no numbers: {error}"
            raise InstrumentError(msg) from error
        if values.size != points or not np.isfinite(values).all():
            msg = f"{self._name} gave a line {row} of {values.size} numbers, not {points} finite ones"
            raise InstrumentError(msg)
        return values

    def _saved(self, before: set[Path]) -> tuple[bytes, Frame] | None:
        """Wait for the one new file of the gallery, whole."""
        end, trouble = time.monotonic() + self._timing.file, ""
        while True:
            new = sorted(set(self._gallery.glob("*.nid")) - before)
            if len(new) > 1:
                msg = f"{len(new)} files came into {self._gallery} in one scan: let nothing else save there"
                raise InstrumentError(msg)
            if new:
                try:
                    content = new[0].read_bytes()
                    return content, read_nid(content, name=new[0].name).frame()
                except (NidError, OSError) as error:  # still being written
                    trouble = str(error)
            if time.monotonic() > end:
                if trouble:
                    msg = f"{self._name} saved a file that cannot be read: {trouble}"
                    raise InstrumentError(msg)
                return None
            self._tick.wait(self._timing.poll)

    def _of_lines(self, name: str, state: State, lines: list[LineReport]) -> Frame:
        """Make the frame of a stopped scan that the program did not save: heights alone."""
        if not lines:
            msg = f"{self._name} stopped {name} before its first line"
            raise InstrumentError(msg)
        scan = state.scan
        channels = {}
        for way in Direction:
            data = np.full((scan.lines, scan.points), np.nan)
            for line in lines:
                row = line.index if scan.direction == "up" else scan.lines - 1 - line.index
                data[row] = line.forward if way is Direction.FORWARD else line.backward
            channels[Z_AXIS, way] = Channel(Z_AXIS, way, "m", data)
        return Frame(
            channels=MappingProxyType(channels), scan=scan, gains=state.gains, setpoint=state.setpoint,
            mode=state.mode, lever=state.lever, lines_done=len(lines), engaged=state.engaged, source=name,
            notes=MappingProxyType({"source": "lines read while scanning; the program saved no file"}),
        )  # fmt: skip

    # ------------------------------------------------------------------ motions

    def _move(self, order: str, seconds: float) -> bool:
        """Begin a motion and wait until it ended, the time is over or an approach is stopped; return if it showed."""
        self._objects.call("Approach", order)
        begun = time.monotonic()
        moved = False
        while True:
            moving = self._status() in _vendor.MOVING
            moved = moved or moving
            passed = time.monotonic() - begun
            ended = not moving and (moved or passed >= self._timing.settle)
            stopped = order == "StartApproach" and self._stopped.is_set()
            if ended or stopped or passed > seconds:
                return moved
            self._tick.wait(self._timing.poll)

    def _away(self, order: str) -> None:
        self._tip = ApproachStatus.WITHDRAWN
        self._move(order, self._timing.motion)
        if self._status() in _vendor.MOVING:
            self._tip = ApproachStatus.FAILED
            msg = f"{self._name} still moves {self._timing.motion:g} s after {order}: look at the instrument"
            raise InstrumentError(msg)

    def _after_approach(self) -> ApproachStatus:
        status = self._status()
        if status is _vendor.Status.DONE:
            return ApproachStatus.ENGAGED
        return ApproachStatus.APPROACHING if status in _vendor.MOVING else ApproachStatus.FAILED

    def _approach(self) -> ApproachStatus:
        """Say where the tip is: engaged only while the program still says that the approach ordered here is done."""
        if self._tip in (ApproachStatus.WITHDRAWN, ApproachStatus.FAILED):
            return self._tip
        return self._after_approach()

    def _status(self) -> _vendor.Status | None:
        number = int(self._objects.get("Approach", "Status"))
        return _vendor.Status(number) if number in _vendor.Status.__members__.values() else None

    # ------------------------------------------------------------------ single values

    def _is_there(self, name: str) -> bool:
        # P and D are missing where the limits have no span for them.
        return name not in Gains.model_fields or name in self._limits.spans

    def _mode(self, number: int) -> str:
        return next((name for name, one in _vendor.MODES.items() if one == number), f"mode {number}")

    def _lever(self, guid: str) -> str:
        return next((name for name, one in self._levers.items() if one.lower() == guid.lower()), guid)

    def _guid(self, spm: Any, name: str) -> str:
        guid = getattr(getattr(spm, "CantileverGUID", None), _vendor.lever_attribute(name), None)
        if not isinstance(guid, str):
            msg = f"the program knows no lever {name}: name one of its CantileverGUID in the limits"
            raise ConfigurationError(msg)
        return guid
