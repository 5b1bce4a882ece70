"""Units as the header writes them, brought to SI."""

from __future__ import annotations

from decimal import Decimal
from functools import lru_cache

_PREFIXES = {"f": -15, "p": -12, "n": -9, "µ": -6, "μ": -6, "u": -6, "m": -3, "k": 3, "M": 6, "G": 9}
_SYMBOLS = frozenset({"m", "s", "A", "V", "N", "W", "Hz", "Pa", "J", "K", "°", "Ω"})


@lru_cache(maxsize=256)
def si_unit(text: str) -> tuple[int, str]:
    """Split a unit into a power of ten and the unit without its prefix.

    A prefix is taken off only where a known symbol is left, so that ``m`` stays the metre, ``min`` stays unknown and
    ``m°`` becomes ``(-3, "°")``. What is not known stays as it is, with power 0.
    """
    first, slash, rest = text.partition("/")
    if first in _SYMBOLS or first[1:] not in _SYMBOLS or first[0] not in _PREFIXES:
        return 0, text
    return _PREFIXES[first[0]], f"{first[1:]}{slash}{rest}"


def scaled(number: str, power: int) -> float:
    """Return `number` times ten to `power`, rounded once: ``8.91`` and -6 are the float ``8.91e-06``."""
    return float(Decimal(number).scaleb(power)) if power else float(number)


def is_known(unit: str) -> bool:
    """Whether a unit, its prefix already off, begins with a symbol of the SI."""
    return unit.partition("/")[0] in _SYMBOLS
