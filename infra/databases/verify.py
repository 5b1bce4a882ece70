"""Derive again from a snapshot whatever can be derived, and say where it differs."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import cast

import yaml

from infra.databases import geometry
from infra.databases.hulls import stabilities
from tasks_lib.databases import Entry, Provenance, Snapshot

SYSTEMS = Path(__file__).with_name("systems.yaml")
ENERGY_TOLERANCE = 2e-6
# Recomputed energies on another processor differ in the last figures of single precision.
RECOMPUTED_TOLERANCE = 1e-3


def systems() -> list[str]:
    """Return the chemical systems that tasks rely on, e.g. ``Fe-O``."""
    found: list[str] = yaml.safe_load(SYSTEMS.read_text(encoding="utf-8"))
    return ["-".join(sorted(system.split("-"))) for system in found]


def complaints(snapshot: Snapshot, every: int = 0) -> Iterator[str]:
    """Yield a line for each thing that does not hold.

    Parameters
    ----------
    snapshot : Snapshot
    every : int
        Recompute each `every`-th energy with the potential; 0 for none.
    """
    for entry in snapshot:
        yield from _geometry(entry)
    yield from _hulls(snapshot)
    for system in systems():
        stable = {bool(entry.value("is_stable")) for entry in snapshot if entry.chemical_system == system}
        if stable != {True, False}:
            yield f"{system} has stable and unstable entries, found only {sorted(stable)}: add structures"
    yield from _energies(snapshot, every)


def _geometry(entry: Entry) -> Iterator[str]:
    structure = entry.structure.to_pymatgen()
    for name, value in {**geometry.symmetry(structure), **geometry.measures(structure)}.items():
        stored = entry.value(name)
        if stored != value if isinstance(value, str | int) else abs(cast("float", stored) - value) > 1e-4:
            yield f"{entry.id} ({entry.formula}): {name} is stored as {stored}, the structure gives {value}"


def _hulls(snapshot: Snapshot) -> Iterator[str]:
    from pymatgen.core.composition import Composition

    energies = {
        entry.id: (Composition.from_dict(_counts(entry)), cast("float", entry.value("energy_per_atom")))
        for entry in snapshot
    }
    for identity, stability in stabilities(energies).items():
        entry = snapshot.by_id[identity]
        for name, value in (
            ("formation_energy_per_atom", stability.formation_energy),
            ("energy_above_hull", stability.above_hull),
        ):
            stored = cast("float", entry.value(name))
            if entry.properties[name].provenance is not Provenance.COMPUTED or abs(stored - value) > ENERGY_TOLERANCE:
                yield f"{identity} ({entry.formula}): {name} is stored as {stored}, the energies give {value}"
        if entry.value("is_stable") is not stability.is_stable:
            yield f"{identity} ({entry.formula}): is_stable and the hull made of the energies disagree"


def _counts(entry: Entry) -> dict[str, int]:
    return {symbol: entry.structure.species.count(symbol) for symbol in entry.elements}


def _energies(snapshot: Snapshot, every: int) -> Iterator[str]:
    if not every:
        return
    from infra.databases.cache import Cache, default_folder
    from infra.databases.potential import Potential

    potential = Potential(Cache(default_folder()))
    for entry in snapshot.entries[::every]:
        value = potential.describe(entry.structure.to_pymatgen())["energy_per_atom"]
        stored = cast("float", entry.value("energy_per_atom"))
        if abs(stored - value) > RECOMPUTED_TOLERANCE:
            yield f"{entry.id} ({entry.formula}): the energy is stored as {stored} eV/atom, the potential gives {value}"
