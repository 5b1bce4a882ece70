"""Two calls of one tool, argument by argument, each by its rule."""

from __future__ import annotations

import math
import posixpath
import re
import unicodedata
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import date
from functools import partial
from typing import Any

import numpy as np
from pydantic import Field

from tasks_lib.evaluation.alignment.strict.arguments import Arguments
from tasks_lib.evaluation.alignment.strict.quantities import quantity
from tasks_lib.evaluation.alignment.strict.rules import ArgumentRule, Kind, are_coordinates
from tasks_lib.records import Json, Record, clean_json, clean_text

# How alike two texts are, in [0, 1], symmetric; 1 for equal ones.
Alike = Callable[[str, str], float]

_EARTH_METRES = 6_371_008.8
# At this many times the allowed distance, another place is meant.
_FAR = 10.0
# Fewer words than this name one thing: either it is named or another one is.
_FEW_WORDS = 5
# A name within the other one may be the same thing (Apple, Apple Inc.) or not (Pepsi, Diet Pepsi).
_NAME_WITHIN = 0.5
_FILLING = frozenset({"a", "an", "and", "at", "by", "for", "from", "in", "of", "on", "the", "to", "with"})
# Of an argument that one side alone has, however little it tells.
_ALONE = 0.25
_PLACE = re.compile(r"([-+]?\d{1,2}\.\d{1,15})\s*,\s*([-+]?\d{1,3}\.\d{1,15})", re.ASCII)
_ACCENT = re.compile(r"([A-Za-z])[\u0300-\u036f]+")
# Beyond this many elements lists are compared in their order alone: an assignment costs their number cubed.
_MOST_ELEMENTS = 200


class ArgumentScore(Record):
    """One leaf of a pair of calls; ``None`` is a side that does not set it."""

    pointer: str
    kind: Kind
    reference: Json = None
    prediction: Json = None
    score: float = Field(ge=0, le=1)
    weight: float = Field(ge=0)


class CallScore(Record):
    """A pair of calls: the weighted mean of its leaves, 1 where neither call has one."""

    score: float = Field(ge=0, le=1)
    arguments: tuple[ArgumentScore, ...] = ()


def compare(
    reference: Arguments,
    prediction: Arguments,
    rules: Iterable[ArgumentRule],
    alike: Alike,
    *,
    workspaces: Sequence[str] = (),
) -> CallScore:
    """Compare two calls of one tool.

    Parameters
    ----------
    reference, prediction : Arguments
        From `filled`, against the same schema.
    rules : iterable of ArgumentRule
        From `rules_of`; a leaf without a rule is compared by what its values are.
    alike : callable
        Compares texts of five words and more.
    workspaces : sequence of str, optional
        Folders of either side, as absolute POSIX paths; paths below them are compared without.

    Returns
    -------
    CallScore
        0 where one side cannot be read; a leaf of one side alone counts 0, one that has the schema's default on both
        sides has no weight.
    """
    if reference.problem or prediction.problem:
        return CallScore(score=0.0)
    known = {rule.pointer: rule for rule in rules}
    ours, theirs = reference.values, prediction.values
    scores = []
    for place in sorted({*ours, *theirs}):
        rule = known.get(place) or ArgumentRule(pointer=place, kind=Kind.ANY)
        both = place in ours and place in theirs
        found = _score(ours[place], theirs[place], rule, alike, workspaces) if both else 0.0
        # What neither had to write is no agreement, as an argument that neither has is none.
        silent = found == 1.0 and (place in reference.defaults or place in prediction.defaults)
        weight = rule.weight if both or not rule.weight else max(rule.weight, _ALONE)
        scores.append(
            ArgumentScore(
                pointer=clean_text(place),
                kind=rule.kind,
                reference=clean_json(ours.get(place)),
                prediction=clean_json(theirs.get(place)),
                score=found,
                weight=0.0 if silent else weight,
            )
        )
    weight = sum(one.weight for one in scores)
    total = sum(one.weight * one.score for one in scores)
    return CallScore(score=min(1.0, total / weight) if weight else 1.0, arguments=tuple(scores))


def _score(one: Json, other: Json, rule: ArgumentRule, alike: Alike, workspaces: Sequence[str]) -> float:
    again = partial(_any, rule=rule, alike=alike, workspaces=workspaces)
    match rule.kind:
        case Kind.NUMBER:
            return _numbers(one, other, rule)
        case Kind.DATE:
            return float(_day(one) == _day(other))
        case Kind.COORDINATES:
            return _places(one, other, rule.metres)
        case Kind.TEXT:
            return _texts(one, other, alike)
        case Kind.FLAG:
            return float(_flag(one) == _flag(other))
        case Kind.IDENTIFIER:
            return float(_name(one) == _name(other))
        case Kind.PATH:
            return float(_path(one, workspaces) == _path(other, workspaces))
        case Kind.SEQUENCE | Kind.SET if isinstance(one, list) and isinstance(other, list):
            return _lists(one, other, again, ordered=rule.kind is Kind.SEQUENCE)
        case Kind.ANY:
            return again(one, other)
        case _:
            return float(_exact(one) == _exact(other))


def _any(one: Json, other: Json, *, rule: ArgumentRule, alike: Alike, workspaces: Sequence[str]) -> float:
    """Compare values that no schema tells about, by what they are."""
    again = partial(_any, rule=rule, alike=alike, workspaces=workspaces)
    if isinstance(one, Mapping) and isinstance(other, Mapping):
        if are_coordinates(set(one)) and are_coordinates(set(other)):
            return _places(one, other, rule.metres)
        keys = {*one, *other}
        shared = sum(again(one[key], other[key]) for key in sorted(one.keys() & other.keys()))
        return shared / len(keys) if keys else 1.0
    if isinstance(one, list) and isinstance(other, list):
        return _lists(one, other, again, ordered=True)
    if _is_number(one) and _is_number(other):
        return _numbers(one, other, rule)
    if isinstance(one, str) and isinstance(other, str):
        return _texts(one, other, alike)
    return float(_exact(one) == _exact(other))


def _is_number(value: Json) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _number(value: Json) -> float | None:
    found = quantity(value)
    return None if found is None else found.value


def _numbers(want: Json, seen: Json, rule: ArgumentRule) -> float:
    one, other = quantity(want), quantity(seen)
    if one is None or other is None:
        return float(_exact(want) == _exact(seen))
    unit = rule.unit or one.unit or other.unit
    wanted, found = one.within(unit), other.within(unit)
    if wanted is None or found is None:
        return 0.0
    return float(abs(wanted - found) <= max(rule.tolerance, rule.relative * max(abs(wanted), abs(found))))


def _day(value: Json) -> Json:
    text = value.strip() if isinstance(value, str) else value
    try:
        return date.fromisoformat(text[:10]).isoformat() if isinstance(text, str) else _exact(text)
    except ValueError:
        return _exact(text)


def _places(want: Json, seen: Json, metres: float) -> float:
    one, other = _radians(want), _radians(seen)
    if one is None or other is None:
        return float(_exact(want) == _exact(seen))
    half = math.sin((one[0] - other[0]) / 2) ** 2
    half += math.cos(one[0]) * math.cos(other[0]) * math.sin((one[1] - other[1]) / 2) ** 2
    distance = 2 * _EARTH_METRES * math.asin(math.sqrt(min(1.0, half)))
    return min(1.0, max(0.0, (_FAR - distance / metres) / (_FAR - 1)))


def _radians(place: Json) -> tuple[float, float] | None:
    if not isinstance(place, Mapping) or not are_coordinates(set(place)):
        return None
    named = {key.lower()[:3]: _number(value) for key, value in place.items()}
    latitude, longitude = named.get("lat"), named.get("lng", named.get("lon"))
    return None if latitude is None or longitude is None else (math.radians(latitude), math.radians(longitude))


def _texts(want: Json, seen: Json, alike: Alike) -> float:
    one, other = _folded(want), _folded(seen)
    if one == other:
        return 1.0
    if not isinstance(want, str) or not isinstance(seen, str):
        return 0.0
    if (place := _written_place(want)) and (other_place := _written_place(seen)):
        return _places(place, other_place, ArgumentRule.model_fields["metres"].default)
    if is_prose(want) and is_prose(seen):
        return min(1.0, max(0.0, alike(want, seen)))
    ours, theirs = _named(one), _named(other)
    if ours == theirs:
        return 1.0
    return _NAME_WITHIN if ours <= theirs or theirs <= ours else 0.0


def _written_place(text: str) -> dict[str, Json] | None:
    """Read a place that is written as ``40.7357,-74.1724``."""
    found = _PLACE.fullmatch(text.strip())
    if found is None or abs(float(found[1])) > 90 or abs(float(found[2])) > 180:
        return None
    return {"lat": float(found[1]), "lng": float(found[2])}


def is_prose(text: str) -> bool:
    """Say whether a text has so many words that an encoder compares it; what has fewer is a name."""
    return len(_folded(text).split()) >= _FEW_WORDS


def _named(text: str) -> Counter[str]:
    """Return the words of a name in any order and number, without those that only join them."""
    words = [_singular(word) for word in (part.strip(".,;:!?\"'()") for part in text.split()) if word]
    return Counter([word for word in words if word not in _FILLING] or words or [text])


def _singular(word: str) -> str:
    return word[:-1] if len(word) > 3 and word.isalpha() and word.endswith("s") and not word.endswith("ss") else word


def _folded(value: Json) -> Any:
    """Return a text without case, spaces and the accents of Latin letters."""
    if not isinstance(value, str):
        return _exact(value)
    parts = unicodedata.normalize("NFKD", value)
    bare = _ACCENT.sub(r"\1", parts)
    return " ".join(unicodedata.normalize("NFKC", bare).casefold().split())


def _path(value: Json, workspaces: Sequence[str]) -> Json:
    if not isinstance(value, str):
        return _exact(value)
    path = re.sub(r"^file://(?:localhost)?(?=/)", "", value.strip())
    if "://" in path:
        return path
    path = posixpath.normpath(path)
    for folder in sorted(workspaces, key=len, reverse=True):
        inside = posixpath.normpath(folder) + "/"
        if path.startswith(inside):
            return path[len(inside) :]
    return path


def _exact(value: Json) -> Any:
    """Return a value whose equality is that of JSON: 1 and 1.0 are one number, True is none, lists have an order."""
    if isinstance(value, bool) or value is None:
        return (type(value).__name__, value)
    if isinstance(value, list):
        return tuple(_exact(item) for item in value)
    if isinstance(value, Mapping):
        return {key: _exact(item) for key, item in value.items()}
    return value.strip() if isinstance(value, str) else value


def _flag(value: Json) -> Any:
    """Read a flag, also one that is a text: servers read it so."""
    spelt = {"true": True, "false": False}
    return _exact(spelt.get(value.strip().lower(), value) if isinstance(value, str) else value)


def _name(value: Json) -> Any:
    """Read an identifier: the number 42 and the text 42 are one, 042 is another."""
    return str(value) if isinstance(value, int) and not isinstance(value, bool) else _exact(value)


def _lists(one: list[Json], other: list[Json], again: Callable[[Json, Json], float], *, ordered: bool) -> float:
    """Return the share of elements that agree, of the longer list: in order, or in the best pairing of a set."""
    longer = max(len(one), len(other))
    if not longer:
        return 1.0
    if ordered or longer > _MOST_ELEMENTS:
        return sum(again(a, b) for a, b in zip(one, other, strict=False)) / longer
    from scipy.optimize import linear_sum_assignment

    scores = np.array([[again(a, b) for b in other] for a in one], dtype=np.float64).reshape(len(one), len(other))
    rows, columns = linear_sum_assignment(scores, maximize=True)
    return float(scores[rows, columns].sum()) / longer
