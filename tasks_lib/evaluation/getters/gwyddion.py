"""Gwyddion: height maps and micrographs, their masks, profiles and the log of what was done to them."""

from __future__ import annotations

from typing import Any

from tasks_lib.evaluation._cage import caged
from tasks_lib.evaluation._context import Context
from tasks_lib.evaluation._registry import CallError, Seen, Unreadable, getter
from tasks_lib.evaluation.readers.fields import STATISTICS
from tasks_lib.records import Json

_PLAIN = ("number", "title", "masked", "visible", "palette", "range-type", "z-unit", "xy-unit")
_PIXELS = ("width", "height")
_LENGTHS = ("x-size", "y-size", "x-offset", "y-offset", "pixel-width", "pixel-height")
_MARKS = ("grains", "grain-areas", "masked-share")
_LOG = ("log", "operations")
_GRAPHS = ("graphs", "curve")
_WHAT = ("channels", *_PLAIN, *_PIXELS, *_LENGTHS, "range", *STATISTICS, *_MARKS, *_LOG, "selection", *_GRAPHS)


@getter("gwyddion")
def read_gwyddion(
    context: Context,
    path: str,
    what: str = "channels",
    channel: int | str | None = None,
    region: list[int] | None = None,
    masked: str | None = None,
    function: str | None = None,
    argument: str | None = None,
    selection: str = "line",
    graph: int | str | None = None,
    curve: int | str | None = None,
) -> Seen:
    """Read a Gwyddion file (.gwy): calibration, statistics, mask, profiles, and the log of what was done.

    Parameters
    ----------
    what : str
        ``channels``: all image channels with their facts. Of one channel: ``number``, ``title``, ``width`` and
        ``height`` (px), ``x-size``, ``y-size``, ``x-offset``, ``y-offset``, ``pixel-width``, ``pixel-height`` (with
        the unit of the file), ``xy-unit``, ``z-unit``, ``masked``, ``visible``, ``palette``, ``range-type``
        (``full``, ``fixed``, ``automatic``, ``adaptive``), ``range`` (the fixed ``[low, high]``); the statistics
        ``mean``, ``rms`` (Sq), ``sa``, ``min``, ``max``, ``median``, ``sum``, ``skew``, ``kurtosis`` (excess),
        ``slope-x`` and ``slope-y`` (of the least-squares plane); of its mask ``grains`` (their number, pixels that
        share an edge are one grain), ``grain-areas`` (rising), ``masked-share`` (0 to 1); ``operations``, the names of
        the functions of its log, oldest first; ``log``, the same with arguments; ``selection``, the coordinates of
        what was drawn with a tool. Of the graphs: ``graphs``, their titles and curves; ``curve``, a table of ``x`` and
        ``y`` in the units of the file (metres, volts).
    channel : int, str or null
        The channel by its number in the file or by its title; default: the only one that the file holds.
    region : list of int or null
        ``[x, y, width, height]`` in pixels of the channel: the statistics count only what lies in it.
    masked : str or null
        ``inside`` or ``outside``: the statistics count only marked pixels, or only those that are not.
    function : str or null
        For ``log``: only calls of this function, such as ``grain_mark``.
    argument : str or null
        For ``log`` with `function`: the value of this argument in the last such call.
    selection : str
        ``line``, ``rectangle``, ``ellipse``, ``point``, ``pointer``, ``axis`` or ``lattice``.
    graph : int, str or null
        The graph by its number in the file or its title; default: the only one.
    curve : int, str or null
        The curve by its index from 0 or its title; default: the only one.
    """
    if what not in _WHAT or masked not in (None, "inside", "outside") or (region is not None and len(region) != 4):
        said = f"what={what!r}, masked={masked!r}, region={region!r}"
        msg = f"what is one of {', '.join(_WHAT)}, masked inside or outside, region [x, y, width, height]; got {said}"
        raise CallError(msg)
    if argument is not None and function is None:
        msg = f"argument {argument!r} needs the function whose argument it is"
        raise CallError(msg)
    data = context.read(path)
    found = caged("gwyddion.read_gwy", data)
    if what == "channels":
        return Seen([_facts(row) for row in found["channels"]])
    if what in _GRAPHS:
        return _graph(found["graphs"], what, graph, curve)
    row = _choose(found["channels"], channel, "channel", "number")
    if what in STATISTICS:
        value = caged("gwyddion.measure", data, number=row["number"], region=region, masked=masked)[what]
        note = "" if value is not None else f"channel {row['number']} has no {what}: NaN, no pixel, or a flat one"
        return Seen(value, unit=_statistic_unit(what, row), note=note)
    if what in _MARKS:
        marks = caged("gwyddion.grains", data, number=row["number"])
        if what == "grain-areas":
            return Seen(marks["areas"], unit=_squared(row["xy-unit"]))
        return Seen(marks["count"] if what == "grains" else marks["share"])
    if what in _LOG:
        return _log(row["log"], what, function, argument)
    return _fact(row, what, selection)


def _fact(row: dict[str, Any], what: str, selection: str) -> Seen:
    if what in _PIXELS:
        return Seen(row[what], unit="px")
    if what.startswith("pixel-"):
        side = "x-size" if what == "pixel-width" else "y-size"
        return Seen(row[side] / row[what.removeprefix("pixel-")], unit=row["xy-unit"])
    if what in _LENGTHS:
        return Seen(row[what], unit=row["xy-unit"])
    if what == "range":
        note = f"the colours of channel {row['number']} have no fixed range: it is {row['range-type']}"
        return Seen(row["range"], unit=row["z-unit"], note=note if row["range"] is None else "")
    if what == "selection":
        there = row["selections"]
        if selection not in there:
            msg = f"channel {row['number']} has no selection {selection!r}; it has: {', '.join(there) or 'none'}"
            raise Unreadable(msg)
        return Seen(there[selection], unit=row["xy-unit"])
    return Seen(row[what])


def _facts(row: dict[str, Any]) -> dict[str, Json]:
    names = (*_PLAIN, *_PIXELS, "x-size", "y-size", "range")
    return {name: row[name] for name in names} | {"operations": [line["function"] for line in row["log"]]}


def _choose(rows: list[dict[str, Any]], wanted: int | str | None, kind: str, key: str | None) -> dict[str, Any]:
    there = "; ".join(f"{row[key] if key else at}: {row['title'][:40]!r}" for at, row in enumerate(rows[:10])) or "none"
    if wanted is None:
        found = rows
    elif isinstance(wanted, int):
        found = [row for at, row in enumerate(rows) if (row[key] if key else at) == wanted]
    else:
        found = [row for row in rows if row["title"].strip().casefold() == wanted.strip().casefold()]
    if len(found) != 1:
        name = "only one" if wanted is None else repr(wanted)
        msg = f"{len(found)} {kind}s are the {name} where one is due; the file has: {there}"
        raise Unreadable(msg)
    return found[0]


def _statistic_unit(what: str, row: dict[str, Any]) -> str | None:
    if what in ("skew", "kurtosis"):
        return None
    if not what.startswith("slope"):
        return row["z-unit"]  # type: ignore[no-any-return]
    if row["z-unit"] == row["xy-unit"]:
        return None
    return f"{row['z-unit'] or '1'}/{row['xy-unit'] or '1'}"


def _squared(unit: str | None) -> str | None:
    return f"{unit}^2" if unit is not None and unit.isalpha() else None


def _log(lines: list[dict[str, Any]], what: str, function: str | None, argument: str | None) -> Seen:
    if function is not None:
        lines = [line for line in lines if line["function"] == function]
    if what == "operations":
        return Seen([line["function"] for line in lines])
    if argument is None:
        return Seen(lines)
    if not lines or argument not in lines[-1]["arguments"]:
        why = "was never called" if not lines else f"has no argument {argument!r}"
        msg = f"{function} {why}, as the log of the channel says"
        raise Unreadable(msg)
    return Seen(lines[-1]["arguments"][argument])


def _graph(graphs: list[dict[str, Any]], what: str, graph: int | str | None, curve: int | str | None) -> Seen:
    if what == "graphs":
        return Seen(
            [
                {
                    **{name: row[name] for name in row if name != "curves"},
                    "curves": [at["title"] for at in row["curves"]],
                }
                for row in graphs
            ]
        )
    row = _choose(graphs, graph, "graph", "number")
    line = _choose(row["curves"], curve, "curve", None)
    rows = [[x, y] for x, y in zip(line["x"], line["y"], strict=True)]
    shown = {"curve": line["title"], "points": len(rows), "x-unit": row["x-unit"], "y-unit": row["y-unit"]}
    return Seen({"columns": ["x", "y"], "rows": rows}, shown=shown | {"first": rows[:3]})
