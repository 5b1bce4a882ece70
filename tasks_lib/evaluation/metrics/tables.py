"""Tables and sets of pairs: every cell that is named must agree."""

from __future__ import annotations

from typing import Any

import numpy as np

from tasks_lib.evaluation._registry import CallError, Judgement, Seen, Unreadable, metric
from tasks_lib.evaluation.getters.tables import find_column
from tasks_lib.evaluation.metrics import _say
from tasks_lib.evaluation.metrics._pairing import unpaired
from tasks_lib.evaluation.metrics.numbers import allowed, as_number, read_as, within
from tasks_lib.evaluation.metrics.texts import same
from tasks_lib.evaluation.readers.text import fold_key
from tasks_lib.records import Json

Rows = list[dict[str, Json]]
MOST_PAIRS = 1_000_000
"""More pairs of a row found and a row wanted are not compared."""


def _agrees(value: Json, want: Json, rule: dict[str, Any]) -> bool:
    target = as_number(want)
    if target is None:
        return same(value, want, case=rule.get("case", False), spaces="fold")
    number = as_number(value)
    return number is not None and within(number, target, allowed(target, rule.get("tolerance"), rule.get("relative")))


def _rows(value: Json, names: list[str], whose: str) -> Rows:
    """Return the named columns of a table or of a list of objects as rows.

    Raises
    ------
    Unreadable
        If the value is no table or has no such column.
    """
    if isinstance(value, dict) and isinstance(value.get("columns"), list) and isinstance(value.get("rows"), list):
        at = {name: find_column(value["columns"], name) for name in names}
        return [{name: row[at[name]] for name in names} for row in value["rows"]]
    if isinstance(value, list) and all(isinstance(row, dict) for row in value):
        for number, row in enumerate(value):
            for name in names:
                if name not in row:
                    msg = f"row {number} of {whose} has no {name!r}; it has: {', '.join(map(str, row))[:200]}"
                    raise Unreadable(msg)
        return [{name: row[name] for name in names} for row in value]
    msg = f"{whose} is no table: {_say.value(value)}"
    raise Unreadable(msg)


@metric("table-match", tolerance=True)
def table_match(
    seen: Seen,
    want: Json,
    *,
    tolerance: float | None = None,
    relative: float | None = None,
    columns: dict[str, Any],
    keys: list[str] | None = None,
    extra: bool = False,
    ordered: bool = False,
    **_: Any,
) -> Judgement:
    """Pass where the rows of a table, or a list of objects, are those wanted, column by column.

    What is wanted is a list of objects, or a gold file that the same getter reads.

    Parameters
    ----------
    columns : dict
        Column -> how it is compared: ``{tolerance: 0.1}``, ``{relative: 0.05}``, ``{case: true}`` for text, or ``{}``
        for the tolerances of the criterion.
    keys : list of str or null
        Columns that say which row is which, compared exactly; default: each wanted row takes any row that agrees.
    extra : bool
        Whether further rows may be there.
    ordered : bool
        Whether the order of the rows counts (without `keys`).
    """
    if not columns or not all(isinstance(rule, dict | None) for rule in columns.values()):
        msg = f"columns is an object of column -> tolerances, got {columns!r}"
        raise CallError(msg)
    default = {"tolerance": tolerance, "relative": relative}
    rules = {name: default | (rule or {}) for name, rule in columns.items()}
    names = [*dict.fromkeys([*(keys or []), *rules])]
    try:
        wanted = _rows(want, names, "the wanted table")
    except Unreadable as error:
        raise CallError(str(error)) from error
    rows = _rows(seen.value, names, "the table")
    if len(rows) < len(wanted) or (len(rows) > len(wanted) and not extra):
        return Judgement(False, f"{len(rows)} rows were found, {len(wanted)} are wanted")

    def differs(row: dict[str, Json], target: dict[str, Json]) -> str:
        for name, rule in rules.items():
            if not _agrees(row[name], target[name], rule):
                return f"{name} is {_say.value(row[name])} where {_say.value(target[name])} is wanted{_room(rule)}"
        return ""

    if keys:
        return _by_keys(rows, wanted, keys, differs)
    if ordered:
        for at, (row, target) in enumerate(zip(rows, wanted, strict=False)):
            if reason := differs(row, target):
                return Judgement(False, f"row {at}: {reason}")
        return Judgement(True, f"all {len(wanted)} rows agree, in order")
    if len(rows) * len(wanted) > MOST_PAIRS:
        return Judgement(False, f"{len(rows)} rows were found, too many to be compared with {len(wanted)} without keys")
    absent = unpaired(np.array([[not differs(row, target) for row in rows] for target in wanted], dtype=bool))
    if absent:
        target = wanted[absent[0]]
        return Judgement(False, f"{len(absent)} of {len(wanted)} rows are not found; the first: {_say.value(target)}")
    return Judgement(True, f"all {len(wanted)} rows are found")


def _room(rule: dict[str, Any]) -> str:
    parts = [f"{key} {_say.number(rule[key])}" for key in ("tolerance", "relative") if rule.get(key) is not None]
    return f" ({' or '.join(parts)})" if parts else ""


def _by_keys(rows: Rows, wanted: Rows, keys: list[str], differs: Any) -> Judgement:
    def key_of(row: dict[str, Json]) -> tuple[str, ...]:
        # A number is one key however it is written: 2 and 2.0.
        return tuple(
            _say.number(float(row[key])) if as_number(row[key]) is not None else str(row[key]).strip().casefold()
            for key in keys
        )

    table: dict[tuple[str, ...], dict[str, Json]] = {}
    for row in rows:
        if key_of(row) in table:
            return Judgement(False, f"two rows have the key {', '.join(key_of(row))[:100]}")
        table[key_of(row)] = row
    for target in wanted:
        row_found = table.get(key_of(target))
        if row_found is None:
            return Judgement(False, f"there is no row with the key {', '.join(key_of(target))[:100]}")
        if reason := differs(row_found, target):
            return Judgement(False, f"row {', '.join(key_of(target))[:100]}: {reason}")
    return Judgement(True, f"all {len(wanted)} rows agree")


@metric("key-values", tolerance=True)
def key_values(
    seen: Seen,
    want: Json,
    *,
    tolerance: float | None = None,
    relative: float | None = None,
    unit: str | None = None,
    extra: bool = True,
    **_: Any,
) -> Judgement:
    """Pass where every key wanted is there with its value; there is no part of a point.

    What is wanted is an object of key -> value, or key -> ``{value, tolerance, relative, unit}`` where a key has
    tolerances of its own. Keys are compared without case, spaces and underscores.

    Parameters
    ----------
    extra : bool
        Whether further keys may be there.
    """
    if not isinstance(want, dict) or not want:
        msg = f"key-values wants an object of key -> value, got {want!r}"
        raise CallError(msg)
    if not isinstance(seen.value, dict):
        return Judgement(False, f"{_say.value(seen.value)} holds no keys")
    found = {fold_key(key): value for key, value in seen.value.items()}
    default = {"tolerance": tolerance, "relative": relative, "unit": unit}
    for key, target in want.items():
        if fold_key(key) not in found:
            return Judgement(False, f"there is no key {key!r}; there are: {', '.join(sorted(found))[:200]}")
        rule = default | (target if isinstance(target, dict) else {"value": target})
        if reason := _key_differs(found[fold_key(key)], rule):
            return Judgement(False, f"key {key!r}: {reason}")
    further = sorted(set(found) - {fold_key(key) for key in want})
    if further and not extra:
        return Judgement(False, f"the keys {_say.several(further)} are too many")
    return Judgement(True, f"all {len(want)} keys agree")


def _key_differs(value: Json, rule: dict[str, Any]) -> str:
    written = None
    if isinstance(value, dict) and set(value) == {"value", "unit"}:
        value, written = value["value"], value["unit"]
    target = as_number(rule["value"])
    if target is None:
        if same(value, rule["value"], case=False, spaces="fold"):
            return ""
        return f"{_say.value(value)} was found, {_say.value(rule['value'])} is wanted"
    number, reason = read_as(Seen(value, written), rule.get("unit"))
    if number is None:
        return reason
    limit = allowed(target, rule.get("tolerance"), rule.get("relative"))
    if within(number, target, limit):
        return ""
    unit = rule.get("unit")
    return f"{_say.quantity(number, unit)} was found, {_say.quantity(target, unit)} is wanted{_room(rule)}"
