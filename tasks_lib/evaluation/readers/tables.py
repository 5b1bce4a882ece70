"""Tables as text: comma, semicolon, tab or spaces between the columns, with or without a header."""

from __future__ import annotations

import csv
import io
from typing import Any

from tasks_lib.evaluation._registry import Unreadable
from tasks_lib.evaluation.readers.text import decode
from tasks_lib.evaluation.units import is_missing, parse_number
from tasks_lib.records import Json

MOST_CELLS = 2_500_000
"""A larger table is not read, cells."""
DELIMITERS = {"comma": ",", "semicolon": ";", "tab": "\t", "whitespace": None}


def read_table(
    data: bytes,
    delimiter: str = "auto",
    decimal: str = ".",
    header: bool | None = None,
    comment: str = "#",
    skip: int = 0,
) -> dict[str, Json]:
    """Read a table.

    Parameters
    ----------
    data : bytes
        The file.
    delimiter : str
        ``comma``, ``semicolon``, ``tab``, ``whitespace``, or ``auto``: the first of tab, semicolon, comma and
        whitespace that cuts every line into the same number of cells, more than one.
    decimal : str
        The decimal sign of numbers, ``.`` or ``,``.
    header : bool or None
        Whether the first line names the columns; None: it does where no cell of it is a number.
    comment : str
        Lines that start with this are left out; a comment just above the data may name the columns.
    skip : int
        Lines to leave out at the top.

    Returns
    -------
    dict
        ``{"columns": [names], "rows": [[cells]]}``: a cell is a number, a text, or null where there is none.

    Raises
    ------
    Unreadable
        If there is no table, or the rows differ in length.
    """
    lines: list[str] = []
    above = ""
    for line in decode(data).split("\n")[skip:]:
        if not line.strip():
            continue
        if comment and line.lstrip().startswith(comment):
            above = line.lstrip()[len(comment) :] if not lines else above
            continue
        lines.append(line)
    if not lines:
        msg = "the file holds no line of a table"
        raise Unreadable(msg)
    if sum(len(line) for line in lines[:1]) > 1_000_000:
        msg = "the first line is longer than a million characters, which is no table"
        raise Unreadable(msg)
    sign = _choose(lines, decimal) if delimiter == "auto" else DELIMITERS[delimiter]
    rows = _cut(lines, sign)
    return _assemble(rows, above, sign, decimal=decimal, header=header)


def _assemble(
    rows: list[list[str]], above: str, sign: str | None, *, decimal: str, header: bool | None
) -> dict[str, Json]:
    width = len(rows[0])
    names: list[str] = []
    body = rows
    if header is None:
        header = all(parse_number(cell, decimal) is None for cell in rows[0]) and any(
            not is_missing(cell) for cell in rows[0]
        )
    if header:
        names, body = [cell.strip() for cell in rows[0]], rows[1:]
    elif above:
        said = [cell.strip() for cell in _cut([above.strip()], sign)[0]]
        names = said if len(said) == width else []
    if len(rows) * width > MOST_CELLS:
        msg = f"the table has {len(rows)} x {width} cells, more than the {MOST_CELLS} that are read"
        raise Unreadable(msg)
    for number, row in enumerate(body, start=1):
        if len(row) != width:
            msg = f"row {number} has {len(row)} cells where the first line has {width}"
            raise Unreadable(msg)
    return {
        "columns": names or [str(index) for index in range(width)],
        "rows": [[_cell(cell, decimal) for cell in row] for row in body],
    }


def _cell(text: str, decimal: str) -> Any:
    if is_missing(text):
        return None
    number = parse_number(text, decimal)
    return text.strip() if number is None else number


def _cut(lines: list[str], sign: str | None) -> list[list[str]]:
    if sign is None:
        return [line.split() for line in lines]
    try:
        return list(csv.reader(io.StringIO("\n".join(lines)), delimiter=sign, skipinitialspace=True))
    except csv.Error as error:
        msg = f"the table cannot be cut into cells: {error}"
        raise Unreadable(msg) from error


def _choose(lines: list[str], decimal: str) -> str | None:
    sample = lines[:200]
    signs = ["\t", ";", *([] if decimal == "," else [","]), None]
    for sign in signs:
        try:
            widths = {len(row) for row in _cut(sample, sign)}
        except Unreadable:
            continue
        if len(widths) == 1 and widths != {1}:
            return sign
    return next((sign for sign in signs if sign is not None and sign in sample[0]), None)
