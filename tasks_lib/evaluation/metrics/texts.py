"""Text: equality, containment and patterns; and equality of any plain value."""

from __future__ import annotations

import unicodedata
from typing import Any

import re2

from tasks_lib.evaluation._registry import CallError, Judgement, Seen, metric
from tasks_lib.evaluation.metrics import _say
from tasks_lib.records import Json

_SPACES = ("keep", "strip", "fold", "ignore")


def fold(text: str, *, case: bool, spaces: str) -> str:
    """Return `text` in the form in which it is compared.

    Parameters
    ----------
    text : str
        Any text; it is brought to Unicode's composed form (NFC).
    case : bool
        Whether upper and lower case differ.
    spaces : str
        ``keep``: all count; ``strip``: not those at the ends of the text and of its lines; ``fold``: and runs of spaces
        and line ends are one space; ``ignore``: none counts.
    """
    if spaces not in _SPACES:
        msg = f"spaces is one of {', '.join(_SPACES)}, got {spaces!r}"
        raise CallError(msg)
    text = unicodedata.normalize("NFC", text)
    if not case:
        text = text.casefold()
    if spaces == "strip":
        return "\n".join(line.strip() for line in text.strip().split("\n"))
    if spaces == "keep":
        return text
    return (" " if spaces == "fold" else "").join(text.split())


def same(one: Json, other: Json, *, case: bool = True, spaces: str = "strip") -> bool:
    """Tell whether two plain values are equal: 3 equals 3.0, True does not equal 1, null equals nothing."""
    if one is None or other is None:
        return False
    if isinstance(one, bool) or isinstance(other, bool):
        return isinstance(one, bool) and isinstance(other, bool) and one == other
    if isinstance(one, str) and isinstance(other, str):
        return fold(one, case=case, spaces=spaces) == fold(other, case=case, spaces=spaces)
    if isinstance(one, list) and isinstance(other, list):
        pairs = zip(one, other, strict=False)
        return len(one) == len(other) and all(same(a, b, case=case, spaces=spaces) for a, b in pairs)
    if isinstance(one, dict) and isinstance(other, dict):
        return one.keys() == other.keys() and all(same(one[k], other[k], case=case, spaces=spaces) for k in one)
    return isinstance(one, int | float) and isinstance(other, int | float) and one == other


@metric("equals")
def equals(seen: Seen, want: Json, *, case: bool = True, spaces: str = "strip", **_: Any) -> Judgement:
    """Pass where the value is exactly the one wanted: text, whole number, truth value, list or object.

    3 equals 3.0; true does not equal 1; a missing value equals nothing. For measured numbers take ``number``.

    Parameters
    ----------
    case : bool
        Whether upper and lower case differ.
    spaces : str
        ``keep``, ``strip`` (ends of lines do not count), ``fold`` (runs of spaces and line ends are one space) or
        ``ignore``.
    """
    if same(seen.value, want, case=case, spaces=spaces):
        return Judgement(True, f"{_say.value(seen.value)} equals what is wanted")
    return Judgement(False, f"{_say.value(seen.value)} was found, {_say.value(want)} is wanted")


@metric("contains")
def contains(
    seen: Seen,
    want: Json,
    *,
    case: bool = False,
    spaces: str = "fold",
    forbidden: list[str] | None = None,
    **_: Any,
) -> Judgement:
    """Pass where the text, or one item of the list of texts, contains every text wanted.

    Parameters
    ----------
    case : bool
        Whether upper and lower case differ.
    spaces : str
        ``keep``, ``strip``, ``fold`` or ``ignore``; see ``equals``.
    forbidden : list of str or null
        Texts that must not be there.
    """
    wanted = [want] if isinstance(want, str) else want
    if not isinstance(wanted, list) or not wanted or not all(isinstance(item, str) and item for item in wanted):
        msg = f"contains wants a text or a list of texts, got {want!r}"
        raise CallError(msg)
    texts = [seen.value] if isinstance(seen.value, str) else seen.value
    if not isinstance(texts, list) or not all(isinstance(item, str) for item in texts):
        return Judgement(False, f"{_say.value(seen.value)} is no text")
    folded = [fold(text, case=case, spaces=spaces) for text in texts]
    absent = [w for w in wanted if not any(fold(w, case=case, spaces=spaces) in text for text in folded)]
    if absent:
        return Judgement(False, f"{_say.several(absent)} is not in the text, of {len(wanted)} texts wanted")
    present = [f for f in forbidden or [] if any(fold(f, case=case, spaces=spaces) in text for text in folded)]
    if present:
        return Judgement(False, f"{_say.several(present)} is in the text and must not be")
    return Judgement(True, f"the text contains {_say.several(wanted)}")


@metric("matches")
def matches(seen: Seen, want: Json, *, full: bool = True, case: bool = True, **_: Any) -> Judgement:
    """Pass where the text matches a regular expression (RE2: linear in time, without look-around and back references).

    Parameters
    ----------
    full : bool
        Whether the whole text, without spaces at its ends, must match; False: some part of it.
    case : bool
        Whether upper and lower case differ.
    """
    if not isinstance(want, str):
        msg = f"matches wants a regular expression, got {want!r}"
        raise CallError(msg)
    try:
        compiled = re2.compile(want if case else f"(?i){want}")
    except re2.error as error:
        msg = f"{want!r} is no RE2 expression: {error}"
        raise CallError(msg) from error
    if not isinstance(seen.value, str):
        return Judgement(False, f"{_say.value(seen.value)} is no text")
    found = compiled.fullmatch(seen.value.strip()) if full else compiled.search(seen.value)
    whole = "as a whole" if full else "in any part"
    if found:
        return Judgement(True, f"the text matches {_say.value(want)}")
    return Judgement(False, f"{_say.value(seen.value)} does not match {_say.value(want)} {whole}")


@metric("set-equals")
def set_equals(seen: Seen, want: Json, *, case: bool = True, spaces: str = "fold", **_: Any) -> Judgement:
    """Pass where the items are exactly those wanted, in any order; an item that stands twice must be wanted twice.

    Lines of a text and comma-separated words of one line count as items.

    Parameters
    ----------
    case : bool
        Whether upper and lower case differ.
    spaces : str
        ``keep``, ``strip``, ``fold`` or ``ignore``; see ``equals``.
    """
    if not isinstance(want, list):
        msg = f"set-equals wants a list, got {want!r}"
        raise CallError(msg)
    items = items_of(seen.value)
    if items is None:
        return Judgement(False, f"{_say.value(seen.value)} is not a list of items")
    if len(items) > 10_000:
        return Judgement(False, f"{len(items)} items were found, {len(want)} are wanted")
    left = list(items)
    absent = []
    for item in want:
        at = next((at for at, other in enumerate(left) if same(other, item, case=case, spaces=spaces)), None)
        if at is None:
            absent.append(item)
        else:
            del left[at]
    if absent or left:
        parts = [f"{_say.several(absent)} is missing"] if absent else []
        parts += [f"{_say.several(left)} is too many"] if left else []
        return Judgement(False, " and ".join(parts))
    return Judgement(True, f"the {len(items)} items are those wanted")


def items_of(value: Json) -> list[Json] | None:
    """Return the items of a list, the lines of a text or the words of its one line; None for anything else."""
    if isinstance(value, list):
        return value
    if not isinstance(value, str):
        return None
    lines = [line.strip() for line in value.split("\n") if line.strip()]
    if len(lines) == 1 and "," in lines[0]:
        return [word.strip() for word in lines[0].split(",") if word.strip()]
    return list(lines)
