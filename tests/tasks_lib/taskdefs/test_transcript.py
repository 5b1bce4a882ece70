from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tasks_lib.records.errors import TaskError
from tasks_lib.taskdefs.transcript import fences, split_transcript

WORDS = st.text(st.characters(exclude_characters="-`~\r\n", exclude_categories=["Cs"]), min_size=1).filter(str.strip)


def test_replies_are_split_at_lines_of_dashes():
    assert split_transcript("a\n---\n\nb\n\n-----\nc\n") == ("a", "b", "c")


def test_dashes_inside_a_block_belong_to_the_block():
    text = "one\n```python\nx = '''\n---\n'''\n```\n---\ntwo"
    assert split_transcript(text) == ("one\n```python\nx = '''\n---\n'''\n```", "two")


def test_a_blank_transcript_has_no_reply():
    assert split_transcript(" \n\n") == ()


@pytest.mark.parametrize(("text", "line"), [("---\na", 1), ("a\n---\n---\nb", 3), ("a\n---\n", 3)])
def test_an_empty_reply_is_refused_with_its_line(text, line):
    with pytest.raises(TaskError, match=f"line {line}: the reply that starts here is empty"):
        split_transcript(text)


def test_an_open_block_is_refused_with_its_line():
    with pytest.raises(TaskError, match="line 2: the block that opens here is never closed"):
        split_transcript("a\n```python\nx\n---\nb")


@given(st.lists(WORDS, min_size=1))
def test_what_was_joined_is_split_again(words):
    assert split_transcript("\n---\n".join(words)) == tuple(word.strip() for word in words)


def test_blocks_with_language_body_line():
    found = fences("text\n```Python title=x\na\n\nb\n```\n~~~decision\nDONE\n~~~\n```\nplain\n```")
    assert [(f.language, f.body, f.line, f.closed) for f in found] == [
        ("python", "a\n\nb", 2, True),
        ("decision", "DONE", 7, True),
        ("", "plain", 10, True),
    ]


def test_a_longer_fence_holds_a_shorter_one():
    (only,) = fences("````python\nprint('''\n```\n''')\n````")
    assert only.body == "print('''\n```\n''')"


def test_carriage_returns_at_line_ends_go():
    (only,) = fences("```python\r\nx\r\n```\r\n")
    assert only.body == "x"


def test_a_cut_block_is_told():
    (only,) = fences("```python\nx = 1\nprint(")
    assert not only.closed
    assert only.body == "x = 1\nprint("


def test_back_ticks_in_a_line_are_no_fence():
    assert fences("```x``` is inline") == ()


@given(st.text())
def test_any_text_is_read(text):
    for fence in fences(text):
        assert fence.line >= 1


@given(st.text(st.sampled_from("`~-\n ab\r")))
def test_marks_in_any_order_are_read_or_refused(text):
    try:
        replies = split_transcript(text)
    except TaskError:
        return
    assert all(reply.strip() for reply in replies)
