"""Any so many of the things that satisfy a condition, where many answers are right."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from typing import Any

import numpy as np

from tasks_lib.evaluation._registry import CallError, Judgement, Seen, metric
from tasks_lib.evaluation.metrics import _cells, _say
from tasks_lib.evaluation.metrics._pairing import unpaired
from tasks_lib.evaluation.metrics._rows import key_of, row_differs, rows_of, shown, wanted_rows
from tasks_lib.evaluation.metrics.texts import fold, items_of
from tasks_lib.records import Json

Why = Callable[[Any, Any], str]


@metric("members", tolerance=True)
def members(
    seen: Seen,
    want: Json,
    *,
    tolerance: float | None = None,
    relative: float | None = None,
    unit: str | None = None,
    count: int,
    columns: dict[str, Any] | None = None,
    keys: list[str] | None = None,
    case: bool = True,
    **_: Any,
) -> Judgement:
    """Pass where the list holds exactly `count` distinct items, each of them among those wanted, in any order.

    For "any five that satisfy": what is wanted is the list of *all* that satisfy. Numbers in it need a tolerance. Where
    the items are objects, or rows of a table, name `columns`; those that are not named do not count.

    Parameters
    ----------
    count : int
        How many items the list must hold.
    columns : dict or null
        For objects, column -> how it is compared, as in ``table-match``; ``{}`` for the tolerances of the criterion.
    keys : list of str or null
        For objects, the columns that say which item is which, compared exactly without case; default: an item may be
        any one wanted with which all its columns agree.
    case : bool
        Whether upper and lower case differ, for items that are plain texts.
    """
    default = {"tolerance": tolerance, "relative": relative, "unit": unit}
    if not isinstance(want, list) or isinstance(count, bool) or not isinstance(count, int) or count < 1:
        msg = f"members wants the list of all that satisfy and a count of at least 1, got {want!r:.80} and {count!r}"
        raise CallError(msg)
    if count > len(want):
        msg = f"members wants {count} items of a list that holds {len(want)}: no answer can pass"
        raise CallError(msg)
    if keys or columns:
        return _objects(seen, want, count, keys or [], _cells.rules(columns, default, "columns"))
    rule = {**default, "case": case}
    return _judge(
        items_of(seen.value),
        want,
        count,
        lambda item, target: _cells.differs(item, target, rule),
        lambda item: _identity(item, case),
    )


def _objects(seen: Seen, want: list[Json], count: int, keys: list[str], rules: dict[str, dict[str, Any]]) -> Judgement:
    names, wanted = wanted_rows(want, keys, rules, "the wanted list")

    def name(item: dict[str, Json]) -> Hashable:
        return key_of(item, keys) if keys else _identity(item, False)

    def why(item: dict[str, Json], target: dict[str, Json]) -> str:
        if keys and name(item) != name(target):
            return f"its key is not {shown(key_of(target, keys))}"
        return row_differs(item, target, rules)

    return _judge(rows_of(seen.value, names, "the list"), wanted, count, why, name)


def _judge(
    items: Sequence[Any] | None, wanted: Sequence[Any], count: int, why: Why, name: Callable[[Any], Hashable]
) -> Judgement:
    """Judge a list: its length, that each item fits one wanted, and that no two items can only fit the same one."""
    _refuse_repeats(wanted, name)
    if items is None:
        return Judgement(False, "what was read is not a list of items")
    if len(items) != count:
        return Judgement(False, f"{len(items)} items were found, {count} are wanted")
    first: dict[Hashable, int] = {}
    fits = np.zeros((len(items), len(wanted)), dtype=bool)
    for at, item in enumerate(items):
        other = first.setdefault(name(item), at)
        if other != at:
            return Judgement(False, f"item {at}, {_say.value(item)}, stands twice: it is item {other} as well")
        reasons = [why(item, target) for target in wanted]
        fits[at] = [not reason for reason in reasons]
        if not fits[at].any():
            # Where keys tell which wanted one is meant, its reason says more than that of the others.
            meant = [reason for target, reason in zip(wanted, reasons, strict=True) if name(target) == name(item)]
            reason = meant[0] if meant else f"it is not among the {len(wanted)} that satisfy"
            return Judgement(False, f"item {at}, {_say.value(item)}: {reason}")
    if shared := unpaired(fits):
        item = items[shared[0]]
        return Judgement(False, f"item {shared[0]}, {_say.value(item)}, is the same one as another item of the list")
    return Judgement(True, f"all {len(items)} items are distinct and among the {len(wanted)} that satisfy")


def _identity(value: Json, case: bool) -> Hashable:
    """Return equal things for values that are equal: 3 and 3.0, and texts that differ in spaces alone."""
    if isinstance(value, str):
        return fold(value, case=case, spaces="fold")
    if isinstance(value, list):
        return ("list", *(_identity(item, case) for item in value))
    if isinstance(value, dict):
        return ("object", *sorted((key, repr(_identity(item, case))) for key, item in value.items()))
    return (type(value) is bool, value)


def _refuse_repeats(wanted: Sequence[Any], name: Callable[[Any], Hashable]) -> None:
    first: dict[Hashable, int] = {}
    for at, target in enumerate(wanted):
        other = first.setdefault(name(target), at)
        if other != at:
            msg = f"the wanted list holds {_say.value(target)} twice, at {other} and {at}: leave one out"
            raise CallError(msg)
