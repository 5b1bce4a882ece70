"""Derive again from a snapshot whatever follows from its structures and energies, and say where it differs."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, cast

from pydantic import Field

from tasks_lib.databases import geometry
from tasks_lib.databases.entry import Entry, Provenance, Value
from tasks_lib.databases.hulls import stabilities
from tasks_lib.databases.snapshot import Snapshot
from tasks_lib.records import Record, Text

if TYPE_CHECKING:
    from pymatgen.core.composition import Composition

ENERGY_TOLERANCE = 2e-6
_MEASURE_TOLERANCE = 1e-4


class Complaint(Record):
    """A stored value that does not follow from what it belongs to."""

    entry: Text = Field(description="id of the entry")
    formula: Text
    name: Text = Field(description="of the property")
    stored: Value | None
    derived: Value | None
    source: Text = Field(description="what it was derived from")

    def __str__(self) -> str:
        return f"{self.entry} ({self.formula}): {self.name} is stored as {self.stored}, {self.source} {self.derived}"


def complaints(snapshot: Snapshot) -> Iterator[Complaint]:
    """Yield each stored value that the structures or the energies contradict.

    Raises
    ------
    ValueError
        If an element of a compound has no entry of its own, so that there is no hull.
    """
    for entry in snapshot:
        yield from _geometry(entry)
    yield from _hulls(snapshot)


def _geometry(entry: Entry) -> Iterator[Complaint]:
    structure = entry.structure.to_pymatgen()
    for name, value in {**geometry.symmetry(structure), **geometry.measures(structure)}.items():
        stored = entry.value(name)
        wrong = (
            stored != value
            if isinstance(value, str | int)
            else not isinstance(stored, int | float) or abs(stored - value) > _MEASURE_TOLERANCE
        )
        if wrong:
            yield _complaint(entry, name, value, "the structure gives")


def _hulls(snapshot: Snapshot) -> Iterator[Complaint]:
    for identity, stability in stabilities(energies(snapshot)).items():
        entry = snapshot.by_id[identity]
        for name, value in (
            ("formation_energy_per_atom", stability.formation_energy),
            ("energy_above_hull", stability.above_hull),
        ):
            stored, provenance = cast("float", entry.value(name)), entry.properties[name].provenance
            if provenance is not Provenance.COMPUTED or abs(stored - value) > ENERGY_TOLERANCE:
                yield _complaint(entry, name, value, "the energies give")
        if entry.value("is_stable") is not stability.is_stable:
            yield _complaint(entry, "is_stable", stability.is_stable, "the hull of the energies gives")


def energies(snapshot: Snapshot) -> dict[str, tuple[Composition, float]]:
    """Return composition of the cell and energy, eV/atom, of every entry that has one, by id."""
    from pymatgen.core.composition import Composition

    found = {}
    for entry in snapshot:
        energy = entry.value("energy_per_atom")
        if energy is not None:
            counts = {symbol: entry.structure.species.count(symbol) for symbol in entry.elements}
            found[entry.id] = (Composition.from_dict(counts), cast("float", energy))
    return found


def _complaint(entry: Entry, name: str, derived: Value, source: str) -> Complaint:
    return Complaint(
        entry=entry.id, formula=entry.formula, name=name, stored=entry.value(name), derived=derived, source=source
    )
