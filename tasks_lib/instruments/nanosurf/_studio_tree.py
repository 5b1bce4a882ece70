"""The tree of Nanosurf Studio: names that are used here, and values read before they are set and read back after."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from tasks_lib.instruments.protocol import InstrumentError, InstrumentLostError, Value, same_value
from tasks_lib.records.errors import ConfigurationError

# Parameter of the protocol -> node and attribute below `workflow`, and the unit that the program must have it in.
PLACES = {
    "width_m": ("imaging.scan_range_fast_axis", "m"),
    "height_m": ("imaging.scan_range_slow_axis", "m"),
    "points": ("imaging.points_per_line", ""),
    "lines": ("imaging.lines_per_frame", ""),
    "time_per_line_s": ("imaging.line_rate", "Hz"),
    "center_x_m": ("imaging.image_offset_x", "m"),
    "center_y_m": ("imaging.image_offset_y", "m"),
    "rotation_deg": ("imaging.rotation", "°"),
    "slope_x_deg": ("imaging.slope_x", "°"),
    "slope_y_deg": ("imaging.slope_y", "°"),
    "overscan_percent": ("imaging.overscan", "%"),
    "i": ("z_control.i_gain", ""),
    "setpoint": ("z_control.setpoint", ""),
}
DIRECTION = "imaging.slow_axis_scan_direction"
# What a frame cannot do without.
NEEDED = ("width_m", "height_m", "points", "lines", "time_per_line_s", "i", "setpoint")
MODES = {"Static Force": "mode.static_mode", "Dynamic Force": "mode.dynamic_mode"}

_SAME_UNITS = {"deg": "°", "degree": "°", "degrees": "°"}
# How the vendor's package begins what the program itself refused; other words are those of the socket.
_REFUSED = "Script Error"


class StudioTree:
    """`spm` of a connected Studio, for the microscope named `name`; `script_error` is what its package raises."""

    def __init__(self, spm: Any, script_error: type[Exception], name: str) -> None:
        self._workflow, self._script_error, self._name = spm.workflow, script_error, name

    def has(self, path: str) -> bool:
        """Whether this program shows a name; the class is asked, so that nothing is read."""
        place, _, attribute = path.rpartition(".")
        try:
            return hasattr(type(self._node(place)), attribute)
        except AttributeError:
            return False

    def get(self, path: str) -> Any:
        """Read an attribute."""
        place, _, attribute = path.rpartition(".")
        with self._talking(f"read {path}", place):
            return getattr(self._node(place), attribute)

    def put(self, path: str, value: Value) -> None:
        """Set a number and read it back."""
        self.get(path)  # Python lets a wrapper grow an attribute that the program does not have
        self.put_plain(path, value)
        reported = self.get(path)
        if not same_value(value, reported):
            msg = f"{self._name} was told {path} = {value!r} and reports {reported!r}"
            raise InstrumentError(msg)

    def put_plain(self, path: str, value: Any) -> None:
        """Set an attribute that the caller reads back."""
        place, _, attribute = path.rpartition(".")
        with self._talking(f"set {path} = {value!r}", place):
            setattr(self._node(place), attribute, value)

    def choose(self, path: str, choice: str) -> None:
        """Set an attribute that is one of an enumeration, by the name of the choice."""
        place, _, attribute = path.rpartition(".")
        try:
            wanted = getattr(self._node(place), f"{attribute}_enum")[choice]
        except (AttributeError, KeyError) as error:
            msg = f"the program of {self._name} has no {choice} of {path}: {error}"
            raise InstrumentError(msg) from error
        self.put_plain(path, wanted)
        if (reported := self.get(path)) != wanted:
            msg = f"{self._name} was told {path} = {choice} and reports {reported}"
            raise InstrumentError(msg)

    def call(self, path: str) -> Any:
        """Carry out an action, which returns when it is done."""
        place, _, method = path.rpartition(".")
        with self._talking(f"carry out {path}", place):
            return getattr(self._node(place), method)()

    def check_unit(self, path: str, unit: str) -> None:
        """Refuse to work in units that are not those of the protocol."""
        if unit and self.has(f"{path}_unit"):
            reported = str(self.get(f"{path}_unit"))
            if _SAME_UNITS.get(reported, reported) != unit:
                msg = f"{self._name} has {path} in {reported!r}: set the program to {unit}"
                raise ConfigurationError(msg)

    def _node(self, place: str) -> Any:
        node = self._workflow
        for name in place.split("."):
            node = getattr(node, name)
        return node

    @contextmanager
    def _talking(self, what: str, place: str) -> Iterator[None]:
        try:
            yield
            # Packages before 2.0 print what went wrong, return nothing, and keep the words.
            words = str(getattr(getattr(self._node(place), "_context", None), "last_error", "") or "")
            if words:
                raise self._script_error(words)
        except self._script_error as error:
            raise self._error(what, str(error)) from error
        except OSError as error:
            raise self._error(what, str(error)) from error
        except (AttributeError, TypeError, ValueError, KeyError, AssertionError) as error:
            words = str(getattr(getattr(self._workflow, "_context", None), "last_error", "") or "")
            if words:
                raise self._error(what, words) from error
            msg = f"the program of {self._name} cannot {what}: {error}"
            raise InstrumentError(msg) from error

    def _error(self, what: str, words: str) -> InstrumentError | InstrumentLostError:
        if _REFUSED in words:
            return InstrumentError(f"{self._name} did not {what}: {words}")
        msg = f"the program of {self._name} is gone ({words}): start it again, then this worker"
        return InstrumentLostError(msg)
