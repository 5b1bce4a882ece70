"""The gold of the OPTIMADE tasks that ask which structures a provider holds and what it says of them."""

from __future__ import annotations

import math
from collections import Counter
from typing import cast

from infra.golds import Answer, gold
from infra.golds.properties import milli, number
from tasks_lib.databases import Entry, Snapshot, by_stability, of_formula, of_system, within_system

CARBON_GROUP = {"C", "Si", "Ge", "Sn", "Pb"}
CHALCOGENS = {"O", "S", "Se", "Te"}


def in_binaries(entry: Entry) -> bool:
    """Say whether the smaller provider holds an entry; its rule, stated anew so that a fault of the server shows."""
    return len(entry.elements) <= 2 and entry.nsites <= 8


def counts(entry: Entry) -> dict[str, int]:
    """Return element -> atoms in a reduced formula, elements in alphabetical order."""
    atoms = Counter(entry.structure.species)
    largest = math.gcd(*atoms.values())
    return {symbol: count // largest for symbol, count in sorted(atoms.items())}


def formula(entry: Entry) -> str:
    """Return the reduced formula in OPTIMADE's order, the alphabet's, without ones."""
    return "".join(f"{symbol}{count if count > 1 else ''}" for symbol, count in counts(entry).items())


def ratio(entry: Entry) -> tuple[int, ...]:
    """Return the counts of the reduced formula, the largest first: what an anonymous formula says."""
    return tuple(sorted(counts(entry).values(), reverse=True))


def by_composition(entries: list[Entry]) -> dict[str, tuple[Entry, ...]]:
    """Return reduced formula -> its entries, the most stable first."""
    names = sorted({formula(entry) for entry in entries})
    return {name: by_stability(entry for entry in entries if formula(entry) == name) for name in names}


@gold("optimade/carbon-group-census", how="ids of the entries whose elements are all of the carbon group")
def carbon_group_census(snapshot: Snapshot) -> Answer:
    return {"ids": [entry.id for entry in snapshot if CARBON_GROUP.issuperset(entry.elements)]}


@gold("optimade/carbon-group-compounds", how="lowest entry of each composition of two elements of the carbon group")
def carbon_group_compounds(snapshot: Snapshot) -> Answer:
    compounds = [entry for entry in snapshot if len(entry.elements) == 2 and CARBON_GROUP.issuperset(entry.elements)]
    lowest = [group[0] for group in by_composition(compounds).values()]
    return [{"id": entry.id, "energy_above_hull": milli(entry)} for entry in lowest]


@gold("optimade/iron-oxygen-formulas", how="reduced formulas of the entries that hold iron and oxygen")
def iron_oxygen_formulas(snapshot: Snapshot) -> Answer:
    return {"formulas": sorted({formula(entry) for entry in snapshot if {"Fe", "O"}.issubset(entry.elements)})}


@gold("optimade/alumina-neighbours", how="entries of Al, O and Al-O on the hull, with their formation energies")
def alumina_neighbours(snapshot: Snapshot) -> Answer:
    stable = [entry for entry in within_system(snapshot, "Al-O") if entry.value("is_stable")]
    return [{"id": entry.id, "formation_energy": number(entry, "formation_energy_per_atom")} for entry in stable]


@gold("optimade/oxygen-free-quaternaries", how="entries of four elements without oxygen, of which any five do")
def oxygen_free_quaternaries(snapshot: Snapshot) -> Answer:
    return {"ids": [entry.id for entry in snapshot if len(entry.elements) == 4 and "O" not in entry.elements]}


@gold("optimade/chalcogenide-prototypes", how="entries of binaries with O, S, Se or Te as one to one, by space group")
def chalcogenide_prototypes(snapshot: Snapshot) -> Answer:
    found = [entry for entry in snapshot if in_binaries(entry) and ratio(entry) == (1, 1)]
    tally = Counter(
        str(entry.value("space_group_number")) for entry in found if CHALCOGENS.intersection(entry.elements)
    )
    return {"structures": dict(sorted(tally.items(), key=lambda item: int(item[0])))}


@gold("optimade/silica-coverage", how="SiO2 at most 20 meV an atom above the hull, and whether binaries holds it")
def silica_coverage(snapshot: Snapshot) -> Answer:
    near = [entry for entry in of_formula(snapshot, "SiO2") if milli(entry) <= 20]
    return [{"id": entry.id, "energy_above_hull": milli(entry), "in_binaries": in_binaries(entry)} for entry in near]


@gold("optimade/gaps-of-late-metals", how="entries with Mn, Fe, Co, Ni or Cu whose gap is above 1 eV, and their gaps")
def gaps_of_late_metals(snapshot: Snapshot) -> Answer:
    metals = {"Mn", "Fe", "Co", "Ni", "Cu"}
    gaps = {entry.id: entry.value("band_gap") for entry in snapshot if metals.intersection(entry.elements)}
    return [{"id": name, "band_gap": gap} for name, gap in gaps.items() if gap is not None and cast("float", gap) > 1]


@gold("optimade/elements-of-large-cells", how="elements that binaries does not hold, and their height above the hull")
def elements_of_large_cells(snapshot: Snapshot) -> Answer:
    absent = [entry for entry in snapshot if len(entry.elements) == 1 and not in_binaries(entry)]
    return [{"id": entry.id, "energy_above_hull": milli(entry)} for entry in absent]


@gold("optimade/lithium-phases", how="entries of lithium alone: space group and height above the hull")
def lithium_phases(snapshot: Snapshot) -> Answer:
    return [
        {"id": entry.id, "space_group": entry.value("space_group_number"), "energy_above_hull": milli(entry)}
        for entry in of_system(snapshot, "Li")
    ]


@gold("optimade/dense-small-cells", how="entries of binaries with at most two sites and above 15 g/cm3")
def dense_small_cells(snapshot: Snapshot) -> Answer:
    small = [entry for entry in snapshot if in_binaries(entry) and entry.nsites <= 2]
    return {"ids": [entry.id for entry in small if number(entry, "density") > 15]}


@gold("optimade/three-titanium-oxides", how="entries of Ti-O above the hull by at most 100 meV an atom; any three do")
def three_titanium_oxides(snapshot: Snapshot) -> Answer:
    near = [entry for entry in of_system(snapshot, "Ti-O") if 0 < milli(entry) <= 100]
    return [{"id": entry.id, "energy_above_hull": milli(entry)} for entry in near]


@gold("optimade/wide-gap-nonmagnets", how="entries without magnetic order (NM) whose gap is above 4 eV")
def wide_gap_nonmagnets(snapshot: Snapshot) -> Answer:
    plain = [entry for entry in snapshot if entry.value("magnetic_ordering") == "NM"]
    return {"ids": [entry.id for entry in plain if (cast("float | None", entry.value("band_gap")) or 0) > 4]}


@gold("optimade/blind-spots-of-binaries", how="AB2 compositions of binaries whose most stable entry it does not hold")
def blind_spots_of_binaries(snapshot: Snapshot) -> Answer:
    groups = by_composition([entry for entry in snapshot if ratio(entry) == (2, 1)])
    return [
        {"formula": name, "id": group[0].id}
        for name, group in groups.items()
        if not in_binaries(group[0]) and any(in_binaries(entry) for entry in group)
    ]
