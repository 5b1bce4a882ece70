"""What the published programs read from odd replies, case by case of the shared data; and our own cases by hand."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tasks_lib.evaluation.alignment.published_parsing import (
    illegal_samples,
    judged_category,
    judged_number,
    selected_tools,
    tool_calls,
    trimmed_mean,
)

Golden = Callable[[str], Any]


def test_every_group_of_the_golden_data_is_compared(m3: Golden) -> None:
    assert sorted(m3("parsers.json")) == [
        "count_illegal_calling",
        "extract_selected_tools",
        "note",
        "parse_boxed_float_0_1",
        "parse_boxed_float_0_10",
        "parse_judge_output_1_4",
        "parse_tool_calls_after_strip",
        "trimmed_mean",
    ]


@pytest.mark.parametrize(("group", "high"), [("parse_boxed_float_0_10", 10.0), ("parse_boxed_float_0_1", 1.0)])
def test_judged_numbers(group: str, high: float, m3: Golden) -> None:
    for text, wanted in m3("parsers.json")[group]:
        if "ok" in wanted:
            assert judged_number(text, 0.0, high) == wanted["ok"], text
        else:
            with pytest.raises(ValueError, match=r"number|could not convert"):
                judged_number(text, 0.0, high)


def test_judged_categories(m3: Golden) -> None:
    for text, wanted in m3("parsers.json")["parse_judge_output_1_4"]:
        # Where the published program stops, there is no category.
        assert judged_category(text) == wanted.get("ok"), text


def test_tool_calls(m3: Golden) -> None:
    for text, wanted in m3("parsers.json")["parse_tool_calls_after_strip"]:
        found = json.loads(json.dumps(tool_calls(text)).replace("NaN", '"<NaN>"'))
        assert found == wanted["ok"], text


def test_selected_tools(m3: Golden) -> None:
    group = m3("parsers.json")["extract_selected_tools"]
    for text, wanted in group["cases"]:
        assert selected_tools(text, group["all_tools"]) == wanted["ok"], text


def test_illegal_samples(m3: Golden) -> None:
    group = m3("parsers.json")["count_illegal_calling"]
    assert illegal_samples(group["samples"]) == group["count"]


def test_trimmed_means(m3: Golden) -> None:
    for values, wanted in m3("parsers.json")["trimmed_mean"]:
        assert trimmed_mean(values) == pytest.approx(wanted)


def test_no_judge_has_no_mean() -> None:
    with pytest.raises(ValueError, match="judges have to answer"):
        trimmed_mean([])


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("\\boxed{ 2.5 } of ten points", 2.5),
        ("\\boxed{4}, no: \\boxed{6}", 4.0),
        ("between 3 and 5", 3.0),
        ("about -.5e1 below 9, \\boxed{9}", 9.0),
    ],
)
def test_the_first_box_or_else_the_first_number_counts(text: str, value: float) -> None:
    assert judged_number(text, 0.0, 10.0) == value


@pytest.mark.parametrize("text", ["\\boxed{eleven}", "\\boxed{12}", "below -2", "no mark"])
def test_a_reply_without_a_number_in_range_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r"number|could not convert"):
        judged_number(text, 0.0, 10.0)


@pytest.mark.parametrize(
    ("text", "category"), [("2\nIt stops half way.", 2), (" 3 ", 3), ("Level 3", None), ("9", None), ("", None)]
)
def test_a_category_is_a_whole_first_line(text: str, category: int | None) -> None:
    assert judged_category(text) == category


CALL = '{"name":"map/turn","arguments":{"to":30}}'
READ = {"name": "map/turn", "arguments": {"to": 30}}


@pytest.mark.parametrize(
    ("text", "calls"),
    [
        (f"[{CALL},{CALL}]", [READ, READ]),
        (f'{{"tool_calls":[{CALL},{{"name":"map/look"}}]}}', [READ]),
        (f"Next:\n```json\n[{CALL}]\n```\n```\n[]\n```", [READ]),
        (f"<think>[]</think><|begin_of_box|>[{CALL}]<|end_of_box|>", [READ]),
        (CALL, []),
        (f"[{CALL}", []),
    ],
)
def test_calls_are_a_list_or_in_tool_calls(text: str, calls: list[Any]) -> None:
    assert tool_calls(text) == calls


def test_a_tool_is_named_before_a_colon_and_a_space() -> None:
    plan = "Map/Turn: first, then 'map/look' : and \"rest/sit\": last; map/stop:now, (map/walk: no)"
    tools = ["rest/sit", "map/look", "map/turn", "map/stop", "map/walk"]
    assert selected_tools(plan, tools) == ["rest/sit", "map/look", "map/turn"]


def test_a_prediction_with_empty_turns_counts_once() -> None:
    empty, full = {"work": {"tool_calls": []}}, {"work": {"tool_calls": [{"name": "map/turn"}]}}
    assert illegal_samples([{"dialogue": [full, empty, empty]}, {"dialogue": [full]}, {"answer": "none"}]) == 1


@pytest.mark.parametrize(("values", "mean"), [([3, 9, 4, 8], 6), ([7, 1, 7], 7), ([2, 5], 3.5), ([6], 6)])
def test_the_ends_are_left_out_of_a_mean_of_three_or_more(values: list[float], mean: float) -> None:
    assert trimmed_mean(values) == mean


@given(st.text() | st.text(alphabet='{}[]"`:, \\boxed<think>0123456789.e+-'))
def test_no_text_stops_a_parser(text: str) -> None:
    tool_calls(text)
    judged_category(text)
    selected_tools(text, ["wiki/search"])
    try:
        found = judged_number(text, 0.0, 10.0)
    except ValueError:
        return
    assert 0.0 <= found <= 10.0
