"""The objects of the application: attributes are settings, and setting one is an order."""

# ruff: noqa: N802 - the names are the vendor's
from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar

from ._errors import TYPE_MISMATCH, com_error, refused
from ._session import Session

_TOPOGRAPHY, _RAW, _PHYSICAL = 1, 0, 1


def _double(value: Any) -> float:
    """Take what COM takes as a number."""
    try:
        return float(value)
    except (TypeError, ValueError):
        raise com_error(TYPE_MISMATCH, "Type mismatch.", None, 1) from None


def _long(value: Any) -> int:
    """Round to a whole number, as COM does."""
    number = _double(value)
    if not abs(number) < 2**31:
        raise refused(f"Value {value!r} is out of range.")
    return round(number)


class ComObject:
    """An object of the program: `_settings` are attributes that go to the instrument."""

    _settings: ClassVar[dict[str, tuple[str, Callable[[Any], float]]]] = {}
    _class = ""

    def __init__(self, session: Session) -> None:
        self._session = session

    def __getattr__(self, name: str) -> Any:
        # Asked only for what is no attribute of the class.
        if name in self._settings and not self._misses(name):
            return self._session.state()[self._settings[name][0]]
        raise AttributeError(f"'<{self._class}>' object has no attribute '{name}'")

    def __setattr__(self, name: str, value: Any) -> None:
        if name.startswith("_"):
            object.__setattr__(self, name, value)
        elif self._misses(name):
            self._grow(name, value)
        elif name in self._settings:
            parameter, convert = self._settings[name]
            self._session.set({parameter: convert(value)})
        elif isinstance(found := getattr(type(self), name, None), property):
            if found.fset is None:
                raise AttributeError(f"Property '{name}' can not be set.")
            self._session.check()
            object.__setattr__(self, name, value)
        else:
            self._grow(name, value)

    def _misses(self, name: str) -> bool:
        return f"{self._class}.{name}" in self._session.switches.missing

    def _grow(self, name: str, value: Any) -> None:
        if not self._session.switches.silent:
            raise AttributeError(f"'<{self._class}>' object has no attribute '{name}'")
        object.__setattr__(self, name, value)


class Scan(ComObject):
    """`application.Scan`."""

    _class = "Scan"
    _settings: ClassVar = {
        "ImageWidth": ("width_m", _double),
        "ImageHeight": ("height_m", _double),
        "Scantime": ("time_per_line_s", _double),
        "Points": ("points", _long),
        "Lines": ("lines", _long),
        "CenterPosX": ("center_x_m", _double),
        "CenterPosY": ("center_y_m", _double),
        "SlopeX": ("slope_x_deg", _double),
        "SlopeY": ("slope_y_deg", _double),
        "Rotation": ("rotation_deg", _double),
        "Overscan": ("overscan_percent", _double),
    }

    @property
    def AutoCapture(self) -> bool:
        return self._session.capture

    @AutoCapture.setter
    def AutoCapture(self, value: bool) -> None:
        self._session.capture = bool(value)

    @property
    def IsScanning(self) -> bool:
        return self._session.follow()

    @property
    def Currentline(self) -> int:
        state = self._session.state()
        return self._session.current_line(int(state["lines"]), str(state["direction"]))

    def ImageSize(self, width: float, height: float) -> None:
        self._session.set({"width_m": _double(width), "height_m": _double(height)})

    def StartFrameUp(self) -> None:
        self._session.begin("up")

    def StartFrameDown(self) -> None:
        self._session.begin("down")

    def Start(self) -> None:
        self._session.begin_endless()

    def Stop(self) -> None:
        self._session.stop()

    def GetLine(self, group: int, channel: int, line: int, filter: int, conversion: int) -> str:
        numbers = [_long(value) for value in (group, channel, line, filter, conversion)]
        if numbers[0] not in (0, 1):
            raise refused(f"There is no group {group}.")
        if numbers[1] != _TOPOGRAPHY or (numbers[3], numbers[4]) != (_RAW, _PHYSICAL):
            raise refused(
                "This instrument gives raw heights in physical units alone: read the rest from the saved file."
            )
        text = ";".join(f"{value:.9g}" for value in self._session.line(numbers[2], numbers[0] == 1))
        return text.replace(".", ",") if self._session.switches.comma else text


class ZController(ComObject):
    """`application.ZController`."""

    _class = "ZController"
    _settings: ClassVar = {
        "SetPoint": ("setpoint", _double),
        "PGain": ("p", _long),
        "IGain": ("i", _long),
        "DGain": ("d", _long),
    }


class Approach(ComObject):
    """`application.Approach`."""

    _class = "Approach"
    _status: ClassVar = {"withdrawn": 0, "approaching": 2, "engaged": 3, "failed": 14}

    @property
    def Status(self) -> int:
        found = self._status[self._session.state()["approach"]]
        return 14 if self._session.approach_failed and found == 0 else found

    def StartApproach(self) -> None:
        self._session.approach_failed = False
        try:
            self._session.order("approach")
        except com_error as error:
            # What was tried and failed shows in the status; what was refused is said at once.
            if getattr(error, "kind", "") != "failed":
                raise
            self._session.approach_failed = True

    def StartWithdraw(self) -> None:
        self._session.approach_failed = False
        self._session.order("withdraw")

    def StartRetract(self) -> None:
        self._session.approach_failed = False
        self._session.order("retract")


class OperatingMode(ComObject):
    """`application.OperatingMode`."""

    _class = "OperatingMode"

    @property
    def OperatingMode(self) -> int:
        from . import MODE_NAMES

        mode = self._session.state()["mode"]
        return next((number for number, name in MODE_NAMES.items() if name == mode), 0)

    @OperatingMode.setter
    def OperatingMode(self, value: int) -> None:
        from . import MODE_NAMES

        number = _long(value)
        if number not in MODE_NAMES:
            raise refused(f"There is no operating mode {number}.")
        self._session.order("mode", {"name": MODE_NAMES[number]})


class ScanHead(ComObject):
    """`application.ScanHead`."""

    _class = "ScanHead"

    @property
    def CantileverByGUID(self) -> str:
        from . import LEVER_GUIDS

        return LEVER_GUIDS.get(self._session.state()["lever"], "{00000000-0000-0000-0000-000000000000}")

    @CantileverByGUID.setter
    def CantileverByGUID(self, value: str) -> None:
        from . import LEVER_GUIDS

        names = [name for name, guid in LEVER_GUIDS.items() if guid.lower() == str(value).lower()]
        if not names:
            raise refused(f"There is no cantilever {value!r}.")
        self._session.order("lever", {"name": names[0]})


class Application(ComObject):
    """`spm.application`."""

    _class = "CX.Application"

    def __init__(self, session: Session) -> None:
        super().__init__(session)
        self._objects = {
            "Scan": Scan(session),
            "ZController": ZController(session),
            "Approach": Approach(session),
            "OperatingMode": OperatingMode(session),
            "ScanHead": ScanHead(session),
        }

    Scan = property(lambda self: self._objects["Scan"])
    ZController = property(lambda self: self._objects["ZController"])
    Approach = property(lambda self: self._objects["Approach"])
    OperatingMode = property(lambda self: self._objects["OperatingMode"])
    ScanHead = property(lambda self: self._objects["ScanHead"])
    Version = property(lambda self: "3.10.2.19")

    def SetGalleryHistoryFilenameMask(self, mask: str) -> None:
        self._session.check()
        self._session.mask = str(mask)

    def SetGalleryHistoryDirectoryPath(self, path: str) -> None:
        self._session.check()
        self._session.directory = str(path)

    def SetGalleryHistoryFilenameIndex(self, index: int) -> None:
        self._session.check()
        self._session.index = _long(index)
