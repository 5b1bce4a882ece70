"""Channels: what the header says of each, and its block of bytes."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tasks_lib.instruments.frame import Direction, Samples
from tasks_lib.instruments.nid._errors import NidError
from tasks_lib.instruments.nid._header import HeaderSection, NidHeader
from tasks_lib.instruments.nid._units import si_unit

Codes = NDArray[np.signedinteger[Any]]

CODE_TYPES: dict[int, np.dtype[Any]] = {16: np.dtype("<i2"), 32: np.dtype("<i4")}
# Below this, extent / 2^32 would lose bits to the end of the float's range.
_TINY = 2.0**-900
_CHANNEL_KEY = re.compile(r"Gr(0|[1-9]\d{0,5})-Ch(0|[1-9]\d{0,5})", re.ASCII)
_POINTS_KEY = re.compile(r"LineDim(0|[1-9]\d{0,6})Points", re.ASCII)
_WAYS = {way.value: way for way in Direction}
_AS_EXPECTED = {"SaveMode": "Binary", "SaveSign": "Signed", "SaveOrder": "Intel"}


@dataclass(frozen=True, slots=True)
class Axis:
    """Start and extent of an axis, in `unit`."""

    name: str
    start: float
    extent: float
    unit: str


@dataclass(frozen=True, eq=False)
class NidChannel:
    """One channel of a `.nid` file.

    Attributes
    ----------
    name : str
        As the file has it, for example ``Z-Axis``; a second channel of that name in the same frame ends in ``2``.
    frame : str
        The file's word for what was recorded, for example ``Scan forward`` or ``Spec backward``.
    direction : Direction or None
        Taken from the end of `frame`.
    unit : str
        SI unit of `data`.
    codes : array of int16 or int32, shape (lines, points)
        A view of the file's bytes, read only.
    start, extent : float
        Value of the lowest code, and how much the whole range of codes spans, in `unit`.
    current_line : int or None
        Row that was scanned last.
    described : HeaderSection
        The section of the header that describes the channel.
    first_byte : int
        Offset of its block in the file.
    """

    name: str
    frame: str
    direction: Direction | None
    unit: str
    codes: Codes
    start: float
    extent: float
    current_line: int | None
    first_byte: int
    described: HeaderSection = field(repr=False)

    @property
    def label(self) -> str:
        """Frame and name, as messages have it."""
        return f"{self.frame} {self.name}"

    @cached_property
    def data(self) -> Samples:
        """Samples in `unit`, shape (lines, points): start + (code + 2^(b-1)) / 2^b · extent for b bits."""
        return decode(self.codes, self.start, self.extent)

    @cached_property
    def x(self) -> Axis | None:
        """The axis along a line; None where the file has none."""
        return _axis(self.described, "Dim0", self.label)

    @cached_property
    def y(self) -> Axis | None:
        """The axis across the lines; None where the file has none."""
        return _axis(self.described, "Dim1", self.label)

    @cached_property
    def line_points(self) -> tuple[int, ...]:
        """How many samples of each line were measured, for curves of different length; empty where all were."""
        lines, points = self.codes.shape
        return _line_points(self.described, points, lines, self.label)

    def byte_of(self, row: int, column: int = 0) -> int:
        """Return the offset in the file of a sample."""
        return self.first_byte + (row * int(self.codes.shape[1]) + column) * int(self.codes.itemsize)


def decode(codes: Codes, start: float, extent: float) -> Samples:
    """Turn signed codes into values.

    The product and the sum are each rounded once, in this order, so that the values are those of Nanosurf's own reader
    to the last bit.
    """
    levels = 2.0 ** (8 * codes.itemsize)
    # Not np.add(codes, …, dtype=float64): that converts in small pieces, which takes longer than a pass more.
    data: Samples = codes.astype(np.float64)
    data += levels / 2
    if extent and abs(extent) < _TINY:
        data /= levels
        data *= extent
    else:
        data *= extent / levels  # exact: a power of two; the same product, rounded once, in one pass less
    data += start
    return data


def read_channels(header: NidHeader, content: bytes, start: int) -> tuple[NidChannel, ...]:
    """Describe every channel and lay it over its bytes; nothing as large as the data is allocated.

    Raises
    ------
    NidError
        If the header contradicts itself, or the blocks do not fill the file exactly.
    """
    channels: list[NidChannel] = []
    seen: dict[tuple[str, str], int] = {}
    offset = start
    for section in _described(header):
        channel = _read(header, section, content, offset)
        offset += channel.codes.nbytes
        again = seen[channel.frame, channel.name] = seen.get((channel.frame, channel.name), 0) + 1
        if again > 1:
            channel = replace(channel, name=f"{channel.name}{again}")
        channels.append(channel)
    if offset != len(content):
        rule = f"{len(content) - offset} bytes follow the last channel's block; header and data do not belong together"
        raise NidError(rule, source=header.source, channel=channels[-1].label, byte=offset)
    return tuple(channels)


def _described(header: NidHeader) -> list[HeaderSection]:
    """Return the sections of the channels in the order of their blocks: by group, then by number."""
    if "DataSet" not in header:
        raise NidError("section [DataSet], which lists the channels, is missing", source=header.source, byte=0)
    dataset = header["DataSet"]
    groups = dataset.integer("GroupCount")
    counts: dict[int, int] = {}
    found: list[tuple[int, int, str]] = []
    for key in dataset:
        match = _CHANNEL_KEY.fullmatch(key)
        if match:
            group, place = int(match[1]), int(match[2])
            if group not in counts:
                counts[group] = dataset.integer(f"Gr{group}-Count") if group < groups else 0
            if place >= counts[group]:
                dataset.refuse(key, "is beyond GroupCount or its group's Count")
            found.append((group, place, key))
    if not found:
        dataset.refuse("GroupCount", "no channel is listed")
    sections = []
    for _, _, key in sorted(found):
        name = dataset.text(key)
        if name not in header:
            dataset.refuse(key, f"section [{name[:80]}] is missing")
        sections.append(header[name])
    return sections


def _read(header: NidHeader, section: HeaderSection, content: bytes, offset: int) -> NidChannel:
    frame, name = section.text("Frame"), section.text("Dim2Name")
    label = f"{frame} {name}".strip()[:80] or section.name
    for key in ("Frame", "Dim2Name"):
        if not section.text(key):
            section.refuse(key, "is missing", label)
    for key, expected in _AS_EXPECTED.items():
        if section.text(key) != expected:
            section.refuse(key, f"is {section.text(key)[:40]!r}; only {expected} is known", label)
    bits = section.integer("SaveBits", label)
    if bits not in CODE_TYPES:
        section.refuse("SaveBits", f"is {bits}; only 16 and 32 are known", label)
    points, lines = section.integer("Points", label), section.integer("Lines", label)
    for key, count in (("Points", points), ("Lines", lines)):
        if count < 1:
            section.refuse(key, f"is {count}; a channel has at least one", label)
    needed = points * lines * (bits // 8)
    if needed > len(content) - offset:
        whole = (len(content) - offset) // (bits // 8)
        row, column = divmod(whole, points)
        rule = (
            f"{lines} lines of {points} samples of {bits} bits need bytes {offset} to {offset + needed - 1}; "
            f"the file ends before line {row}, sample {column} is whole"
        )
        raise NidError(rule, source=header.source, channel=label, byte=len(content))
    codes: Codes = np.frombuffer(content, CODE_TYPES[bits], points * lines, offset).reshape(lines, points)
    power, unit = si_unit(section.text("Dim2Unit"))
    start, extent = section.number("Dim2Min", label, power), section.number("Dim2Range", label, power)
    if not math.isfinite(abs(start) + abs(extent)):
        section.refuse("Dim2Range", "range and start add up to infinity", label)
    return NidChannel(
        name=name,
        frame=frame,
        direction=_WAYS.get(frame.rpartition(" ")[2]),
        unit=unit,
        codes=codes,
        start=start,
        extent=extent,
        current_line=_current_line(section, lines, label),
        first_byte=offset,
        described=section,
    )


def _axis(section: HeaderSection, dim: str, label: str) -> Axis | None:
    if f"{dim}Range" not in section or f"{dim}Min" not in section:
        return None
    power, unit = si_unit(section.text(f"{dim}Unit"))
    start, extent = (section.number(f"{dim}{key}", label, power) for key in ("Min", "Range"))
    return Axis(section.text(f"{dim}Name"), start, extent, unit)


def _current_line(section: HeaderSection, lines: int, label: str) -> int | None:
    if "CurLine" not in section:
        return None
    line = section.integer("CurLine", label)
    if not 0 <= line < lines:
        section.refuse("CurLine", f"is {line}; the channel has lines 0 to {lines - 1}", label)
    return line


def _line_points(section: HeaderSection, points: int, lines: int, label: str) -> tuple[int, ...]:
    if "LineDim0Min" not in section:
        return ()
    counted = tuple(section.integer(key, label) for key in section if _POINTS_KEY.fullmatch(key))
    if len(counted) > lines or any(not 0 <= count <= points for count in counted):
        section.refuse("LineDim0Min", f"{len(counted)} lines of curves do not fit {lines} lines of {points}", label)
    return counted
