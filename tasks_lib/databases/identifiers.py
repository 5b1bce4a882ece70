"""The ids of the snapshot: one number, spelt as each dialect demands, from ranges that the real databases do not use.

The Materials Project minted ``mp-<number>`` ids up to 3 347 529 and mints letters since (``AlphaID`` of emmet-core:
the number in base 26, digits ``a`` to ``z``). Its client rewrites every larger number into letters before it sends it,
so an id of the snapshot travels as ``mp-tsbpx`` although a person may write ``mp-9000001``. Both spell one number here.
OQMD's entry ids are plain integers, in the low millions at the time of writing.
"""

from __future__ import annotations

import re

FIRST_NUMBER = 9_000_000
MP_LAST_NUMERIC = 3_347_529
_LETTERS = "abcdefghijklmnopqrstuvwxyz"


def mp_id(number: int) -> str:
    """Return the Materials Project spelling with digits, e.g. ``mp-9000001``."""
    return f"mp-{number}"


def mp_alpha_id(number: int, padding: int = 0) -> str:
    """Return the spelling with letters that the client sends and shows, e.g. ``mp-tsbpx``.

    Parameters
    ----------
    number : int
        The number, not negative.
    padding : int
        Least count of letters; ``a`` is the digit zero and fills from the left.
    """
    letters = ""
    while number:
        number, digit = divmod(number, 26)
        letters = _LETTERS[digit] + letters
    return "mp-" + (letters or "a").rjust(padding, "a")


def mp_number(spelling: str) -> int:
    """Read either spelling of a Materials Project id back.

    Parameters
    ----------
    spelling : str
        ``mp-9000001``, ``mp-tsbpx`` or, padded, ``mp-aaatsbpx``; the prefix may be absent.

    Returns
    -------
    int
        The number.

    Raises
    ------
    ValueError
        If the text is neither spelling.
    """
    found = re.fullmatch(r"(?:mp-)?(?:(\d{1,15})|([a-z]{1,15}))", spelling)
    if found is None:
        msg = f"a Materials Project id is 'mp-' and digits, or 'mp-' and letters a to z, got {spelling!r}"
        raise ValueError(msg)
    if found[1] is not None:
        return int(found[1])
    number = 0
    for letter in found[2]:
        number = number * 26 + _LETTERS.index(letter)
    return number
