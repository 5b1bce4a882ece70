"""The two registries: getters read a value from the evidence, metrics compare it with what is wanted."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field
from typing import Any, Final, TypeVar

from tasks_lib.records import Json

GOLD_AS: Final = "gold_as"
"""Argument of every metric: the getter (and its arguments) that reads the gold file, where it is another one."""


class Unreadable(Exception):  # noqa: N818 - it is no error of ours
    """The agent's evidence cannot give the value; the message says why and becomes part of the verdict."""


class CallError(ValueError):
    """A criterion calls a getter or a metric with arguments that it does not take: the task is wrong."""


class _Unset:
    def __repr__(self) -> str:
        return "<as the value>"


UNSET: Final = _Unset()


@dataclass(frozen=True, slots=True)
class Seen:
    """What a getter read.

    Attributes
    ----------
    value : Json
        The value for the metric; None means that there is none, for instance NaN.
    unit : str or None
        The unit that was written beside the value.
    note : str
        What is worth knowing of the reading, such as an encoding that had to be guessed.
    shown : Json
        What the verdict shows in place of a large `value`.
    """

    value: Json
    unit: str | None = None
    note: str = ""
    shown: Json = field(default=UNSET)


@dataclass(frozen=True, slots=True)
class Judgement:
    """What a metric says: whether it passes, and why in one sentence with numbers and units."""

    passed: bool
    why: str


@dataclass(frozen=True, slots=True)
class Argument:
    """One argument of a getter or a metric, as its signature and docstring tell it."""

    name: str
    type: str
    required: bool
    default: Json
    what: str


@dataclass(frozen=True, slots=True)
class Entry:
    """A registered getter or metric."""

    name: str
    function: Callable[..., Any]
    kind: str
    summary: str
    details: str
    arguments: tuple[Argument, ...]
    needs_path: bool = False
    needs_want: bool = False
    takes_tolerance: bool = False

    def check(self, arguments: Mapping[str, Any]) -> list[str]:
        """Return what is wrong with the names of `arguments`; empty where nothing is."""
        known = {argument.name: argument for argument in self.arguments}
        problems: list[str] = []
        if self.needs_want and GOLD_AS in arguments:
            problems += _check_gold_as(arguments[GOLD_AS])
            arguments = {name: value for name, value in arguments.items() if name != GOLD_AS}
        problems += [
            f"{self.kind} {self.name!r} takes no argument {name!r}: it takes {', '.join(sorted(known)) or 'none'}"
            for name in sorted(arguments)
            if name not in known
        ]
        problems += [
            f"{self.kind} {self.name!r} needs the argument {argument.name!r}: {argument.what}"
            for argument in self.arguments
            if argument.required and argument.name not in arguments
        ]
        return problems


def _check_gold_as(other: Json) -> list[str]:
    if not isinstance(other, dict) or other.get("getter") not in GETTERS:
        return [f"{GOLD_AS} is {other!r}: write the name of a getter and its arguments, {{getter: json, pointer: /a}}"]
    return GETTERS[other["getter"]].check({name: value for name, value in other.items() if name != "getter"})


GETTERS: dict[str, Entry] = {}
METRICS: dict[str, Entry] = {}

Getter = TypeVar("Getter", bound=Callable[..., Seen])
Metric = TypeVar("Metric", bound=Callable[..., Judgement])
_RESERVED = {"context", "path", "seen", "want", "tolerance", "relative", "unit"}


def getter(name: str, *, path: bool = True) -> Callable[[Getter], Getter]:
    """Register a function ``f(context, path, **arguments) -> Seen`` under `name`.

    Parameters
    ----------
    name : str
        The name that task files use.
    path : bool
        Whether the getter reads a collected file; False for one that reads the final screen.
    """

    def register(function: Getter) -> Getter:
        _put(GETTERS, _entry(name, function, "getter", needs_path=path))
        return function

    return register


def metric(name: str, *, want: bool = True, tolerance: bool = False) -> Callable[[Metric], Metric]:
    """Register a function ``f(seen, want, *, tolerance, relative, unit, **arguments) -> Judgement`` under `name`.

    Parameters
    ----------
    name : str
        The name that task files use.
    want : bool
        Whether the metric needs something wanted (``want`` or ``gold``).
    tolerance : bool
        Whether it takes ``tolerance``, ``relative`` and ``unit``.
    """

    def register(function: Metric) -> Metric:
        _put(METRICS, _entry(name, function, "metric", needs_want=want, takes_tolerance=tolerance))
        return function

    return register


def _put(registry: dict[str, Entry], entry: Entry) -> None:
    if entry.name in registry:
        msg = f"{entry.kind} {entry.name!r} is registered twice: rename one of them"
        raise ValueError(msg)
    registry[entry.name] = entry


def _entry(name: str, function: Callable[..., Any], kind: str, **flags: bool) -> Entry:
    doc = inspect.getdoc(function) or ""
    summary, _, rest = doc.partition("\n")
    if not summary:
        msg = f"{kind} {name!r} has no docstring: its first line is what task authors read"
        raise ValueError(msg)
    details, _, section = rest.partition("Parameters\n----------\n")
    told = _told(section)
    arguments = []
    for parameter in inspect.signature(function).parameters.values():
        if parameter.name in _RESERVED or parameter.kind is inspect.Parameter.VAR_KEYWORD:
            continue
        if parameter.name not in told:
            msg = f"{kind} {name!r} does not document its argument {parameter.name!r}: add it to the docstring"
            raise ValueError(msg)
        kind_of, what = told[parameter.name]
        required = parameter.default is inspect.Parameter.empty
        default = None if required else parameter.default
        arguments.append(Argument(parameter.name, kind_of, required, default, what))
    return Entry(name, function, kind, summary, details.strip(), tuple(arguments), **flags)


def _told(section: str) -> dict[str, tuple[str, str]]:
    section = re.split(r"\n\S+\n-{3,}\n", section)[0]
    found: dict[str, tuple[str, str]] = {}
    for match in re.finditer(r"^(\w+) : (.+)\n((?:[ ]+.*\n?|\n)*)", section, flags=re.MULTILINE):
        found[match[1]] = (match[2], " ".join(match[3].split()))
    return found


def describe() -> dict[str, list[dict[str, Any]]]:
    """List every getter and metric with its arguments, sorted by name, for documentation and for lint.

    Returns
    -------
    dict
        ``{"getters": [...], "metrics": [...]}``; each item has ``name``, ``summary``, ``details``, ``arguments``
        (``name``, ``type``, ``required``, ``default``, ``what``) and, for a getter, ``needs_path``; for a metric,
        ``needs_want`` and ``takes_tolerance``.
    """

    def row(entry: Entry) -> dict[str, Any]:
        flags: dict[str, Any] = (
            {"needs_path": entry.needs_path}
            if entry.kind == "getter"
            else {"needs_want": entry.needs_want, "takes_tolerance": entry.takes_tolerance}
        )
        return {
            "name": entry.name,
            "summary": entry.summary,
            "details": entry.details,
            "arguments": [asdict(argument) for argument in entry.arguments],
            **flags,
        }

    return {
        "getters": [row(GETTERS[name]) for name in sorted(GETTERS)],
        "metrics": [row(METRICS[name]) for name in sorted(METRICS)],
    }
