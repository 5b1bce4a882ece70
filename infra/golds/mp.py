"""The gold of the Materials Project tasks that ask for entries, structures and single properties."""

from __future__ import annotations

import math
from collections.abc import Iterable

import numpy as np
from pymatgen.core.structure import Structure

from infra.golds import Answer, gold
from infra.golds.properties import lowest, milli, number
from tasks_lib.databases import Entry, Snapshot, of_formula, of_system, within_system

FERROMAGNET, ANTIFERROMAGNET = "FM", "AFM"
SLAB_LAYERS = 7
SLAB_HEIGHT = 30.0  # Å, edge of the cell across the surface


def ids(entries: Iterable[Entry]) -> list[str]:
    """Return the ids of entries, sorted."""
    return sorted(entry.mp_id for entry in entries)


@gold("mp/calaverite-structure", how="the stored cell of the entry")
def calaverite_structure(snapshot: Snapshot) -> Answer:
    """Return the structure itself."""
    return snapshot.by_mp("mp-9000040").structure.to_pymatgen()


@gold("mp/manganese-oxide-hull", how="entries of Mn, O and Mn-O with is_stable")
def manganese_oxide_hull(snapshot: Snapshot) -> Answer:
    """Return the ids of all entries on the hull, elements included."""
    return {"stable": ids(entry for entry in within_system(snapshot, "Mn-O") if entry.value("is_stable"))}


@gold("mp/romarchite-moduli", how="bulk_modulus_vrh and shear_modulus_vrh of the one entry SnO, GPa")
def romarchite_moduli(snapshot: Snapshot) -> Answer:
    """Return the mean moduli of layered SnO."""
    (entry,) = of_formula(snapshot, "SnO")
    return {
        "bulk_modulus": number(entry, "bulk_modulus_vrh"),
        "shear_modulus": number(entry, "shear_modulus_vrh"),
    }


@gold("mp/body-centred-cell", how="edges from the primitive vectors: sums of two of them, Å")
def body_centred_cell(snapshot: Snapshot) -> Answer:
    """Return the edges of the conventional cell of a body-centred tetragonal crystal.

    The primitive vectors of spglib's setting are (-a, a, c)/2, (a, -a, c)/2 and (a, a, -c)/2, so the sum of two of
    them is an edge of the conventional cell.
    """
    (entry,) = of_formula(snapshot, "K2MgF4")
    first, second, third = np.asarray(entry.structure.lattice)
    edges = sorted(float(np.linalg.norm(edge)) for edge in (second + third, first + third, first + second))
    if entry.value("space_group_symbol") != "I4/mmm" or not math.isclose(edges[0], edges[1], abs_tol=1e-4):
        msg = f"{entry.id} is not stored as a body-centred tetragonal cell: the edges are {edges}"
        raise ValueError(msg)
    return {"a": round(edges[0], 6), "c": round(edges[2], 6)}


@gold("mp/carbide-polytypes", how="entries SiC of the hexagonal system: sites of the primitive cell, hull in meV")
def carbide_polytypes(snapshot: Snapshot) -> Answer:
    """Return sites and height above the hull of each hexagonal polytype."""
    found = [entry for entry in of_formula(snapshot, "SiC") if entry.value("crystal_system") == "hexagonal"]
    return [{"material_id": one.mp_id, "sites": one.nsites, "above_hull_mev": milli(one)} for one in found]


@gold("mp/direct-gap-absorbers", how="direct band_gap from 1.0 to 1.75 eV, neither Cd nor As")
def direct_gap_absorbers(snapshot: Snapshot) -> Answer:
    """Return the ids of absorbers without two toxic elements."""
    return {
        "absorbers": ids(
            entry
            for entry in snapshot
            if entry.value("band_gap_is_direct") is True
            and 1.0 <= number(entry, "band_gap") <= 1.75
            and not {"Cd", "As"} & set(entry.elements)
        )
    }


@gold("mp/cobalt-ferromagnets", how="entries with Co ordered FM: total_magnetization, µB per formula unit")
def cobalt_ferromagnets(snapshot: Snapshot) -> Answer:
    """Return the moment per formula unit of each ferromagnet that holds cobalt."""
    return [
        {"material_id": entry.mp_id, "moment": number(entry, "total_magnetization")}
        for entry in snapshot
        if "Co" in entry.elements and entry.value("magnetic_ordering") == FERROMAGNET
    ]


@gold("mp/piezoelectric-leaders", how="piezoelectric_max of entries without O, the five largest, C/m²")
def piezoelectric_leaders(snapshot: Snapshot) -> Answer:
    """Return the five oxygen-free entries with the largest component."""
    known = [one for one in snapshot if one.value("piezoelectric_max") is not None and "O" not in one.elements]
    ranked = sorted(known, key=lambda entry: -number(entry, "piezoelectric_max"))
    return [{"material_id": one.mp_id, "e_max": number(one, "piezoelectric_max")} for one in ranked[:5]]


@gold("mp/any-three-pnma-oxides", how="every ternary oxide of space group 62 on the hull that is denser than 4 g/cm³")
def any_three_pnma_oxides(snapshot: Snapshot) -> Answer:
    """Return the ids of all that satisfy."""
    return {
        "chosen": ids(
            entry
            for entry in snapshot
            if "O" in entry.elements
            and len(entry.elements) == 3
            and entry.value("space_group_number") == 62
            and entry.value("is_stable")
            and number(entry, "density") > 4
        )
    }


@gold("mp/manganese-moments", how="entries with Mn ordered AFM: mean of site_moments over the Mn sites, µB")
def manganese_moments(snapshot: Snapshot) -> Answer:
    """Return the mean moment of manganese in each antiferromagnet."""
    answer = []
    for entry in snapshot:
        moments = entry.value("site_moments")
        if "Mn" not in entry.elements or entry.value("magnetic_ordering") != ANTIFERROMAGNET:
            continue
        if not isinstance(moments, tuple):
            msg = f"{entry.id} has no site_moments: ask only for what the snapshot holds"
            raise TypeError(msg)
        own = [moment for symbol, moment in zip(entry.structure.species, moments, strict=True) if symbol == "Mn"]
        answer.append({"material_id": entry.mp_id, "moment": round(float(np.mean(np.asarray(own, dtype=float))), 4)})
    return answer


@gold("mp/densest-oxides", how="the ten largest densities of entries with O, g/cm³")
def densest_oxides(snapshot: Snapshot) -> Answer:
    """Return the ten densest entries that hold oxygen."""
    ranked = sorted((one for one in snapshot if "O" in one.elements), key=lambda one: -number(one, "density"))
    return [{"material_id": one.mp_id, "density": number(one, "density")} for one in ranked[:10]]


@gold("mp/gaps-of-one-review", how="entries of which some property names J. Appl. Phys. 94, 3675 as its source")
def gaps_of_one_review(snapshot: Snapshot) -> Answer:
    """Return the ids of the entries whose values rest on one review."""
    cited = "J. Appl. Phys. 94, 3675 (2003)"
    return {
        "cited": ids(
            entry for entry in snapshot if any(cited in (known.source or "") for known in entry.properties.values())
        )
    }


@gold("mp/unknown-ordering", how="the entry that infra.inputs.mp turned, strained and shook to make the input; meV")
def unknown_ordering(snapshot: Snapshot) -> Answer:
    """Return which of the four orderings of Fe3Ni the unknown one is."""
    entry = snapshot.by_mp("mp-9000597")
    if entry not in of_system(snapshot, "Fe-Ni"):
        msg = f"{entry.id} is {entry.formula} and not the entry that the input was made from"
        raise ValueError(msg)
    return {"material_id": entry.mp_id, "above_hull_mev": milli(entry)}


@gold("mp/rock-salt-slab", how="seven (110) layers of NiO, stacked one by one from its cubic edge; cell 30 Å high")
def rock_salt_slab(snapshot: Snapshot) -> Answer:
    """Return a slab of rock salt cut along (110), in its smallest cell."""
    entry = lowest(snapshot, "NiO")
    edge = (4 * number(entry, "volume") / (entry.nsites / 2)) ** (1 / 3)  # cubic cell, four formula units
    across, step = edge / math.sqrt(2), edge / math.sqrt(8)
    positions = []
    for layer in range(SLAB_LAYERS):
        # Along [001] and along [1-10] a layer is shifted by half an edge against the one below.
        shift = 0.5 * (layer % 2)
        height = (layer - (SLAB_LAYERS - 1) / 2) * step / SLAB_HEIGHT + 0.5
        positions.append(("Ni", [shift, shift, height]))
        positions.append(("O", [(0.5 + shift) % 1, shift, height]))
    positions.sort(key=lambda site: site[0])
    box = np.diag([edge, across, SLAB_HEIGHT])
    return Structure(box, [symbol for symbol, _ in positions], [where for _, where in positions])
