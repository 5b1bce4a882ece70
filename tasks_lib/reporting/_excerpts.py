"""The lines of a text file that a criterion read, numbered; everything in them is hostile and shown, never sent."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import islice

import re2

from tasks_lib.records import Criterion, Json
from tasks_lib.reporting._text import Redact, scrub

_MOST_CHARACTERS = 4_000_000
_MOST_HITS, _MOST_NEEDLES, _AROUND, _HEAD, _WIDTH = 30, 40, 2, 40, 240
_NAMES = ("key", "field", "column")
_SHORTEST, _LONGEST = 2, 80


def excerpt(text: str, criterion: Criterion | None, seen: Json, redact: Redact) -> str:
    """Return the lines of a file that a criterion read, or its head where that cannot be said.

    Parameters
    ----------
    text : str
        Content of the file.
    criterion : Criterion or None
        How it was read; None where the task is no longer known.
    seen : Json
        What was seen, as the verdict records it: lines that hold it are what was read.
    redact : callable
        Takes secrets out.

    Returns
    -------
    str
        A line each, with its number and ``>`` before what was read; ends with a line feed.
    """
    lines = scrub(redact(text[:_MOST_CHARACTERS].replace("\r\n", "\n").replace("\r", "\n"))).split("\n")
    if len(lines) > 1 and not lines[-1]:
        lines.pop()
    hits = sorted(set(islice(_hits(lines, criterion, seen), _MOST_HITS)))
    shown = sorted({at for hit in hits for at in range(max(hit - _AROUND, 0), min(hit + _AROUND + 1, len(lines)))})
    if not hits:
        shown = list(range(min(_HEAD, len(lines))))
    out: list[str] = []
    before = -1
    for at in shown:
        if at > before + 1:
            out.append(f"  … {at - before - 1} lines left out")
        mark = ">" if at in hits else " "
        line = lines[at]
        out.append(f"{mark} {at + 1:>6}  {line if len(line) <= _WIDTH else line[:_WIDTH] + '…'}")
        before = at
    if before + 1 < len(lines):
        out.append(f"  … {len(lines) - before - 1} lines left out")
    return "\n".join(out) + "\n"


def _hits(lines: Sequence[str], criterion: Criterion | None, seen: Json) -> Iterator[int]:
    """Yield the lines that were read, by what the criterion says; else those that hold what was seen."""
    arguments = criterion.reads.arguments if criterion is not None else {}
    line = arguments.get("line")
    if isinstance(line, int) and not isinstance(line, bool) and line != 0:
        at = line - 1 if line > 0 else len(lines) + line
        if 0 <= at < len(lines):
            yield at
        return
    pattern = arguments.get("pattern")
    if isinstance(pattern, str):
        # The engine of the getters: its time is linear in a text that somebody wrote to hang it.
        compiled = re2.compile("(?m)" + pattern)
        yield from (at for at, one in enumerate(lines) if compiled.search(one))
        return
    needles = [str(arguments[name]) for name in _NAMES if isinstance(arguments.get(name), str | int)]
    pointer = arguments.get("pointer")
    if isinstance(pointer, str) and pointer.strip("/"):
        needles.append(pointer.rsplit("/", 1)[-1])
    needles += _leaves(seen)
    # What was seen is the agent's: of thousands of values in a file of millions of lines, some are enough.
    wanted = list(islice((needle for needle in needles if _SHORTEST <= len(needle) <= _LONGEST), _MOST_NEEDLES))
    yield from (at for at, one in enumerate(lines) if any(needle in one for needle in wanted))


def _leaves(value: Json) -> list[str]:
    if isinstance(value, dict):
        return [leaf for key, item in sorted(value.items()) if key != "unit" for leaf in _leaves(item)]
    if isinstance(value, list):
        return [leaf for item in value for leaf in _leaves(item)]
    if isinstance(value, bool) or value is None:
        return []
    if isinstance(value, int | float):
        return [repr(value)]
    return [one.strip() for one in str(value).split("\n")]
