"""From a Frame to the bytes of a `.nid` file."""

from __future__ import annotations

import math
from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from tasks_lib.instruments.frame import Channel, Direction, Frame
from tasks_lib.instruments.lever import Lever
from tasks_lib.instruments.nid._errors import NidError
from tasks_lib.instruments.nid._header_writer import description, listing, rendered, settings
from tasks_lib.instruments.nid._units import si_unit

_BITS = 32
_LEVELS = 2.0**_BITS
_WIDE = 8.0


def write_nid(
    frame: Frame, *, ranges: Mapping[str, tuple[float, float]] | None = None, lever: Lever | None = None
) -> bytes:
    """Write a frame as a `.nid` file that Nanosurf's readers and `read_nid` take.

    Samples become signed 32-bit codes over a range per channel; a value comes back within half a code, that is
    within range / 2^33. Missing samples (NaN) are allowed in lines that were not scanned, and become the middle code.
    Of `taken_at` the seconds are kept.

    Parameters
    ----------
    frame : Frame
    ranges : mapping of channel name to (lowest, highest), optional
        The instrument's full scale, for example ``{"Z-Axis": (-5.076e-6, 5.076e-6)}``. A channel that is not named gets
        a range around 0, eight times as wide as its values need.
    lever : Lever, optional
        Constants of the cantilever, written as its calibration.

    Raises
    ------
    NidError
        If the frame has no channel or no scanned line, a value is beyond its range or missing in a scanned line, the
        channels differ in shape, or a text or number cannot stand in the header.
    """
    if not frame.channels:
        raise NidError("the frame has no channel to write", source=frame.source, channel="frame")
    if not 1 <= frame.lines_done <= frame.scan.lines:
        rule = f"{frame.lines_done} of {frame.scan.lines} lines were scanned; a file needs one at least"
        raise NidError(rule, source=frame.source, channel="frame")
    if frame.taken_at is not None and frame.taken_at.tzinfo is not None:
        raise NidError(
            "taken_at has a zone; files hold the local time without one", source=frame.source, channel="frame"
        )
    groups = [[one for one in frame.channels.values() if one.direction is way] for way in Direction]
    groups = [group for group in groups if group]
    sections = {"DataSet": listing(groups), **settings(frame, lever)}
    blocks: list[bytes] = []
    for number, group in enumerate(groups):
        for place, channel in enumerate(group):
            low, extent = _range(frame, channel, (ranges or {}).get(channel.name))
            codes = _encode(frame, channel, low, extent)
            sections[f"DataSet-{number}:{place}"] = description(frame, channel, _BITS, low, extent)
            blocks.append(codes.tobytes())
    return b"".join([rendered(frame, sections), b"#!", *blocks])


def _range(frame: Frame, channel: Channel, given: tuple[float, float] | None) -> tuple[float, float]:
    """Return the lowest value and the extent of a channel's range."""
    if given is None:
        largest = float(np.nanmax(np.abs(channel.data), initial=0.0))
        half = _WIDE * largest if largest > 1e-200 else 1.0
        given = (-half, half)
    low, high = given
    if not (math.isfinite(low) and math.isfinite(high - low) and high > low):
        raise NidError(
            f"the range {low!r} to {high!r} is empty or not finite", source=frame.source, channel=_label(channel)
        )
    return low, high - low


def _encode(frame: Frame, channel: Channel, low: float, extent: float) -> NDArray[np.int32]:
    """Turn samples into codes; row 0 is the lowest line in frames and in files alike."""
    scan, data = frame.scan, np.asarray(channel.data, dtype=np.float64)
    label = _label(channel)
    if not channel.name or si_unit(channel.unit)[0]:
        rule = f"a channel has a name and an SI unit without a prefix, not {channel.unit!r}"
        raise NidError(rule, source=frame.source, channel=label)
    if data.shape != (scan.lines, scan.points):
        rule = f"shape {data.shape} is not {scan.lines} lines of {scan.points} points"
        raise NidError(rule, source=frame.source, channel=label)
    absent = np.isnan(data)
    scanned = slice(frame.lines_done) if scan.direction == "up" else slice(scan.lines - frame.lines_done, None)
    if absent[scanned].any():
        row, column = np.argwhere(absent[scanned])[0]
        place = f"line {row + (scanned.start or 0)}, sample {column}"
        raise NidError(f"{place} is missing (NaN) in a line that was scanned", source=frame.source, channel=label)
    share = np.where(absent, 0.5, (data - low) / extent)
    beyond = ~((share >= -1 / _LEVELS) & (share <= 1 + 1 / _LEVELS))
    if beyond.any():
        row, column = np.argwhere(beyond)[0]
        rule = (
            f"line {row}, sample {column} is {float(data[row, column])!r}, beyond the range {low!r} to "
            f"{low + extent!r}; give `ranges` that hold it"
        )
        raise NidError(rule, source=frame.source, channel=label)
    levels = np.clip(np.rint(share * _LEVELS), 0, _LEVELS - 1) - _LEVELS / 2
    return levels.astype("<i4")


def _label(channel: Channel) -> str:
    return f"Scan {channel.direction} {channel.name}"
