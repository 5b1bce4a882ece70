"""The back end on the tree of Nanosurf Studio: an I gain alone, and frames out of the files that it stores."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Protocol

from pydantic import ValidationError

from tasks_lib.instruments.frame import Z_AXIS, Direction, Frame, Gains, ScanSettings
from tasks_lib.instruments.nanosurf import _studio_tree as tree
from tasks_lib.instruments.nanosurf._studio_tree import StudioTree
from tasks_lib.instruments.nhf import Lever, NhfError, NhfFile, NhfSettings, read_nhf_apart
from tasks_lib.instruments.nid import write_nid
from tasks_lib.instruments.protocol import (
    ApproachStatus,
    InstrumentError,
    Limits,
    LineReport,
    OnLine,
    State,
    Value,
    same_value,
)
from tasks_lib.records.errors import ConfigurationError, MatAssayError


class ReadFile(Protocol):
    """Turns bytes into a file, and raises `NhfError` where they are none."""

    def __call__(self, content: bytes, *, name: str) -> NhfFile:
        """Read a file under a name for messages."""
        ...


@dataclass(frozen=True)
class StudioTiming:
    """How long the program is given, s: between looks, beyond a frame's own time, and for its file."""

    poll: float = 0.2
    frame: float = 30.0
    file: float = 15.0


class StudioBackEnd:
    """A microscope behind `nanosurf.studio`. All methods but `stop` belong to the thread that made the object.

    It withdraws the tip at once, because the tree does not say where the tip is: only motions ordered here are known.
    Then it loads the first mode of the limits, unless the program names its mode. A scan is one call that returns when
    the frame is stored; a second connection, in a thread of its own, stops it. Lines are reported when the frame is
    there, all at once (`Limits.reports_lines` is False).

    Parameters
    ----------
    connect : callable
        Returns ``spm`` of a newly connected ``Studio``, or None.
    limits : Limits
        What the laboratory allows; without spans for P and D, which Studio does not have.
    gallery : Path
        Folder of this worker alone; the program stores its frames there.
    script_error : type of Exception
        ``StudioScriptError`` of the vendor's package.
    name : str
        Name of the instrument.
    read_file : callable
        By default in a process of its own, since the HDF5 library can hang on a file that is still being written.

    Raises
    ------
    ConfigurationError
        If no session runs, the limits name what the program does not have, or its units are others.
    """

    def __init__(
        self,
        connect: Callable[[], Any],
        limits: Limits,
        gallery: Path,
        *,
        script_error: type[Exception],
        name: str = "nanosurf",
        timing: StudioTiming | None = None,
        read_file: ReadFile = read_nhf_apart,
    ) -> None:
        self._limits = limits.model_copy(update={"reports_lines": False})
        self._name, self._gallery, self._connect, self._script_error = name, gallery, connect, script_error
        self._timing, self._read_file = timing or StudioTiming(), read_file
        self._stopped, self._tick = threading.Event(), threading.Event()
        # What is under way: the action that ends it, and the event that it is over.
        self._under: tuple[str, threading.Event] | None = None
        self._stopper = ThreadPoolExecutor(1, thread_name_prefix="studio-stop")
        self._tip, self._way = ApproachStatus.WITHDRAWN, "up"
        self._last: str | None = None
        self._tree = self._reached()
        self._check_limits()
        gallery.mkdir(parents=True, exist_ok=True)
        self.withdraw()
        self._says_mode = self._tree.has("mode.current_mode_name") and all(
            self._tree.has(f"{place}.name") for place in tree.MODES.values()
        )
        self._mode = self._loaded() if self._says_mode else ""
        if self._mode not in limits.modes:
            self.set_mode(limits.modes[0])
        self._use_units()

    @property
    def name(self) -> str:
        """Name of the instrument."""
        return self._name

    @property
    def limits(self) -> Limits:
        """What the laboratory allows."""
        return self._limits

    def encode(self, frame: Frame) -> bytes:
        """Return the last frame as a `.nid` file, which is what goes over the wire."""
        return write_nid(frame)

    def read(self) -> State:
        """Ask the program for everything that it tells; what it does not show keeps its default."""
        values: dict[str, Any] = {name: self._value(name) for name in tree.PLACES if self._is_there(name)}
        if self._tree.has(tree.DIRECTION):
            self._way = "up" if self._tree.get(tree.DIRECTION).name == "upward" else "down"
        try:
            scan = {name: values[name] for name in ScanSettings.model_fields if name in values}
            return State(
                scan=ScanSettings(**scan, direction=self._way),
                gains=Gains(p=0, i=values["i"], d=0),
                setpoint=float(values["setpoint"]),
                mode=self._loaded() if self._says_mode else self._mode,
                lever=str(self._tree.get("probe.current_probe_name")),
                approach=self._tip,
                last_frame=self._last,
            )
        except (ValidationError, TypeError, ValueError) as error:
            msg = f"{self._name} reports what cannot be: {error}"
            raise InstrumentError(msg) from error

    def write(self, values: Mapping[str, Value]) -> None:
        """Set parameters, each read back; P and D are refused by name."""
        for name, value in values.items():
            if name == "direction":
                self._turn(str(value))
            elif name not in tree.PLACES:
                msg = f"{self._name} cannot set {name}: Nanosurf Studio has an I gain alone"
                raise InstrumentError(msg)
            else:
                told = 0.5 / float(value) if name == "time_per_line_s" else value
                self._tree.put(tree.PLACES[name][0], told)

    def set_mode(self, mode: str) -> None:
        """Load a mode, and bring the setpoint to volts or percent again."""
        self._tree.call(f"{tree.MODES[mode]}.load")
        if self._says_mode and (reported := self._loaded()) != mode:
            msg = f"{self._name} was told the mode {mode} and reports {reported}"
            raise InstrumentError(msg)
        self._mode = mode
        self._use_units()

    def select_lever(self, name: str) -> None:
        """Select a probe by name."""
        self._tree.put_plain("probe.current_probe_name", name)
        if (reported := str(self._tree.get("probe.current_probe_name"))) != name:
            msg = f"{self._name} was told the probe {name} and reports {reported}"
            raise InstrumentError(msg)

    def approach(self, timeout_s: float) -> None:
        """Approach, and wait until it ended; `stop`, or the end of the time, ends it with a withdrawal."""
        ending = "approach.stop_approach" if self._tree.has("approach.stop_approach") else "approach.withdraw"
        self._tip = ApproachStatus.APPROACHING
        try:
            with self._under_way(ending, timeout_s):
                self._tree.call("approach.approach")
        except BaseException:
            self._tip = ApproachStatus.FAILED
            raise
        if self._stopped.is_set():
            self.withdraw()
            return
        self._tip = ApproachStatus.ENGAGED

    def withdraw(self) -> None:
        """Lift the tip."""
        self._tip = ApproachStatus.FAILED
        self._tree.call("approach.withdraw")
        self._tip = ApproachStatus.WITHDRAWN

    def retract(self) -> None:
        """Withdraw: the tree that all programs show has no other way up."""
        self.withdraw()

    def stop(self) -> None:
        """End a scan or an approach, by a second connection; from any thread."""
        self._stopped.set()
        if (under := self._under) is not None:
            self._stopper.submit(self._end, *under)

    def scan(self, name: str, on_line: OnLine) -> Frame:
        """Scan a frame, wait for its file, and report its lines.

        Raises
        ------
        InstrumentError
            If the program stored no file in time, more than one, one that cannot be read, or that of another scan.
        """
        state = self.read()
        self._store_in(name)
        before = self._files()
        with self._under_way("imaging.stop", state.scan.frame_time_s * 1.5 + self._timing.frame):
            self._tree.call("imaging.acquire")
        frame = self._saved(name, before, state)
        self._last = name
        for line in _lines(frame):
            if not on_line(line):
                break
        return frame

    # ------------------------------------------------------------------ under way, and stopped

    @contextmanager
    def _under_way(self, ending: str, seconds: float) -> Iterator[None]:
        """Let `stop`, or the end of the time, end what is called meanwhile."""
        over = threading.Event()
        self._stopped.clear()
        self._under = ending, over
        timer = threading.Timer(seconds, self.stop)
        timer.daemon = True
        timer.start()
        try:
            yield
        finally:
            timer.cancel()
            self._under = None
            over.set()

    def _end(self, ending: str, over: threading.Event) -> None:
        """Say it again until it is over: what has only just been asked for may not have begun."""
        try:
            other = self._reached()
            while not over.is_set():
                other.call(ending)
                over.wait(self._timing.poll)
        except MatAssayError:
            return  # the call that is under way tells what is wrong with the program

    # ------------------------------------------------------------------ files

    def _store_in(self, name: str) -> None:
        storage = "data.storage"
        self._tree.put_plain(f"{storage}.gallery_directory", str(self._gallery))
        if Path(reported := str(self._tree.get(f"{storage}.gallery_directory"))) != self._gallery:
            msg = f"{self._name} was told to store in {self._gallery} and reports {reported}"
            raise InstrumentError(msg)
        self._tree.put_plain(f"{storage}.file_basename", f"{name}_[INDEX]")
        self._tree.put_plain(f"{storage}.save_partial_measurements", True)
        for path, choice in ((f"{storage}.nhf_auto_store_mode", "new_file"), ("imaging.scan_mode", "single_frame")):
            if self._tree.has(path):
                self._tree.choose(path, choice)

    def _files(self) -> dict[Path, tuple[int, int]]:
        """Return the files of the gallery, with date and size: one that grew is new, too."""
        found = {}
        for path in self._gallery.rglob("*.nhf"):
            try:
                state = path.stat()
            except OSError:  # renamed meanwhile
                continue
            found[path] = (state.st_mtime_ns, state.st_size)
        return found

    def _saved(self, name: str, before: Mapping[Path, tuple[int, int]], state: State) -> Frame:
        """Wait for the one new file, whole."""
        end, trouble, part = time.monotonic() + self._timing.file, "", None
        seen: tuple[int, int] | None = None
        while True:
            now = self._files()
            new = sorted(path for path in now if now[path] != before.get(path))
            if len(new) > 1:
                msg = f"{len(new)} files came into {self._gallery} in one scan: let nothing else store there"
                raise InstrumentError(msg)
            if new and now[new[0]] != seen and time.monotonic() < end + self._timing.frame:
                seen = now[new[0]]  # whole is what stands still from one look to the next
                self._tick.wait(self._timing.poll)
                continue
            if new:
                try:
                    part = self._frame(new[0], state)
                    if part.complete or self._stopped.is_set():
                        return part
                except (NhfError, OSError) as error:  # still being written
                    trouble = str(error)
            if time.monotonic() > end:
                break
            self._tick.wait(self._timing.poll)
        if part is not None:  # the program ended the scan by itself
            return part
        if trouble:
            msg = f"{self._name} stored a file that cannot be read: {trouble}"
            raise InstrumentError(msg)
        how = "was stopped" if self._stopped.is_set() else "scanned"
        msg = f"{self._name} {how} in {name} and stored no file in {self._gallery} within {self._timing.file:g} s"
        raise InstrumentError(msg)

    def _frame(self, path: Path, state: State) -> Frame:
        file = self._read_file(path.read_bytes(), name=path.name)
        frame = file.frame(_known(state, state.mode in self._limits.dynamic_modes))
        told, found = state.values(), {**frame.scan.model_dump(), "i": frame.gains.i}
        for one in ("points", "lines", "width_m", "height_m", "time_per_line_s", "i"):
            if not same_value(told[one], found[one]):
                msg = f"{path.name} has {one} = {found[one]!r}, and the scan was told {told[one]!r}: another's file"
                raise InstrumentError(msg)
        if absent := [way for way in Direction if (Z_AXIS, way) not in frame.channels]:
            msg = f"{path.name} has no Topography {' and '.join(absent)}: let the program store both directions"
            raise InstrumentError(msg)
        if frame.lines_done < 1:
            msg = f"{self._name} stopped before the first line of {path.stem}"
            raise InstrumentError(msg)
        # In volts or percent as the program has it, and under the names that the limits have.
        return replace(frame, mode=state.mode, lever=state.lever, setpoint=state.setpoint, engaged=state.engaged)

    # ------------------------------------------------------------------ single values

    def _reached(self) -> StudioTree:
        spm = self._connect()
        if spm is None or getattr(spm, "workflow", None) is None:
            msg = "no Nanosurf Studio with an open session and scripting runs here: start it and open a session"
            raise ConfigurationError(msg)
        return StudioTree(spm, self._script_error, self._name)

    def _check_limits(self) -> None:
        if gains := sorted({"p", "d"} & set(self._limits.spans)):
            msg = f"Nanosurf Studio has an I gain alone: take {' and '.join(gains)} out of the spans of the limits"
            raise ConfigurationError(msg)
        if unknown := sorted(set(self._limits.modes) - set(tree.MODES)):
            msg = f"the limits name modes that are not driven here: {unknown}; those that are: {sorted(tree.MODES)}"
            raise ConfigurationError(msg)
        wanted = [name for name in tree.PLACES if name in self._limits.spans or name in tree.NEEDED]
        absent = [name for name in wanted if not self._tree.has(tree.PLACES[name][0])]
        if "direction" in self._limits.spans and not self._tree.has(tree.DIRECTION):
            absent.append("direction")
        if absent:
            msg = f"this program does not show {', '.join(absent)}: take their spans out of the limits"
            raise ConfigurationError(msg)
        for name in wanted:
            self._tree.check_unit(*tree.PLACES[name])

    def _is_there(self, name: str) -> bool:
        # The unit of what the limits do not name was not looked at.
        return name in tree.NEEDED or name in self._limits.spans

    def _value(self, name: str) -> Value:
        found: Value = self._tree.get(tree.PLACES[name][0])
        if name != "time_per_line_s":
            return found
        if not float(found) > 0:
            msg = f"{self._name} reports a line rate of {found!r}"
            raise InstrumentError(msg)
        return 0.5 / float(found)  # a line of Studio is trace and retrace

    def _turn(self, way: str) -> None:
        if self._tree.has(tree.DIRECTION):
            self._tree.choose(tree.DIRECTION, "upward" if way == "up" else "downward")
        elif way != self._way:
            msg = f"{self._name} cannot set direction: this program does not show it"
            raise InstrumentError(msg)

    def _loaded(self) -> str:
        """Return the mode by the name that the limits have for it."""
        current = str(self._tree.call("mode.current_mode_name"))
        known = {str(self._tree.call(f"{place}.name")): mode for mode, place in tree.MODES.items()}
        return known.get(current, current)

    def _use_units(self) -> None:
        """Bring the setpoint to volts in contact modes and to percent in dynamic ones."""
        wanted, path = "%" if self._mode in self._limits.dynamic_modes else "V", "z_control.setpoint_unit"
        if self._tree.get(path) != wanted:
            self._tree.put_plain(path, wanted)
            if (reported := self._tree.get(path)) != wanted:
                msg = f"{self._name} was told a setpoint in {wanted} and has it in {reported}: set the program to it"
                raise InstrumentError(msg)


def _known(state: State, dynamic: bool) -> NhfSettings:
    scan = state.scan
    return NhfSettings(
        i_gain=state.gains.i, setpoint=state.setpoint, setpoint_unit="%" if dynamic else "V", width_m=scan.width_m,
        height_m=scan.height_m, line_rate_hz=0.5 / scan.time_per_line_s, center_x_m=scan.center_x_m,
        center_y_m=scan.center_y_m, rotation_deg=scan.rotation_deg, slope_x_deg=scan.slope_x_deg,
        slope_y_deg=scan.slope_y_deg, overscan_percent=scan.overscan_percent, direction=scan.direction,
        mode=state.mode, lever=Lever(name=state.lever),
    )  # fmt: skip


def _lines(frame: Frame) -> Iterator[LineReport]:
    forward, backward = (frame.data(Z_AXIS, way) for way in Direction)
    for index in range(frame.lines_done):
        row = index if frame.scan.direction == "up" else frame.scan.lines - 1 - index
        yield LineReport(index, forward[row], backward[row])
