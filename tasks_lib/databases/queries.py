"""Questions that servers and checkers ask of a snapshot: by chemical system, by formula, by stability."""

from __future__ import annotations

from collections.abc import Iterable
from typing import cast

from tasks_lib.databases.entry import Entry
from tasks_lib.databases.snapshot import Snapshot


def system(*symbols: str) -> str:
    """Return the chemical system of element symbols in any order, e.g. ``Fe-O``.

    Each argument may itself be a system, so ``system("O-Fe")`` and ``system("O", "Fe")`` say the same.
    """
    return "-".join(sorted({symbol for text in symbols for symbol in text.split("-") if symbol}))


def of_system(snapshot: Snapshot, *symbols: str) -> tuple[Entry, ...]:
    """Return the entries that hold exactly these elements, by number."""
    wanted = system(*symbols)
    return tuple(entry for entry in snapshot if entry.chemical_system == wanted)


def within_system(snapshot: Snapshot, *symbols: str) -> tuple[Entry, ...]:
    """Return the entries that hold no other elements than these, by number: what a phase diagram needs."""
    allowed = set(system(*symbols).split("-"))
    return tuple(entry for entry in snapshot if allowed.issuperset(entry.elements))


def of_formula(snapshot: Snapshot, formula: str) -> tuple[Entry, ...]:
    """Return the entries of a composition, however the formula is written (``O2Ti``, ``Ti2O4``), by number.

    Raises
    ------
    ValueError
        If the text is no formula.
    """
    from pymatgen.core.composition import Composition

    wanted = Composition(formula).reduced_formula
    return tuple(entry for entry in snapshot if entry.formula == wanted)


def by_stability(entries: Iterable[Entry]) -> tuple[Entry, ...]:
    """Sort entries by height above the hull, then by number; those without a height come last."""

    def height(entry: Entry) -> tuple[bool, float, int]:
        above = cast("float | None", entry.value("energy_above_hull"))
        return above is None, above or 0.0, entry.number

    return tuple(sorted(entries, key=height))
