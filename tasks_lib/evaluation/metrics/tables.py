"""Tables and sets of pairs: every cell that is named must agree."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from tasks_lib.evaluation._registry import CallError, Judgement, Seen, metric
from tasks_lib.evaluation.metrics import _cells, _say
from tasks_lib.evaluation.metrics._pairing import unpaired
from tasks_lib.evaluation.metrics._rows import Rows, key_of, row_differs, rows_of, shown, wanted_rows
from tasks_lib.evaluation.readers.text import fold_key
from tasks_lib.records import Json

MOST_PAIRS = 1_000_000
"""More pairs of a row found and a row wanted are not compared."""


@metric("table-match", tolerance=True)
def table_match(
    seen: Seen,
    want: Json,
    *,
    tolerance: float | None = None,
    relative: float | None = None,
    unit: str | None = None,
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
        Column -> how it is compared: ``{tolerance: 0.1}``, also with a unit as in ``{tolerance: 0.1 eV}``,
        ``{relative: 0.05}``, ``{case: true}`` for text, ``{ordered: false}`` for lists, or ``{}`` for the tolerances of
        the criterion.
    keys : list of str or null
        Columns that say which row is which, compared exactly; default: each wanted row takes any row that agrees.
    extra : bool
        Whether further rows may be there.
    ordered : bool
        Whether the order of the rows counts (without `keys`).
    """
    rules = _cells.rules(columns, {"tolerance": tolerance, "relative": relative, "unit": unit}, "columns")
    if not rules:
        msg = "columns names no column: name those that are compared"
        raise CallError(msg)
    names, wanted = wanted_rows(want, keys or [], rules, "the wanted table")
    rows = rows_of(seen.value, names, "the table")
    if len(rows) < len(wanted) or (len(rows) > len(wanted) and not extra):
        return Judgement(False, f"{len(rows)} rows were found, {len(wanted)} are wanted")

    differs = partial(row_differs, rules=rules)
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


def _by_keys(rows: Rows, wanted: Rows, keys: list[str], differs: Any) -> Judgement:
    table: dict[tuple[str, ...], dict[str, Json]] = {}
    for row in rows:
        key = key_of(row, keys)
        if key in table:
            return Judgement(False, f"two rows have the key {shown(key)}")
        table[key] = row
    for target in wanted:
        key = key_of(target, keys)
        if key not in table:
            return Judgement(False, f"there is no row with the key {shown(key)}")
        if reason := differs(table[key], target):
            return Judgement(False, f"row {shown(key)}: {reason}")
    return Judgement(True, f"all {len(wanted)} rows agree")


@metric("key-values", tolerance=True)
def key_values(
    seen: Seen,
    want: Json,
    *,
    tolerance: float | None = None,
    relative: float | None = None,
    unit: str | None = None,
    keys: dict[str, Any] | None = None,
    extra: bool = True,
    **_: Any,
) -> Judgement:
    """Pass where every key wanted is there with its value; there is no part of a point.

    What is wanted is an object of key -> value, or key -> ``{value, tolerance, relative, unit}`` where a key has
    tolerances of its own. A value may be a number, a text, a truth value, a list or an object. Keys are compared
    without case, spaces and underscores.

    Parameters
    ----------
    keys : dict or null
        Key -> how it is compared, for values that come from a gold file: ``{tolerance: 0.01 g/cm^3}``,
        ``{relative: 0.05}``, ``{case: true}`` for text, ``{ordered: false}`` for a list. A key that is not named here
        is compared with the tolerances of the criterion.
    extra : bool
        Whether further keys may be there.
    """
    if not isinstance(want, dict) or not want:
        msg = f"key-values wants an object of key -> value, got {want!r}"
        raise CallError(msg)
    default = {"tolerance": tolerance, "relative": relative, "unit": unit}
    rules = {fold_key(key): rule for key, rule in _cells.rules(keys, default, "keys").items()}
    if unknown := sorted(set(rules) - {fold_key(key) for key in want}):
        msg = f"keys names {', '.join(unknown)}, which is not wanted; wanted are: {', '.join(want)}"
        raise CallError(msg)
    if not isinstance(seen.value, dict):
        return Judgement(False, f"{_say.value(seen.value)} holds no keys")
    found: dict[str, Json] = {}
    for key, value in seen.value.items():
        if fold_key(key) in found:
            return Judgement(False, f"two keys read {fold_key(key)!r}, of which one is {key!r}")
        found[fold_key(key)] = value
    for key, target in want.items():
        if fold_key(key) not in found:
            return Judgement(False, f"there is no key {key!r}; there are: {', '.join(sorted(found))[:200]}")
        rule = rules.get(fold_key(key), default)
        if isinstance(target, dict) and "value" in target:
            own = {word: value for word, value in target.items() if word != "value"}
            rule, target = _cells.rule_of(own, rule, f"wanted key {key!r}"), target["value"]
        value, written = found[fold_key(key)], None
        if isinstance(value, dict) and set(value) == {"value", "unit"}:
            value, written = value["value"], value["unit"] if isinstance(value["unit"], str) else None
        if reason := _cells.differs(value, target, rule, written):
            return Judgement(False, f"key {key!r}: {reason}")
    further = sorted(set(found) - {fold_key(key) for key in want})
    if further and not extra:
        return Judgement(False, f"the keys {_say.several(further)} are too many")
    return Judgement(True, f"all {len(want)} keys agree")
