"""Schemas of tools that no snapshot has, from the calls of the references; never from those of a contestant."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from tasks_lib.evaluation.alignment.strict._schemas import DEEPEST
from tasks_lib.evaluation.alignment.strict.snapshot import Tool, ToolSnapshot
from tasks_lib.evaluation.alignment.trajectories import Call
from tasks_lib.models.dialects.calls import read_call
from tasks_lib.records import Json, clean_text

_DATE = re.compile(r"\d{4}-\d{2}-\d{2}(?:[T ].*)?")
# A text is a choice where few short words come again and again.
_FEW, _OFTEN = 4, 8
_WORD = re.compile(r"[\w.+-]{1,24}")


def with_inferred(snapshot: ToolSnapshot | None, calls: Iterable[Call]) -> ToolSnapshot:
    """Add the tools of references that a snapshot lacks, with schemas that fit all their calls.

    A schema so found has the arguments' types, dates and choices, places as objects of two numbers, and no default.

    Parameters
    ----------
    snapshot : ToolSnapshot or None
        What is known; its tools stay as they are.
    calls : iterable of Call
        All calls of the references.

    Returns
    -------
    ToolSnapshot
        Tools sorted by name.
    """
    known = {tool.name: tool for tool in snapshot.tools} if snapshot else {}
    seen: dict[str, list[Json]] = {}
    for call in calls:
        if call.tool and call.tool not in known:
            seen.setdefault(call.tool, []).append(_object(call.arguments))
    for name, arguments in seen.items():
        known[name] = Tool(name=clean_text(name), input_schema=_schema(arguments, 0) or {"type": "object"})
    return ToolSnapshot(
        source=snapshot.source if snapshot else "references", tools=tuple(known[name] for name in sorted(known))
    )


def _object(arguments: Json) -> Json:
    """Return the arguments as an object, None where they are none: one broken call spoils no schema."""
    if isinstance(arguments, str):
        arguments = read_call(None, "tool", arguments, 0).arguments
    return arguments if isinstance(arguments, Mapping) else None


def _schema(values: Sequence[Json], depth: int) -> dict[str, Any]:
    given = [value for value in values if value is not None]
    types = sorted({_type(value) for value in given})
    if types == ["integer", "number"]:
        types = ["number"]
    if len(types) != 1:
        return {}
    kind = types[0]
    if kind == "object" and depth < DEEPEST:
        keys = sorted({str(key) for value in given for key in value})
        inner = {key: _schema([value.get(key) for value in given], depth + 1) for key in keys}
        return {"type": kind, "properties": inner}
    if kind == "array" and depth < DEEPEST:
        return {"type": kind, "items": _schema([item for value in given for item in value], depth + 1)}
    if kind == "string":
        return {"type": kind, **_text(given)}
    return {"type": kind}


def _text(values: Sequence[str]) -> dict[str, Any]:
    if all(_DATE.fullmatch(value.strip()) for value in values):
        return {"format": "date"}
    different = {value.strip() for value in values}
    if len(values) >= _OFTEN and len(different) <= _FEW and all(_WORD.fullmatch(value) for value in different):
        return {"enum": sorted(different)}
    return {}


def _type(value: Json) -> str:
    if isinstance(value, bool):
        return "boolean"
    if isinstance(value, int):
        return "integer"
    if isinstance(value, float):
        return "number"
    if isinstance(value, str):
        return "string"
    return "object" if isinstance(value, Mapping) else "array"
