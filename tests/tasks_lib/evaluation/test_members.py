"""The metric `members`: any so many of those that satisfy, distinct, and nothing else."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tasks_lib.evaluation import METRICS, CallError, Judgement, Seen, Unreadable

IDS = ["mp-1", "mp-2", "mp-3", "mp-4"]
PHASES = [
    {"id": "mp-1", "formula": "TiO2", "gap": 3.0},
    {"id": "mp-2", "formula": "TiO2", "gap": 3.2},
    {"id": "mp-3", "formula": "ZnO", "gap": 3.3},
]
COLUMNS: dict[str, Any] = {"formula": {}, "gap": {"tolerance": 0.05}}


def members(seen: Any, want: Any, count: int, **arguments: Any) -> Judgement:
    judgement = METRICS["members"].function(Seen(seen), want, count=count, **arguments)
    assert isinstance(judgement, Judgement)
    return judgement


@given(st.sets(st.text("abcxyz0123äöµ-", min_size=1, max_size=8), min_size=1, max_size=12), st.data())
def test_any_so_many_pass(things: set[str], data: st.DataObject) -> None:
    chosen = data.draw(st.lists(st.sampled_from(sorted(things)), min_size=1, unique=True))
    assert members(chosen, sorted(things), len(chosen)).passed
    assert not members([*chosen, "another one"], [*sorted(things), "one more"], len(chosen) + 1).passed


@given(st.lists(st.sampled_from([*IDS, "mp-9"]), max_size=6), st.integers(1, 4))
def test_passes_only_for_distinct_members(items: list[str], count: int) -> None:
    right = len(items) == count and len(set(items)) == count and set(items) <= set(IDS)
    assert members(items, IDS, count).passed == right


def test_says_what_is_wrong() -> None:
    assert members(["mp-1", "mp-9"], IDS, 2).why == 'item 1, "mp-9": it is not among the 4 that satisfy'
    assert members(["mp-1", "mp-1"], IDS, 2).why == 'item 1, "mp-1", stands twice: it is item 0 as well'
    assert members(["mp-1"], IDS, 2).why == "1 items were found, 2 are wanted"
    assert members({"mp-1": 1}, IDS, 1).why == "what was read is not a list of items"
    assert members(["mp-4", "mp-2"], IDS, 2).why == "all 2 items are distinct and among the 4 that satisfy"
    for value in (None, 3, True, [None], [["mp-1"]], [{"id": "mp-1"}]):
        assert not members(value, IDS, 1).passed


def test_whole_numbers_and_measured_ones() -> None:
    assert members([9000002, 9000001.0], [9000001, 9000002, 9000003], 2).passed
    assert not members([9000001, 9000001], [9000001, 9000002], 2).passed
    assert not members([True], [1], 1).passed
    assert members([1.004, 2.0], [1.0, 2.0, 3.0], 2, tolerance=0.01).passed
    judged = members([1.004, 1.002], [1.0, 2.0, 3.0], 2, tolerance=0.01)
    assert "is the same one as another item" in judged.why


def test_objects_with_keys() -> None:
    right = [PHASES[2] | {"gap": 3.31, "more": 1}, PHASES[0]]
    assert members(right, PHASES, 2, columns=COLUMNS, keys=["id"]).passed
    judged = members([PHASES[0], PHASES[1] | {"gap": 3.0}], PHASES, 2, columns=COLUMNS, keys=["id"])
    assert "item 1" in judged.why
    assert judged.why.endswith("gap: 3 was found, 3.2 is wanted (tolerance 0.05)")
    judged = members([PHASES[0], PHASES[0] | {"gap": 3.01}], PHASES, 2, columns=COLUMNS, keys=["id"])
    assert "stands twice" in judged.why
    assert "not among" in members([PHASES[0] | {"id": "mp-9"}], PHASES, 1, columns=COLUMNS, keys=["id"]).why
    assert members(["x"], ["x", "y"], 1).passed
    with pytest.raises(Unreadable, match="row 0 of the list has no 'gap'"):
        members([{"id": "mp-1", "formula": "TiO2"}], PHASES, 1, columns=COLUMNS, keys=["id"])
    with pytest.raises(Unreadable, match="no table"):
        members(["mp-1"], PHASES, 1, columns=COLUMNS, keys=["id"])


def test_objects_without_keys_and_rows_of_a_table() -> None:
    assert members([PHASES[1], PHASES[0]], PHASES, 2, columns=COLUMNS).passed
    # Both can only be the first one: 3.0 and 3.04 are one thing within the tolerance.
    twice = [{"formula": "TiO2", "gap": 3.0}, {"formula": "TiO2", "gap": 3.04}]
    assert not members(twice, PHASES, 2, columns=COLUMNS).passed
    table = {"columns": ["Formula", "gap (eV)"], "rows": [["ZnO", 3.3], ["TiO2", 3.2]]}
    assert members(table, PHASES, 2, columns=COLUMNS).passed
    assert not members(table, PHASES, 1, columns=COLUMNS).passed


@pytest.mark.parametrize(
    ("want", "count", "said"),
    [
        ("mp-1", 1, "list of all"),
        (IDS, 0, "at least 1"),
        (IDS, True, "at least 1"),
        (IDS, 5, "no answer can pass"),
        (["mp-1", "mp-2", "mp-1"], 1, "twice, at 0 and 2"),
    ],
)
def test_a_wrong_call_is_a_fault_of_the_task(want: Any, count: int, said: str) -> None:
    with pytest.raises(CallError, match=said):
        members(["mp-1"], want, count)
    with pytest.raises(CallError, match="has no 'gap'"):
        members(PHASES, [{"formula": "ZnO"}], 1, columns=COLUMNS)
