"""Gold of the tasks of the domain `oqmd` that build something from records: hulls, reactions, bonds, a structure."""

from __future__ import annotations

import itertools
from typing import cast

import numpy as np

from infra.golds import Answer, gold
from infra.golds.oqmd import MILLI, energy, height, volume_per_atom
from infra.golds.properties import lowest, number
from tasks_lib.databases import Entry, Snapshot, of_formula, of_system, within_system


@gold("oqmd/dense-titania-poscar", how="the smallest volume per atom of the entries of TiO2 within 0.1 eV/atom")
def dense_titania_poscar(snapshot: Snapshot) -> Answer:
    near = [entry for entry in of_formula(snapshot, "TiO2") if height(entry) <= 0.1]
    return min(near, key=volume_per_atom).structure.to_pymatgen()


def _share(entry: Entry, symbol: str) -> float:
    return entry.structure.species.count(symbol) / entry.nsites


@gold("oqmd/nickel-aluminide-depths", how="lowest line between two entries of other compositions, from total energies")
def nickel_aluminide_depths(snapshot: Snapshot) -> Answer:
    entries = within_system(snapshot, "Al", "Ni")
    points = {entry.number: (_share(entry, "Ni"), number(entry, "energy_per_atom")) for entry in entries}
    rows = []
    for entry in of_system(snapshot, "Al", "Ni"):
        if entry.value("is_stable") is not True:
            continue
        x, own = points[entry.number]
        others = [points[other.number] for other in entries if other.formula != entry.formula]
        hull = min(
            low + (high - low) * (x - left) / (right - left)
            for (left, low), (right, high) in itertools.permutations(others, 2)
            if left < x < right
        )
        rows.append({"entry_id": entry.oqmd_entry_id, "depth_mev": round((hull - own) * MILLI, 4)})
    return rows


@gold("oqmd/rutile-octahedra", how="distances of a cation to the anions of 27 cells, from the stored structure")
def rutile_octahedra(snapshot: Snapshot) -> Answer:
    shifts = np.array(list(itertools.product((-1, 0, 1), repeat=3)))
    rows = []
    for entry in snapshot:
        if not (
            entry.value("space_group_number") == 136
            and len(entry.elements) == 2
            and entry.anonymous_formula == "AB2"
            and entry.value("is_stable") is True
        ):
            continue
        species, positions = np.array(entry.structure.species), np.array(entry.structure.positions)
        metal = min(entry.elements, key=entry.structure.species.count)
        centre = positions[species == metal][0]
        steps = (positions[species != metal][:, None, :] + shifts - centre).reshape(-1, 3)
        six = np.sort(np.linalg.norm(steps @ np.array(entry.structure.lattice), axis=1))[:6]
        rows.append(
            {
                "entry_id": entry.oqmd_entry_id,
                "shortest": round(float(six[0]), 6),
                "longest": round(float(six[-1]), 6),
            }
        )
    return rows


@gold("oqmd/titanates-from-oxides", how="lowest total energies of MTiO3, MO and TiO2; elements cancel in the balance")
def titanates_from_oxides(snapshot: Snapshot) -> Answer:
    def unit(formula: str, atoms: int) -> float:
        return atoms * number(lowest(snapshot, formula), "energy_per_atom")

    return [
        {
            "metal": metal,
            "titanate": lowest(snapshot, f"{metal}TiO3").oqmd_entry_id,
            "energy": round(unit(f"{metal}TiO3", 5) - unit(f"{metal}O", 2) - unit("TiO2", 3), 6),
        }
        for metal in ("Mg", "Ca", "Sr", "Ba", "Mn", "Fe", "Ni", "Pb")
    ]


@gold("oqmd/lithium-ferrate-split", how="the decomposition that the snapshot stores for its only entry of Li2FeO4")
def lithium_ferrate_split(snapshot: Snapshot) -> Answer:
    (entry,) = of_formula(snapshot, "Li2FeO4")
    parts = cast("dict[str, float]", entry.value("decomposes_to"))
    return [
        {
            "entry_id": snapshot.by_id[product].oqmd_entry_id,
            "fraction": fraction,
            "delta_e": energy(snapshot.by_id[product]),
        }
        for product, fraction in sorted(parts.items())
    ]
