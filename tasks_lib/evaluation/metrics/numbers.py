"""Numbers with tolerances and units."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from tasks_lib.evaluation._registry import CallError, Judgement, Seen, metric
from tasks_lib.evaluation.metrics import _say
from tasks_lib.evaluation.metrics._pairing import unpaired
from tasks_lib.evaluation.units import convert, parse_quantity
from tasks_lib.records import Json

_EDGE = 1e-12
"""Relative room for the rounding of decimal fractions, so that 284.9 is within 0.1 of 284.8."""
MOST_PAIRS = 50_000_000
"""More pairs of a number found and a number wanted are not compared."""


def as_number(value: Json) -> float | int | None:
    """Return a finite number, or None: a truth value, NaN and text are none."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    if isinstance(value, int) and abs(value) > 10**300:
        return None
    return value if math.isfinite(value) else None


def allowed(want: float, tolerance: float | None, relative: float | None) -> float:
    """Return how far a value may be from `want`: the larger of the absolute and the relative tolerance.

    Raises
    ------
    CallError
        If neither is given; a measured number without a tolerance is no criterion.
    """
    if tolerance is None and relative is None:
        msg = f"the number {want!r} is wanted without a tolerance: give `tolerance` or `relative` (0 for exact)"
        raise CallError(msg)
    return max(tolerance or 0.0, (relative or 0.0) * abs(want))


def within(value: float, want: float, limit: float) -> bool:
    """Tell whether ``|value - want| <= limit``, with room for the rounding of decimal fractions."""
    return abs(value - want) <= limit + _EDGE * max(abs(value), abs(want))


def read_as(seen: Seen, unit: str | None, *, need_unit: bool = False) -> tuple[float | int | None, str]:
    """Return the number that was seen in `unit`, or None and the reason."""
    value, written = seen.value, seen.unit
    if isinstance(value, str) and (quantity := parse_quantity(value)) is not None:
        value, written = quantity[0], quantity[1] or written
    number = as_number(value)
    if number is None:
        return None, seen.note or f"{_say.value(value)} is not a finite number"
    if unit is None:
        return number, ""
    if written is None:
        reason = f"{_say.number(number)} has no unit and must be given in {unit}"
        return (None, reason) if need_unit else (number, "")
    converted = convert(number, written, unit)
    if converted is None:
        return None, f"{_say.quantity(number, written)} cannot be read in {unit}: another or an unknown unit"
    return converted, ""


def _wanted(want: Json) -> float | int:
    number = as_number(want)
    if number is None:
        msg = f"a finite number is wanted, got {want!r}"
        raise CallError(msg)
    return number


@metric("number", tolerance=True)
def number(
    seen: Seen,
    want: Json,
    *,
    tolerance: float | None = None,
    relative: float | None = None,
    unit: str | None = None,
    need_unit: bool = False,
    **_: Any,
) -> Judgement:
    """Pass where the number is the one wanted within ``tolerance`` (in ``unit``) or ``relative``.

    The larger of the two tolerances counts.

    A number that was read with a unit is converted to ``unit``; one of another kind fails.

    Parameters
    ----------
    need_unit : bool
        Whether a number without a unit fails; default: it is taken to be in ``unit``.
    """
    wanted = _wanted(want)
    limit = allowed(wanted, tolerance, relative)
    value, reason = read_as(seen, unit, need_unit=need_unit)
    if value is None:
        return Judgement(False, reason)
    passed = within(value, wanted, limit)
    far = _say.quantity(abs(value - wanted), unit)
    room = f"{_say.quantity(limit, unit)} {'or less is' if passed else 'is'} allowed"
    return Judgement(passed, f"{_say.quantity(value, unit)} is {far} from {_say.quantity(wanted, unit)}; {room}")


@metric("at-least")
def at_least(seen: Seen, want: Json, *, unit: str | None = None, **_: Any) -> Judgement:
    """Pass where the number, in ``unit``, is at least the one wanted."""
    wanted = _wanted(want)
    value, reason = read_as(seen, unit)
    if value is None:
        return Judgement(False, reason)
    return Judgement(
        value >= wanted, f"{_say.quantity(value, unit)} was found, at least {_say.quantity(wanted, unit)} is wanted"
    )


@metric("at-most")
def at_most(seen: Seen, want: Json, *, unit: str | None = None, **_: Any) -> Judgement:
    """Pass where the number, in ``unit``, is at most the one wanted."""
    wanted = _wanted(want)
    value, reason = read_as(seen, unit)
    if value is None:
        return Judgement(False, reason)
    return Judgement(
        value <= wanted, f"{_say.quantity(value, unit)} was found, at most {_say.quantity(wanted, unit)} is wanted"
    )


@metric("between")
def between(seen: Seen, want: Json, *, unit: str | None = None, **_: Any) -> Judgement:
    """Pass where the number, or every number of the list, lies in ``[low, high]``, ends included."""
    if not isinstance(want, list) or len(want) != 2:
        msg = f"between wants [low, high], got {want!r}"
        raise CallError(msg)
    low, high = _wanted(want[0]), _wanted(want[1])
    if low > high:
        msg = f"between wants [low, high] with low <= high, got {want!r}"
        raise CallError(msg)
    values = seen.value if isinstance(seen.value, list) else [seen.value]
    if not values:
        return Judgement(False, "the list that was read is empty")
    room = f"{_say.number(low)} to {_say.quantity(high, unit)} is wanted"
    for item in values:
        value, reason = read_as(Seen(item, seen.unit, seen.note), unit)
        if value is None:
            return Judgement(False, reason)
        if not low <= value <= high:
            return Judgement(False, f"{_say.quantity(value, unit)} was found, {room}")
    return Judgement(True, f"{_say.several(values)} was found, {room}")


@metric("number-list", tolerance=True)
def number_list(
    seen: Seen,
    want: Json,
    *,
    tolerance: float | None = None,
    relative: float | None = None,
    unit: str | None = None,
    ordered: bool = False,
    extra: bool = False,
    **_: Any,
) -> Judgement:
    """Pass where the list holds every number wanted, each within the tolerance and each by an item of its own.

    Parameters
    ----------
    ordered : bool
        Whether the order counts.
    extra : bool
        Whether further numbers may be there (without `ordered`).
    """
    if not isinstance(want, list) or not want:
        msg = f"number-list wants a list of numbers, got {want!r}"
        raise CallError(msg)
    wanted = [_wanted(item) for item in want]
    limits = [allowed(item, tolerance, relative) for item in wanted]
    if not isinstance(seen.value, list):
        return Judgement(False, f"{_say.value(seen.value)} is no list of numbers")
    values = []
    for at, item in enumerate(seen.value):
        value, reason = read_as(Seen(item, seen.unit), unit)
        if value is None:
            return Judgement(False, f"item {at}: {reason}")
        values.append(value)
    if len(values) != len(wanted) and (ordered or not extra or len(values) < len(wanted)):
        return Judgement(False, f"{len(values)} numbers were found, {len(wanted)} are wanted: {_say.several(values)}")
    if ordered:
        for at, (value, target, limit) in enumerate(zip(values, wanted, limits, strict=True)):
            if not within(value, target, limit):
                return Judgement(False, f"item {at}: {_far(value, target, limit, unit)}")
        return Judgement(True, f"all {len(wanted)} numbers are within their tolerance, in order")
    if len(values) * len(wanted) > MOST_PAIRS:
        return Judgement(False, f"{len(values)} numbers were found, too many to be compared with {len(wanted)}")
    one, other = np.array(values, dtype=float)[None, :], np.array(wanted, dtype=float)[:, None]
    room = np.array(limits)[:, None] + _EDGE * np.maximum(np.abs(one), np.abs(other))
    absent = unpaired(np.abs(one - other) <= room)
    if absent:
        target, limit = wanted[absent[0]], limits[absent[0]]
        nearest = min(values, key=lambda value: abs(value - target))
        return Judgement(
            False,
            f"{len(absent)} of {len(wanted)} numbers are not found; the nearest of the list to the first: "
            f"{_far(nearest, target, limit, unit)}",
        )
    return Judgement(True, f"all {len(wanted)} numbers are found within their tolerance: {_say.several(values)}")


def _far(value: float, target: float, limit: float, unit: str | None) -> str:
    return (
        f"{_say.quantity(value, unit)} is {_say.quantity(abs(value - target), unit)} from "
        f"{_say.quantity(target, unit)}, {_say.quantity(limit, unit)} is allowed"
    )
