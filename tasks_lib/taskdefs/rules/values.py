"""What stands in the free parts of a criterion: wanted values and arguments."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

# Beside a value of its own, as in {value: 284.8, tolerance: 0.1, unit: eV}, these say how it is compared.
_HOW = frozenset({"tolerance", "relative", "unit"})


def wanted(want: Any, own: bool = False) -> Iterator[tuple[str | int | float, bool]]:
    """Yield every text and number that is wanted, and whether it has a tolerance of its own.

    Truth values are left out: they tell nothing.
    """
    if isinstance(want, dict):
        own = own or not {"tolerance", "relative"}.isdisjoint(want)
        for key, item in want.items():
            if key not in _HOW:
                yield from wanted(item, own)
    elif isinstance(want, list):
        for item in want:
            yield from wanted(item, own)
    elif isinstance(want, str | int | float) and not isinstance(want, bool):
        yield want, own


def texts(value: Any) -> Iterator[str]:
    """Yield every text in a tree of arguments."""
    for item in value.values() if isinstance(value, dict) else value if isinstance(value, list) else ():
        yield from texts(item)
    if isinstance(value, str):
        yield value
