"""Blanks of a scaffold: what an author has still to write."""

from __future__ import annotations

import re
from collections.abc import Iterator

# No colon, comma or bracket in it: YAML then reads a blank as a plain text wherever a value may stand.
_BLANK = re.compile(r"<<fill (?!…)[^<>\n]{1,120}>>")


def blanks(text: str) -> Iterator[tuple[int, str]]:
    """Yield the blanks of a text, each with its line, counted from 1."""
    for number, line in enumerate(text.split("\n"), start=1):
        for found in _BLANK.finditer(line):
            yield number, found.group()
