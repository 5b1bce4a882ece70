"""Arguments against schemas: what is the same, what is a leaf, and which rule it gets."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tasks_lib.evaluation.alignment.strict import ArgumentRule, Kind, filled, rules_of

PLACES: dict[str, Any] = {
    "type": "object",
    "properties": {
        "location": {"$ref": "#/$defs/Place"},
        "radius": {"type": "integer", "default": 1000},
        "units": {"enum": ["metric", "imperial"], "default": "metric"},
        "category": {"enum": ["food", "hotel", "park"]},
        "includedTypes": {"type": "array", "items": {"type": "string", "enum": ["restaurant", "cafe"]}},
        "waypoints": {"type": "array", "items": {"$ref": "#/$defs/Place"}},
        "query": {"anyOf": [{"type": "string"}, {"type": "null"}], "default": None},
        "openNow": {"type": ["boolean", "null"]},
        "imageFileUri": {"type": "string"},
        "place_id": {"type": "string"},
        "day": {"type": "string", "format": "date"},
        "options": {
            "type": "object",
            "properties": {"limit": {"type": "integer", "default": 5}, "video": {"type": "string"}},
        },
        "free": {},
    },
    "$defs": {"Place": {"type": "object", "properties": {"lat": {"type": "number"}, "lng": {"type": "number"}}}},
}
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=4),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=10,
)
SCHEMA_WORDS = [
    "type",
    "properties",
    "$ref",
    "anyOf",
    "enum",
    "default",
    "items",
    "format",
    "#",
    "#/properties",
    "object",
]
SCHEMAS = st.recursive(
    st.none() | st.sampled_from(SCHEMA_WORDS) | st.integers(0, 3),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(SCHEMA_WORDS), inner, max_size=4),
    max_leaves=12,
)


def test_each_argument_has_the_rule_of_its_kind() -> None:
    kinds = {rule.pointer: rule.kind for rule in rules_of(PLACES)}
    assert kinds == {
        "/location": Kind.COORDINATES,
        "/radius": Kind.NUMBER,
        "/units": Kind.CHOICE,
        "/category": Kind.CHOICE,
        "/includedTypes": Kind.SET,
        "/waypoints": Kind.SEQUENCE,
        "/query": Kind.TEXT,
        "/openNow": Kind.FLAG,
        "/imageFileUri": Kind.PATH,
        "/place_id": Kind.IDENTIFIER,
        "/day": Kind.DATE,
        "/options/limit": Kind.NUMBER,
        "/options/video": Kind.TEXT,
        "/free": Kind.ANY,
    }
    weights = {rule.pointer: rule.weight for rule in rules_of(PLACES)}
    assert (weights["/units"], weights["/category"]) == (0.25, 1.0)


def test_given_rules_win_and_add() -> None:
    given = [
        ArgumentRule(pointer="/radius", kind=Kind.NUMBER, tolerance=50, unit="m"),
        ArgumentRule(pointer="/more", kind=Kind.TEXT),
    ]
    found = {rule.pointer: rule for rule in rules_of(PLACES, given)}
    assert (found["/radius"], found["/more"]) == tuple(given)
    assert list(found) == sorted(found)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (None, {}),
        ("{}", {}),
        ("", {}),
        ({"radius": 1000}, {}),
        ({"radius": None, "query": None}, {}),
        ('{"query":"museum"}', {"query": "museum", "units": "metric"}),
        ({"options": {"limit": None}}, {"options": {"limit": 5}}),
        ({"options": None}, {}),
        ({"unknown": None}, {}),
    ],
)
def test_absent_null_and_default_are_the_same(one: Any, other: Any) -> None:
    assert filled(one, PLACES) == filled(other, PLACES)
    assert filled(one, PLACES).problem == ""


@pytest.mark.parametrize(
    ("one", "other"),
    [({"query": ""}, {}), ({"query": "null"}, {}), ({"radius": 0}, {}), ({"openNow": False}, {}), ({"free": {}}, {})],
)
def test_what_is_given_is_not_absent(one: Any, other: Any) -> None:
    assert filled(one, PLACES) != filled(other, PLACES)


def test_leaves_stand_at_the_pointers_of_the_rules() -> None:
    whole = {
        "location": {"lat": 40.7, "lng": -74.1},
        "options": {"limit": 3, "video": "v"},
        "waypoints": [{"lat": 1, "lng": 2}],
        "a/b": {"~": 1},
    }
    assert filled(whole, PLACES).values == {
        "/a~1b/~0": 1,
        "/location": {"lat": 40.7, "lng": -74.1},
        "/options/limit": 3,
        "/options/video": "v",
        "/radius": 1000,
        "/units": "metric",
        "/waypoints": [{"lat": 1, "lng": 2}],
    }


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        ([1], "a JSON list"),
        (3, "a JSON int"),
        ('{"a":1', "no valid JSON"),
        ('{"a":1}{"a":2}', "Extra data"),
        ("[]", "a JSON list"),
    ],
)
def test_arguments_that_are_no_object_are_a_problem_and_not_empty(arguments: Any, problem: str) -> None:
    found = filled(arguments, PLACES)
    assert problem in found.problem
    assert found.values == {}


@settings(max_examples=60)
@given(JSON, SCHEMAS)
def test_no_schema_and_no_arguments_stop_the_reading(arguments: Any, schema: Any) -> None:
    root = schema if isinstance(schema, dict) else {}
    found = filled(arguments, root)
    assert list(found.values) == sorted(found.values)
    assert not (found.problem and found.values)
    assert len({rule.pointer for rule in rules_of(root)}) == len(rules_of(root))


def test_a_schema_that_refers_to_itself_ends() -> None:
    node: dict[str, Any] = {"type": "object", "properties": {"next": {"$ref": "#"}, "value": {"type": "integer"}}}
    assert all(rule.pointer.count("/") <= 9 for rule in rules_of(node))
    value: Any = {"value": 0}
    for _ in range(50):
        value = {"next": value, "value": 1}
    assert max(pointer.count("/") for pointer in filled(value, node).values) <= 9
    loop = {"type": "object", "properties": {"a": {"$ref": "#/$defs/A"}}, "$defs": {"A": {"$ref": "#/$defs/A"}}}
    assert filled({"a": 1}, loop).values == {"/a": 1}


@pytest.mark.parametrize(
    ("name", "schema", "unit"),
    [
        ("radius_meters", {"type": "number"}, "m"),
        ("maxDurationSeconds", {"type": "integer"}, "s"),
        ("price_usd", {"type": "number"}, "USD"),
        ("radius", {"type": "number", "unit": "km"}, "km"),
        ("radius", {"type": "number", "x-unit": "mi"}, "mi"),
        ("radius", {"type": "number"}, ""),
        ("length_of_days_ahead", {"type": "number"}, ""),
        ("radius_meters", {"type": "string"}, ""),
    ],
)
def test_units_are_stated_or_end_a_name(name: str, schema: dict[str, Any], unit: str) -> None:
    (rule,) = rules_of({"type": "object", "properties": {name: schema}})
    assert rule.unit == unit
