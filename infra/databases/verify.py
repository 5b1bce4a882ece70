"""What verifying asks beyond `tasks_lib.databases.derivation`: the systems of the tasks, and energies computed anew."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import cast

import yaml

from tasks_lib.databases import Snapshot
from tasks_lib.databases.derivation import complaints as derived

SYSTEMS = Path(__file__).with_name("systems.yaml")
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
    yield from map(str, derived(snapshot))
    yield from of_systems(snapshot)
    yield from of_energies(snapshot, every)


def of_systems(snapshot: Snapshot) -> Iterator[str]:
    """Yield a line for each system of the tasks that has not both stable and unstable entries."""
    for system in systems():
        stable = {bool(entry.value("is_stable")) for entry in snapshot if entry.chemical_system == system}
        if stable != {True, False}:
            yield f"{system} has stable and unstable entries, found only {sorted(stable)}: add structures"


def of_energies(snapshot: Snapshot, every: int) -> Iterator[str]:
    """Yield a line for each `every`-th entry whose energy the potential does not give again; 0 asks for none."""
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
