"""Fityk: the saved session and the exported table of peaks."""

from __future__ import annotations

import math
from typing import Any

from tasks_lib.evaluation._cage import caged
from tasks_lib.evaluation._context import Context
from tasks_lib.evaluation._registry import CallError, Seen, Unreadable, getter

_WHAT = (
    "peaks", "functions", "models", "variables", "title", "points", "active-range", "active-ranges", "active-points",
    "mean-y", "datasets", "view", "commands",
)  # fmt: skip
_SHORT = ("name", "type", "center", "height", "area", "fwhm", "parameters", "tied", "free", "bound")


@getter("fityk-session")
def read_session(
    context: Context,
    path: str,
    what: str = "peaks",
    dataset: int = 0,
    field: str | None = None,
    near: float | None = None,
    type: str | None = None,
    model: str = "F",
    range: list[float] | None = None,
    highest: float | None = None,
    unit: str | None = None,
) -> Seen:
    """Read what a saved Fityk session (.fit) holds: data, functions, models.

    Parameters
    ----------
    what : str
        ``peaks``: the functions of the model that have a centre, by rising centre, each with ``name``, ``type``,
        ``center``, ``height``, ``area``, ``fwhm``, ``parameters``, ``tied`` (parameter -> expression of other
        variables), ``free`` (parameters that the fit may change) and ``bound`` (parameters that hang on a variable that
        another function hangs on as well, tied or shared). ``functions``: all functions that the model uses.
        ``models``: ``{F, Z}``, the names of the functions in each. ``variables``. ``title`` of the dataset.
        ``points``: ``{x, y, sigma, active}``. ``active-range``: ``[lowest, highest]`` x of the active points;
        ``active-ranges``: the same of every dataset, one behind the other.
        ``active-points``: their number. ``mean-y``: mean of y over the points in `range`. ``datasets``: their number.
        ``view``: what the plot showed when the session was saved, ``[left, right, bottom, top]``; with `field` ``x`` or
        ``y``, two of them.
        ``commands``: lines that are not part of a saved session.
    dataset : int
        Number of the dataset, ``@0`` is 0.
    field : str or null
        One field of each peak, function or point (also of its parameters, such as ``hwhm`` or ``shape``): the value is
        a list; with `near`, one value.
    near : float or null
        Only the peak whose centre is nearest to this.
    type : str or null
        Only peaks or functions of this type, such as ``Gaussian`` or ``Voigt``.
    model : str
        ``F`` for the model, ``Z`` for the zero shift of x.
    range : list of float or null
        ``[low, high]`` of x; only points in it count for ``points`` and ``mean-y``.
    highest : float or null
        The highest y of the dataset. A session in which it is another was saved of other data and cannot be read: for
        what says nothing of the data itself, such as ``view``.
    unit : str or null
        The unit of the value; Fityk itself knows none.
    """
    if what not in _WHAT or model not in ("F", "Z"):
        msg = f"what is one of {', '.join(_WHAT)} and model F or Z, got {what!r} and {model!r}"
        raise CallError(msg)
    session = caged("fityk.read_session", context.read(path))
    if what in ("commands", "variables"):
        return Seen(session[what])
    if highest is not None:
        _check_highest(session["datasets"], dataset, highest)
    if what == "datasets":
        return Seen(len(session["datasets"]))
    if what == "view":
        if session["view"] is None or None in session["view"]:
            msg = "the session does not say what its plot shows"
            raise Unreadable(msg)
        if field not in (None, "x", "y"):
            msg = f"the view has the fields x and y, got {field!r}"
            raise CallError(msg)
        ends = {None: slice(None), "x": slice(0, 2), "y": slice(2, 4)}[field]
        return Seen(session["view"][ends], unit=unit)
    if what == "active-ranges":
        ranges = [_data(one, "active-range", None, None, unit).value for one in session["datasets"]]
        return Seen([end for ends in ranges for end in ends], unit=unit)
    data = _dataset(session["datasets"], dataset)
    if what == "models":
        return Seen(session["models"][dataset])
    if what in ("peaks", "functions"):
        used = session["models"][dataset][model]
        rows = [row for row in session["functions"] if row["name"] in used]
        if what == "peaks":
            rows = [row for row in rows if row["center"] is not None]
        return _rows(rows, field=field, near=near, kind=type, unit=unit)
    return _data(data, what, field, range, unit)


@getter("fityk-peaks")
def read_peaks(
    context: Context,
    path: str,
    field: str | None = None,
    near: float | None = None,
    type: str | None = None,
    unit: str | None = None,
) -> Seen:
    """Read the table of peaks that Fityk exports (.peaks): name, type, center, height, area, fwhm, by rising centre.

    Functions without a centre, such as a linear background, are left out.

    Parameters
    ----------
    field : str or null
        ``name``, ``type``, ``center``, ``height``, ``area`` or ``fwhm``: the value is the list over the peaks; with
        `near`, one value.
    near : float or null
        Only the peak whose centre is nearest to this.
    type : str or null
        Only peaks of this type.
    unit : str or null
        The unit of the value; Fityk itself knows none.
    """
    rows = [row for row in caged("fityk.read_peaks", context.read(path)) if row["center"] is not None]
    return _rows(rows, field=field, near=near, kind=type, unit=unit)


def _dataset(datasets: list[dict[str, Any]], number: int) -> dict[str, Any]:
    if not 0 <= number < len(datasets):
        msg = f"there is no dataset @{number}: the session has {len(datasets)}"
        raise Unreadable(msg)
    return datasets[number]


def _check_highest(datasets: list[dict[str, Any]], number: int, highest: float) -> None:
    found = max((y for y in _dataset(datasets, number)["y"] if y is not None), default=None)
    if found is None or not math.isclose(found, highest, rel_tol=1e-6):
        msg = f"dataset @{number} is of other data: its highest y is {found}, that of the data asked for {highest:g}"
        raise Unreadable(msg)


def _rows(
    rows: list[dict[str, Any]], *, field: str | None, near: float | None, kind: str | None, unit: str | None
) -> Seen:
    if kind is not None:
        rows = [row for row in rows if row["type"] == kind]
    rows = sorted(rows, key=lambda row: (math.inf if row["center"] is None else row["center"], row["name"]))
    if near is not None:
        placed = [row for row in rows if row["center"] is not None]
        if not placed:
            msg = f"there is no {kind or 'peak'} at all, so none near {near:g}"
            raise Unreadable(msg)
        rows = [min(placed, key=lambda row: (abs(row["center"] - near), row["name"]))]
    if field is None:
        short = [{key: row[key] for key in _SHORT if key in row} for row in rows]
        return Seen(short[0] if near is not None else short)
    values = [row[field] if field in row else _parameter(row, field) for row in rows]
    return Seen(values[0] if near is not None else values, unit=unit)


def _parameter(row: dict[str, Any], field: str) -> Any:
    parameters = row.get("parameters")
    if not isinstance(parameters, dict) or field not in parameters:
        there = ", ".join(parameters) if isinstance(parameters, dict) else ", ".join(row)
        msg = f"%{row['name']} of type {row['type']} has no {field!r}; it has: {there}"
        raise Unreadable(msg)
    return parameters[field]


def _data(data: dict[str, Any], what: str, field: str | None, limits: list[float] | None, unit: str | None) -> Seen:
    if what == "title":
        return Seen(data["title"])
    if limits is not None and len(limits) != 2:
        msg = f"range is [low, high], got {limits!r}"
        raise CallError(msg)
    active = [x for x, on in zip(data["x"], data["active"], strict=True) if on and x is not None]
    if what == "active-points":
        return Seen(len(active))
    if what == "active-range":
        if not active:
            msg = "no point of the dataset is active"
            raise Unreadable(msg)
        return Seen([min(active), max(active)], unit=unit)
    low, high = limits or (-math.inf, math.inf)
    inside = [at for at, x in enumerate(data["x"]) if x is not None and low <= x <= high]
    picked = {key: [data[key][at] for at in inside] for key in ("x", "y", "sigma", "active")}
    if what == "mean-y":
        if not inside or None in picked["y"]:
            msg = f"the dataset has no points between {low:g} and {high:g}, or some without a value"
            raise Unreadable(msg)
        return Seen(math.fsum(picked["y"]) / len(inside), unit=unit)
    if field is not None:
        if field not in picked:
            msg = f"points have the fields {', '.join(picked)}, got {field!r}"
            raise CallError(msg)
        return Seen(picked[field], unit=unit)
    return Seen(picked, shown={"points": len(inside), "first": {key: values[:3] for key, values in picked.items()}})
