"""What the published programs read from odd replies, case by case."""

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

Fixtures = Callable[[str], Any]


@pytest.mark.parametrize(("group", "high"), [("parse_boxed_float_0_10", 10.0), ("parse_boxed_float_0_1", 1.0)])
def test_judged_numbers(group: str, high: float, m3: Fixtures) -> None:
    for text, wanted in m3("parsers.json")[group]:
        if "ok" in wanted:
            assert judged_number(text, 0.0, high) == wanted["ok"], text
        else:
            with pytest.raises(ValueError, match=r"number|could not convert"):
                judged_number(text, 0.0, high)


def test_judged_categories(m3: Fixtures) -> None:
    for text, wanted in m3("parsers.json")["parse_judge_output_1_4"]:
        # Where the published program stops, there is no category.
        assert judged_category(text) == wanted.get("ok"), text


def test_tool_calls(m3: Fixtures) -> None:
    for text, wanted in m3("parsers.json")["parse_tool_calls_after_strip"]:
        found = json.loads(json.dumps(tool_calls(text)).replace("NaN", '"<NaN>"'))
        assert found == wanted["ok"], text


def test_selected_tools(m3: Fixtures) -> None:
    group = m3("parsers.json")["extract_selected_tools"]
    for text, wanted in group["cases"]:
        assert selected_tools(text, group["all_tools"]) == wanted["ok"], text


def test_illegal_samples(m3: Fixtures) -> None:
    group = m3("parsers.json")["count_illegal_calling"]
    assert illegal_samples(group["samples"]) == group["count"]


def test_trimmed_means(m3: Fixtures) -> None:
    for values, wanted in m3("parsers.json")["trimmed_mean"]:
        assert trimmed_mean(values) == pytest.approx(wanted)
    with pytest.raises(ValueError, match="judges have to answer"):
        trimmed_mean([])


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
