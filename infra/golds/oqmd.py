"""Gold of the tasks of the domain `oqmd` that ask for records of the database, from the snapshot alone."""

from __future__ import annotations

from collections.abc import Iterable
from statistics import fmean
from typing import Any

from pymatgen.symmetry.analyzer import SpacegroupAnalyzer

from infra.golds import Answer, gold
from infra.golds.properties import lowest, number
from tasks_lib.databases import Entry, Snapshot, by_stability, of_formula, of_system, within_system

MILLI = 1000.0
KJ_PER_MOL = 96.4853321  # of 1 eV a particle, CODATA 2018


def energy(entry: Entry) -> float:
    """Return the formation energy, eV/atom."""
    return number(entry, "formation_energy_per_atom")


def height(entry: Entry) -> float:
    """Return the energy above the hull, eV/atom."""
    return number(entry, "energy_above_hull")


def volume_per_atom(entry: Entry) -> float:
    """Return the volume per atom of the stored cell, Å^3."""
    return number(entry, "volume") / entry.nsites


def ids(entries: Iterable[Entry]) -> list[int]:
    """Return the entry ids, sorted."""
    return sorted(entry.oqmd_entry_id for entry in entries)


def _heights(entries: Iterable[Entry]) -> list[dict[str, Any]]:
    return [
        {
            "entry_id": entry.oqmd_entry_id,
            "spacegroup": entry.value("space_group_symbol"),
            "height_mev": round(height(entry) * MILLI, 6),
        }
        for entry in entries
    ]


@gold("oqmd/hematite-lowest-entry", how="the lowest formation energy of the entries of Fe2O3; five atoms' volume")
def hematite_lowest_entry(snapshot: Snapshot) -> Answer:
    entry = lowest(snapshot, "Fe2O3")
    return {
        "entry_id": entry.oqmd_entry_id,
        "spacegroup": entry.value("space_group_symbol"),
        "delta_e": energy(entry),
        "volume": round(volume_per_atom(entry) * 5, 6),
    }


@gold("oqmd/iron-allotrope-heights", how="energy above the hull of every entry of the system Fe")
def iron_allotrope_heights(snapshot: Snapshot) -> Answer:
    return _heights(of_system(snapshot, "Fe"))


@gold("oqmd/silica-near-hull", how="entries of SiO2 with an energy above the hull of at most 0.02 eV/atom")
def silica_near_hull(snapshot: Snapshot) -> Answer:
    return ids(entry for entry in of_formula(snapshot, "SiO2") if height(entry) <= 0.02)


@gold("oqmd/titanium-oxygen-nearest", how="the first five entries of the system O-Ti by energy above the hull")
def titanium_oxygen_nearest(snapshot: Snapshot) -> Answer:
    return _heights(by_stability(of_system(snapshot, "Ti", "O"))[:5])


@gold("oqmd/magnesia-energy-span", how="extreme formation energies of the entries of MgO, times two atoms a formula")
def magnesia_energy_span(snapshot: Snapshot) -> Answer:
    first, last = lowest(snapshot, "MgO"), max(of_formula(snapshot, "MgO"), key=energy)
    return {
        "lowest": first.oqmd_entry_id,
        "highest": last.oqmd_entry_id,
        "span": round((energy(last) - energy(first)) * 2 * KJ_PER_MOL, 4),
    }


@gold("oqmd/barium-titanate-hull", how="entries of two or three of Ba, Ti and O that the snapshot holds for stable")
def barium_titanate_hull(snapshot: Snapshot) -> Answer:
    entries = within_system(snapshot, "Ba", "Ti", "O")
    return ids(entry for entry in entries if len(entry.elements) > 1 and entry.value("is_stable") is True)


@gold("oqmd/pyrite-volume-window", how="volume of the cell by its atoms for every entry of the system Fe-S")
def pyrite_volume_window(snapshot: Snapshot) -> Answer:
    return [
        {"entry_id": entry.oqmd_entry_id, "volume_per_atom": round(volume_per_atom(entry), 6)}
        for entry in of_system(snapshot, "Fe", "S")
        if 12 <= volume_per_atom(entry) <= 14
    ]


@gold("oqmd/iron-ternaries-without-oxygen", how="stable entries of three elements with Fe and without O")
def iron_ternaries_without_oxygen(snapshot: Snapshot) -> Answer:
    return [
        {"id": entry.id, "delta_e": energy(entry)}
        for entry in snapshot
        if len(entry.elements) == 3
        and "Fe" in entry.elements
        and "O" not in entry.elements
        and entry.value("is_stable") is True
    ]


@gold("oqmd/sulfide-any-five", how="all stable entries of sulfur and two more elements with at most 16 sites")
def sulfide_any_five(snapshot: Snapshot) -> Answer:
    return [
        {
            "entry_id": entry.oqmd_entry_id,
            "spacegroup": entry.value("space_group_symbol"),
            "delta_e": energy(entry),
        }
        for entry in snapshot
        if len(entry.elements) == 3
        and "S" in entry.elements
        and entry.value("is_stable") is True
        and entry.nsites <= 16
    ]


@gold("oqmd/copper-gold-ground-states", how="the lowest entry of each formula in the system Au-Cu; fractions by site")
def copper_gold_ground_states(snapshot: Snapshot) -> Answer:
    entries = of_system(snapshot, "Cu", "Au")
    winners = [lowest(snapshot, formula) for formula in sorted({entry.formula for entry in entries})]
    return [
        {
            "entry_id": entry.oqmd_entry_id,
            "spacegroup": entry.value("space_group_symbol"),
            "x_au": round(entry.structure.species.count("Au") / entry.nsites, 6),
            "delta_e_mev": round(energy(entry) * MILLI, 6),
        }
        for entry in winners
    ]


@gold("oqmd/gallium-indium-gaps", how="entries with Ga or In and a band gap of the literature from 1 to 2 eV")
def gallium_indium_gaps(snapshot: Snapshot) -> Answer:
    return [
        {"entry_id": entry.oqmd_entry_id, "band_gap": number(entry, "band_gap"), "delta_e": energy(entry)}
        for entry in snapshot
        if {"Ga", "In"}.intersection(entry.elements)
        and entry.value("band_gap") is not None
        and 1.0 <= number(entry, "band_gap") <= 2.0
    ]


@gold("oqmd/ternary-oxide-average", how="means over all entries of oxygen and two more elements")
def ternary_oxide_average(snapshot: Snapshot) -> Answer:
    entries = [entry for entry in snapshot if len(entry.elements) == 3 and "O" in entry.elements]
    return {
        "mean_delta_e": round(fmean(energy(entry) for entry in entries), 6),
        "mean_volume": round(fmean(volume_per_atom(entry) for entry in entries), 6),
        "loosest": max(entries, key=volume_per_atom).oqmd_entry_id,
    }


@gold("oqmd/sesquioxide-ground-states", how="for each element M with an entry of M2O3, the lowest; five atoms' volume")
def sesquioxide_ground_states(snapshot: Snapshot) -> Answer:
    metals = sorted({symbol for entry in snapshot for symbol in entry.elements} - {"O"})
    formulas = {metal: f"{metal}2O3" for metal in metals}
    found = {metal: lowest(snapshot, name) for metal, name in formulas.items() if of_formula(snapshot, name)}
    return [
        {
            "element": metal,
            "entry_id": entry.oqmd_entry_id,
            "spacegroup": entry.value("space_group_symbol"),
            "volume": round(volume_per_atom(entry) * 5, 6),
        }
        for metal, entry in found.items()
    ]


@gold("oqmd/zinc-blende-edges", how="edge of the conventional cell that pymatgen finds, for the stable entries of B3")
def zinc_blende_edges(snapshot: Snapshot) -> Answer:
    return [
        {
            "entry_id": entry.oqmd_entry_id,
            "a": round(
                SpacegroupAnalyzer(entry.structure.to_pymatgen()).get_conventional_standard_structure().lattice.a, 6
            ),
        }
        for entry in snapshot
        if entry.strukturbericht == "B3" and entry.value("is_stable") is True and 10 <= volume_per_atom(entry) <= 25
    ]


@gold("oqmd/perovskite-oxides-face", how="stable entries with three O to one each of two elements, at most ten sites")
def perovskite_oxides_face(snapshot: Snapshot) -> Answer:
    return [
        {"id": entry.id, "delta_e": energy(entry)}
        for entry in snapshot
        if entry.anonymous_formula == "ABC3"
        and entry.structure.species.count("O") * 5 == entry.nsites * 3
        and entry.value("is_stable") is True
        and entry.nsites <= 10
    ]
