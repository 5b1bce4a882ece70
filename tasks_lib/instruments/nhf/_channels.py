"""From codes to samples in SI units."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tasks_lib.instruments.frame import Channel, Direction, Samples
from tasks_lib.instruments.nhf._nodes import Node
from tasks_lib.instruments.nhf._settings import NhfSettings, unit_of

# `dataset_element_type` of version 1, in its order; version 2 has the name.
KINDS = ("int32", "uint8", "uint16", "uint32", "uint64", "int16", "int64", "double")


@dataclass(frozen=True)
class Read:
    """The channels of an image, how many lines are there in all of them, and the names of what is no image."""

    channels: Mapping[tuple[str, Direction], Channel]
    lines_done: int | None
    others: tuple[str, ...]


def read_channels(
    segments: Sequence[tuple[Direction, Node]], shape: tuple[int, int], version: tuple[int, int], settings: NhfSettings
) -> Read:
    """Read every channel with one sample a pixel."""
    label = "name" if version[0] == 1 else "signal_name"
    found: dict[tuple[str, Direction], Channel] = {}
    others: list[str] = []
    present = np.ones(shape[0], dtype=bool)
    for way, segment in segments:
        for node in segment.children():
            name = None if node.is_group else node.text(label)
            if not name:
                continue
            node = node.named(name)
            size, pixels = node.size(), shape[0] * shape[1]
            if size != pixels and size and size % pixels == 0:
                others.append(f"{segment.place.rpartition('/')[2]} {name}")
                continue
            if size != pixels:
                raise node.refuse(f"has {size} samples, not {shape[0]} lines of {shape[1]} points")
            if (name, way) in found:
                raise node.refuse("occurs twice in its segment")
            data, unit = _decoded(node, shape, version)
            found[name, way] = Channel(name, way, unit, data)
            present &= ~np.isnan(data).all(axis=1)
    done = settings.lines_acquired
    if done is None and version[0] > 1 and found:
        done = int(present.sum())
    if done is not None and done > shape[0]:
        raise segments[0][1].refuse(f"says that {done} of {shape[0]} lines were acquired")
    return Read(MappingProxyType(found), done, tuple(others))


def bounds(kind: str, version: tuple[int, int]) -> tuple[float, float]:
    """Return the codes that stand for the ends of a channel's range.

    Version 2 leaves one code out, which marks missing samples.
    """
    if kind == "double":
        return 0.0, 1.0
    info = np.iinfo(kind)
    low, high = float(info.min), float(info.max)
    if version[0] == 1:
        return low, high
    return (low + 1.0, high) if info.min < 0 else (low, high - 1.0)


def _decoded(node: Node, shape: tuple[int, int], version: tuple[int, int]) -> tuple[Samples, str]:
    kind = _kind(node, version)
    codes, missing = node.samples(shape, np.dtype(kind))
    prefix = "base_calibration" if version[0] == 1 else "signal_calibration"
    low, high = node.number(f"{prefix}_min"), node.number(f"{prefix}_max")
    unit = unit_of(node.text(f"{prefix}_unit") or "")
    values = codes.astype(np.float64)
    if low is None or high is None:
        if unit or node.has("signal_selected"):
            raise node.refuse("is missing, so that its codes have no scale", part=f"{prefix}_min")
        unit = ""
    else:
        least, most = bounds(kind, version)
        scale = (float(high) - float(low)) / (most - least)
        if not np.isfinite(scale):
            raise node.refuse(f"the range {low!r} to {high!r} is not finite", part=f"{prefix}_max")
        # In the order of the vendor's reader, so that values agree to the last bit.
        values = (values - least) * scale + float(low)
    if version[0] > 1 and missing is not None:
        values[_is_code(codes, missing)] = np.nan
    return values, unit


def _is_code(codes: NDArray[Any], missing: Any) -> NDArray[np.bool_]:
    found: NDArray[np.bool_] = np.isnan(codes) if missing != missing else codes == missing
    return found


def _kind(node: Node, version: tuple[int, int]) -> str:
    attribute = "dataset_element_type"
    if version[0] == 1:
        number = node.number(attribute)
        if not isinstance(number, int) or not 0 <= number < len(KINDS):
            raise node.refuse(f"is {number}, and none of 0 to {len(KINDS) - 1}", part=attribute)
        return KINDS[number]
    name = node.text(attribute)
    if name not in KINDS:
        raise node.refuse(f"is {name!r}, and none of {', '.join(KINDS)}", part=attribute)
    return name
