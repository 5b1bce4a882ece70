"""The two variants of a task: told with hints, or without.

With hints a set-up may do more for the agent, such as open a file. A transcript then has replies for one variant alone;
such a reply begins with the comment ``<!-- only without hints -->`` or ``<!-- only with hints -->``.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from tasks_lib.records.errors import TaskError

_MARK = re.compile(r"<!--(?P<said>[^\n]*?)-->[ \t]*(?:\n|$)")
_SAID = {"only with hints": True, "only without hints": False}


def split_mark(reply: str) -> tuple[bool | None, str]:
    """Return for which variant alone a reply is, and the reply as it is played.

    Parameters
    ----------
    reply : str
        Of a transcript.

    Returns
    -------
    variant : bool or None
        True: with hints; False: without; None: in both.
    text : str
        The reply without the mark.

    Raises
    ------
    TaskError
        If it begins with another comment that says "only", or nothing follows the mark.
    """
    found = _MARK.match(reply)
    said = " ".join(found["said"].split()).casefold() if found else ""
    if found is None or not said.startswith("only"):
        return None, reply
    if said not in _SAID:
        msg = f"a reply begins with the comment {said[:60]!r}: write {' or '.join(f'<!-- {one} -->' for one in _SAID)}"
        raise TaskError(msg)
    text = reply[found.end() :].strip()
    if not text:
        msg = f"a reply is empty but for its mark {said!r}: write what is answered, or take it out"
        raise TaskError(msg)
    return _SAID[said], text


def replies_for(replies: Iterable[str], *, hints: bool) -> tuple[str, ...]:
    r"""Return the replies that are played in a variant, without their marks.

    Parameters
    ----------
    replies : iterable of str
        Of a transcript.
    hints : bool
        The variant.

    Raises
    ------
    TaskError
        If a mark is malformed.

    Examples
    --------
    >>> replies_for(["<!-- only without hints -->\nOpen it.", "Fit it."], hints=True)
    ('Fit it.',)
    """
    marked = [split_mark(reply) for reply in replies]
    return tuple(text for only, text in marked if only is None or only is hints)
