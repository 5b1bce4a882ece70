"""What each argument of a tool is, from its schema: the rule by which two values of it are compared."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from enum import StrEnum
from typing import Any

from pydantic import Field

from tasks_lib.evaluation.alignment.strict._schemas import DEEPEST, pointer, properties, resolved, type_of
from tasks_lib.records import Record


class Kind(StrEnum):
    """What an argument's value means."""

    NUMBER = "number"
    DATE = "date"
    COORDINATES = "coordinates"
    CHOICE = "choice"
    FLAG = "flag"
    IDENTIFIER = "identifier"
    PATH = "path"
    TEXT = "text"
    SEQUENCE = "sequence"
    SET = "set"
    ANY = "any"


class ArgumentRule(Record):
    """How two values of one argument are compared."""

    pointer: str = Field(description="JSON pointer of the argument among the arguments of a call")
    kind: Kind
    tolerance: float = Field(default=0.0, ge=0, description="absolute, of numbers")
    relative: float = Field(default=1e-6, ge=0, description="of the reference's number")
    unit: str = Field(default="", description="unit or currency that a bare number is in")
    metres: float = Field(default=1000.0, gt=0, description="distance of coordinates that still is the same place")
    weight: float = Field(default=1.0, ge=0)


_WORD = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+")
_LATITUDES = frozenset({"lat", "latitude"})
_LONGITUDES = frozenset({"lng", "lon", "long", "longitude"})
_IDENTIFIERS = frozenset({"id", "ids", "identifier", "code", "isbn", "doi", "ticker", "symbol", "barcode", "uuid"})
_PATHS = frozenset({"path", "paths", "file", "files", "filename", "filepath", "uri", "folder", "directory"})
_DATES = frozenset({"date", "date-time"})
# The last word of a name that says what a bare number is in.
_UNITS = {"meters": "m", "metres": "m", "km": "km", "kilometers": "km", "miles": "mi", "seconds": "s", "minutes": "min",
          "hours": "h", "days": "d", "ms": "ms", "usd": "USD", "eur": "EUR", "gbp": "GBP", "px": "px",
          "pixels": "px"}  # fmt: skip
# A choice of two tells little.
_LIGHT = 0.25


def rules_of(schema: Mapping[str, Any], given: Sequence[ArgumentRule] = ()) -> tuple[ArgumentRule, ...]:
    """Derive a rule for each leaf of a tool's arguments.

    Parameters
    ----------
    schema : mapping
        JSON Schema of the arguments, as ``tools/list`` gives it. What is odd in it is compared as anything.
    given : sequence of ArgumentRule, optional
        Rules of the task or of the tool; they win over derived ones with the same pointer, and may add others.

    Returns
    -------
    tuple of ArgumentRule
        Sorted by pointer.
    """
    found = {rule.pointer: rule for rule in _derived("", "", schema, schema, 0)}
    return tuple(rule for _, rule in sorted({**found, **{rule.pointer: rule for rule in given}}.items()))


def _derived(place: str, name: str, schema: Any, root: Mapping[str, Any], depth: int) -> Iterator[ArgumentRule]:
    schema = resolved(schema, root)
    inner = list(properties(schema))
    if type_of(schema) == "object" and inner and depth < DEEPEST and not are_coordinates({key for key, _ in inner}):
        for key, below in inner:
            yield from _derived(pointer(place, key), key, below, root, depth + 1)
    elif place:
        kind = _kind(name, schema, root)
        choices = schema.get("enum")
        light = kind is Kind.CHOICE and isinstance(choices, list) and len(choices) == 2
        unit = _unit(name, schema) if kind is Kind.NUMBER else ""
        yield ArgumentRule(pointer=place, kind=kind, unit=unit, weight=_LIGHT if light else 1.0)


def are_coordinates(keys: set[str]) -> bool:
    """Say whether an object with these keys is a place on earth and nothing else."""
    lowered = {key.lower() for key in keys}
    return len(lowered) == 2 and bool(lowered & _LATITUDES) and bool(lowered & _LONGITUDES)


def are_axes(key: str) -> bool:
    """Say whether a key names a latitude or a longitude."""
    return key.lower() in _LATITUDES | _LONGITUDES


def _kind(name: str, schema: Mapping[str, Any], root: Mapping[str, Any]) -> Kind:
    if isinstance(schema.get("enum"), list) or "const" in schema:
        return Kind.CHOICE
    match type_of(schema):
        case "number" | "integer":
            return Kind.IDENTIFIER if _words(name) & _IDENTIFIERS else Kind.NUMBER
        case "boolean":
            return Kind.FLAG
        case "string":
            return _kind_of_text(name, schema)
        case "array":
            # What a list of places or words is compared by is up to its elements; here only whether order counts.
            return Kind.SET if schema.get("uniqueItems") is True or _choices(schema, root) else Kind.SEQUENCE
        case "object":
            return Kind.COORDINATES if are_coordinates({key for key, _ in properties(schema)}) else Kind.ANY
        case _:
            return Kind.ANY


def _kind_of_text(name: str, schema: Mapping[str, Any]) -> Kind:
    words, form = _words(name), schema.get("format")
    if form in _DATES:
        return Kind.DATE
    if form in {"uri", "uri-reference"} or words & _PATHS:
        return Kind.PATH
    return Kind.IDENTIFIER if words & _IDENTIFIERS or form == "uuid" else Kind.TEXT


def _unit(name: str, schema: Mapping[str, Any]) -> str:
    """Return the unit that a schema states (``unit``, ``x-unit``), else the one at the end of the name."""
    stated = schema.get("unit", schema.get("x-unit"))
    if isinstance(stated, str):
        return stated.strip()
    return next((_UNITS[word.lower()] for word in _WORD.findall(name)[-1:] if word.lower() in _UNITS), "")


def _choices(schema: Mapping[str, Any], root: Mapping[str, Any]) -> bool:
    return isinstance(resolved(schema.get("items"), root).get("enum"), list)


def _words(name: str) -> set[str]:
    """Return the words of a name: ``imageFileUri`` and ``image_file_uri`` have the same."""
    return {word.lower() for word in _WORD.findall(name)}
