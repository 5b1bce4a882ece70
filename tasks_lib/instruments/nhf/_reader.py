"""`read_nhf` and what it returns."""

from __future__ import annotations

import io
import os
import stat
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType
from typing import Any

import h5py

from tasks_lib.instruments.frame import Channel, Direction, Frame
from tasks_lib.instruments.nhf._channels import read_channels
from tasks_lib.instruments.nhf._errors import NhfError
from tasks_lib.instruments.nhf._frame import to_frame
from tasks_lib.instruments.nhf._nodes import Budget, Node, reading
from tasks_lib.instruments.nhf._settings import NhfSettings, read_settings

MAX_FILE_BYTES = 2**30
MAX_PIXELS = 2**26
_IMAGES = ("image_line_based", "wavemode_nma")
_SEGMENTS = {"Forward": Direction.FORWARD, "Backward": Direction.BACKWARD}


@dataclass(frozen=True, eq=False)
class NhfFile:
    """The newest image of a `.nhf` file.

    Attributes
    ----------
    source : str
        The file's name, for messages.
    version : (int, int)
        Of the format.
    name : str
        What the program called the measurement.
    channels : mapping of (name, direction) to Channel
        Under the file's own names, such as ``Topography``; samples of shape (lines, points), row 0 the lowest line.
    settings : NhfSettings
    lines_done : int or None
        Lines that were scanned; None where the file does not say.
    others : tuple of str
        What else the image holds: channels with more than one sample a pixel, and segments that are no images.
    """

    source: str
    version: tuple[int, int]
    name: str
    channels: Mapping[tuple[str, Direction], Channel] = field(repr=False)
    settings: NhfSettings
    lines_done: int | None
    others: tuple[str, ...] = ()

    def __getstate__(self) -> dict[str, Any]:
        # Read-only views cannot be sent to another process; what they show can.
        return self.__dict__ | {"channels": dict(self.channels)}

    def __setstate__(self, state: dict[str, Any]) -> None:
        for name, value in (state | {"channels": MappingProxyType(state["channels"])}).items():
            object.__setattr__(self, name, value)

    def channel(self, name: str, direction: Direction | str = Direction.FORWARD) -> Channel:
        """Return a channel by the file's name for it.

        Raises
        ------
        KeyError
            If the file has no such channel; the message lists those it has.
        """
        try:
            return self.channels[name, Direction(direction)]
        except KeyError:
            have = ", ".join(f"{one} {way}" for one, way in sorted(self.channels))
            raise KeyError(f"{self.source} has no channel {name} {direction}; it has: {have}") from None

    def frame(self, known: NhfSettings | None = None) -> Frame:
        """Return the image as a Frame, in SI units.

        ``Topography`` becomes ``Z-Axis``, as in `.nid` files; other channels keep their names. The file knows no P and
        no D gain: both are 0. `engaged` is None: no file says. Lines that were not scanned hold NaN. `taken_at` is the
        file's time in UTC, without its zone; a note says so.

        Parameters
        ----------
        known : NhfSettings, optional
            What the program itself reported, for settings that the file does not hold.

        Raises
        ------
        NhfError
            If a setting that a Frame needs is in neither, naming it, or is out of range.
        """
        return to_frame(self.source, self.channels, self.settings, known or NhfSettings(), self.lines_done)


def read_nhf(source: bytes | str | os.PathLike[str], *, name: str = "") -> NhfFile:
    """Read the newest image measurement of a file of Nanosurf Studio.

    The HDF5 library itself can loop for ever on a torn file: `read_nhf_apart` is for files that may be.

    Codes become values as the vendor's reader has it: value = (code - lowest) · (max - min) / (highest - lowest) + min,
    where lowest and highest are those of the sample type, and min and max the channel's calibration.

    Parameters
    ----------
    source : bytes or path
    name : str
        What messages call the file; the path's last part if empty.

    Raises
    ------
    NhfError
        If the file is no `.nhf` file of version 1.1 or 2, holds no image, or claims more than it can hold; the message
        names the group, channel or attribute.
    OSError
        If the file cannot be opened.
    """
    if isinstance(source, bytes):
        content, name = source, name or "(bytes)"
    else:
        content, name = _content(Path(source)), name or Path(source).name
    with reading(name, "file"), h5py.File(io.BytesIO(content), "r") as opened:
        root = Node(opened, name, "file", Budget.of(len(content)))
        version = _version(root)
        return _measurement(_newest(root, version), version)


def _version(root: Node) -> tuple[int, int]:
    major, minor = (root.number(f"nsf_file_version_{part}") for part in ("major", "minor"))
    if major is None or minor is None:
        raise root.refuse("is missing: this is no file of Nanosurf Studio", part="nsf_file_version_major")
    version = int(major), int(minor)
    if version != (1, 1) and version[0] != 2:
        raise root.refuse(f"says version {version[0]}.{version[1]}; those that are read are 1.1 and 2")
    return version


def _newest(root: Node, version: tuple[int, int]) -> Node:
    """Return the image measurement that was begun last; of those without a date, the last in the file."""
    named, kind = ("name", "measurement_type") if version[0] == 1 else ("measurement_name", "group_type")
    found = [one for one in root.children() if one.is_group and one.has(named)]
    images = [one for one in found if one.text(kind) in _IMAGES]
    if not images:
        have = ", ".join(f"{one.place} ({one.text(kind)})" for one in found) or "no measurement"
        raise root.refuse(f"holds no image; it holds {have}")
    return max(enumerate(images), key=lambda one: (one[1].text("created") or "", one[0]))[1]


def _measurement(node: Node, version: tuple[int, int]) -> NhfFile:
    groups = [one for one in node.children() if one.is_group]
    label = "name" if version[0] == 1 else "segment_name"
    segments, others = [], []
    for group in groups:
        called = group.text(label) or ""
        if called in _SEGMENTS:
            segments.append((_SEGMENTS[called], group.named(called)))
        elif called:
            others.append(called)
    if not segments:
        raise node.refuse("has no segment named Forward or Backward")
    settings = read_settings([node, *(one for _, one in segments)])
    points, lines = settings.points, settings.lines
    if not points or not lines or points * lines > MAX_PIXELS:
        rule = f"{lines} lines of {points} points are no image; it has from 1 to {MAX_PIXELS} pixels"
        raise node.refuse(rule, part="image_number_of_lines, image_points_per_line")
    read = read_channels(segments, (lines, points), version, settings)
    if not read.channels:
        raise node.refuse(f"has no channel of {lines} lines of {points} points")
    called = node.text("name" if version[0] == 1 else "measurement_name") or ""
    return NhfFile(node.source, version, called, read.channels, settings, read.lines_done, (*others, *read.others))


def _content(path: Path) -> bytes:
    with path.open("rb") as file:
        state = os.fstat(file.fileno())
        if not stat.S_ISREG(state.st_mode):
            raise NhfError("is no regular file", source=path.name)
        if state.st_size > MAX_FILE_BYTES:
            rule = f"has {state.st_size} bytes, more than the {MAX_FILE_BYTES} that are read"
            raise NhfError(rule, source=path.name)
        return file.read()
