from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tasks_lib.agents.repetition import LONGEST_CIRCLE, Repetition


def watched(deeds):
    """Repeats after each deed; a deed is one letter, on the screen of its own."""
    repetition = Repetition()
    found = []
    for deed in deeds:
        repetition.note(deed.upper(), deed)
        found.append(repetition.repeats)
    return found, repetition


@pytest.mark.parametrize(
    ("deeds", "repeats", "circle"),
    [
        ("", [], 0),
        ("a", [0], 0),
        ("ab", [0, 0], 0),
        ("aa", [0, 1], 1),
        ("aaaa", [0, 1, 2, 3], 1),
        ("abab", [0, 0, 0, 1], 2),
        ("xababab", [0, 0, 0, 0, 1, 1, 2], 2),
        ("abcabc", [0, 0, 0, 0, 0, 1], 3),
        ("abcdabcd", [0, 0, 0, 0, 0, 0, 0, 1], 4),
        # Five are no circle that is looked for.
        ("abcdeabcde", [0] * 10, 0),
        # One other deed, and it starts afresh.
        ("aaba", [0, 1, 0, 0], 0),
        # A single reply twice is no circle of two.
        ("abb", [0, 0, 1], 1),
        ("abbabbabb", [0, 0, 1, 0, 0, 1, 1, 1, 2], 3),
    ],
)
def test_circles_are_counted(deeds, repeats, circle):
    found, repetition = watched(deeds)
    assert found == repeats
    assert repetition.circle == circle


def test_the_same_reply_on_another_screen_is_none():
    repetition = Repetition()
    for screen in range(6):
        repetition.note(screen, "scroll down")
        assert (repetition.repeats, repetition.notice()) == (0, "")


def test_what_is_told_says_how_often_and_how_long():
    assert "3 times in a row" in watched("aaa")[1].notice()
    said = watched("ababab")[1].notice()
    assert "last 2 replies" in said
    assert "3 times in a row" in said


@given(st.text("abcd", max_size=6), st.text("wxyz", min_size=1, max_size=LONGEST_CIRCLE), st.integers(2, 5))
def test_a_circle_is_found_behind_anything(before, circle, times):
    assert watched(before + circle * times)[1].repeats >= times - 1


@given(st.lists(st.integers(), unique=True, max_size=40))
def test_what_is_always_new_is_no_circle(deeds):
    repetition = Repetition()
    for deed in deeds:
        repetition.note("screen", deed)
        assert repetition.repeats == 0
