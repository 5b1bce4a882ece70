"""What a Gwyddion file (``.gwy``) holds: channels, masks, graphs, selections and the log of what was done."""

from __future__ import annotations

import math
import re
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import ndimage

from tasks_lib.evaluation._registry import Unreadable
from tasks_lib.evaluation.readers._gwy import GwyObject, parse
from tasks_lib.evaluation.readers.fields import crop, statistics
from tasks_lib.evaluation.units import parse_number
from tasks_lib.records import Json

RANGES = ("full", "fixed", "automatic", "adaptive")
"""How a channel's colours are stretched, by the number that the file holds."""
MOST_GRAINS = 100_000
"""A mask with more grains is refused."""
LONGEST_CALL = 20_000
"""A longer line of a log is not taken apart, characters."""
_CHANNEL = re.compile(r"/(\d{1,9})/data")
_GRAPH = re.compile(r"/0/graph/graph/(\d{1,9})")
_LINE = re.compile(r"(\w+)::([\w-]+)\((.*)\)@([^()@]*)", re.DOTALL)
_ARGUMENT = re.compile(r'\s*([\w.:/-]+)=("(?:[^"\\]|\\.)*"|[^,"]*)(?:,|$)')
_CORNERS = {"line": 4, "rectangle": 4, "ellipse": 4, "point": 2, "pointer": 2, "axis": 1, "lattice": 4}


def read_gwy(data: bytes) -> dict[str, Json]:
    """Read everything but the pixels.

    Returns
    -------
    dict
        ``channels``: by rising number, each with ``number``, ``title``, ``width`` and ``height`` (px), ``x-size``,
        ``y-size``, ``x-offset``, ``y-offset`` (in ``xy-unit``), ``xy-unit`` and ``z-unit`` (null where there is none),
        ``masked``, ``visible``, ``palette``, ``range-type``, ``range`` (``[low, high]`` where it is fixed, else null),
        ``log`` (list of ``{"kind", "function", "arguments"}``, oldest first), ``selections`` (kind -> list of
        coordinates in ``xy-unit``). ``graphs``: list of ``{"number", "title", "x-label", "y-label", "x-unit",
        "y-unit", "curves"}``, a curve being ``{"title", "x", "y"}``.

    Raises
    ------
    Unreadable
        If it is no Gwyddion file, is broken, or holds neither a channel nor a graph.
    """
    top = parse(data)
    channels: list[Json] = [_channel(top, number) for number in _numbers(top, _CHANNEL, "GwyDataField")]
    graphs: list[Json] = [_graph(top, number) for number in _numbers(top, _GRAPH, "GwyGraphModel")]
    if not channels and not graphs:
        msg = "the Gwyddion file holds no image channel and no graph"
        raise Unreadable(msg)
    return {"channels": channels, "graphs": graphs}


def measure(
    data: bytes, number: int, region: list[int] | None = None, masked: str | None = None
) -> dict[str, float | None]:
    """Return the statistics of a channel, see ``fields.statistics``.

    Parameters
    ----------
    number : int
        The channel's number in the file.
    region : list of int, optional
        ``[x, y, width, height]`` in pixels of the channel.
    masked : {"inside", "outside"}, optional
        Only the pixels that are marked, or only those that are not.

    Raises
    ------
    Unreadable
        If there is no such channel, region or mask.
    """
    top = parse(data)
    pixels, size = _field(top, number)
    keep = None
    if masked is not None:
        marked = _mask(top, number)
        keep = crop(marked if masked == "inside" else ~marked, region)
    step = (size[0] / pixels.shape[1], size[1] / pixels.shape[0])
    return statistics(crop(pixels, region), step, keep)


def grains(data: bytes, number: int) -> dict[str, Json]:
    """Count the grains of a channel's mask, as Gwyddion does: pixels that share an edge are one grain.

    Returns
    -------
    dict
        ``count``; ``areas`` of the grains in squares of the channel's ``xy-unit``, rising; ``share`` of the pixels.
    """
    top = parse(data)
    _, (x_size, y_size) = _field(top, number)
    marked = _mask(top, number)
    labels, count = ndimage.label(marked)
    if count > MOST_GRAINS:
        msg = f"the mask has {count} grains, more than the {MOST_GRAINS} that are read"
        raise Unreadable(msg)
    pixel = x_size * y_size / marked.size
    areas = sorted(float(pixel * size) for size in np.bincount(labels.ravel())[1:])
    return {"count": int(count), "areas": areas, "share": float(marked.mean())}


def _numbers(top: GwyObject, pattern: re.Pattern[str], kind: str) -> list[int]:
    found = (match for name in top.parts if (match := pattern.fullmatch(name)) and top.object(name, kind) is not None)
    return sorted(int(match[1]) for match in found if str(int(match[1])) == match[1])


def _positive(part: GwyObject, name: str, where: str) -> float:
    value = part.get(name, float)
    if value is None or not math.isfinite(value) or value <= 0:
        msg = f"{where} has the {name} {value!r}, which is no size"
        raise Unreadable(msg)
    return float(value)


def _pixels(part: GwyObject, where: str) -> NDArray[np.float64]:
    width, height, values = part.get("xres", int), part.get("yres", int), part.get("data", np.ndarray)
    if not width or not height or width < 1 or height < 1 or values is None or values.dtype != np.float64:
        msg = f"{where} has no size in pixels or no data"
        raise Unreadable(msg)
    if values.size != width * height:
        msg = f"{where} says {width} x {height} pixels and holds {values.size}"
        raise Unreadable(msg)
    return values.reshape(height, width)  # type: ignore[no-any-return]


def _field(top: GwyObject, number: int) -> tuple[NDArray[np.float64], tuple[float, float]]:
    part = top.object(f"/{number}/data", "GwyDataField")
    if part is None:
        msg = f"there is no channel {number}"
        raise Unreadable(msg)
    where = f"channel {number}"
    return _pixels(part, where), (_positive(part, "xreal", where), _positive(part, "yreal", where))


def _mask(top: GwyObject, number: int) -> NDArray[np.bool_]:
    part = top.object(f"/{number}/mask", "GwyDataField")
    if part is None:
        msg = f"channel {number} has no mask: nothing is marked on it"
        raise Unreadable(msg)
    mask = _pixels(part, f"the mask of channel {number}")
    shape = _field(top, number)[0].shape
    if mask.shape != shape:
        msg = f"the mask of channel {number} is {mask.shape[1]} x {mask.shape[0]} pixels, the channel has another size"
        raise Unreadable(msg)
    return mask >= 0.5


def _unit(part: GwyObject, name: str) -> str | None:
    unit = part.object(name, "GwySIUnit")
    return (unit.get("unitstr", str) if unit is not None else None) or None


def _channel(top: GwyObject, number: int) -> dict[str, Json]:
    part = top.object(f"/{number}/data", "GwyDataField")
    assert part is not None  # noqa: S101 - for mypy
    pixels, (x_size, y_size) = _field(top, number)
    kind = top.get(f"/{number}/base/range-type", int) or 0
    low, high = (top.get(f"/{number}/base/{name}", float) for name in ("min", "max"))
    strings = top.object(f"/{number}/data/log", "GwyStringList")
    return {
        "number": number,
        "title": top.get(f"/{number}/data/title", str) or "",
        "width": pixels.shape[1],
        "height": pixels.shape[0],
        "x-size": x_size,
        "y-size": y_size,
        "x-offset": part.get("xoff", float) or 0.0,
        "y-offset": part.get("yoff", float) or 0.0,
        "xy-unit": _unit(part, "si_unit_xy"),
        "z-unit": _unit(part, "si_unit_z"),
        "masked": top.object(f"/{number}/mask", "GwyDataField") is not None,
        "visible": bool(top.get(f"/{number}/data/visible", bool)),
        "palette": top.get(f"/{number}/base/palette", str) or "Gray",
        "range-type": RANGES[kind] if 0 <= kind < len(RANGES) else str(kind),
        "range": [low, high] if kind == 1 and low is not None and high is not None else None,
        "log": [read_log_line(line) for line in (strings.get("strings", list) if strings else None) or []],
        "selections": _selections(top, number),
    }


def _selections(top: GwyObject, number: int) -> dict[str, Json]:
    found: dict[str, Json] = {}
    for name, size in _CORNERS.items():
        part = top.parts.get(f"/{number}/select/{name}")
        values = part.get("data", np.ndarray) if isinstance(part, GwyObject) else None
        if values is not None and values.dtype == np.float64 and values.size and values.size % size == 0:
            found[name] = values.reshape(-1, size).tolist()
    return found


def read_log_line(line: Json) -> dict[str, Json]:
    """Read one line of the log, such as ``proc::grain_mark(height=0.5, inverted=False)@2026-01-02 03:04:05Z``.

    Returns
    -------
    dict
        ``kind`` (``proc``, ``tool``, ``file``), ``function`` and ``arguments``, name -> number, truth value or text.
        A line of another form is a ``function`` of its own without arguments.
    """
    match = _LINE.fullmatch(str(line)) if len(str(line)) <= LONGEST_CALL else None
    if match is None:
        return {"kind": "", "function": str(line)[:200], "arguments": {}}
    arguments: dict[str, Json] = {}
    for name, text in _ARGUMENT.findall(match[3]):
        arguments[name] = _plain(text.strip())
    return {"kind": match[1], "function": match[2], "arguments": arguments}


def _plain(text: str) -> Json:
    if text in ("True", "False"):
        return text == "True"
    if text.startswith('"'):
        return re.sub(r"\\(.)", r"\1", text[1:-1])
    number = parse_number(text)
    return text if number is None else number


def _graph(top: GwyObject, number: int) -> dict[str, Json]:
    part = top.object(f"/0/graph/graph/{number}", "GwyGraphModel")
    assert part is not None  # noqa: S101 - for mypy
    curves: list[Any] = []
    for curve in part.get("curves", list) or []:
        if isinstance(curve, GwyObject):
            x, y = (curve.get(name, np.ndarray) for name in ("xdata", "ydata"))
            if x is None or y is None or x.size != y.size:
                msg = f"a curve of graph {number} has no points, or not one y for every x"
                raise Unreadable(msg)
            curves.append({"title": curve.get("description", str) or "", "x": x.tolist(), "y": y.tolist()})
    return {
        "number": number,
        "title": part.get("title", str) or "",
        "x-label": part.get("bottom_label", str) or "",
        "y-label": part.get("left_label", str) or "",
        "x-unit": _unit(part, "x_unit"),
        "y-unit": _unit(part, "y_unit"),
        "curves": curves,
    }
