"""Tables."""

from __future__ import annotations

from typing import Any

from tasks_lib.evaluation._cage import caged
from tasks_lib.evaluation._context import Context
from tasks_lib.evaluation._registry import CallError, Seen, Unreadable, getter
from tasks_lib.evaluation.readers.tables import DELIMITERS


@getter("table")
def read_table(
    context: Context,
    path: str,
    column: str | int | None = None,
    row: int | None = None,
    columns: list[str | int] | None = None,
    delimiter: str = "auto",
    decimal: str = ".",
    header: bool | None = None,
    comment: str = "#",
    skip: int = 0,
    what: str = "cells",
    unit: str | None = None,
) -> Seen:
    """Read a table, a column, a row or a cell of a CSV, TSV or white-space file.

    Parameters
    ----------
    column : str, int or null
        The column by name (case and outer spaces do not count; a unit in brackets may be left out) or by index from 0;
        the value is the list of its cells.
    row : int or null
        The data row by index from 0, negative from the end; with `column`, one cell.
    columns : list or null
        Several columns, in this order; default: all.
    delimiter : str
        ``auto``, ``comma``, ``semicolon``, ``tab`` or ``whitespace``.
    decimal : str
        The decimal sign, ``.`` or ``,``.
    header : bool or null
        Whether the first line names the columns; default: it does where none of its cells is a number.
    comment : str
        Lines that start with this are left out.
    skip : int
        Lines to leave out at the top.
    what : str
        ``cells``; ``columns`` for the names; ``rows`` for the number of data rows.
    unit : str or null
        The unit that the task asked for.
    """
    if what not in ("cells", "columns", "rows") or delimiter not in ("auto", *DELIMITERS) or decimal not in (".", ","):
        msg = f"what={what!r}, delimiter={delimiter!r} or decimal={decimal!r} is not one of those listed"
        raise CallError(msg)
    table: dict[str, Any] = caged(
        "tables.read_table",
        context.read(path),
        delimiter=delimiter,
        decimal=decimal,
        header=header,
        comment=comment,
        skip=skip,
    )
    names, rows = table["columns"], table["rows"]
    if what == "columns":
        return Seen(names)
    if what == "rows":
        return Seen(len(rows))
    if row is not None:
        if not -len(rows) <= row < len(rows):
            msg = f"there is no row {row}: the table has {len(rows)}"
            raise Unreadable(msg)
        rows = [rows[row]]
    if column is not None:
        at = find_column(names, column)
        cells = [cells[at] for cells in rows]
        return Seen(cells[0] if row is not None else cells, unit=unit)
    wanted = [find_column(names, name) for name in columns] if columns is not None else list(range(len(names)))
    picked = {"columns": [names[at] for at in wanted], "rows": [[cells[at] for at in wanted] for cells in rows]}
    shown = {"columns": picked["columns"], "rows": f"{len(rows)} rows", "first": picked["rows"][:3]}
    return Seen(picked, unit=unit, shown=shown)


def fold_column(name: str) -> str:
    """Fold a column's name: case, spaces and underscores do not count."""
    return " ".join(name.replace("_", " ").casefold().split())


def find_column(names: list[str], column: str | int) -> int:
    """Return the index of a column by name or index.

    Raises
    ------
    Unreadable
        If there is none, or more than one of that name.
    """
    if isinstance(column, int):
        if not -len(names) <= column < len(names):
            msg = f"there is no column {column}: the table has {len(names)}"
            raise Unreadable(msg)
        return column % len(names)
    folded = [fold_column(name) for name in names]
    wanted = fold_column(column)
    found = [at for at, name in enumerate(folded) if name == wanted]
    if not found:
        bare = [name.partition("(")[0].partition("[")[0].strip() for name in folded]
        found = [at for at, name in enumerate(bare) if name == wanted]
    if len(found) != 1:
        there = ", ".join(name[:40] for name in names[:12])
        msg = f"{'no column is' if not found else f'{len(found)} columns are'} named {column!r}; there are: {there}"
        raise Unreadable(msg)
    return found[0]
