"""The documented tree of Nanosurf Studio, written from its names in `nanosurf` 1.14 and `nanosurf-core` 2.0.

``studio.Studio().connect()``, then ``spm.workflow``: values are attributes, actions are functions that return when they
are done. Frames are saved as `.nhf` files, which needs this house beside it. The vendor's socket is not here: a desk is
reached as by the classic fake.
"""

from __future__ import annotations

import enum
import os
import threading
import time
from pathlib import Path
from typing import Any

from ._errors import GONE, com_error
from ._link import HttpLink, Link, ask

__all__ = ["Studio", "StudioScriptError"]

STATIC, DYNAMIC = "Static Force", "Dynamic Force"
# Names of the tree that only newer programs show, or only to those who may see more.
EXTENDED = frozenset(
    {
        "imaging.image_offset_x", "imaging.image_offset_y", "imaging.slope_x", "imaging.slope_y", "imaging.overscan",
        "imaging.slow_axis_scan_direction", "imaging.scan_mode", "approach.stop_approach", "mode.current_mode_name",
        "static_mode.name", "dynamic_mode.name", "storage.nhf_auto_store_mode",
    }
)  # fmt: skip


class StudioScriptError(Exception):
    """What Studio answered instead of a value."""


class _Context:
    """One connection: `call` carries a request, and errors are raised or, in older packages, printed and kept."""

    def __init__(self, link: Link, words: list[str]) -> None:
        self._link = link
        self.quiet = "quiet" in words
        self.missing = {word.partition("=")[2] for word in words if word.startswith("missing=")}
        if "public" in words:
            self.missing |= {name + more for name in EXTENDED for more in ("", "_unit", "_enum")}
        self.words = words
        self.last_error = ""
        self.unit: str | None = "N"
        self.storage: dict[str, Any] = {
            "gallery_directory": str(Path.cwd()), "file_basename": "Image_[INDEX]", "save_partial_measurements": False,
            "nhf_auto_store_mode": 2, "next_file_index": 1, "scan_mode": 0,
        }  # fmt: skip

    def ask(self, method: str, target: str, order: dict[str, Any] | None = None) -> Any:
        self.last_error = ""
        try:
            return ask(self._link, method, target, order)
        except com_error as error:
            words = str(error.args[2][2] if error.args[2] else error.args[1])
            self.last_error = words if error.args[0] == GONE else f"Script Error: {words}"
        return self.fail()

    def fail(self, words: str = "") -> Any:
        if words:
            self.last_error = f"Script Error: {words}"
        if not self.quiet:
            raise StudioScriptError(self.last_error)
        print(self.last_error)  # noqa: T201 - as the vendor's
        return None

    def state(self) -> dict[str, Any]:
        found = self.ask("GET", "/v1/state")
        if found is None:
            return {}
        return {**found["scan"], **found["gains"], **{name: found[name] for name in found if name != "gains"}}

    def set(self, **values: Any) -> None:
        self.ask("POST", "/v1/set", {"values": values})

    def lever(self) -> dict[str, Any]:
        name = self.state().get("lever")
        facts = self.ask("GET", "/v1/facts") or {"limits": {"levers": []}}
        return next((one for one in facts["limits"]["levers"] if one["name"] == name), {})


class _Node:
    """An inner node."""

    _name = ""

    def __init__(self, context: _Context) -> None:
        self._context = context


def _shown(kind: type[_Node], context: _Context) -> Any:
    """Make a node of a class that has no name which this program does not show."""
    held: dict[str, Any] = {}
    for one in reversed([one for one in kind.__mro__ if one not in (object, _Node)]):
        held |= {name: value for name, value in vars(one).items() if not name.startswith("__") or name == "__init__"}
    kept = {name: value for name, value in held.items() if f"{kind._name}.{name}" not in context.missing}  # noqa: SLF001
    return type(kind.__name__, (_Node,), kept)(context)


def _value(parameter: str, kind: type) -> Any:
    def get(self: Any) -> Any:
        return kind(self._context.state().get(parameter))

    def put(self: Any, new_val: Any) -> None:
        self._context.set(**{parameter: kind(new_val)})

    return property(get, put)


def _stored(name: str, kind: type) -> Any:
    def get(self: Any) -> Any:
        self._context.last_error = ""
        return kind(self._context.storage[name])

    def put(self: Any, new_val: Any) -> None:
        self._context.last_error = ""
        self._context.storage[name] = kind(new_val)

    return property(get, put)


def _unit(text: str) -> Any:
    def get(self: Any) -> str:
        self._context.last_error = ""
        return text

    return property(get)


class Imaging(_Node):
    """`workflow.imaging`."""

    _name = "imaging"

    class slow_axis_scan_direction_enum(enum.Enum):  # noqa: N801 - the vendor's
        downward = 0
        bounce = 2
        upward = 1

    class scan_mode_enum(enum.Enum):  # noqa: N801 - the vendor's
        single_frame = 1
        continuous = 0

    scan_range_fast_axis = _value("width_m", float)
    scan_range_slow_axis = _value("height_m", float)
    scan_range_fast_axis_unit = scan_range_slow_axis_unit = _unit("m")
    points_per_line = _value("points", int)
    lines_per_frame = _value("lines", int)
    rotation = _value("rotation_deg", float)
    image_offset_x = _value("center_x_m", float)
    image_offset_y = _value("center_y_m", float)
    image_offset_x_unit = image_offset_y_unit = _unit("m")
    slope_x = _value("slope_x_deg", float)
    slope_y = _value("slope_y_deg", float)
    rotation_unit = slope_x_unit = slope_y_unit = _unit("°")
    overscan = _value("overscan_percent", float)
    overscan_unit = _unit("%")
    line_rate_unit = _unit("Hz")

    @property
    def line_rate(self) -> float:
        return 0.5 / float(self._context.state().get("time_per_line_s"))  # type: ignore[arg-type]

    @line_rate.setter
    def line_rate(self, new_val: float) -> None:
        self._context.set(time_per_line_s=0.5 / float(new_val))

    @property
    def slow_axis_scan_direction(self) -> Any:
        kinds = self.slow_axis_scan_direction_enum
        return kinds.upward if self._context.state().get("direction") == "up" else kinds.downward

    @slow_axis_scan_direction.setter
    def slow_axis_scan_direction(self, new_val: Any) -> None:
        self._context.set(direction="up" if new_val.value == 1 else "down")

    @property
    def scan_mode(self) -> Any:
        self._context.last_error = ""
        return self.scan_mode_enum(self._context.storage["scan_mode"])

    @scan_mode.setter
    def scan_mode(self, new_val: Any) -> None:
        self._context.storage["scan_mode"] = new_val.value

    def acquire(self) -> Any:
        """Scan a frame, save it, and return when that is done."""
        context = self._context
        progress = context.ask("POST", "/v1/scan", {"name": "studio"})
        if progress is None:
            return None
        serial, seen = progress["serial"], 0
        while progress["running"] or seen < progress["lines_done"]:
            progress = context.ask("GET", f"/v1/lines?since={seen}&wait=1")
            if progress is None:
                return None
            if progress["serial"] != serial:
                return context.fail("another scan began")
            seen += len(progress["lines"])
            if progress["fault"] is not None:
                return context.fail(str(progress["fault"]["message"]))
        whole = seen == context.state().get("lines")
        if whole or context.storage["save_partial_measurements"]:
            _save(context)
        return {"message": "Imaging done." if whole else "Imaging stopped."}

    def start(self) -> Any:
        threading.Thread(target=self.acquire, daemon=True).start()
        return {"message": "Imaging started."}

    def stop(self) -> Any:
        self._context.ask("POST", "/v1/stop", {})
        return {"message": "Imaging stopped."}


class GainFinder(_Node):
    """`workflow.z_control.gain_finder`: there, and of no use here."""

    _name = "gain_finder"

    def run(self) -> Any:
        return self._context.fail("there is no gain finder here")


class ZControl(_Node):
    """`workflow.z_control`: an I gain, and nothing of P and D."""

    _name = "z_control"
    i_gain = _value("i", int)

    def __init__(self, context: _Context) -> None:
        _Node.__init__(self, context)
        self.gain_finder = _shown(GainFinder, context)

    @property
    def setpoint_units(self) -> list[str]:
        return ["%"] if self._context.state().get("mode") == DYNAMIC else ["V", "N"]

    @property
    def setpoint_unit(self) -> str:
        units = self.setpoint_units
        return self._context.unit if self._context.unit in units else units[0]

    @setpoint_unit.setter
    def setpoint_unit(self, new_val: str) -> None:
        if new_val not in self.setpoint_units:
            self._context.fail(f"there is no unit {new_val}")
        else:
            self._context.unit = str(new_val)

    @property
    def setpoint(self) -> float:
        return float(self._context.state().get("setpoint")) * self._scale()  # type: ignore[arg-type]

    @setpoint.setter
    def setpoint(self, new_val: float) -> None:
        self._context.set(setpoint=float(new_val) / self._scale())

    def _scale(self) -> float:
        if self.setpoint_unit != "N":
            return 1.0
        lever = self._context.lever()
        return float(lever["spring_constant_n_per_m"]) * float(lever["sensitivity_m_per_v"])


class Approach(_Node):
    """`workflow.approach`: both return when the motion is over."""

    _name = "approach"

    def approach(self) -> Any:
        done = self._context.ask("POST", "/v1/approach", {"timeout_s": 60.0})
        return None if done is None else {"message": "Approach done."}

    def withdraw(self) -> Any:
        done = self._context.ask("POST", "/v1/withdraw", {})
        return None if done is None else {"message": "Withdraw done."}

    def stop_approach(self) -> Any:
        self._context.ask("POST", "/v1/stop", {})


class Storage(_Node):
    """`workflow.data.storage`."""

    _name = "storage"

    class nhf_auto_store_mode_enum(enum.Enum):  # noqa: N801 - the vendor's
        new_file = 1
        current_file = 2
        off = 0

    gallery_directory = _stored("gallery_directory", str)
    file_basename = _stored("file_basename", str)
    save_partial_measurements = _stored("save_partial_measurements", bool)

    @property
    def nhf_auto_store_mode(self) -> Any:
        self._context.last_error = ""
        return self.nhf_auto_store_mode_enum(self._context.storage["nhf_auto_store_mode"])

    @nhf_auto_store_mode.setter
    def nhf_auto_store_mode(self, new_val: Any) -> None:
        self._context.storage["nhf_auto_store_mode"] = new_val.value


class Data(_Node):
    """`workflow.data`."""

    _name = "data"

    def __init__(self, context: _Context) -> None:
        _Node.__init__(self, context)
        self.storage = _shown(Storage, context)


class StaticMode(_Node):
    """`workflow.mode.static_mode`."""

    _name, _mode, _words = "static_mode", STATIC, "Static Force"

    def load(self) -> Any:
        self._context.ask("POST", "/v1/mode", {"name": self._mode})

    def name(self) -> str:
        self._context.last_error = ""
        return self._words


class DynamicMode(StaticMode):
    """`workflow.mode.dynamic_mode`."""

    _name, _mode, _words = "dynamic_mode", DYNAMIC, "Dynamic Force"


class Mode(_Node):
    """`workflow.mode`."""

    _name = "mode"

    def __init__(self, context: _Context) -> None:
        _Node.__init__(self, context)
        self.static_mode = _shown(StaticMode, context)
        self.dynamic_mode = _shown(DynamicMode, context)

    def current_mode_name(self) -> str:
        return str(self._context.state().get("mode"))


class Probe(_Node):
    """`workflow.probe`."""

    _name = "probe"
    current_spring_constant_unit, current_deflection_sensitivity_unit = _unit("N/m"), _unit("m/V")

    @property
    def current_probe_name(self) -> str:
        return str(self._context.state().get("lever"))

    @current_probe_name.setter
    def current_probe_name(self, new_val: str) -> None:
        self._context.ask("POST", "/v1/lever", {"name": str(new_val)})

    @property
    def current_spring_constant(self) -> float:
        return float(self._context.lever()["spring_constant_n_per_m"])

    @property
    def current_deflection_sensitivity(self) -> float:
        return float(self._context.lever()["sensitivity_m_per_v"])


class Workflow(_Node):
    """`spm.workflow`."""

    _name = "workflow"

    def __init__(self, context: _Context) -> None:
        _Node.__init__(self, context)
        self.imaging = _shown(Imaging, context)
        self.z_control = _shown(ZControl, context)
        self.approach = _shown(Approach, context)
        self.data = _shown(Data, context)
        self.mode = _shown(Mode, context)
        self.probe = _shown(Probe, context)


class Root(_Node):
    """`studio.spm`."""

    _name = "root"

    def __init__(self, context: _Context) -> None:
        _Node.__init__(self, context)
        self.workflow = _shown(Workflow, context)


class Studio:
    """What scripts make; `connect` finds a running session."""

    def __init__(self, link: Link | None = None, words: str | None = None) -> None:
        self._link = link
        self._words = (os.environ.get("NANOSURF_FAKE", "") if words is None else words).split()
        self.spm: Root | None = None
        self.session_id = ""
        self.last_error = ""

    def connect(self) -> bool:
        """Find a session; False where none runs."""
        url = os.environ.get("NANOSURF_URL", "")
        link = self._link or (HttpLink(url, os.environ.get("NANOSURF_TOKEN", "")) if url else None)
        if link is None:
            self.last_error = "[Errno 111] Connection refused"
            return False
        self.spm, self.session_id = _shown(Root, _Context(link, self._words)), "91-01-000"
        return True

    @property
    def is_connected(self) -> bool:
        """Whether there is one."""
        return self.spm is not None

    def disconnect(self) -> None:
        """Let go of it."""
        self.spm = None


def _save(context: _Context) -> None:
    """Write the file that the program would store."""
    from tasks_lib.instruments.nhf import Lever, write_nhf
    from tasks_lib.instruments.nid import read_nid

    if "drop" in context.words:
        return
    frame = read_nid(context.ask("GET", "/v1/frame"), name="studio").frame()
    told = context.lever()
    lever = Lever(
        name=frame.lever,
        spring_constant_n_per_m=told.get("spring_constant_n_per_m"),
        resonance_hz=told.get("resonance_hz"),
        deflection_m_per_v=told.get("sensitivity_m_per_v"),
    )
    content = write_nhf(frame, version="1.1" if "v1" in context.words else "2.0", lever=lever)
    folder = Path(context.storage["gallery_directory"])
    folder.mkdir(parents=True, exist_ok=True)
    number = context.storage["next_file_index"]
    context.storage["next_file_index"] = number + 1
    name = str(context.storage["file_basename"]).replace("[INDEX]", f"{number:05d}")
    (folder / f"{name.replace('[DATE]', time.strftime('%Y-%m-%d'))}.nhf").write_bytes(content)
