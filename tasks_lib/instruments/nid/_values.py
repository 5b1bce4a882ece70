"""Values of the header with their types: ``L[209]*[]``, ``D[0.1]*[V]``, ``8.91µm``, ``Lateral Force``."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass

from tasks_lib.instruments.nid._units import is_known, scaled, si_unit

Scalar = bool | int | float | str

_TYPED = re.compile(r"([A-Z])\[(.*)\]\*\[([^\[\]]*)\]", re.DOTALL)
_INTEGER = re.compile(r"[+-]?\d{1,18}", re.ASCII)
_NUMBER = re.compile(r"[+-]?(?:\d{1,40}\.?\d{0,40}|\.\d{1,40})(?:[eE][+-]?\d{1,4})?", re.ASCII)
_PLAIN_UNITS = frozenset({"%", "°C"})


@dataclass(frozen=True, slots=True)
class HeaderValue:
    """A value of the header in SI units.

    Attributes
    ----------
    value : bool, int, float, str, or a tuple of floats
    unit : str, or a tuple of str beside a tuple of values
        Empty for a bare number and for text.
    """

    value: Scalar | tuple[float, ...]
    unit: str | tuple[str, ...] = ""


def integer(text: str) -> int:
    """Read an integer of at most 18 digits; Python's ``int`` would also take ``1_0`` and other scripts' digits."""
    text = text.strip()
    digits = text[1:] if text[:1] in ("-", "+") else text
    if not (digits.isascii() and digits.isdigit() and len(digits) <= 18):
        raise ValueError(f"{_shown(text)} is not an integer")
    return int(text)


def number(text: str, power: int = 0) -> float:
    """Read a finite decimal number, times ten to `power`; as for integers, only what is plain ASCII decimals."""
    text = text.strip()
    try:
        value = scaled(text, power) if text.isascii() and "_" not in text else math.nan
    except (ValueError, ArithmeticError):
        value = math.nan
    if not math.isfinite(value):
        raise ValueError(f"{_shown(text)} is not a finite number")
    return value


def parse_value(text: str) -> HeaderValue:
    """Give a header's value its type.

    Raises
    ------
    ValueError
        If the text claims a type (``L``, ``D``, ``B``, ``V``, ``S``) and is none of that type.
    """
    text = text.strip()
    typed = _TYPED.fullmatch(text)
    if typed:
        return _typed(*typed.groups())
    if _INTEGER.fullmatch(text):
        return HeaderValue(int(text))
    return _measured(text) or HeaderValue(text)


def _typed(kind: str, body: str, unit: str) -> HeaderValue:
    if kind == "S":
        return HeaderValue(body, unit)
    if kind == "L":
        return HeaderValue(integer(body), unit)
    if kind == "B":
        if body not in ("0", "1"):
            raise ValueError(f"B[{_shown(body)}] is neither 0 nor 1")
        return HeaderValue(body == "1", unit)
    if kind == "D":
        power, symbol = si_unit(unit)
        return HeaderValue(number(body, power), symbol)
    if kind == "V":
        parts, units = body.split(","), [si_unit(one) for one in unit.split(",")]
        if len(units) != len(parts):
            raise ValueError(f"V[…] has {len(parts)} values and {len(units)} units")
        values = tuple(number(part, power) for part, (power, _) in zip(parts, units, strict=True))
        return HeaderValue(values, tuple(symbol for _, symbol in units))
    raise ValueError(f"type {kind} is none of L, D, B, V, S")


def _measured(text: str) -> HeaderValue | None:
    """Read ``100ms``, ``65 %`` or ``5e-05``; None for text that only begins like a number, such as a date."""
    match = _NUMBER.match(text)
    if not match:
        return None
    unit = text[match.end() :].strip()
    power, symbol = si_unit(unit)
    if unit and unit not in _PLAIN_UNITS and not is_known(symbol):
        return None
    value = scaled(match.group(), power)
    return HeaderValue(value, symbol) if math.isfinite(value) else None


def _shown(text: str) -> str:
    return repr(text if len(text) <= 40 else f"{text[:40]}…")
