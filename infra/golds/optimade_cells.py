"""The gold of the OPTIMADE tasks that compute from cells, positions and energies."""

from __future__ import annotations

import itertools

import numpy as np
from pymatgen.core.structure import Structure

from infra.golds import Answer, gold
from infra.golds.optimade import by_composition, in_binaries, ratio
from infra.golds.properties import lowest, milli, number
from tasks_lib.databases import Entry, Snapshot, by_stability, of_formula, of_system

METHANE_REACH = range(-2, 3)


@gold("optimade/oxide-cell-volumes", how="determinant of the lattice of the oxides of binaries with 60 to 80 cubic Å")
def oxide_cell_volumes(snapshot: Snapshot) -> Answer:
    oxides = [entry for entry in snapshot if in_binaries(entry) and "O" in entry.elements]
    volumes = {entry.id: abs(float(np.linalg.det(np.array(entry.structure.lattice)))) for entry in oxides}
    return [{"id": name, "volume": round(size, 4)} for name, size in volumes.items() if 60 <= size <= 80]


@gold("optimade/stable-ice-cell", how="cell of the most stable entry of H2O")
def stable_ice_cell(snapshot: Snapshot) -> Structure:
    return lowest(snapshot, "H2O").structure.to_pymatgen()


@gold("optimade/hydrocarbon-bonds", how="shortest vector from a carbon to a hydrogen atom or one of its images")
def hydrocarbon_bonds(snapshot: Snapshot) -> Answer:
    return [{"id": entry.id, "distance": round(_shortest(entry, "C", "H"), 4)} for entry in of_system(snapshot, "C-H")]


def _shortest(entry: Entry, first: str, second: str) -> float:
    places = np.array(entry.structure.positions)
    species = np.array(entry.structure.species)
    images = np.array(list(itertools.product(METHANE_REACH, repeat=3)))
    between = places[species == second][None, :, None] - places[species == first][:, None, None] + images
    return float(np.linalg.norm(between @ np.array(entry.structure.lattice), axis=-1).min())


@gold("optimade/calcium-titanate-order", how="CaTiO3 by energy, and five atoms of the cubic form over the lowest")
def calcium_titanate_order(snapshot: Snapshot) -> Answer:
    forms = by_stability(of_formula(snapshot, "CaTiO3"))
    (cubic,) = [entry for entry in forms if entry.value("space_group_number") == 221]
    cost = 5000 * (number(cubic, "energy_per_atom") - number(forms[0], "energy_per_atom"))
    return {"ids": [entry.id for entry in forms], "cost": round(cost, 3)}


@gold(
    "optimade/rivals-among-abc3", how="ABC3 compositions of several entries, and the step from the lowest to the next"
)
def rivals_among_abc3(snapshot: Snapshot) -> Answer:
    groups = by_composition([entry for entry in snapshot if ratio(entry) == (3, 1, 1)])
    return [
        {"formula": name, "id": group[0].id, "step": round(milli(group[1]) - milli(group[0]), 3)}
        for name, group in groups.items()
        if len(group) > 1
    ]


@gold("optimade/disulfide-decomposition", how="energies of FeS and S less that of FeS2, each in its lowest entry")
def disulfide_decomposition(snapshot: Snapshot) -> Answer:
    forms = {name: lowest(snapshot, name) for name in ("FeS2", "FeS", "S")}
    energy = {name: number(entry, "energy_per_atom") for name, entry in forms.items()}
    return {
        "reactant": forms["FeS2"].id,
        "products": [forms["FeS"].id, forms["S"].id],
        "energy": round(2 * energy["FeS"] + energy["S"] - 3 * energy["FeS2"], 4),
    }
