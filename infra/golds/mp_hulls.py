"""The gold of the Materials Project tasks that ask for energies of reactions and mixtures.

Mixtures are found by linear programming over all entries of a system, which is the definition of the hull; pymatgen's
phase diagram has no part in it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

import numpy as np
from scipy.optimize import linprog

from infra.golds import Answer, gold
from infra.golds.properties import lowest, number
from tasks_lib.databases import Entry, Snapshot, by_stability, of_formula, within_system


def of_group(snapshot: Snapshot, formula: str, space_group: int) -> Entry:
    """Return the lowest entry of a formula in one space group."""
    entries = [one for one in of_formula(snapshot, formula) if one.value("space_group_number") == space_group]
    return by_stability(entries)[0]


def per_formula(entry: Entry, atoms: int, name: str) -> float:
    """Return an energy per formula unit of so many atoms, eV."""
    return atoms * number(entry, name)


def mixture(entries: Sequence[Entry], composition: Mapping[str, float]) -> tuple[float, dict[str, float]]:
    """Return the lowest energy of a composition (eV/atom) and the shares of atoms of the entries that make it."""
    symbols = sorted({*composition, *(symbol for entry in entries for symbol in entry.elements)})
    total = sum(composition.values())
    wanted = [composition.get(symbol, 0) / total for symbol in symbols]
    counts = [Counter(entry.structure.species) for entry in entries]
    shares = np.array([[count[symbol] / count.total() for count in counts] for symbol in symbols])
    energies = [number(entry, "formation_energy_per_atom") for entry in entries]
    solved = linprog(energies, A_eq=shares, b_eq=wanted, bounds=(0, 1), method="highs")
    if solved.status != 0:
        msg = f"the entries hold no mixture of {dict(composition)}: {solved.message}"
        raise ValueError(msg)
    found = {entry.mp_id: round(float(x), 6) for entry, x in zip(entries, solved.x, strict=True) if x > 1e-6}
    return float(solved.fun), found


@gold("mp/greigite-decomposition", how="decomposes_to of the one entry Fe3S4, with the products' formation energies")
def greigite_decomposition(snapshot: Snapshot) -> Answer:
    """Return products, their shares of the atoms and their formation energies."""
    (entry,) = of_formula(snapshot, "Fe3S4")
    products = entry.value("decomposes_to")
    if not isinstance(products, dict):
        msg = f"{entry.id} has no products of decomposition: ask only for what the snapshot holds"
        raise TypeError(msg)
    return [
        {
            "material_id": snapshot.by_id[one].mp_id,
            "share": share,
            "formation_energy": number(snapshot.by_id[one], "formation_energy_per_atom"),
        }
        for one, share in sorted(products.items())
    ]


@gold("mp/spinel-from-oxides", how="lowest entries of MgAl2O4, MgO and Al2O3: formation energies per formula unit, eV")
def spinel_from_oxides(snapshot: Snapshot) -> Answer:
    """Return the energy of MgO + Al2O3 -> MgAl2O4."""
    energies = {
        formula: per_formula(lowest(snapshot, formula), atoms, "formation_energy_per_atom")
        for formula, atoms in (("MgAl2O4", 7), ("MgO", 2), ("Al2O3", 5))
    }
    return {"reaction_energy": round(energies["MgAl2O4"] - energies["MgO"] - energies["Al2O3"], 6)}


@gold("mp/sodium-insertion-voltage", how="energies of NaFePO4 and FePO4 in space group 62 and of the lowest Na, V")
def sodium_insertion_voltage(snapshot: Snapshot) -> Answer:
    """Return the mean voltage of FePO4 + Na -> NaFePO4."""
    full = per_formula(of_group(snapshot, "NaFePO4", 62), 7, "energy_per_atom")
    empty = per_formula(of_group(snapshot, "FePO4", 62), 6, "energy_per_atom")
    return {"voltage": round(empty + number(lowest(snapshot, "Na"), "energy_per_atom") - full, 6)}


@gold("mp/sesquioxide-window", how="lines between Mn2O3 and every other entry of Mn-O, eV per O atom above half of O2")
def sesquioxide_window(snapshot: Snapshot) -> Answer:
    """Return the range of oxygen's potential in which Mn2O3 has the lowest grand potential of all entries of Mn-O.

    With the formation energy e and the count n of oxygen, both per atom of manganese, an entry's grand potential is
    e - n µ; two entries change places at µ = (e1 - e2) / (n1 - n2). Oxygen itself appears at µ = 0.
    """
    points = {}
    for entry in within_system(snapshot, "Mn-O"):
        count = Counter(entry.structure.species)
        if count["Mn"]:
            energy = number(entry, "formation_energy_per_atom") * count.total() / count["Mn"]
            points[entry.number] = (count["O"] / count["Mn"], energy)
    oxygen, energy = points[lowest(snapshot, "Mn2O3").number]
    lines = [(n, (energy - e) / (oxygen - n)) for n, e in points.values() if n != oxygen]
    lower = max(place for n, place in lines if n < oxygen)
    upper = min([0.0, *(place for n, place in lines if n > oxygen)])
    return {"lower": round(lower, 6), "upper": round(upper, 6)}


@gold("mp/overlithiated-phosphate", how="the mixture of lowest energy of Li2FePO4, by linear programming")
def overlithiated_phosphate(snapshot: Snapshot) -> Answer:
    """Return what the hull holds at a composition that no entry has."""
    _, shares = mixture(within_system(snapshot, "Li-Fe-P-O"), {"Li": 2, "Fe": 1, "P": 1, "O": 4})
    return [{"material_id": one, "share": share} for one, share in sorted(shares.items())]


@gold("mp/aluminide-margin", how="Al3Ni5 against the mixture of lowest energy of all other entries of Al-Ni, meV/atom")
def aluminide_margin(snapshot: Snapshot) -> Answer:
    """Return how far Al3Ni5 lies below the hull that is left without it."""
    (entry,) = of_formula(snapshot, "Al3Ni5")
    others = [one for one in within_system(snapshot, "Al-Ni") if one.number != entry.number]
    energy, shares = mixture(others, {"Al": 3, "Ni": 5})
    margin = 1000 * (energy - number(entry, "formation_energy_per_atom"))
    return {"margin_mev": round(margin, 3), "competitors": sorted(shares)}
