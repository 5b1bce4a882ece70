"""Markdown as agents write it: fenced blocks, and the transcripts that hold one reply after another."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from tasks_lib.records.errors import TaskError

# CommonMark: up to three spaces of indent, at least three back-ticks or tildes, then the info string.
_FENCE = re.compile(r"^ {0,3}(?P<marks>`{3,}|~{3,})(?P<info>[^\n]*)$")
_SEPARATOR = re.compile(r"^ {0,3}-{3,}[ \t]*$")


@dataclass(frozen=True, slots=True)
class Fence:
    """A fenced block of a markdown text.

    Attributes
    ----------
    language : str
        First word of the info string, lower case; empty where there is none.
    body : str
        The lines between the fences, joined by line feeds.
    line : int
        Line of the opening fence, counted from 1.
    closed : bool
        False where the text ended before the closing fence: the block was cut.
    """

    language: str
    body: str
    line: int
    closed: bool


def _lines(text: str) -> list[str]:
    # Not str.splitlines: form feeds and U+2028 inside a script are no line ends of the document.
    return text.replace("\r\n", "\n").split("\n")


def _marked(lines: list[str]) -> Iterator[tuple[int, str, str]]:
    """Give each line its part: ``open``, ``in`` and ``close`` of a block, or ``text``."""
    marks = ""
    for number, line in enumerate(lines, start=1):
        found = _FENCE.match(line)
        if marks:
            closing = found is not None and not found["info"].strip() and found["marks"].startswith(marks)
            yield number, line, "close" if closing else "in"
            marks = "" if closing else marks
        elif found is not None and not ("`" in found["marks"] and "`" in found["info"]):
            marks = found["marks"]
            yield number, line, "open"
        else:
            yield number, line, "text"


def fences(text: str) -> tuple[Fence, ...]:
    """Find the fenced blocks of a markdown text by the rules of CommonMark.

    A block ends at a fence of the same sign that is at least as long as the one that opened it, so that a script may
    hold a shorter fence.

    Parameters
    ----------
    text : str
        Any text; nothing in it raises.

    Returns
    -------
    tuple of Fence
        In the order of the text.
    """
    found: list[Fence] = []
    language, body, start = "", [""], 0
    for number, line, part in _marked(_lines(text)):
        if part == "open":
            words = line.strip().lstrip("`~").split()
            language, body, start = (words[0].lower() if words else ""), [], number
        elif part == "in":
            body.append(line)
        elif part == "close":
            found.append(Fence(language, "\n".join(body), start, closed=True))
            start = 0
    if start:
        found.append(Fence(language, "\n".join(body), start, closed=False))
    return tuple(found)


def split_transcript(text: str) -> tuple[str, ...]:
    r"""Split a transcript into its replies.

    Replies stand between lines of three or more dashes; such a line inside a fenced block belongs to the block.

    Parameters
    ----------
    text : str
        The text of an ``oracle.md`` or ``scripted.md``.

    Returns
    -------
    tuple of str
        The replies, stripped of blank lines at both ends; none for a blank text.

    Raises
    ------
    TaskError
        If a reply is empty or a fenced block is not closed; the message names the line.

    Examples
    --------
    >>> split_transcript("Open it.\n---\nDone.")
    ('Open it.', 'Done.')
    """
    cut = next((fence for fence in fences(text) if not fence.closed), None)
    if cut is not None:
        msg = f"line {cut.line}: the block that opens here is never closed: add a line with the same fence marks"
        raise TaskError(msg)
    if not text.strip():
        return ()
    replies: list[list[str]] = [[]]
    starts = [1]
    for number, line, part in _marked(_lines(text)):
        if part == "text" and _SEPARATOR.match(line):
            replies.append([])
            starts.append(number + 1)
        else:
            replies[-1].append(line)
    joined = tuple("\n".join(lines).strip() for lines in replies)
    for reply, start in zip(joined, starts, strict=True):
        if not reply:
            msg = f"line {start}: the reply that starts here is empty: remove one of the lines of dashes around it"
            raise TaskError(msg)
    return joined
