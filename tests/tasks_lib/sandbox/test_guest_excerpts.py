"""Output cut in the middle: both ends stay, the mark says how many characters are missing, memory stays bounded."""

from __future__ import annotations

import re

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from tasks_lib.sandbox import middle
from tasks_lib.sandbox.guest.excerpts import Ends, mark

MARK = re.compile(r"\n\[… (\d+) characters missing …\]\n")
PLAIN = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="[\n"), max_size=400)


def whole(text: str) -> int:
    """Count the characters that are there and those that the mark says are missing."""
    found = MARK.findall(text)
    assert len(found) <= 1
    return len(MARK.sub("", text)) + sum(map(int, found))


@given(PLAIN, st.integers(0, 300))
def test_a_text_keeps_both_ends(text: str, limit: int) -> None:
    cut = middle(text, limit)
    if len(text) <= limit:
        assert cut == text
        return
    assert whole(cut) == len(text)
    head, _, tail = MARK.split(cut)
    assert text.startswith(head)
    assert text.endswith(tail)
    assert len(head) + len(tail) == limit


@given(PLAIN.filter(lambda text: len(text) > 40), st.integers(10, 39), st.integers(0, 9))
def test_what_was_missing_before_counts_too(text: str, first: int, second: int) -> None:
    assert whole(middle(middle(text, first), second)) == len(text)


@given(st.lists(PLAIN, max_size=12), st.integers(0, 60))
@example(["é𐀀é"], 6)  # the two bytes in the middle are the inside of one character
def test_a_stream_keeps_both_ends(pieces: list[str], limit: int) -> None:
    text = "".join(pieces)
    ends = Ends(limit)
    for piece in pieces:
        ends.add(piece.encode())
    cut = ends.text()
    assert whole(cut) == len(text)
    parts = MARK.split(cut)
    head, tail = parts[0], parts[-1]
    assert text.startswith(head)
    assert text.endswith(tail)
    assert "\ufffd" not in cut or "\ufffd" in text


@given(st.lists(st.binary(max_size=200), max_size=8), st.integers(0, 64))
def test_any_bytes_are_text_in_the_end(pieces: list[bytes], limit: int) -> None:
    ends = Ends(limit)
    for piece in pieces:
        ends.add(piece)
    data = b"".join(pieces)
    if len(data) <= limit // 2 * 2:
        assert ends.text() == data.decode("utf-8", "replace")
    assert len(MARK.sub("", ends.text())) <= limit


def test_memory_is_bounded() -> None:
    ends = Ends(1024)
    for _ in range(1000):
        ends.add(b"z" * 4096)
    assert len(ends.text()) == 1024 + len(mark(ends.missing))
    assert ends.missing == 4_096_000 - 1024


@pytest.mark.parametrize("text", ["", "a", "é" * 10])
def test_what_fits_stays(text: str) -> None:
    ends = Ends(20)
    ends.add(text.encode())
    assert ends.text() == middle(text, 20) == text
    assert not ends.missing
