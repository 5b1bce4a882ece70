"""The pointer followed through an agent's actions."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tasks_lib.records import ActionRecord
from tasks_lib.reporting._marks import Point, follow, inside


def action(kind: str, *, ok: bool = True, **arguments: object) -> ActionRecord:
    return ActionRecord(text=kind, kind=f"mouse.{kind}", arguments=arguments, ok=ok)


def shown(actions, pointer=None):
    marks, after = follow(actions, pointer)
    return [(mark.number, mark.kind, (mark.at.x, mark.at.y)) for mark in marks], after


def test_click_after_a_move_is_one_mark_with_the_clicks_number():
    assert shown([action("move_abs", x=120, y=40), action("single_click")]) == (
        [(2, "click", (120, 40))],
        Point(120, 40),
    )


def test_move_without_a_click_is_a_mark_of_its_own():
    assert shown([action("move_abs", x=1, y=2), action("move_abs", x=3, y=4), action("double_click")])[0] == [
        (1, "move", (1, 2)),
        (3, "double", (3, 4)),
    ]


def test_click_of_a_later_step_is_where_the_pointer_was_left():
    assert shown([action("right_click")], Point(7, 8)) == ([(1, "right", (7, 8))], Point(7, 8))


def test_click_with_an_unknown_pointer_leaves_no_mark():
    assert shown([action("single_click")]) == ([], None)


def test_move_to_a_numbered_mark_makes_the_pointer_unknown():
    """Its pixels are not recorded: a mark at the old place would be a lie."""
    assert shown([action("move_id", id=4), action("single_click")], Point(7, 8)) == ([], None)


def test_drag_starts_at_the_pointer():
    marks, after = follow([action("drag", x=30, y=40)], Point(10, 20))
    assert (marks[0].start, marks[0].at, after) == (Point(10, 20), Point(30, 40), Point(30, 40))


def test_refused_action_moves_nothing():
    assert shown([action("move_abs", ok=False, x=5, y=5), action("scroll", direction="up")], Point(1, 1)) == (
        [(2, "scroll", (1, 1))],
        Point(1, 1),
    )


@pytest.mark.parametrize(
    "place", [{"x": "1", "y": 2}, {"x": True, "y": 2}, {"x": 1}, {"x": 1e9, "y": 1}, {"x": None, "y": 1}]
)
def test_coordinates_that_are_none_leave_no_mark(place):
    assert shown([action("move_abs", **place), action("single_click")]) == ([], None)


def test_keyboard_and_scripts_leave_no_mark():
    write = ActionRecord(text="write", kind="keyboard.write", arguments={"text": "x"}, ok=True)
    script = ActionRecord(text="python script", kind="python", arguments={"name": "step-1"}, ok=True)
    assert shown([write, script], Point(1, 1)) == ([], Point(1, 1))


def test_inside_is_half_open():
    marks, _ = follow([action("drag", x=1440, y=0), action("drag", x=1439, y=899), action("drag", x=-1, y=5)], None)
    assert [inside(mark, 1440, 900) for mark in marks] == [False, True, False]


json_values = st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5)
kinds = st.sampled_from(["move_abs", "move_id", "single_click", "double_click", "right_click", "scroll", "drag", "x"])


@given(
    st.lists(
        st.builds(lambda kind, ok, x, y: action(kind, ok=ok, x=x, y=y), kinds, st.booleans(), json_values, json_values)
    )
)
def test_marks_are_finite_and_in_order_whatever_the_arguments(actions):
    marks, _ = follow(actions, None)
    numbers = [mark.number for mark in marks]
    assert numbers == sorted(set(numbers))
    assert all(math.isfinite(mark.at.x) and math.isfinite(mark.at.y) for mark in marks)
