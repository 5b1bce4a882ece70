"""Plain text, JSON and ``key: value`` files."""

from __future__ import annotations

import codecs
import json
import re
from typing import Any

from tasks_lib.databases.identifiers import mp_id, mp_number
from tasks_lib.evaluation._registry import Unreadable
from tasks_lib.evaluation.units import is_missing, parse_quantity
from tasks_lib.records import Json, no_key_twice

LARGEST_TEXT = 32 * 1024 * 1024
"""Longer text is not read, bytes."""
MOST_PAIRS = 100_000
"""A longer file of pairs is not read, lines."""
_MARKS = (
    (codecs.BOM_UTF8, "utf-8-sig"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)


def decode(data: bytes) -> str:
    r"""Return the text of a file: UTF-8 or UTF-16 with its mark, UTF-8, else Latin-1; line ends become ``\n``.

    Raises
    ------
    Unreadable
        If the file is empty, too large or no text.
    """
    if not data:
        msg = "the file is empty"
        raise Unreadable(msg)
    if len(data) > LARGEST_TEXT:
        msg = f"the file has {len(data)} bytes, more than the {LARGEST_TEXT} that are read as text"
        raise Unreadable(msg)
    for mark, encoding in _MARKS:
        if data.startswith(mark):
            try:
                text = data.decode(encoding)
            except UnicodeDecodeError as error:
                msg = f"the file starts as {encoding} but byte {error.start} is not of that encoding"
                raise Unreadable(msg) from error
            break
    else:
        if b"\0" in data:
            msg = f"the file is binary: byte {data.index(0)} is 0"
            raise Unreadable(msg)
        try:
            text = data.decode("utf-8")
        except UnicodeDecodeError:
            text = data.decode("latin-1")
    return text.replace("\r\n", "\n").replace("\r", "\n")


def read_text(data: bytes) -> str:
    """Return the text of a file, see `decode`."""
    return decode(data)


def read_json(data: bytes, pointer: str = "", ids: bool = False) -> Json:
    """Return the value at a JSON pointer (RFC 6901); NaN and the infinities are read as null.

    Parameters
    ----------
    data : bytes
        The file.
    pointer : str
        Where the value stands.
    ids : bool
        Whether material ids are brought to one spelling, see `fold_ids`.

    Raises
    ------
    Unreadable
        If the file is no JSON, repeats a key, or has nothing at `pointer`.
    """
    try:
        tree = json.loads(decode(data), parse_constant=lambda _: None, object_pairs_hook=_no_repeats)
        value = resolve(tree, pointer)
        return fold_ids(value) if ids else value
    except RecursionError as error:
        msg = "the JSON is nested too deeply"
        raise Unreadable(msg) from error
    except ValueError as error:
        msg = f"the file is not JSON: {str(error)[:200]}"
        raise Unreadable(msg) from error


def fold_ids(value: Json) -> Json:
    """Bring every text that is a material id, keys too, to the spelling ``mp-<number>``.

    An id is ``mp-`` with digits, ``mp-`` with letters ``a`` to ``z`` (that number in base 26, as the client of the
    Materials Project shows it, padded or not), or ``matassay-`` with digits. Anything else stays as it is.

    Raises
    ------
    Unreadable
        If two keys of one object spell the same id.
    """
    if isinstance(value, str):
        return _fold_id(value)
    if isinstance(value, list):
        return [fold_ids(item) for item in value]
    if isinstance(value, dict):
        return _no_repeats([(_fold_id(key), fold_ids(item)) for key, item in value.items()])
    return value


def _fold_id(text: str) -> str:
    found = re.fullmatch(r"\s*(?:matassay-([0-9]{1,15})|mp-([0-9]{1,15}|[a-z]{1,15}))\s*", text)
    return text if found is None else mp_id(int(found[1]) if found[1] else mp_number(found[2]))


def _no_repeats(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    try:
        return no_key_twice(pairs)
    except ValueError as error:
        raise Unreadable(str(error)) from error


def resolve(tree: Json, pointer: str) -> Json:
    """Follow a JSON pointer (RFC 6901) through a tree."""
    here = tree
    walked = ""
    for part in pointer.split("/")[1:]:
        key = part.replace("~1", "/").replace("~0", "~")
        if isinstance(here, dict) and key in here:
            here = here[key]
        elif isinstance(here, list) and key.isascii() and key.isdigit() and int(key[:9]) < len(here):
            here = here[int(key[:9])]
        else:
            kind = f"a list of {len(here)}" if isinstance(here, list) else "an object"
            kind = kind if isinstance(here, list | dict) else "a plain value"
            msg = f"there is no {key[:80]!r} in {kind} at {walked or 'the top'}"
            raise Unreadable(msg)
        walked += f"/{part}"
    return here


def read_key_values(data: bytes, decimal: str = ".") -> dict[str, dict[str, Json]]:
    """Read ``key: value`` or ``key = value`` lines; ``#`` starts a comment line.

    Returns
    -------
    dict
        Folded key -> ``{"key", "text", "value", "unit"}``; `value` is a number where the text is one with or without
        a unit, null where it says so, else the text.

    Raises
    ------
    Unreadable
        If a key stands twice, or no line is a pair.
    """
    found: dict[str, dict[str, Json]] = {}
    lines = decode(data).split("\n")
    if len(lines) > MOST_PAIRS:
        msg = f"the file has {len(lines)} lines, more than the {MOST_PAIRS} that are read as pairs"
        raise Unreadable(msg)
    for number, line in enumerate(lines, start=1):
        line = line.strip()
        cut = min((at for at in (line.find(":"), line.find("=")) if at > 0), default=0)
        if not cut or line.startswith("#"):
            continue
        name, text = line[:cut].strip(), line[cut + 1 :].strip()
        key = fold_key(name)
        if key in found and found[key]["text"] != text:
            msg = f"key {name[:80]!r} stands twice with different values, again on line {number}"
            raise Unreadable(msg)
        quantity = parse_quantity(text, decimal)
        value: Json = None if is_missing(text) else text
        unit = None
        if quantity is not None:
            value, unit = quantity
        found[key] = {"key": name, "text": text, "value": value, "unit": unit}
    if not found:
        msg = "no line reads 'key: value' or 'key = value'"
        raise Unreadable(msg)
    return found


def fold_key(name: str) -> str:
    """Fold a key: case, runs of spaces, underscores and quotes do not count."""
    return " ".join(name.replace("_", " ").strip("\"'*- ").casefold().split())
