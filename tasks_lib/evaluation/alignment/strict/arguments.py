"""The arguments of a call as leaves: defaults put in, and what is absent, null or the default made the same."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from tasks_lib.evaluation.alignment.strict._schemas import DEEPEST, pointer, properties, resolved, type_of
from tasks_lib.evaluation.alignment.strict.rules import are_axes, are_coordinates
from tasks_lib.models.dialects.calls import read_call
from tasks_lib.records import Json

# No tool asks for more; a comparison follows values as deep as they go.
_MOST_LEVELS = 64


@dataclass(frozen=True)
class Arguments:
    """Leaves by JSON pointer, sorted; `problem` says why the arguments cannot be read, and there is none then.

    `defaults` are the pointers of leaves that have the schema's default, written or not.
    """

    values: Mapping[str, Json]
    problem: str = ""
    defaults: frozenset[str] = frozenset()


def filled(arguments: Json, schema: Mapping[str, Any]) -> Arguments:
    """Read the arguments of a call against its tool's schema.

    Absent, null and the schema's default are the same: the default is put in where there is one, and the argument is
    left out where there is none. An object that is absent is not filled from within, one that is there is. A leaf is
    whatever is not taken apart: a number, a text, a list, a place on earth, an empty object that the schema says
    nothing of. Keys that the schema does not know are kept, taken apart as far as they go.

    Parameters
    ----------
    arguments
        As the call has them: an object, a text that holds one, or null for none.
    schema : mapping
        JSON Schema of the arguments.

    Returns
    -------
    Arguments
        The leaves, or the problem.
    """
    if isinstance(arguments, str):
        read = read_call(None, "tool", arguments, 0)
        if read.arguments is None:
            return Arguments({}, read.problem)
        arguments = read.arguments
    if arguments is None:
        arguments = {}
    if not isinstance(arguments, Mapping):
        return Arguments({}, f"the arguments are a JSON {type(arguments).__name__}, not an object")
    if not _is_shallow(arguments):
        return Arguments({}, f"the arguments are nested deeper than {_MOST_LEVELS} levels")
    leaves = sorted(_with_places(_leaves("", arguments, schema, schema, 0)), key=lambda leaf: leaf[0])
    defaults = frozenset(place for place, _, is_default in leaves if is_default)
    return Arguments({place: value for place, value, _ in leaves}, defaults=defaults)


# Pointer, value, and whether it is the schema's default.
_Leaf = tuple[str, Json, bool]
# Key of the leaf that stands for both: no pointer of arguments has it, as a slash within a key is written ~1.
LATITUDE_LONGITUDE = "latitude/longitude"


def _leaves(place: str, value: Json, schema: Any, root: Mapping[str, Any], depth: int) -> Iterator[_Leaf]:
    schema = resolved(schema, root)
    default = schema.get("default")
    if value is None:
        value = default
    known = dict(properties(schema)) if type_of(schema) == "object" else {}
    if value is None:
        return
    if not isinstance(value, Mapping) or depth >= DEEPEST or are_coordinates({str(key) for key in value}):
        yield place, value, default is not None and value == default and type(value) is type(default)
        return
    if not value and place and not known:
        yield place, {}, False
    for key in dict.fromkeys([*known, *map(str, value)]):
        yield from _leaves(pointer(place, key), value.get(key), known.get(key), root, depth + 1)


def _with_places(leaves: Iterable[_Leaf]) -> Iterator[_Leaf]:
    """Make one leaf of a latitude and a longitude that stand beside each other: apart they are no place."""
    beside: dict[str, dict[str, _Leaf]] = {}
    for leaf in leaves:
        above, _, key = leaf[0].rpartition("/")
        beside.setdefault(above, {})[key] = leaf
    for above, found in beside.items():
        axes = [key for key in found if are_axes(key)]
        if len(axes) == 2 and are_coordinates(set(axes)):
            first, second = (found.pop(key) for key in axes)
            place = {key: leaf[1] for key, leaf in zip(axes, (first, second), strict=True)}
            yield f"{above}/{LATITUDE_LONGITUDE}", place, first[2] and second[2]
        yield from found.values()


def _is_shallow(value: Json) -> bool:
    level = [value]
    for _ in range(_MOST_LEVELS):
        level = [
            inner
            for outer in level
            if isinstance(outer, Mapping | list)
            for inner in (outer.values() if isinstance(outer, Mapping) else outer)
        ]
        if not level:
            return True
    return False
