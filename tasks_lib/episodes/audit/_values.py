"""Numbers in a deliverable, moved by more than any tolerance, or exchanged; nothing here knows an evaluator."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable
from typing import Any

from tasks_lib.records import Criterion, Json

# How many tolerances a value is moved: the value itself may be one tolerance off, to the other side.
FAR = 2.5
# A wider relative tolerance is none that a moved value is surely beyond.
WIDE = 0.5
_FRACTION = re.compile(r"(?<![\w.+-])[+-]?\d+\.\d+(?:[eE][+-]?\d+)?(?![\w.])")
_WHOLE = re.compile(r"(?<![\w.+-])[+-]?\d+(?![\w.])")


def tolerances(criterion: Criterion) -> tuple[float, float] | None:
    """Return the widest absolute and the widest relative tolerance of a criterion.

    None where it has neither, or one that is so wide that no value is surely beyond it.
    """
    absolute, relative = [criterion.compares.tolerance], [criterion.compares.relative]
    columns = criterion.compares.arguments.get("columns")
    for rule in columns.values() if isinstance(columns, dict) else ():
        if isinstance(rule, dict):
            absolute.append(_leading(rule.get("tolerance")))
            relative.append(_leading(rule.get("relative")))
    if not any(value is not None for value in absolute + relative):
        return None
    widest_relative = max(value or 0.0 for value in relative)
    return None if widest_relative > WIDE else (max(value or 0.0 for value in absolute), widest_relative)


def widest(criteria: Iterable[Criterion]) -> tuple[float, float] | None:
    """Return the widest tolerances of several criteria; None where none of them has any."""
    found = [pair for pair in map(tolerances, criteria) if pair is not None]
    return (max(pair[0] for pair in found), max(pair[1] for pair in found)) if found else None


def moved(value: float, room: tuple[float, float]) -> float:
    """Return a number beyond the tolerances (absolute, relative) of every wanted value that `value` is within."""
    absolute, relative = room
    # The tolerance is a share of the wanted value, which is at most 1 / (1 - relative) times the one that was found.
    limit = max(absolute, relative / (1 - relative) * abs(value))
    return value + (FAR * limit if limit > 0 else 1)


def move_in_json(data: bytes, room: tuple[float, float]) -> bytes | None:
    """Move every fraction of a JSON document, or every whole number where it has no fraction; None: no number."""
    document = parse(data)
    if document is None:
        return None
    for kind in (float, int):
        found = _move(document, room, kind)
        if found != document:
            return dump(found)
    return None


def _move(value: Json, room: tuple[float, float], kind: type) -> Json:
    if isinstance(value, dict):
        return {key: _move(item, room, kind) for key, item in value.items()}
    if isinstance(value, list):
        return [_move(item, room, kind) for item in value]
    if type(value) is kind and isinstance(value, int | float):
        return moved(value, room)
    return value


def move_in_table(data: bytes, room: tuple[float, float]) -> bytes | None:
    """Move every fraction of a text table, or every whole number where it has no fraction; None: no number."""
    try:
        lines = data.decode("utf-8").splitlines(keepends=True)
    except UnicodeDecodeError:
        return None
    for pattern in (_FRACTION, _WHOLE):
        if any(pattern.search(line) for line in lines if not line.startswith("#")):
            return "".join(
                line if line.startswith("#") else pattern.sub(lambda match: repr(moved(float(match[0]), room)), line)
                for line in lines
            ).encode()
    return None


def lose_entry(document: Json) -> Json:
    """Return a JSON document without the last entry of its first list; None where it has no entry to lose."""
    return _edit_list(document, lambda items: items[:-1])


def repeat_entry(document: Json) -> Json:
    """Return a JSON document whose first list has its first entry again in place of the last, another one."""
    return _edit_list(document, lambda items: [*items[:-1], items[0]] if items[0] != items[-1] else None)


def _edit_list(value: Json, change: Callable[[list[Json]], list[Json] | None]) -> Json:
    if isinstance(value, list) and value:
        return change(value)
    for key in value if isinstance(value, dict) else ():
        if (found := _edit_list(value[key], change)) is not None:
            return {**value, key: found}
    return None


def lose_row(data: bytes) -> bytes | None:
    """Return a text without its last line that is not blank; None where fewer than two would be left."""
    lines = data.rstrip().splitlines(keepends=True)
    return b"".join(lines[:-1]) if len(lines) > 2 else None


def parse(data: bytes) -> Json:
    """Return a JSON document; None where it is none."""
    try:
        found: Json = json.loads(data)
    except (ValueError, RecursionError):
        return None
    return found


def dump(document: Json) -> bytes:
    """Return the bytes of a JSON document."""
    return json.dumps(document, ensure_ascii=False).encode()


def at(document: Json, pointer: str) -> Json:
    """Return what stands at a JSON pointer (RFC 6901); None where nothing does."""
    here: Any = document
    for key in _keys(pointer):
        try:
            here = here[int(key)] if isinstance(here, list) else here[key]
        except (KeyError, IndexError, TypeError, ValueError):
            return None
    found: Json = here
    return found


def put(document: Json, pointer: str, value: Json) -> Json:
    """Return a copy of a document with another value at a pointer that is there."""
    copy: Any = json.loads(json.dumps(document))
    *above, last = _keys(pointer)
    here = copy
    for key in above:
        here = here[int(key)] if isinstance(here, list) else here[key]
    here[int(last) if isinstance(here, list) else last] = value
    changed: Json = copy
    return changed


def _keys(pointer: str) -> list[str]:
    return [key.replace("~1", "/").replace("~0", "~") for key in pointer.split("/")[1:]]


def is_number(value: Json) -> bool:
    """Tell whether a value is a number; a truth value is none."""
    return isinstance(value, int | float) and not isinstance(value, bool)


def _leading(value: Any) -> float | None:
    if isinstance(value, int | float):
        return float(value)
    match = re.match(r"\s*([\d.]+(?:[eE][+-]?\d+)?)", value) if isinstance(value, str) else None
    return float(match[1]) if match else None
