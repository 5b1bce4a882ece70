"""The back end of recorded files."""

from __future__ import annotations

import threading
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from types import MappingProxyType
from typing import Literal

import numpy as np

from tasks_lib.instruments.frame import Z_AXIS, Channel, Direction, Frame
from tasks_lib.instruments.protocol import (
    ApproachStatus,
    InstrumentError,
    Limits,
    LineReport,
    OnLine,
    RefusedError,
    State,
    Value,
    same_value,
)
from tasks_lib.instruments.replay._recordings import Recording, limits, load

Order = Literal["name", "settings"]
# Rows of a table that a refusal shows.
_SHOWN = 12


class ReplayBackEnd:
    """An instrument that can do nothing but give its recorded frames again.

    Parameters
    ----------
    folder : Path
        With `.nid` files; its name is that of the instrument.
    order : {"name", "settings"}
        ``name`` serves the files in order of name, and a setting that is not the next file's is refused. ``settings``
        serves the first file, by name, that was not served yet and has every value that was told; values that nobody
        told are free.
    name : str, optional
        By default ``replay-`` and the folder's name.

    Raises
    ------
    ConfigurationError
        If the folder has no `.nid` file.
    NidError
        If one of them holds no frame.
    """

    def __init__(self, folder: Path, *, order: Order = "name", name: str | None = None) -> None:
        self._recordings = load(folder)
        self._order = order
        self._name = name or f"replay-{folder.resolve().name}"
        self._limits = limits(self._recordings)
        self._unserved = list(self._recordings)
        self._next = self._recordings[0]
        self._told: dict[str, Value] = {}
        self._tip = ApproachStatus.WITHDRAWN
        self._scanning = False
        self._last: str | None = None
        self._stopped = threading.Event()

    @property
    def name(self) -> str:
        """Name of the instrument."""
        return self._name

    @property
    def limits(self) -> Limits:
        """What the recordings span."""
        return self._limits

    @property
    def remaining(self) -> tuple[Recording, ...]:
        """What was not served yet, in order of name."""
        return tuple(self._unserved)

    def read(self) -> State:
        """Return the settings of the next file; after the last one, those of the last."""
        tip = self._tip
        if tip is ApproachStatus.ENGAGED and not self._next.engaged:
            tip = ApproachStatus.FAILED
        return self._next.state.model_copy(
            update={"approach": tip, "scanning": self._scanning, "last_frame": self._last}
        )

    def write(self, values: Mapping[str, Value]) -> None:
        """Choose a recording that has these values.

        Raises
        ------
        RefusedError
            If there is none; the message lists what there is.
        """
        self._choose(dict(values))

    def set_mode(self, mode: str) -> None:
        """Choose a recording of this mode; RefusedError if there is none."""
        self._choose({"mode": mode})

    def select_lever(self, name: str) -> None:
        """Choose a recording of this lever; RefusedError if there is none."""
        self._choose({"lever": name})

    def approach(self, timeout_s: float) -> None:
        """Engage, unless the next frame shows that the tip was in the air when it was recorded."""
        self._tip = ApproachStatus.ENGAGED

    def withdraw(self) -> None:
        """Note that the tip is away."""
        self._tip = ApproachStatus.WITHDRAWN

    def retract(self) -> None:
        """Note that the tip is away."""
        self._tip = ApproachStatus.WITHDRAWN

    def scan(self, name: str, on_line: OnLine) -> Frame:
        """Serve the next recording line by line, at once.

        Raises
        ------
        InstrumentError
            If all recordings were served, or the file vanished meanwhile.
        """
        if not self._unserved:
            msg = f"{self._name} has served all of its {len(self._recordings)} recordings: open it anew to begin again"
            raise InstrumentError(msg)
        recording = self._next
        try:
            frame = recording.frame()
        except OSError as error:
            msg = f"the recording {recording.path.name} cannot be read any more: {error}"
            raise InstrumentError(msg) from error
        self._stopped.clear()
        self._scanning = True
        try:
            done = self._lines(frame, on_line)
        finally:
            self._scanning = False
        self._last = name
        self._unserved.remove(recording)
        if self._unserved:
            matching = [one for one in self._unserved if self._order == "name" or _has(one, self._told)]
            # What was told holds no longer where no recording has it any more.
            self._told = self._told if matching else {}
            self._next = (matching or self._unserved)[0]
        return replace(_cut(frame, done), engaged=recording.engaged)

    def stop(self) -> None:
        """End a scan at the next line."""
        self._stopped.set()

    def _lines(self, frame: Frame, on_line: OnLine) -> int:
        for index in range(frame.lines_done):
            row = index if frame.scan.direction == "up" else frame.scan.lines - 1 - index
            z = {way: frame.data(Z_AXIS, way)[row] for way in Direction if (Z_AXIS, way) in frame.channels}
            forward = z.get(Direction.FORWARD, z.get(Direction.BACKWARD))
            if forward is None:
                msg = f"the recording {self._next.path.name} has no {Z_AXIS}: leave it out of the folder"
                raise InstrumentError(msg)
            if not on_line(LineReport(index, forward, z.get(Direction.BACKWARD, forward))) or self._stopped.is_set():
                return index + 1
        return frame.lines_done

    def _choose(self, values: dict[str, Value]) -> None:
        told = self._told | values
        if self._order == "name":
            matching = [self._next] if _has(self._next, values) else []
        else:
            # The newest order counts most: what was told before gives way where no recording has both.
            matching = [one for one in self._unserved if _has(one, told)]
            if not matching:
                told = values
                matching = [one for one in self._unserved if _has(one, told)]
        if not matching:
            raise RefusedError(self._none(values))
        self._told, self._next = told, matching[0]

    def _none(self, values: dict[str, Value]) -> str:
        wanted = ", ".join(f"{name} = {value!r}" for name, value in sorted(values.items()))
        if self._order == "name":
            there = _row(self._next, values)
            return f"nothing was set: the next recording has no {wanted}; it is {there}"
        rows = [_row(one, values) for one in self._unserved]
        more = f" and {len(rows) - _SHOWN} more" if len(rows) > _SHOWN else ""
        return f"nothing was set: no recording has {wanted}; there are: {'; '.join(rows[:_SHOWN]) or 'none left'}{more}"


def _values(recording: Recording) -> dict[str, Value]:
    return {**recording.state.values(), "mode": recording.state.mode, "lever": recording.state.lever}


def _has(recording: Recording, values: Mapping[str, Value]) -> bool:
    have = _values(recording)
    return all(same_value(value, have[name]) for name, value in values.items())


def _row(recording: Recording, names: Mapping[str, Value]) -> str:
    have = _values(recording)
    return f"{recording.path.name} ({', '.join(f'{name} = {have[name]!r}' for name in sorted(names))})"


def _cut(frame: Frame, done: int) -> Frame:
    """Return the frame as it stood after so many lines; the rest holds NaN."""
    missing = np.ones(frame.scan.lines, dtype=bool)
    missing[slice(done) if frame.scan.direction == "up" else slice(frame.scan.lines - done, None)] = False
    if not missing.any():
        return frame
    channels = {}
    for key, channel in frame.channels.items():
        data = channel.data.copy()
        data[missing] = np.nan
        channels[key] = Channel(channel.name, channel.direction, channel.unit, data)
    return replace(frame, channels=MappingProxyType(channels), lines_done=done)
