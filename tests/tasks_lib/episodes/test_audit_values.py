"""Numbers that are moved are beyond every tolerance, and nothing else of a file changes."""

from __future__ import annotations

import json

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from tasks_lib.episodes.audit import _values
from tasks_lib.records import Criterion

NUMBERS = st.floats(-1e6, 1e6)


@given(want=NUMBERS, share=st.floats(-1, 1), absolute=st.floats(0, 1e3), relative=st.floats(0, _values.WIDE))
def test_a_moved_number_is_beyond_the_tolerance_of_every_value_it_was_good_for(
    want: float, share: float, absolute: float, relative: float
) -> None:
    limit = max(absolute, relative * abs(want))
    assume(limit == 0 or limit > 1e-9 * max(1.0, abs(want)))
    good = want + share * limit
    assume(abs(good - want) <= limit)
    assert abs(_values.moved(good, (absolute, relative)) - want) > limit


def _criterion(**compares: object) -> Criterion:
    return Criterion.model_validate(
        {"id": "c", "points": 1, "reads": {"getter": "table", "path": "a.csv"}, "compares": compares,
         "why": "as the test says"}
    )  # fmt: skip


def test_the_widest_tolerance_of_all_columns_counts() -> None:
    columns = {"d": {"tolerance": "0.2 nm"}, "i": {"relative": 0.1}, "name": {}}
    found = _criterion(metric="table-match", want=[], tolerance=0.05, arguments={"columns": columns})
    assert _values.tolerances(found) == (0.2, 0.1)
    assert _values.tolerances(_criterion(metric="equals", want="a")) is None
    assert _values.tolerances(_criterion(metric="number", want=1, relative=0.8)) is None
    assert _values.widest([found, _criterion(metric="number", want=1, tolerance=3.0)]) == (3.0, 0.1)


def test_fractions_move_and_names_stay() -> None:
    data = json.dumps({"id": "mp-1.5", "gap": 1.5, "n": 3, "ok": True, "list": [0.5, None]}).encode()
    found = json.loads(_values.move_in_json(data, (0.1, 0.0)) or b"")
    assert found == {"id": "mp-1.5", "gap": 1.75, "n": 3, "ok": True, "list": [0.75, None]}


def test_whole_numbers_move_where_there_is_no_fraction() -> None:
    assert json.loads(_values.move_in_json(b'{"n": 3}', (0.0, 0.0)) or b"") == {"n": 4}
    assert _values.move_in_json(b'{"name": "a"}', (0.0, 0.0)) is None
    assert _values.move_in_json(b"no json", (0.0, 0.0)) is None


def test_a_table_keeps_comments_names_and_counts() -> None:
    data = b"# 1.0 made\nh,k,d_1.0,x\n1,0,3.10000,a1.5\n1,1,-2.5e1,b\n"
    assert _values.move_in_table(data, (0.2, 0.0)) == b"# 1.0 made\nh,k,d_1.0,x\n1,0,3.6,a1.5\n1,1,-24.5,b\n"
    assert _values.move_in_table(b"n\n3\n", (0.0, 0.0)) == b"n\n4.0\n"
    assert _values.move_in_table(b"\xff\xfe1.0", (0.0, 0.0)) is None
    assert _values.move_in_table(b"words only\n", (0.0, 0.0)) is None


@pytest.mark.parametrize(("pointer", "value"), [("/a/0/b~1c", 1), ("/a/1", 2), ("/a/7", None), ("/x/y", None)])
def test_pointers_lead_where_rfc_6901_says(pointer: str, value: object) -> None:
    document = {"a": [{"b/c": 1}, 2]}
    assert _values.at(document, pointer) == value
    if value is not None:
        changed = _values.put(document, pointer, 9)
        assert _values.at(changed, pointer) == 9
        assert document == {"a": [{"b/c": 1}, 2]}


def test_an_entry_of_the_first_list_is_lost_or_given_twice() -> None:
    document = {"n": 2, "in": {"ids": ["a", "b"], "more": [1]}}
    assert _values.lose_entry(document) == {"n": 2, "in": {"ids": ["a"], "more": [1]}}
    assert _values.repeat_entry(document) == {"n": 2, "in": {"ids": ["a", "a"], "more": [1]}}
    assert _values.lose_entry(["a"]) == []
    assert _values.repeat_entry(["a", "a"]) is None
    assert _values.lose_entry({"n": 2, "empty": []}) is None
    assert _values.lose_entry(None) is None


def test_a_table_loses_its_last_row_but_not_its_only_one() -> None:
    assert _values.lose_row(b"n\n1\n2\n\n") == b"n\n1\n"
    assert _values.lose_row(b"n\n1\n") is None
