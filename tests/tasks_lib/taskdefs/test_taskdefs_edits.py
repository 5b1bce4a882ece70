from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from tasks_lib.taskdefs.edits import edit

TEXT = st.text("abc.+(\\", max_size=30)


def test_every_occurrence_is_replaced_in_one_pass():
    assert edit("a b a", {"a": "b", "b": "a"}) == "b a b"


def test_the_longest_old_text_wins():
    assert edit("peak-1 peak", {"peak": "line", "peak-1": "first"}) == "first line"


def test_texts_are_no_patterns():
    assert edit(r"a+b (.) \1", {"a+b": r"\g<0>", "(.)": "x"}) == r"\g<0> x \1"


@given(TEXT, TEXT.filter(bool), TEXT)
def test_one_replacement_is_that_of_str(text, old, new):
    assert edit(text, {old: new}) == text.replace(old, new)


@given(TEXT)
def test_no_replacement_changes_nothing(text):
    assert edit(text, {}) == text
