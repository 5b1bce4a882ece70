"""Rows of a table or of a list of objects, and what tells one row from another."""

from __future__ import annotations

from tasks_lib.evaluation._registry import Unreadable
from tasks_lib.evaluation.getters.tables import find_column
from tasks_lib.evaluation.metrics import _say
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


def key_of(row: dict[str, Json], keys: list[str]) -> tuple[str, ...]:
    """Return what tells a row from others; a number is one key however it is written, 2 and 2.0."""
    return tuple(
        _say.number(float(number)) if (number := as_number(row[key])) is not None else str(row[key]).strip().casefold()
        for key in keys
    )


def shown(key: tuple[str, ...]) -> str:
    """Write a key in a sentence."""
    return ", ".join(key)[:100]
