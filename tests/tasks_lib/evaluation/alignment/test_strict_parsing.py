"""What our own programs read from odd replies: sound calls and numbers, and a reason for the rest."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tasks_lib.evaluation.alignment.published_parsing import tool_calls
from tasks_lib.evaluation.alignment.strict_parsing import read_judged_number, read_tool_calls

Golden = Callable[[str], Any]
CALL = '{"name":"a/x","arguments":{"q":1}}'


@pytest.mark.parametrize(
    "text",
    [
        CALL,
        f"[{CALL}]",
        f'{{"tool_calls":[{CALL}]}}',
        f'{{"tool_calls":{CALL}}}',
        f"Sure!\n```json\n[{CALL}]\n```\ndone",
        f"```\n{CALL}\n```",
        f"I call it: <tool_call>{CALL}</tool_call>",
        f"<think>or {{}}?</think>{CALL}",
        f"<|begin_of_box|>{CALL}<|end_of_box|>",
        '{"name":"a/x","arguments":"{\\"q\\":1}"}',
    ],
)
def test_a_sound_call_is_read_in_every_form(text: str) -> None:
    read = read_tool_calls(text)
    assert (read.problem, [(call.name, call.arguments, call.problem) for call in read.calls]) == (
        "",
        [("a/x", {"q": 1}, "")],
    )


def test_empty_arguments_with_an_empty_text_behind_are_read_with_a_note() -> None:
    (call,) = read_tool_calls('{"name":"a/x","arguments":"{}\\"\\""}').calls
    assert (call.arguments, call.problem, call.note) == ({}, "", 'arguments {}"" were read as {}')


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        ('"{\\"a\\":1"', "no valid JSON"),
        ('"{\\"a\\":1}{\\"a\\":2}"', "Extra data"),
        ('"{\\"a\\":1,\\"a\\":2}"', "'a' stands twice"),
        ('"[1]"', "a JSON list"),
        ("[1]", "a JSON list"),
        ("null", "a JSON null"),
        ("3", "a JSON int"),
        ('{"v":NaN}', "NaN is no JSON"),
        ('{"v":1e999}', "Infinity is no JSON"),
        ("\"{'a': 1}\"", "no valid JSON"),
    ],
)
def test_unsound_arguments_are_never_run_and_kept_raw(arguments: str, problem: str) -> None:
    read = read_tool_calls(f'[{CALL},{{"name":"a/y","arguments":{arguments}}}]')
    _, call = read.calls
    assert call.arguments is None
    assert problem in call.problem
    assert call.raw
    assert [sound.name for sound in read.sound] == ["a/x"]


@pytest.mark.parametrize(
    "item", ['{"name":"a/y"}', '{"arguments":{}}', "1", "null", '"a/y"', '{"name":null,"arguments":{}}']
)
def test_an_item_that_is_no_call_is_counted_and_not_dropped(item: str) -> None:
    read = read_tool_calls(f'{{"tool_calls":[{CALL},{item}]}}')
    assert len(read.calls) == 2
    assert read.calls[1].problem
    assert len(read.sound) == 1


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("{'name': 'a/x', 'arguments': {}}", "calls are JSON"),
        ('{"tool_calls":[],}', "calls are JSON"),
        (f"```json\n{CALL}\n```\n```json\n{CALL}\n```", "has 2: write one"),
        (f"{CALL}{CALL}", "Extra data"),
        ('{"name":"a/x","name":"a/y","arguments":{}}', "'name' stands twice"),
        ("[" * 100_000, "nested too deeply"),
        ("```json\n{}", "calls are JSON"),
    ],
)
def test_a_reply_that_is_not_understood_says_why(text: str, problem: str) -> None:
    read = read_tool_calls(text)
    assert problem in read.problem
    assert read.calls == ()


@pytest.mark.parametrize(
    "text", ["", "The answer is 4.", "<think>I could call {", f"<think>Or rather {CALL}", "f(x) = {x}"]
)
def test_an_answer_in_words_is_no_mistake(text: str) -> None:
    assert (read_tool_calls(text).calls, read_tool_calls(text).problem) == ((), "")


def test_no_call_is_run_that_the_published_program_reads_otherwise(m3: Golden) -> None:
    for text, _ in m3("parsers.json")["parse_tool_calls_after_strip"]:
        published, sound = tool_calls(text), read_tool_calls(text).sound
        if published and sound:
            given = [item["arguments"] for item in published]
            read = [json.loads(item) if isinstance(item, str) else item for item in given]
            assert [dict(call.arguments or {}) for call in sound] == read, text


@given(st.text() | st.text(alphabet='{}[]"`:,\\ \nnametool_cl<>/argus1'))
def test_no_text_stops_the_reader(text: str) -> None:
    read = read_tool_calls(text)
    assert all((call.arguments is None) == bool(call.problem) for call in read.calls)


@pytest.mark.parametrize(
    ("text", "value"),
    [("\\boxed{2.25}", 2.25), ("For both steps \\boxed{ 6 }.", 6.0), ("<think>\\boxed{1}</think>\\boxed{2}", 2.0)],
)
def test_one_box_is_read(text: str, value: float) -> None:
    assert read_judged_number(text, 0, 10) == value


@pytest.mark.parametrize(
    "text",
    [
        "",
        "5",
        "of ten points: 5",
        "\\boxed{3} or rather \\boxed{4}",
        "\\boxed{ }",
        "\\boxed{NaN}",
        "\\boxed{-inf}",
        "\\boxed{5e0}",
        "\\boxed{3/4}",
        "\\boxed{-0.5}",
        "\\boxed{10.5}",
        "\\boxed{５}",
        "\\boxed{\\mathbf{5}}",
        "\\boxed{5} \\boxed",
    ],
)
def test_anything_else_is_asked_for_again(text: str) -> None:
    with pytest.raises(ValueError, match="ask again"):
        read_judged_number(text, 0, 10)
