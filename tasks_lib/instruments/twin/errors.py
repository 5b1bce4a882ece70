"""What the twin refuses."""

from __future__ import annotations

import math
import operator

from tasks_lib.records.errors import ConfigurationError


class TwinError(ConfigurationError):
    """A sample or a scan that the twin cannot make: the message names the value, its bounds and where it stands."""


def finite(value: float, what: str) -> float:
    """Return a number, or refuse NaN and infinity.

    Raises
    ------
    TwinError
        If `value` is not finite.
    """
    if not math.isfinite(value):
        raise TwinError(f"{what} must be a finite number, not {value}")
    return float(value)


def within(value: float, low: float, high: float, what: str) -> float:
    """Return a number that lies in [low, high].

    Raises
    ------
    TwinError
        If `value` is not finite or lies outside.
    """
    if not low <= finite(value, what) <= high:
        raise TwinError(f"{what} must lie in [{low:g}, {high:g}], not {value:g}")
    return float(value)


def whole_seed(seed: int) -> int:
    """Return a seed that is a whole number, not negative.

    Raises
    ------
    TwinError
        If it is none.
    """
    try:
        number = operator.index(seed)
    except TypeError:
        number = -1
    if number < 0:
        raise TwinError(f"a seed is a whole number, not negative; it is {seed!r}")
    return number
