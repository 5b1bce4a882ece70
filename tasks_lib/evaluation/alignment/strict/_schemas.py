"""Reading of JSON Schemas as tools publish them: references, optional types, objects and their properties."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

# A schema may refer to itself; deeper than this an argument is compared as a whole.
DEEPEST = 8
_HOPS = 16
_NOTHING: Mapping[str, Any] = {}


def resolved(schema: Any, root: Mapping[str, Any]) -> Mapping[str, Any]:
    """Follow references within `root`, and take the one type of an optional argument; what is odd says nothing."""
    for _ in range(_HOPS):
        if not isinstance(schema, Mapping):
            return _NOTHING
        if isinstance(reference := schema.get("$ref"), str):
            target = _at(root, reference)
            beside = {key: value for key, value in schema.items() if key != "$ref"}
            schema = {**target, **beside} if isinstance(target, Mapping) else beside
            continue
        options = [option for option in _options(schema) if not _is_null(option)]
        if len(options) != 1 or not isinstance(options[0], Mapping):
            return schema
        beside = {key: value for key, value in schema.items() if key not in {"anyOf", "oneOf"}}
        schema = {**options[0], **beside}
    return _NOTHING


def type_of(schema: Mapping[str, Any]) -> str:
    """Return the one type that a schema names beside null; empty where it names none or several."""
    named = schema.get("type")
    types = [one for one in (named if isinstance(named, list) else [named]) if isinstance(one, str) and one != "null"]
    if len(types) == 1:
        return types[0]
    return "object" if not types and isinstance(schema.get("properties"), Mapping) else ""


def properties(schema: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    """Give the properties of an object's schema, in its order."""
    found = schema.get("properties")
    if isinstance(found, Mapping):
        yield from ((key, value) for key, value in found.items() if isinstance(key, str))


def pointer(above: str, key: str) -> str:
    """Return the JSON pointer (RFC 6901) of a key below another pointer."""
    return f"{above}/{key.replace('~', '~0').replace('/', '~1')}"


def _options(schema: Mapping[str, Any]) -> list[Any]:
    found = schema.get("anyOf", schema.get("oneOf"))
    return found if isinstance(found, list) else []


def _is_null(schema: Any) -> bool:
    return isinstance(schema, Mapping) and schema.get("type") == "null"


def _at(root: Any, reference: str) -> Any:
    if not reference.startswith("#"):
        return None
    for part in reference[1:].split("/")[1:]:
        root = root.get(part.replace("~1", "/").replace("~0", "~")) if isinstance(root, Mapping) else None
    return root
