from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tasks_lib.models.dialects.calls import arguments_text, is_ours, read_call, sendable, with_ids_of_their_own


@pytest.mark.parametrize(
    ("raw", "arguments"),
    [("", {}), ("  ", {}), ("{}", {}), (' {"x": 1}\n', {"x": 1}), ('{"x": {"y": [1, null]}}', {"x": {"y": [1, None]}})],
)
def test_sound_arguments_are_read(raw, arguments) -> None:
    call = read_call("call_a", "click", raw, 0)
    assert (call.id, call.arguments, call.problem, call.note, call.raw) == ("call_a", arguments, "", "", raw)
    assert json.loads(arguments_text(call)) == arguments


@pytest.mark.parametrize("raw", ['{}""', '{ } ""', ' {}"" '])
def test_an_empty_object_before_an_empty_text_is_an_empty_object_with_a_note(raw) -> None:
    call = read_call("a", "click", raw, 0)
    assert (call.arguments, call.problem, call.raw) == ({}, "", raw)
    assert call.note.endswith("were read as {}")
    assert arguments_text(call) == "{}"


@pytest.mark.parametrize(
    ("raw", "problem"),
    [
        ('{"a":1', "no valid JSON object"),
        ('{"a":1}{"a":2}', "no valid JSON object: Extra data"),
        ('{}"x"', "no valid JSON object"),
        ('""{}', "no valid JSON object"),
        ("null", "a JSON null"),
        ("[]", "a JSON list"),
        ('"{}"', "a JSON str"),
        ("1", "a JSON int"),
        ('{"a": 1, "a": 2}', "'a' stands twice"),
        ('{"b": {"a": 1, "a": 2}}', "'a' stands twice"),
        ('{"a": NaN}', "NaN is no JSON"),
        ('{"a": -Infinity}', "-Infinity is no JSON"),
        ('{"a": 1e999}', "1e999 is too large"),
        ('{"a": ' + "9" * 5000 + "}", "no valid JSON object"),
        ('{"a": ' + "[" * 100_000, "nested too deeply"),
        ('{"a": ' + "[" * 40 + "]" * 40 + "}", "nested too deeply"),
        ("{" + ", ".join(f'"{key}": 1' for key in [*range(50_000), 49_999]) + "}", "'49999' stands twice"),
        ("{'a': 1}", "no valid JSON object"),
    ],
)
def test_unsound_arguments_are_a_problem_and_nothing_else(raw, problem) -> None:
    call = read_call("a", "click", raw, 0)
    assert call.arguments is None
    assert problem in call.problem
    assert call.raw == raw
    assert arguments_text(call) == "{}"


@given(st.text(max_size=30) | st.binary(max_size=20).map(lambda raw: raw.decode("utf-8", "surrogateescape")))
def test_any_text_is_read_or_a_problem(raw) -> None:
    call = read_call(None, "click", raw, 0)
    assert (call.arguments is None) == bool(call.problem)
    call.raw.encode("utf-8")
    json.loads(arguments_text(call))


@pytest.mark.parametrize("name", [None, "", 3])
def test_a_call_of_nothing_is_a_problem(name) -> None:
    assert read_call("a", name, "{}", 0).problem == "the call names no tool"


@pytest.mark.parametrize("given_id", [None, "", 7, "with blank", "x" * 200, "a\nb"])
def test_a_call_without_a_usable_id_gets_one_that_is_the_same_each_time(given_id) -> None:
    first, again = (read_call(given_id, "click", "{}", 2) for _ in range(2))
    assert first.id == again.id
    assert is_ours(first.id)
    assert not is_ours("call_abc")


def test_calls_of_one_reply_have_ids_of_their_own() -> None:
    calls = [read_call("a", "f", "{}", number) for number in range(3)]
    assert [call.id for call in with_ids_of_their_own(calls)] == ["a", "a_2", "a_3"]


def test_ten_thousand_calls_of_one_id_get_ids_of_their_own() -> None:
    calls = with_ids_of_their_own([read_call("a", "click", "", 0)] * 10_000)
    assert len({call.id for call in calls}) == 10_000
    assert [calls[0].id, calls[1].id, calls[-1].id] == ["a", "a_2", "a_10000"]


@pytest.mark.parametrize(
    ("name", "sent"),
    [
        ("run_script", "run_script"),
        ("computer.mouse", "computer_mouse"),
        ("ü b", "__b"),
        ("x" * 99, "x" * 64),
        ("", "_"),
    ],
)
def test_a_name_that_a_model_made_up_can_be_sent_back(name: str, sent: str) -> None:
    assert sendable(name) == sent
