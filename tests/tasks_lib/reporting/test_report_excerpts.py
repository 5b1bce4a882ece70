"""The lines that a criterion read: the right ones, numbered, and safe to show."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tasks_lib.records import Criterion, GetterCall, MetricCall
from tasks_lib.reporting._excerpts import excerpt

LONG = "\n".join(f"row {number}" for number in range(1, 201)) + "\n"


def _criterion(getter: str = "text", **arguments) -> Criterion:
    return Criterion(
        id="one",
        points=1,
        reads=GetterCall(getter=getter, path="a.txt", arguments=arguments),
        compares=MetricCall(metric="equals", want=1),
        why="The line says what was read from it.",
    )


def _marked(text: str) -> list[int]:
    return [int(number) for number in re.findall(r"^> +(\d+)  ", text, flags=re.MULTILINE)]


@pytest.mark.parametrize(
    ("criterion", "seen", "marked"),
    [
        (_criterion(line=3), None, [3]),
        (_criterion(line=-1), None, [200]),
        (_criterion(line=900), None, []),
        (_criterion(pattern=r"^row 19[89]$"), None, [198, 199]),
        (_criterion("key-value", key="row 77"), 1, [77]),
        (_criterion("json", pointer="/a/row 142"), None, [142]),
        (_criterion(), {"value": 150, "unit": "row"}, [150]),
        (_criterion(), [True, None, "row 30"], [30]),
        (None, "row 42", [42]),
        (None, None, []),
    ],
)
def test_what_was_read_is_marked(criterion: Criterion | None, seen: object, marked: list[int]) -> None:
    text = excerpt(LONG, criterion, seen, str)
    assert _marked(text) == marked
    assert "lines left out" in text


def test_lines_around_are_shown_and_gaps_are_counted() -> None:
    assert excerpt(LONG, _criterion(line=100), None, str).splitlines() == [
        "  … 97 lines left out",
        "      98  row 98",
        "      99  row 99",
        ">    100  row 100",
        "     101  row 101",
        "     102  row 102",
        "  … 98 lines left out",
    ]


def test_a_pattern_that_would_hang_a_backtracking_engine_ends() -> None:
    assert _marked(excerpt("a" * 50_000 + "!", _criterion(pattern="(a+)+$"), None, str)) == []


@given(st.text(max_size=400), st.one_of(st.none(), st.text(max_size=20), st.integers()))
def test_no_sign_of_any_text_hides_or_moves_others(text: str, seen: object) -> None:
    shown = excerpt(text, _criterion(), seen, str)
    assert not re.search("[\x00-\x08\x0b-\x1f\x7f-\x9f\u200b-\u200f\u202a-\u202e\u2066-\u2069]", shown)
    assert shown.endswith("\n")
    assert all(re.match(r"[> ] +\d+  |  … \d+ lines left out$", line) for line in shown[:-1].split("\n"))


def test_secrets_are_taken_out_before_lines_are_chosen() -> None:
    shown = excerpt(
        "key = hunter22222\n",
        _criterion("key-value", key="key"),
        "hunter22222",
        lambda t: t.replace("hunter22222", "[redacted]"),
    )
    assert shown == ">      1  key = [redacted]\n"
