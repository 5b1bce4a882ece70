"""Properties of entries as numbers, and the lowest entry of a formula, for the gold of every domain."""

from __future__ import annotations

from tasks_lib.databases import Entry, Snapshot, by_stability, of_formula


def number(entry: Entry, name: str) -> float:
    """Return a property that is known of the entry.

    Raises
    ------
    TypeError
        If the snapshot does not hold it as a number.
    """
    found = entry.value(name)
    if isinstance(found, bool) or not isinstance(found, int | float):
        msg = f"{name} of {entry.id} is {found!r}: ask only for what the snapshot holds"
        raise TypeError(msg)
    return float(found)


def milli(entry: Entry) -> float:
    """Return the height above the hull in meV an atom."""
    return round(1000 * number(entry, "energy_above_hull"), 3)


def lowest(snapshot: Snapshot, formula: str) -> Entry:
    """Return the entry of a formula that has the lowest energy."""
    return by_stability(of_formula(snapshot, formula))[0]
