"""Rules of arguments that a person states in a file: tolerances, units and kinds beside those that schemas give."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from pathlib import Path

from pydantic import Field, ValidationError, field_validator

from tasks_lib.evaluation.alignment.strict.arguments import LATITUDE_LONGITUDE
from tasks_lib.evaluation.alignment.strict.rules import ArgumentRule, Kind, are_axes, are_coordinates
from tasks_lib.records import Document, Record, load_json
from tasks_lib.records.errors import ConfigurationError

_TOLD = 12
_LONGEST = 300  # characters of a fault


class StatedRule(Record):
    """What is stated of one argument; what is left out stays as the schema has it."""

    kind: Kind | None = None
    tolerance: float | None = Field(
        default=None, strict=True, ge=0, description="absolute, of numbers, in the rule's unit"
    )
    relative: float | None = Field(
        default=None, strict=True, ge=0, lt=1, description="of the reference's number: 0.01 is 1 %"
    )
    unit: str | None = Field(default=None, description="unit or currency that a bare number is in")
    metres: float | None = Field(default=None, strict=True, gt=0, description="distance that still is the same place")
    # Not 0: a tool whose arguments all weigh nothing would be matched by any call of it. The same comes of weights that
    # are no numbers any more when they are multiplied, and sums of the largest ones are infinite.
    weight: float | None = Field(
        default=None, strict=True, ge=0.001, le=1000, description="before it is multiplied by what the argument tells"
    )


class ArgumentRules(Document):
    """Rules by the qualified name of a tool, then by JSON pointer of the argument."""

    tools: dict[str, dict[str, StatedRule]]

    @field_validator("tools")
    @classmethod
    def _are_pointers(cls, tools: dict[str, dict[str, StatedRule]]) -> dict[str, dict[str, StatedRule]]:
        if wrong := [f"{tool}: {place!r}" for tool, rules in tools.items() for place in rules if place[:1] != "/"]:
            msg = f"an argument is told by its JSON pointer, such as '/radius', got {wrong[0]}: put a slash before it"
            raise ValueError(msg)
        return tools

    @cached_property
    def digest(self) -> str:
        """sha256 of what is stated: the same however the file is written."""
        return hashlib.sha256(self.to_json().encode("utf-8")).hexdigest()


def read_rules(path: Path) -> ArgumentRules:
    """Read a file of rules.

    Parameters
    ----------
    path : Path
        JSON: ``{"tools": {"geo/nearby": {"/radius": {"relative": 0.01, "unit": "m"}}}}``.

    Returns
    -------
    ArgumentRules
        As they are written.

    Raises
    ------
    ConfigurationError
        If the file is no such object; the message has the place.
    OSError
        If the file cannot be read.
    """
    try:
        rules = ArgumentRules.model_validate(load_json(path.read_bytes()))
        _ = rules.digest  # now: what cannot be written again would end the scoring
    except ValidationError as error:
        every = [f"{'.'.join(map(str, one['loc'])) or 'root'}: {one['msg']}" for one in error.errors()]
        more = f"; and {len(every) - _TOLD} more" if len(every) > _TOLD else ""
        faults = "; ".join(one if len(one) <= _LONGEST else f"{one[:_LONGEST]}…" for one in every[:_TOLD]) + more
        msg = f"{path}: rules of arguments: {faults}: mend it (docs/trajectories.md has an example)"
        raise ConfigurationError(msg) from error
    except UnicodeEncodeError as error:
        lone = f"\\u{ord(error.object[error.start]):04x}"
        msg = f"{path}: rules of arguments hold half a character, {lone}: leave it out"
        raise ConfigurationError(msg) from error
    except ValueError as error:
        msg = f"{path}: rules of arguments are JSON: {error}"
        raise ConfigurationError(msg) from error
    return rules


def with_stated(
    derived: Mapping[str, tuple[ArgumentRule, ...]],
    stated: ArgumentRules,
    seen: Mapping[str, Iterable[str]],
    tools: Sequence[str],
) -> dict[str, tuple[ArgumentRule, ...]]:
    """Put stated rules over derived ones.

    Parameters
    ----------
    derived : mapping
        Rules of the tools that references call, from their schemas.
    stated : ArgumentRules
        They win, field by field.
    seen : mapping
        Pointers of the arguments that references give, by tool: they may have a rule where the schema has none.
    tools : sequence of str
        All tools there are; rules of those that no reference calls do nothing.

    Returns
    -------
    dict
        Rules by tool, sorted by pointer.

    Raises
    ------
    ConfigurationError
        If a tool or an argument of a called tool does not exist: a rule that is misspelt would do nothing.
    """
    found = dict(derived)
    for tool, rules in stated.tools.items():
        if tool not in derived:
            if tool not in tools:
                msg = f"rules of arguments: there is no tool {tool!r}, there are {_some(tools)}: name one of these"
                raise ConfigurationError(msg)
            continue
        known = {rule.pointer: rule for rule in derived[tool]}
        places = {*known, *seen.get(tool, ())}
        known = {place: _anything(place) for place in places | _places_on_earth(places)} | known
        for place, rule in rules.items():
            above, _, key = place.rpartition("/")
            if are_axes(key) and (both := f"{above}/{LATITUDE_LONGITUDE}") in known:
                msg = f"rules of arguments: {place!r} of {tool!r} is half of a place: state {both!r} instead"
                raise ConfigurationError(msg)
            if place not in known:
                told = _some(known)
                msg = f"rules of arguments: {tool!r} has no argument {place!r}, it has {told}: name one of these"
                raise ConfigurationError(msg)
            whole = place.removesuffix(f"/{LATITUDE_LONGITUDE}")
            # Where a call gives the two and nothing beside them, the object around them is the place.
            for each in {place, whole}:
                # Not unset fields alone: a null in the file states nothing.
                update = rule.model_dump(exclude_none=True)
                known[each] = known.get(each, _anything(each)).model_copy(update=update)
        found[tool] = tuple(known[place] for place in sorted(known))
    return found


def _anything(place: str) -> ArgumentRule:
    return ArgumentRule(pointer=place, kind=Kind.ANY)


def _places_on_earth(pointers: Iterable[str]) -> set[str]:
    """Return the pointers of places whose latitude and longitude stand beside each other."""
    beside: dict[str, set[str]] = {}
    for above, _, key in (place.rpartition("/") for place in pointers):
        if are_axes(key):
            beside.setdefault(above, set()).add(key)
    return {f"{above}/{LATITUDE_LONGITUDE}" for above, axes in beside.items() if are_coordinates(axes)}


def _some(names: Iterable[str]) -> str:
    every = sorted(filter(None, names))
    more = f" and {len(every) - _TOLD} more" if len(every) > _TOLD else ""
    return (", ".join(every[:_TOLD]) or "none") + more
