"""Arguments against schemas, hostile ones of both included."""

import pytest

from tasks_lib.evaluation.alignment.replay import ArgumentChecker
from tasks_lib.evaluation.alignment.strict import Tool

SCHEMA = {
    "type": "object",
    "properties": {
        "title": {"type": "string"},
        "limit": {"type": "integer", "minimum": 1, "default": 5},
        "units": {"enum": ["metric", "us"]},
        "tags": {"type": "array", "items": {"type": "string"}, "uniqueItems": True},
        "code": {"type": "string", "pattern": "^[A-Z]{2}$"},
    },
    "required": ["title"],
}


def problems(arguments, schema=SCHEMA, checker=None):
    return (checker or ArgumentChecker()).problems(Tool(name="wiki/summary", input_schema=schema), arguments)


@pytest.mark.parametrize(
    "arguments",
    [
        {"title": "Newark"},
        {"title": "Newark", "limit": 3.0, "units": "us", "tags": ["a", "b"], "code": "NJ"},
        '{"title": "Newark"}',
    ],
)
def test_arguments_that_fit_have_no_problem(arguments):
    assert problems(arguments) == ()


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        ({}, "'title' is a required property"),
        (None, "'title' is a required property"),
        ({"title": 7}, "title: 7 is not of type 'string'"),
        ({"title": "a", "limit": "3"}, "limit: '3' is not of type 'integer'"),
        ({"title": "a", "limit": 0}, "less than the minimum"),
        ({"title": "a", "units": "metre"}, "is not one of"),
        ({"title": "a", "tags": ["x", "x"]}, "non-unique"),
        ({"title": "a", "code": "nj"}, "does not match"),
        ({"title": "a", "query": "b"}, "'query' was unexpected"),
        ({"title": None}, "None is not of type 'string'"),
        ([1], "not an object"),
        (True, "not an object"),
        ("", "'title' is a required property"),
        # Field faults 18 and 19: what is no JSON object is never taken for an empty one.
        ('{"title": "a"', "no valid JSON object"),
        ('{"title": "a"}{"title": "b"}', "no valid JSON object"),
        ('{"title": "a", "title": "b"}', "stands twice"),
        ("null", "JSON null, not an object"),
        ("wiki", "no valid JSON object"),
    ],
)
def test_what_does_not_fit_is_told_with_its_place(arguments, told):
    assert told in "; ".join(problems(arguments))


def test_an_empty_object_with_an_empty_text_behind_it_is_empty():
    assert problems('{}""', {"type": "object", "properties": {}}) == ()


def test_names_come_from_every_part_of_a_schema():
    schema = {
        "allOf": [{"$ref": "#/$defs/place"}],
        "properties": {"a": {}},
        "$defs": {"place": {"properties": {"b": {}}}},
    }
    assert problems({"a": 1, "b": 2}, schema) == ()
    assert "'c' was unexpected" in problems({"c": 1}, schema)[0]
    assert problems({"c": 1}, {"type": "object", "properties": {}, "additionalProperties": True}) == ()
    assert problems({"c": 1}, {"type": "object", "additionalProperties": {"type": "integer"}}) == ()


@pytest.mark.parametrize("schema", [{}, {"type": "object"}, {"required": ["c"]}])
def test_a_schema_that_names_nothing_refuses_no_name(schema):
    assert problems({"c": 1}, schema) == ()


def test_a_tool_without_arguments_takes_none():
    schema = {"type": "object", "properties": {}}
    assert problems({}, schema) == problems(None, schema) == ()
    assert "'random_string' was unexpected" in problems({"random_string": "x"}, schema)[0]


def test_an_old_draft_keeps_its_meaning():
    schema = {
        "$schema": "http://json-schema.org/draft-07/schema#",
        "properties": {"pair": {"type": "array", "items": [{"type": "number"}, {"type": "string"}]}},
        "definitions": {},
    }
    assert problems({"pair": [1, "b"]}, schema) == ()
    assert problems({"pair": ["a", "b"]}, schema) == ("pair/0: 'a' is not of type 'number'",)


@pytest.mark.parametrize(
    "schema",
    [
        {"type": "thing"},
        {"properties": 3},
        {"$ref": "#/$defs/absent"},
        {"$ref": "http://127.0.0.1:9/schema.json"},
    ],
)
def test_a_schema_that_is_none_is_told_and_checks_nothing(schema):
    checker = ArgumentChecker()
    assert problems({"a": 1}, schema, checker) == ()
    assert problems({"a": 1}, schema, checker) == ()
    (told,) = checker.unusable()
    assert told.startswith("wiki/summary: its arguments are not checked")


def test_hostile_arguments_take_no_time_and_no_stack():
    slow = {"properties": {"a": {"pattern": "^(a+)+$"}, "b": {"uniqueItems": True}, "c": {"$ref": "#"}}}
    assert "does not match" in problems({"a": "a" * 5000 + "!"}, slow)[0]
    assert problems({"b": [{"n": number} for number in range(20_000)]}, slow) == ()
    deep = {}
    for _ in range(3000):
        deep = {"c": deep}
    assert problems(deep, slow) == ("the arguments are nested too deeply",)


def test_what_linear_time_cannot_match_is_not_held_against_a_call():
    assert problems({"a": "x"}, {"properties": {"a": {"pattern": "^(?!x).*"}}}) == ()
