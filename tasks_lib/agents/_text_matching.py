"""Looking for a text among the lines that OCR read from a screenshot.

OCR joins what stands side by side: the titles of a menu bar may be one line or seven. A text is therefore looked for as
a run of whole words. Which columns of a line belong to which word is read from its pixels: the gaps between words are
the widest ones.
"""

from __future__ import annotations

import difflib
import itertools
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, Protocol

from tasks_lib.agents._matching import Box, Match, Search

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

# Lines of which the engine is less sure are guesses at icons; what is a text scores 0.93 and more.
LEAST_CONFIDENCE = 0.8
# How far a pixel is off the ground's colour to be ink, levels of 255.
_INK = 48
# How far the middle of a word may be from where its share of the line's letters puts it, in widths of a letter: type is
# proportional, but a line whose widest gaps are elsewhere was misread.
_LETTERS_OFF = 1.5
# What a program writes behind a name: "Save Session…" opens a dialog, "Method:" names a field.
_TAIL = ".…:"


class TextLine(Protocol):
    """A piece of text on a screenshot: box in pixels, and how sure the engine is of it, 0 to 1."""

    @property
    def text(self) -> str: ...
    @property
    def x(self) -> float: ...
    @property
    def y(self) -> float: ...
    @property
    def width(self) -> float: ...
    @property
    def height(self) -> float: ...
    @property
    def confidence(self) -> float: ...


ReadText = Callable[[bytes, Box | None], Sequence[TextLine]]
"""Reads the text in a box of a screenshot (PNG), or in all of it; boxes in pixels of the whole screenshot."""


def plain(text: str) -> str:
    """Return a text as it is compared: without spaces, and without dots and colons at its end. Case counts."""
    return "".join(text.split()).rstrip(_TAIL)


def find_text(screen: NDArray[np.uint8], lines: Sequence[TextLine], wanted: str) -> Search:
    """Find every place where a text stands.

    Parameters
    ----------
    screen : ndarray of uint8, shape (height, width, 3)
        The screenshot.
    lines : sequence of TextLine
        What OCR read from it.
    wanted : str
        Compared by `plain` with whole lines, and, where no line is it, with runs of whole words.

    Returns
    -------
    Search
        Matches from the top and from the left, scored by the engine's confidence. Where there is none, `but` says
        which texts are nearest.
    """
    key = plain(wanted)
    sure = [line for line in lines if line.confidence >= LEAST_CONFIDENCE]
    whole = [_match(line, line.x, line.width) for line in sure if plain(line.text) == key]
    matches = whole or [match for line in sure for match in _inside(screen, line, key)]
    matches.sort(key=lambda match: (match.y, match.x))
    if matches:
        return Search(tuple(matches), max(match.score for match in matches))
    near = difflib.get_close_matches(key, sorted({plain(line.text) for line in lines}), n=3, cutoff=0.5)
    read = f"nearest to it are {', '.join(map(repr, near))}" if near else "nothing like it"
    return Search((), -1.0, f"of {len(lines)} texts read there, {read}")


def _inside(screen: NDArray[np.uint8], line: TextLine, key: str) -> Iterator[Match]:
    words = line.text.split()
    runs = [
        (first, last)
        for first in range(len(words))
        for last in range(first, len(words))
        if plain("".join(words[first : last + 1])) == key
    ]
    columns = word_columns(screen, line, words) if runs else ()
    for first, last in runs if columns else ():
        left, right = columns[first][0], columns[last][1]
        yield _match(line, left, right - left)


def ink_columns(screen: NDArray[np.uint8], line: TextLine) -> list[int]:
    """Return the columns of the screen in which a line of text has ink."""
    import numpy as np

    top, left = max(round(line.y), 0), max(round(line.x), 0)
    part = screen[top : round(line.y + line.height), left : round(line.x + line.width)]
    if part.size == 0:
        return []
    # A colour as one number: sorting these is ten times as fast as sorting rows of three.
    codes, counts = np.unique(part.astype(np.int64) @ (1 << 16, 1 << 8, 1), return_counts=True)
    ground = int(codes[counts.argmax()])
    off: NDArray[Any] = abs(part.astype(int) - (ground >> 16, ground >> 8 & 255, ground & 255)).max(axis=2)
    # A rule above or below the text has ink in every column: rows that are all ink are no text.
    rows = (off > _INK).mean(axis=1) < 0.9
    return [left + int(column) for column in np.flatnonzero((off[rows] > _INK).any(axis=0))]


def word_columns(screen: NDArray[np.uint8], line: TextLine, words: Sequence[str]) -> tuple[tuple[int, int], ...]:
    """Return first column and the column behind the last of each word of a line; empty where they cannot be told."""
    ink = ink_columns(screen, line)
    if not ink:
        return ()
    gaps = sorted(((b - a - 1, a, b) for a, b in itertools.pairwise(ink)), reverse=True)
    between, rest = gaps[: len(words) - 1], gaps[len(words) - 1 :]
    if len(between) < len(words) - 1 or (between and rest and rest[0][0] == between[-1][0]):
        return ()
    between.sort(key=lambda gap: gap[1])
    starts = [ink[0], *(gap[2] for gap in between)]
    ends = [*(gap[1] + 1 for gap in between), ink[-1] + 1]
    letter = (ends[-1] - starts[0]) / len(" ".join(words))
    before = 0
    for word, start, end in zip(words, starts, ends, strict=True):
        share = starts[0] + letter * (before + len(word) / 2)
        if abs((start + end) / 2 - share) > _LETTERS_OFF * letter:
            return ()
        before += len(word) + 1
    return tuple(zip(starts, ends, strict=True))


def _match(line: TextLine, x: float, width: float) -> Match:
    return Match(round(x), round(line.y), round(width), round(line.height), line.confidence)
