"""Rows of a table or of a list of objects, and what tells one row from another."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from tasks_lib.evaluation._registry import CallError, Unreadable
from tasks_lib.evaluation.getters.tables import find_column
from tasks_lib.evaluation.metrics import _cells, _say
from tasks_lib.evaluation.metrics.numbers import as_number
from tasks_lib.records import Json

Rows = list[dict[str, Json]]


def rows_of(value: Json, names: list[str], whose: str) -> Rows:
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


def wanted_rows(
    want: Json, keys: Sequence[str], rules: Mapping[str, _cells.Rule], whose: str
) -> tuple[list[str], Rows]:
    """Return the columns that are compared, and those of what is wanted as rows.

    Raises
    ------
    CallError
        If what is wanted is no table or lacks such a column.
    """
    names = [*dict.fromkeys([*keys, *rules])]
    try:
        return names, rows_of(want, names, whose)
    except Unreadable as error:
        raise CallError(str(error)) from error


def row_differs(row: dict[str, Json], target: dict[str, Json], rules: Mapping[str, _cells.Rule]) -> str:
    """Say in which column a row is not the one wanted, and why; empty where all that have a rule agree."""
    reasons = ((column, _cells.differs(row[column], target[column], rule)) for column, rule in rules.items())
    return next((f"{column}: {reason}" for column, reason in reasons if reason), "")


def key_of(row: dict[str, Json], keys: list[str]) -> tuple[str, ...]:
    """Return what tells a row from others; a number is one key however it is written, 2 and 2.0."""
    return tuple(
        _say.number(float(number)) if (number := as_number(row[key])) is not None else str(row[key]).strip().casefold()
        for key in keys
    )


def shown(key: tuple[str, ...]) -> str:
    """Write a key in a sentence."""
    return ", ".join(key)[:100]
