"""Text, JSON, ``key: value`` files and the text of PDFs."""

from __future__ import annotations

from typing import Any

import re2

from tasks_lib.evaluation._cage import caged
from tasks_lib.evaluation._context import Context
from tasks_lib.evaluation._registry import CallError, Seen, Unreadable, getter
from tasks_lib.evaluation.readers.text import fold_key
from tasks_lib.evaluation.units import is_missing, parse_quantity


@getter("text")
def read_text(
    context: Context, path: str, line: int | None = None, pattern: str | None = None, number: bool = False
) -> Seen:
    """Read the text of a file, of one line of it, or what a pattern captures.

    Without a byte-order mark the text is UTF-8, else Latin-1; line ends of any system become one.

    Parameters
    ----------
    line : int or null
        Line number from 1; negative from the end, where -1 is the last line that is not empty.
    pattern : str or null
        RE2 expression, searched line by line (``(?m)``); its first group, or the whole match, is the value. It must
        match with one value only, so that a file that lists every candidate answer does not pass.
    number : bool
        Read the text as one number with an optional unit.
    """
    text = str(caged("text.read_text", context.read(path)))
    if line is not None:
        text = _line(text, line)
    if pattern is not None:
        text = capture(text, pattern)
    if not number:
        return Seen(text)
    if is_missing(text):
        return Seen(None, note=f"{text.strip()!r} means that there is no value")
    quantity = parse_quantity(text)
    if quantity is None:
        msg = f"{text.strip()[:80]!r} is not one number with an optional unit"
        raise Unreadable(msg)
    return Seen(quantity[0], unit=quantity[1])


def _line(text: str, line: int) -> str:
    lines = text.rstrip("\n ").split("\n")
    if line == 0:
        msg = "lines are counted from 1, or from the end by negative numbers: got 0"
        raise CallError(msg)
    at = line - 1 if line > 0 else line
    if not -len(lines) <= at < len(lines):
        msg = f"there is no line {line}: the text has {len(lines)} lines"
        raise Unreadable(msg)
    return lines[at]


def capture(text: str, pattern: str) -> str:
    """Return what `pattern` captures in `text`; it must match, and with one value only."""
    try:
        compiled = re2.compile("(?m)" + pattern)
    except re2.error as error:
        msg = f"pattern {pattern!r} is no RE2 expression: {error}"
        raise CallError(msg) from error
    first: str | None = None
    for match in compiled.finditer(text):
        value = str(match.group(1 if compiled.groups else 0) or "")
        if first is not None and value != first:
            msg = f"{pattern!r} matches with different values, such as {first[:40]!r} and {value[:40]!r}"
            raise Unreadable(msg)
        first = value
    if first is None:
        msg = f"nothing in the text matches {pattern!r}"
        raise Unreadable(msg)
    return first


@getter("json")
def read_json(context: Context, path: str, pointer: str = "", ids: bool = False, unit: str | None = None) -> Seen:
    """Read the value at a JSON pointer; NaN and null mean that there is none.

    Parameters
    ----------
    pointer : str
        RFC 6901, such as ``/peaks/0/center``; default: the whole document. A text with a number and a unit, such as
        ``"284.8 eV"``, is read as that number.
    ids : bool
        Whether every text and key that is a material id of the snapshot in any spelling (``mp-9000001``, ``mp-tsbpx``,
        padded ``mp-aaatsbpx``, ``matassay-9000001``) becomes ``mp-9000001``; other texts and all numbers stay.
    unit : str or null
        The unit that the task asked for, where the file holds the bare number.
    """
    value = caged("text.read_json", context.read(path), pointer=pointer, ids=ids)
    if value is None:
        return Seen(None, note=f"the value at {pointer or 'the top'} is null or NaN, which means that there is none")
    quantity = parse_quantity(value) if isinstance(value, str) else None
    if quantity is not None and quantity[1] is not None:
        return Seen(quantity[0], unit=quantity[1])
    return Seen(value, unit=unit)


@getter("key-value")
def read_key_value(
    context: Context, path: str, key: str | None = None, decimal: str = ".", unit: str | None = None
) -> Seen:
    """Read the value of a key in a file of ``key: value`` or ``key = value`` lines; a number with its unit.

    Case, spaces and underscores in keys do not count. A key that stands twice with different values makes the file
    unreadable.

    Parameters
    ----------
    key : str or null
        The key; default: all pairs, for the metric ``key-values``.
    decimal : str
        The decimal sign, ``.`` or ``,``.
    unit : str or null
        The unit that the task asked for, where the file holds the bare number.
    """
    pairs: dict[str, dict[str, Any]] = caged("text.read_key_values", context.read(path), decimal=decimal)
    if key is None:
        value = {name: {"value": pair["value"], "unit": pair["unit"]} for name, pair in pairs.items()}
        return Seen(value, shown={pair["key"]: pair["text"] for pair in pairs.values()})
    pair = pairs.get(fold_key(key))
    if pair is None:
        there = ", ".join(sorted(str(entry["key"])[:40] for entry in pairs.values())[:10])
        msg = f"there is no key {key!r}; there are: {there}"
        raise Unreadable(msg)
    if pair["value"] is None:
        return Seen(None, note=f"{pair['text'][:40]!r} means that there is no value for {key!r}")
    return Seen(pair["value"], unit=pair["unit"] or (unit if isinstance(pair["value"], int | float) else None))


@getter("pdf-text")
def read_pdf(context: Context, path: str, page: int | None = None, what: str = "text") -> Seen:
    """Read the text of a PDF, for instance the labels of an exported figure.

    Parameters
    ----------
    page : int or null
        Page number from 1; default: all pages.
    what : str
        ``text``; ``pages`` for the number of pages; ``width`` or ``height`` of the page (default 1) in mm.
    """
    if what not in ("text", "pages", "width", "height"):
        msg = f"what is one of text, pages, width, height, got {what!r}"
        raise CallError(msg)
    found = caged("pdf.read_pdf", context.read(path))
    pages = found["pages"]
    if what == "pages":
        return Seen(len(pages))
    if page is not None and not 1 <= page <= len(pages):
        msg = f"there is no page {page}: the PDF has {len(pages)}"
        raise Unreadable(msg)
    if what in ("width", "height"):
        points = found["sizes"][(page or 1) - 1][0 if what == "width" else 1]
        return Seen(round(points * 25.4 / 72, 3), unit="mm")
    return Seen("\n".join(pages) if page is None else pages[page - 1])
