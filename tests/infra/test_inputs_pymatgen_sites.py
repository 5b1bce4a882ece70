"""Gold of the tasks about which atom sits where, against pymatgen and spglib."""

from __future__ import annotations

import itertools
import json
from collections import Counter

import numpy as np
import pytest
from pymatgen.analysis.ewald import EwaldSummation
from pymatgen.analysis.structure_matcher import StructureMatcher
from pymatgen.core import Structure
from pymatgen.symmetry.analyzer import SpacegroupAnalyzer

from infra.inputs import pymatgen_sites as inputs

FILES = inputs.files()

pytestmark = pytest.mark.filterwarnings("ignore::UserWarning", "ignore::DeprecationWarning:spglib")


def crystal(name: str) -> Structure:
    return Structure.from_str(FILES[name].decode("utf-8"), fmt="cif" if name.endswith(".cif") else "poscar")


def test_the_image_lies_on_the_straight_line_of_every_atom():
    start, end = crystal("hop-images/inputs/start.vasp"), crystal("hop-images/inputs/end.vasp")
    assert not np.allclose(start.frac_coords, end.frac_coords, atol=0.1)  # another order
    images = start.interpolate(end, nimages=inputs.HOP_IMAGES + 1, autosort_tol=0.5)
    gold = crystal("hop-images/gold/image.vasp")
    apart = images[inputs.HOP_WANTED].frac_coords - gold.frac_coords
    assert np.allclose(apart, np.round(apart), atol=1e-8)
    matcher = StructureMatcher(primitive_cell=False, scale=False)
    for number, image in enumerate(images):
        rms = matcher.get_rms_dist(image, gold)
        assert bool(rms is not None and rms[0] < 0.002) is (number == inputs.HOP_WANTED)


def test_only_one_atom_hops_and_it_leaves_the_cell():
    cell, start, end = inputs.hop_ends()
    moved = np.linalg.norm((end - start) @ cell, axis=1)
    assert np.sort(moved)[-2] < 0.4
    assert moved[-1] > 2.0
    assert end[-1, 2] < 0.0


def duplicates() -> dict[str, Structure]:
    found = json.loads(FILES["duplicate-crystals/inputs/entries.json"])
    return {entry["name"]: Structure.from_dict(entry["structure"]) for entry in found}


def test_duplicates_are_those_of_a_symmetric_matcher():
    entries = {
        e["name"]: Structure.from_dict(e["structure"])
        for e in json.loads(FILES["duplicate-crystals/inputs/entries.json"])
    }
    assert set(entries) == set(inputs.ENTRIES)
    for ltol, stol in ((0.005, 0.03), (0.01, 0.046), (0.015, 0.08)):
        matcher = StructureMatcher(ltol=ltol, stol=stol, angle_tol=2, scale=False)
        for one, other in itertools.combinations(sorted(entries), 2):
            same = inputs.ENTRIES[one][0] == inputs.ENTRIES[other][0]
            assert matcher.fit(entries[one], entries[other], symmetric=True) is same


def test_the_usual_tolerances_merge_different_crystals():
    entries = {
        e["name"]: Structure.from_dict(e["structure"])
        for e in json.loads(FILES["duplicate-crystals/inputs/entries.json"])
    }
    assert StructureMatcher().fit(entries["run-12"], entries["run-09"])
    assert StructureMatcher(ltol=0.01, stol=0.05).fit(entries["run-12"], entries["run-03"])


def test_classes_of_divacancies_are_those_of_spglib():
    found = crystal("divacancy-classes/inputs/titanate.cif")
    assert SpacegroupAnalyzer(found).get_space_group_number() == 123
    found.make_supercell(inputs.TITANATE_CELLS)
    oxygen = [i for i, site in enumerate(found) if site.specie.symbol == "O"]
    places = found.frac_coords[oxygen]
    permutations = []
    for operation in SpacegroupAnalyzer(found).get_symmetry_operations():
        apart = operation.operate_multi(places)[:, None] - places[None]
        permutations.append(np.linalg.norm(apart - np.round(apart), axis=2).argmin(axis=1))
    pairs = itertools.combinations(range(len(oxygen)), 2)
    orbits = {frozenset(frozenset((int(p[i]), int(p[j]))) for p in permutations) for i, j in pairs}
    mine = sorted((round(distance, 4), size) for distance, size in inputs.pair_classes())
    members = [sorted(min(orbit, key=sorted)) for orbit in orbits]
    theirs = sorted(
        (round(float(found.get_distance(oxygen[i], oxygen[j])), 4), len(orbit))
        for (i, j), orbit in zip(members, orbits, strict=True)
    )
    assert mine == theirs
    assert sum(size for _, size in mine) == len(oxygen) * (len(oxygen) - 1) // 2


def test_distance_alone_does_not_tell_the_classes_apart():
    at = Counter(round(distance, 4) for distance, _ in inputs.pair_classes())
    assert max(at.values()) > 1
    assert np.diff(sorted(at)).min() > 0.05


def ordered(chosen: tuple[int, ...]) -> Structure:
    cell, cations, oxygen = inputs.niobate_sites()
    kinds = ["Nb" if index in chosen else "Li" for index in range(len(cations))] + ["O"] * len(oxygen)
    return Structure(cell, kinds, np.vstack([cations, oxygen]))


def test_the_ewald_sum_is_that_of_pymatgen():
    rated = inputs.rated_orders()
    for energy, chosen in (rated[0], rated[20], rated[-1]):
        charged = ordered(chosen)
        charged.add_oxidation_state_by_element({"Li": 1, "Nb": 5, "O": -2})
        assert EwaldSummation(charged).total_energy == pytest.approx(energy, abs=1e-4)


def test_the_orders_of_lowest_energy_are_one_crystal():
    rated = inputs.rated_orders()
    best = [chosen for energy, chosen in rated if energy < rated[0][0] + 1e-3]
    assert rated[len(best)][0] - rated[0][0] > 1.0
    gold = crystal("lowest-ewald-order/gold/ordered.vasp")
    matcher = StructureMatcher(primitive_cell=False, scale=False)
    assert all(matcher.fit(ordered(chosen), gold, symmetric=True) for chosen in best)
    assert not matcher.fit(ordered(rated[len(best)][1]), gold)


def test_the_disordered_crystal_is_neutral_and_has_shared_sites():
    found = crystal("lowest-ewald-order/inputs/niobate.cif")
    assert found.composition.formula == "Li12 Nb4 O16"
    assert sum(not site.is_ordered for site in found) == 16
