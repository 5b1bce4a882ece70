"""Blanks of a scaffold: what an author has still to write, and the sample that stands there until then.

In a scaffold's files a blank is ``<<fill WHAT | SAMPLE>>``; ``<<fill WHAT>>`` is the same blank at another place. With
two bars, ``"<<fill WHAT || SAMPLE>>"``, the quotes go with the blank: the sample is an expression and no text.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

# No colon, comma or bracket in it: YAML then reads a blank as a plain text wherever a value may stand.
_BLANK = re.compile(r"<<fill (?!…)[^<>\n]{1,120}>>")
_SAMPLED = re.compile(r"<<fill (?P<what>[^<>|\n]+) \| (?P<sample>[^|\n][^\n]*?)>>")
_QUOTED = re.compile(r'"<<fill (?P<what>[^<>|\n]+) \|\| (?P<sample>[^\n]+?)>>"')
_BARE = re.compile(r"<<fill (?P<what>(?!…)[^<>|\n]+)>>")


def blanks(text: str) -> Iterator[tuple[int, str]]:
    """Yield the blanks of a text, each with its line, counted from 1."""
    for number, line in enumerate(text.split("\n"), start=1):
        for found in _BLANK.finditer(line):
            yield number, found.group()


def left_blank(texts: Mapping[str, str]) -> dict[str, str]:
    """Take the samples out of a scaffold's texts."""
    return {
        name: _SAMPLED.sub(r"<<fill \g<what>>>", _QUOTED.sub(r'"<<fill \g<what>>>"', text))
        for name, text in texts.items()
    }


def sampled(texts: Mapping[str, str]) -> dict[str, str]:
    """Put the samples in the place of the blanks of a scaffold's texts.

    Parameters
    ----------
    texts : mapping of str to str
        The files of one scaffold; the sample of a blank may stand in another file than the blank.

    Raises
    ------
    KeyError
        If a blank has no sample.
    """
    known = {
        found["what"]: found["sample"]
        for text in texts.values()
        for pattern in (_SAMPLED, _QUOTED)
        for found in pattern.finditer(text)
    }

    def put(found: re.Match[str]) -> str:
        return known[found["what"]]

    return {name: _BARE.sub(put, _SAMPLED.sub(put, _QUOTED.sub(put, text))) for name, text in texts.items()}
