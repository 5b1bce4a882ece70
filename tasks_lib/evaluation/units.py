"""Numbers as people write them, the units of the field, and the conversion between units of one kind."""

from __future__ import annotations

import math
import re
import unicodedata
from dataclasses import dataclass

from scipy import constants

_EV = constants.electron_volt
_MOL = constants.Avogadro

# unit -> (kind, factor to the first unit of that kind); the factors are CODATA values as SciPy has them.
_UNITS: dict[str, tuple[str, float]] = {
    "eV": ("energy", 1.0),
    "meV": ("energy", 1e-3),
    "keV": ("energy", 1e3),
    "J": ("energy", 1 / _EV),
    "kJ": ("energy", 1e3 / _EV),
    "Ry": ("energy", constants.physical_constants["Rydberg constant times hc in eV"][0]),
    "Ha": ("energy", constants.physical_constants["Hartree energy in eV"][0]),
    "Å": ("length", 1.0),
    "fm": ("length", 1e-5),
    "pm": ("length", 1e-2),
    "nm": ("length", 10.0),
    "µm": ("length", 1e4),
    "mm": ("length", 1e7),
    "cm": ("length", 1e8),
    "m": ("length", 1e10),
    "bohr": ("length", constants.physical_constants["Bohr radius"][0] * 1e10),
    "inch": ("length", constants.inch * 1e10),
    "pt": ("length", constants.point * 1e10),
    "deg": ("angle", 1.0),
    "rad": ("angle", 180 / math.pi),
    "mrad": ("angle", 0.18 / math.pi),
    "s": ("time", 1.0),
    "ms": ("time", 1e-3),
    "µs": ("time", 1e-6),
    "ns": ("time", 1e-9),
    "ps": ("time", 1e-12),
    "fs": ("time", 1e-15),
    "min": ("time", 60.0),
    "h": ("time", 3600.0),
    "Hz": ("frequency", 1.0),
    "kHz": ("frequency", 1e3),
    "MHz": ("frequency", 1e6),
    "GHz": ("frequency", 1e9),
    "THz": ("frequency", 1e12),
    "Pa": ("pressure", 1.0),
    "kPa": ("pressure", 1e3),
    "MPa": ("pressure", 1e6),
    "GPa": ("pressure", 1e9),
    "bar": ("pressure", 1e5),
    "kbar": ("pressure", 1e8),
    "atm": ("pressure", constants.atm),
    "g": ("mass", 1.0),
    "mg": ("mass", 1e-3),
    "kg": ("mass", 1e3),
    "u": ("mass", constants.atomic_mass * 1e3),
    "K": ("temperature", 1.0),
    "V": ("voltage", 1.0),
    "mV": ("voltage", 1e-3),
    "N": ("force", 1.0),
    "nN": ("force", 1e-9),
    "pN": ("force", 1e-12),
    "A": ("current", 1.0),
    "mA": ("current", 1e-3),
    "nA": ("current", 1e-9),
    "T": ("magnetic field", 1.0),
    "µB": ("magnetic moment", 1.0),
    "mol": ("amount", _MOL),
    "atom": ("amount", 1.0),
    "fu": ("formula units", 1.0),
    "B": ("bytes", 1.0),
    "px": ("pixels", 1.0),
    "count": ("counts", 1.0),
    "%": ("share", 0.01),
    "1": ("share", 1.0),
}
_ALIASES = {
    "Angstrom": "Å", "angstrom": "Å", "Ang": "Å", "ang": "Å", "angstroms": "Å", "Angstroms": "Å", "um": "µm",
    "us": "µs", "micron": "µm", "muB": "µB", "mu_B": "µB", "bohr_magneton": "µB", "°": "deg", "degree": "deg",
    "degrees": "deg", "radian": "rad", "radians": "rad", "hartree": "Ha", "Hartree": "Ha", "Eh": "Ha",
    "rydberg": "Ry", "Rydberg": "Ry", "a0": "bohr", "Bohr": "bohr", "sec": "s", "hour": "h", "hours": "h",
    "minutes": "min", "atoms": "atom", "f.u.": "fu", "amu": "u", "Da": "u", "counts": "count", "cts": "count",
    "bytes": "B", "byte": "B", "pixel": "px", "pixels": "px", "ev": "eV", "EV": "eV", "percent": "%",
    "ratio": "1", "fraction": "1", "in": "inch",
}  # fmt: skip
_NUMBER = r"[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d{1,4})?"
_MISSING = {"", "nan", "na", "n/a", "null", "none", "inf", "+inf", "-inf", "infinity", "-infinity", "-", "--", "?"}
_NAME = r"[^*/ ^]+"
_FACTOR = rf"{_NAME}(?:\^[+-]?\d)?"
# Superscript digits, the middle dot and the Greek mu, as people type them.
_SUPERSCRIPTS = str.maketrans("⁻¹²³", "-123")
_SIGNS = str.maketrans("·μ", "*µ")
LONGEST_UNIT = 40
"""Longer text is no unit, characters."""
LONGEST_NUMBER = 64
"""Longer text is no number, characters."""


@dataclass(frozen=True, slots=True)
class Unit:
    """A unit as powers of kinds, with its factor to the base units of this module."""

    name: str
    kinds: tuple[tuple[str, int], ...]
    factor: float


def parse_unit(text: str) -> Unit | None:
    """Read a unit such as ``eV``, ``nm``, ``eV/atom``, ``g/cm^3``, ``kJ/mol`` or ``Å^-1``.

    Returns
    -------
    Unit or None
        None where the text is no unit that is known.
    """
    cleaned = unicodedata.normalize("NFC", text).strip().strip("()[]").translate(_SIGNS).replace("**", "^")
    cleaned = re.sub(r"⁻?[¹²³]", lambda match: "^" + match[0].translate(_SUPERSCRIPTS), cleaned)
    cleaned = re.sub(r"\s*([*/])\s*", r"\1", cleaned)
    if len(cleaned) > LONGEST_UNIT or re.fullmatch(rf"{_FACTOR}(?:[*/ ]{_FACTOR})*", cleaned) is None:
        return None
    kinds: dict[str, int] = {}
    factor = 1.0
    for sign, name, power in re.findall(rf"([*/ ]?)({_NAME})(?:\^([+-]?\d))?", cleaned):
        plain = re.fullmatch(r"(\D+)(\d)", name)
        if name not in _UNITS and name not in _ALIASES and plain and not power:
            name, power = plain[1], plain[2]
        row = _UNITS.get(_ALIASES.get(name, name))
        if row is None:
            return None
        exponent = int(power or 1) * (-1 if sign == "/" else 1)
        factor *= row[1] ** exponent
        kinds[row[0]] = kinds.get(row[0], 0) + exponent
    kinds.pop("share", None)
    if not math.isfinite(factor) or factor == 0:
        return None
    return Unit(text.strip(), tuple(sorted((kind, power) for kind, power in kinds.items() if power)), factor)


def convert(value: float, from_unit: str, to_unit: str) -> float | None:
    """Convert a value between units of one kind.

    Parameters
    ----------
    value : float
        The number, in `from_unit`.
    from_unit, to_unit : str
        Units that `parse_unit` knows.

    Returns
    -------
    float or None
        The number in `to_unit`; None where a unit is unknown or the two measure different things.
    """
    source, target = parse_unit(from_unit), parse_unit(to_unit)
    if source is None or target is None:
        return value if from_unit.strip() == to_unit.strip() else None
    if source.kinds != target.kinds:
        return None
    return value if source.factor == target.factor else value * (source.factor / target.factor)


def parse_number(text: str, decimal: str = ".") -> float | int | None:
    """Read one number and nothing else.

    Parameters
    ----------
    text : str
        For instance ``284.8``, ``-1.2e-3`` or ``−4`` with the sign of typographers.
    decimal : str
        The decimal sign, ``.`` or ``,``.

    Returns
    -------
    float, int or None
        None where the text is no finite number; an int where it is written as one.
    """
    cleaned = text.strip().replace("−", "-")
    if len(cleaned) > LONGEST_NUMBER:
        return None
    if decimal == ",":
        if "." in cleaned:
            return None
        cleaned = cleaned.replace(",", ".")
    if re.fullmatch(_NUMBER, cleaned, flags=re.ASCII) is None:
        return None
    if re.fullmatch(r"[+-]?\d{1,15}", cleaned, flags=re.ASCII):
        return int(cleaned)
    value = float(cleaned)
    return value if math.isfinite(value) else None


def parse_quantity(text: str, decimal: str = ".") -> tuple[float | int, str | None] | None:
    """Read a number with an optional unit, such as ``284.8 eV``.

    Returns
    -------
    tuple or None
        The number and its unit (None where none is written); None where the text is something else.
    """
    cleaned = text.strip().replace("−", "-")
    if len(cleaned) > LONGEST_NUMBER:
        return None
    pattern = _NUMBER.replace(r"\.", re.escape(decimal))
    match = re.match(pattern, cleaned, flags=re.ASCII)
    if match is None:
        return None
    value = parse_number(match[0], decimal)
    rest = cleaned[match.end() :]
    if value is None:
        return None
    if not rest.strip():
        return value, None
    # "5th" or "12C" is no quantity: what follows must be a known unit, or stand apart and be one word.
    unit = rest.strip().strip("()[]")
    if parse_unit(unit) is not None or (rest[0].isspace() and re.fullmatch(r"[^\W\d]\S{0,19}", unit)):
        return value, unit
    return None


def is_missing(text: str) -> bool:
    """Tell whether a cell says that there is no value: empty, ``nan``, ``N/A``, ``-``, ``?`` and the like."""
    return text.strip().lower() in _MISSING


def known_units() -> list[tuple[str, list[str]]]:
    """Return kind -> names of its units, in the order of the table."""
    kinds: dict[str, list[str]] = {}
    for name, (kind, _) in _UNITS.items():
        kinds.setdefault(kind, []).append(name)
    return list(kinds.items())
