"""Edits of a text, for near misses."""

from __future__ import annotations

import re
from collections.abc import Mapping


def edit(text: str, replace: Mapping[str, str]) -> str:
    """Replace texts in one pass, so that no replacement is edited again.

    Parameters
    ----------
    text : str
        The oracle's transcript.
    replace : mapping of str to str
        Old text to new text; every occurrence is replaced, the longest old text wins.

    Returns
    -------
    str
        The edited transcript.
    """
    if not replace:
        return text
    pattern = "|".join(re.escape(old) for old in sorted(replace, key=len, reverse=True))
    return re.sub(pattern, lambda match: replace[match.group()], text)
