"""Numbers as arguments have them: bare, as text, with a unit or with a currency."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass

from tasks_lib.evaluation.units import convert, parse_number, parse_quantity
from tasks_lib.records import Json

# Of maps and journeys; everything else `evaluation.units` knows. International yard and pound agreement, 1959.
_METRES = {"km": 1000.0, "kilometer": 1000.0, "kilometre": 1000.0, "mi": 1609.344, "mile": 1609.344, "ft": 0.3048,
           "foot": 0.3048, "feet": 0.3048, "yd": 0.9144, "yard": 0.9144, "meter": 1.0, "metre": 1.0}  # fmt: skip
_SECONDS = {"second": 1.0, "minute": 60.0, "day": 86400.0, "d": 86400.0, "week": 604800.0}
_SIGNS = {"$": "USD", "US$": "USD", "€": "EUR", "£": "GBP", "¥": "JPY", "₹": "INR"}
_CURRENCY = re.compile(r"[A-Z]{3}")
_PRICE = re.compile(r"(?P<before>US\$|[$€£¥₹]|[A-Z]{3})?\s*(?P<number>[-+\d.,eE]+)\s*(?P<after>[$€£¥₹]|[A-Z]{3})?")


@dataclass(frozen=True)
class Quantity:
    """A number and its unit, an ISO 4217 code for money, empty where none is written."""

    value: float
    unit: str = ""

    def within(self, unit: str) -> float | None:
        """Return the number in another unit; None where the two measure different things. A bare number has any."""
        if not unit or not self.unit or unit == self.unit:
            return self.value
        if _CURRENCY.fullmatch(unit) and _CURRENCY.fullmatch(self.unit):
            return None
        one, other = _base(self.unit), _base(unit)
        converted = convert(self.value * one[0], one[1], other[1])
        return None if converted is None else converted / other[0]


def quantity(value: Json) -> Quantity | None:
    """Read an argument as a quantity.

    Parameters
    ----------
    value
        A number, or a text such as ``5``, ``5 km``, ``$5``, ``EUR 12.50``; servers read numbers from texts.

    Returns
    -------
    Quantity or None
        None where it is neither.
    """
    if isinstance(value, bool):
        return None
    if isinstance(value, int | float):
        try:
            number = float(value)
        except OverflowError:
            return None
        return Quantity(number) if math.isfinite(number) else None
    if not isinstance(value, str):
        return None
    if (plain := parse_number(value)) is not None:
        return Quantity(float(plain))
    price = _PRICE.fullmatch(value.strip())
    if price and (sign := price["before"] or price["after"]):
        number_read = parse_number(price["number"].replace(",", ""))
        return None if number_read is None else Quantity(float(number_read), _SIGNS.get(sign, sign))
    read = parse_quantity(value)
    return None if read is None else Quantity(float(read[0]), read[1] or "")


def _base(unit: str) -> tuple[float, str]:
    name = unit.strip().lower()
    for one in (name, name.removesuffix("s")):
        if one in _METRES:
            return _METRES[one], "m"
        if one in _SECONDS:
            return _SECONDS[one], "s"
    return 1.0, unit
