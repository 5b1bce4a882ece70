"""Two snapshots side by side: ids gone and new, values that changed, hulls and space groups that moved."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from typing import Any

from pydantic import Field

from tasks_lib.databases.entry import Entry, Value
from tasks_lib.databases.snapshot import Snapshot
from tasks_lib.databases.vocabulary import PROPERTIES
from tasks_lib.records import Record, Text

TOLERANCES: dict[str, float] = {
    "eV/atom": 1e-3,
    "eV": 1e-2,
    "meV": 1.0,
    "g/cm³": 1e-2,
    "Å³": 0.1,
    "Å³/atom": 1e-2,
    "GPa": 1.0,
    "µB": 1e-2,
    "µB/formula unit": 1e-2,
    "C/m²": 1e-2,
    "fraction of atoms": 1e-3,
}
"""Least change of a value that counts, by unit. Tasks grade no finer."""
_WITHOUT_UNIT = 1e-3
_LENGTH = 1e-3
# What a relaxation left behind says nothing of the crystal.
_LEFT_OUT = frozenset({"largest_force", "largest_stress"})
_HULL = ("is_stable", "energy_above_hull", "decomposes_to")
_SYMMETRY = ("space_group_number", "space_group_symbol", "crystal_system", "point_group")


class Side(Record):
    """One of the snapshots."""

    name: Text
    version: Text
    digest: Text
    entries: int


class Named(Record):
    """An entry that only one side has."""

    entry: Text
    formula: Text


class Renumbered(Record):
    """A crystal that both sides have under different ids."""

    before: Text
    after: Text
    formula: Text


class Change(Record):
    """A value that differs by more than its tolerance."""

    entry: Text
    formula: Text
    name: Text = Field(description="of the property, or structure")
    before: Value | None
    after: Value | None

    def __str__(self) -> str:
        return f"{self.entry} ({self.formula}): {self.name} was {_short(self.before)}, is {_short(self.after)}"


class Comparison(Record):
    """All differences, each list sorted by entry."""

    before: Side
    after: Side
    gone: tuple[Named, ...]
    new: tuple[Named, ...]
    renumbered: tuple[Renumbered, ...]
    hulls: tuple[Change, ...] = Field(description="stability, height above the hull, decomposition")
    symmetry: tuple[Change, ...] = Field(description="space groups and what follows from them")
    values: tuple[Change, ...] = Field(description="everything else, the structure included")

    @property
    def same(self) -> bool:
        """Whether nothing differs beyond its tolerance."""
        return not (self.gone or self.new or self.renumbered or self.hulls or self.symmetry or self.values)


def compare(before: Snapshot, after: Snapshot, *, scale: float = 1.0) -> Comparison:
    """Compare two snapshots entry by entry.

    Parameters
    ----------
    before, after : Snapshot
    scale : float
        Factor on every tolerance; 0 tells every difference.
    """
    gone = {number: before.by_number[number] for number in sorted(set(before.by_number) - set(after.by_number))}
    new = {number: after.by_number[number] for number in sorted(set(after.by_number) - set(before.by_number))}
    renumbered = []
    for number, entry in list(gone.items()):
        twin = next((one for one in new.values() if one.structure == entry.structure), None)
        if twin is not None:
            renumbered.append(Renumbered(before=entry.id, after=twin.id, formula=entry.formula))
            del gone[number], new[twin.number]
    changes = [
        change
        for number in sorted(set(before.by_number) & set(after.by_number))
        for change in _changes(before.by_number[number], after.by_number[number], scale)
    ]
    return Comparison(
        before=_side(before),
        after=_side(after),
        gone=tuple(Named(entry=one.id, formula=one.formula) for one in gone.values()),
        new=tuple(Named(entry=one.id, formula=one.formula) for one in new.values()),
        renumbered=tuple(renumbered),
        hulls=tuple(one for one in changes if one.name in _HULL),
        symmetry=tuple(one for one in changes if one.name in _SYMMETRY),
        values=tuple(one for one in changes if one.name not in {*_HULL, *_SYMMETRY}),
    )


def _side(snapshot: Snapshot) -> Side:
    return Side(name=snapshot.name, version=snapshot.version, digest=snapshot.digest, entries=len(snapshot))


def _changes(before: Entry, after: Entry, scale: float) -> Iterator[Change]:
    def change(name: str, was: Any, now: Any) -> Change:
        return Change(entry=before.id, formula=before.formula, name=name, before=was, after=now)

    if before.formula != after.formula:
        yield change("formula", before.formula, after.formula)
    if before.structure.species != after.structure.species:
        yield change("structure", " ".join(before.structure.species), " ".join(after.structure.species))
    elif _differ(before.structure.lattice, after.structure.lattice, _LENGTH * scale):
        yield change("structure", before.structure.lattice, after.structure.lattice)
    elif _differ(before.structure.positions, after.structure.positions, _LENGTH * scale):
        yield change("structure", before.structure.positions, after.structure.positions)
    for name, kind in PROPERTIES.items():
        was, now = before.value(name), after.value(name)
        tolerance = scale * (_WITHOUT_UNIT if kind.unit is None else TOLERANCES.get(kind.unit, _WITHOUT_UNIT))
        if name not in _LEFT_OUT and _differ(was, now, tolerance):
            yield change(name, was, now)


def _differ(was: Any, now: Any, tolerance: float) -> bool:
    """Say whether two values differ: numbers by more than the tolerance, everything else at all."""
    if isinstance(was, bool) or isinstance(now, bool) or not isinstance(was, int | float | tuple | list | Mapping):
        return bool(was != now)
    if isinstance(was, int) and isinstance(now, int):
        return was != now
    if isinstance(was, int | float):
        # Half a unit of the sixth decimal, to which values are rounded, is no difference.
        return not isinstance(now, int | float) or not math.isclose(was, now, rel_tol=0, abs_tol=tolerance + 5e-10)
    if isinstance(was, Mapping):
        if not isinstance(now, Mapping) or set(was) != set(now):
            return True
        return any(_differ(was[key], now[key], tolerance) for key in was)
    if not isinstance(now, tuple | list) or len(was) != len(now):
        return True
    return any(_differ(one, other, tolerance) for one, other in zip(was, now, strict=True))


def _short(value: Any) -> str:
    text = "missing" if value is None else str(value)
    return text if len(text) <= 60 else f"{text[:59]}…"
