"""How much agreement on an argument says: nothing where calls of all other tasks agree on it as well."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any

from tasks_lib.evaluation.alignment.strict.arguments import Arguments
from tasks_lib.evaluation.alignment.strict.rules import ArgumentRule, Kind
from tasks_lib.evaluation.alignment.trajectories import canonical_text
from tasks_lib.records import Json

# An argument that is always the same still counts a little.
_LEAST = 0.05
# Pairs without agreement that are taken as seen beforehand: two calls that agree prove nothing.
_PRIOR = 3.0
_ABSENT = "absent"


def weighted(
    rules: Mapping[str, tuple[ArgumentRule, ...]], calls: Iterable[tuple[str, str, Arguments]]
) -> dict[str, tuple[ArgumentRule, ...]]:
    """Weigh arguments by what they tell.

    The weight of an argument is multiplied by 1 − p. p is the share of pairs of reference calls of the tool, from
    different tasks, that agree on it: the number of results, a page, a domain that every reference has alike. This is
    the chance that a call of another task is right there, so it is what copied arguments would earn.

    Parameters
    ----------
    rules : mapping
        Rules by tool.
    calls : iterable of (tool, task, Arguments)
        All calls of the references.

    Returns
    -------
    dict
        Rules by tool, with those of arguments that no schema has.
    """
    seen: dict[str, list[tuple[str, Mapping[str, Json]]]] = {}
    for tool, task, arguments in calls:
        seen.setdefault(tool, []).append((task, arguments.values))
    found = dict(rules)
    for tool, rows in seen.items():
        known = {rule.pointer: rule for rule in rules.get(tool, ())}
        places = sorted({*known, *(place for _, values in rows for place in values)})
        found[tool] = tuple(
            _weighed(known.get(place) or ArgumentRule(pointer=place, kind=Kind.ANY), rows) for place in places
        )
    return found


def _weighed(rule: ArgumentRule, rows: list[tuple[str, Mapping[str, Json]]]) -> ArgumentRule:
    values = [(task, _key(leaves, rule.pointer)) for task, leaves in rows]
    everywhere = _same(Counter(value for _, value in values))
    within = _same(Counter(values))
    pairs = _same(Counter({"": len(values)})) - _same(Counter(task for task, _ in values))
    chance = (everywhere - within) / (pairs + _PRIOR)
    return rule.model_copy(update={"weight": rule.weight * max(_LEAST, 1.0 - chance)})


def _same(counts: Counter[Any]) -> int:
    return sum(count * (count - 1) // 2 for count in counts.values())


def _key(leaves: Mapping[str, Json], place: str) -> str:
    if place not in leaves:
        return _ABSENT
    value = leaves[place]
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    return canonical_text(value.casefold().strip() if isinstance(value, str) else value)
