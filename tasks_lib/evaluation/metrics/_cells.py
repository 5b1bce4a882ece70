"""One value beside the one wanted, by a rule of its own: a cell of a table, a key of an object, a member of a list."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from tasks_lib.evaluation._registry import CallError, Seen
from tasks_lib.evaluation.metrics import _say
from tasks_lib.evaluation.metrics._pairing import unpaired
from tasks_lib.evaluation.metrics.numbers import allowed, as_number, read_as, within
from tasks_lib.evaluation.metrics.texts import same
from tasks_lib.evaluation.units import parse_quantity
from tasks_lib.records import Json

Rule = Mapping[str, Any]
_WORDS = {"tolerance", "relative", "unit", "case", "ordered"}
_LONGEST_SET = 2000


def rules(given: Json, default: Rule, argument: str) -> dict[str, dict[str, Any]]:
    """Return name -> rule with the criterion's own tolerances where a rule says none.

    Parameters
    ----------
    given : mapping or None
        Name -> ``{tolerance, relative, unit, case, ordered}``, any of them; a tolerance may carry its unit, such as
        ``0.01 g/cm^3``.
    default : mapping
        ``tolerance``, ``relative`` and ``unit`` of the criterion.
    argument : str
        The argument's name, for the message.

    Raises
    ------
    CallError
        If a rule is of another shape or holds another word.
    """
    if given is not None and not isinstance(given, dict):
        msg = f"{argument} is an object of name -> tolerances, got {given!r}"
        raise CallError(msg)
    return {name: rule_of(rule, default, f"{argument}: {name}") for name, rule in (given or {}).items()}


def rule_of(given: Json, default: Rule, place: str) -> dict[str, Any]:
    """Return one rule, checked, over the `default`; a rule with a tolerance of its own drops the other default one."""
    if given is not None and not isinstance(given, dict):
        msg = f"{place} is an object such as {{tolerance: 0.1}}, got {given!r}"
        raise CallError(msg)
    rule = dict(given or {})
    if unknown := sorted(set(rule) - _WORDS):
        msg = f"{place} takes {', '.join(sorted(_WORDS))}, got {', '.join(unknown)}"
        raise CallError(msg)
    if isinstance(rule.get("tolerance"), str):
        quantity = parse_quantity(rule["tolerance"])
        if quantity is None or rule.setdefault("unit", quantity[1]) != quantity[1]:
            msg = f"{place}: a tolerance is a number with or without a unit, got {rule['tolerance']!r}"
            raise CallError(msg)
        rule["tolerance"] = quantity[0]
    for word in ("tolerance", "relative"):
        if rule.get(word) is not None and as_number(rule[word]) is None:
            msg = f"{place}: {word} is a number, got {rule[word]!r}"
            raise CallError(msg)
    if rule.get("tolerance") is not None or rule.get("relative") is not None:
        default = {key: value for key, value in default.items() if key not in ("tolerance", "relative")}
    return {**default, **rule}


def differs(value: Json, want: Json, rule: Rule, written: str | None = None) -> str:
    """Say why a value is not the one wanted; empty where it is.

    A whole number without a tolerance, such as an id or a count, must be equal. Any other number
    counts with the rule's tolerances, and converted to its unit where it carries one; a list item by item, in any order
    where the rule says ``ordered: false``; an object key by key; anything else must be equal.

    Parameters
    ----------
    value, want
        What was found and what is wanted.
    rule : mapping
        From `rules`.
    written : str or None
        The unit that stood beside the value.
    """
    if isinstance(want, list):
        return _list_differs(value, want, rule)
    if isinstance(want, dict):
        return _object_differs(value, want, rule)
    target = as_number(want)
    if target is None:
        if same(value, want, case=bool(rule.get("case", False)), spaces="fold"):
            return ""
        return f"{_say.value(value)} was found, {_say.value(want)} is wanted"
    unit = rule.get("unit")
    if isinstance(value, str) and unit is None and (quantity := parse_quantity(value)) and quantity[1] is not None:
        return f"{_say.value(value)} was found, the bare number {_say.number(target)} is wanted"
    number, reason = read_as(Seen(value, written), unit)
    if number is None:
        return reason
    exact = isinstance(target, int) and rule.get("tolerance") is None and rule.get("relative") is None
    if within(number, target, 0.0 if exact else allowed(target, rule.get("tolerance"), rule.get("relative"))):
        return ""
    return f"{_say.quantity(number, unit)} was found, {_say.quantity(target, unit)} is wanted{room(rule)}"


def _list_differs(value: Json, want: list[Json], rule: Rule) -> str:
    if not isinstance(value, list):
        return f"{_say.value(value)} was found, a list of {len(want)} is wanted"
    if len(value) != len(want):
        return f"{len(value)} items were found, {len(want)} are wanted"
    if rule.get("ordered", True):
        for at, (item, target) in enumerate(zip(value, want, strict=True)):
            if reason := differs(item, target, rule):
                return f"item {at}: {reason}"
        return ""
    if len(want) > _LONGEST_SET:
        msg = f"a list of {len(want)} items is too long to be compared in any order, {_LONGEST_SET} is the most"
        raise CallError(msg)
    fits = np.array([[not differs(item, target, rule) for item in value] for target in want], dtype=bool)
    absent = unpaired(fits) if want else []
    return f"{_say.several([want[at] for at in absent])} is missing" if absent else ""


def _object_differs(value: Json, want: dict[str, Json], rule: Rule) -> str:
    if not isinstance(value, dict):
        return f"{_say.value(value)} was found, an object is wanted"
    for key, target in want.items():
        if key not in value:
            return f"there is no {key!r}; there are: {', '.join(map(str, value))[:200]}"
        if reason := differs(value[key], target, rule):
            return f"{key}: {reason}"
    return ""


def room(rule: Rule) -> str:
    """Write the tolerances of a rule, in brackets."""
    parts = [f"{key} {_say.number(rule[key])}" for key in ("tolerance", "relative") if rule.get(key) is not None]
    return f" ({' or '.join(parts)})" if parts else ""
