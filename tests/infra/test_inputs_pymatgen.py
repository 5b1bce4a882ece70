"""The inputs and gold of the pymatgen tasks: as checked in, and right by a second calculation."""

from __future__ import annotations

import itertools
import warnings
from pathlib import Path

import numpy as np
import pytest
from pymatgen.analysis.structure_matcher import StructureMatcher
from pymatgen.core import Structure
from pymatgen.io.vasp import Poscar
from pymatgen.symmetry.analyzer import SpacegroupAnalyzer

from infra.inputs import pymatgen as inputs
from infra.inputs import pymatgen_cells, pymatgen_sites, pymatgen_tables, pymatgen_vasp

ROOT = Path(__file__).parents[2] / "taskdefs" / "mattoolbench" / "pymatgen"
MODULES = (inputs, pymatgen_cells, pymatgen_vasp, pymatgen_sites, pymatgen_tables)
FILES = {name: data for module in MODULES for name, data in module.files().items()}

pytestmark = pytest.mark.filterwarnings("ignore::UserWarning", "ignore::DeprecationWarning:spglib")


def crystal(name: str) -> Structure:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        text = FILES[name].decode("utf-8")
        return Structure.from_str(text, fmt="cif") if name.endswith(".cif") else Poscar.from_str(text).structure


@pytest.mark.parametrize("name", sorted(FILES))
def test_what_is_checked_in_is_what_the_generator_writes(name):
    assert (ROOT / name).read_bytes() == FILES[name]


def test_the_same_seed_writes_the_same_bytes():
    assert {name: data for module in MODULES for name, data in module.files().items()} == FILES


def test_every_input_and_gold_file_has_a_generator():
    there = {path.relative_to(ROOT).as_posix() for part in ("inputs", "gold") for path in ROOT.glob(f"*/{part}/*")}
    assert there == set(FILES)


@pytest.mark.parametrize(
    ("name", "formula", "group"),
    [
        ("distant-scandium/inputs/aln.cif", "Al2 N2", 186),
        ("hidden-chalcopyrite/gold/primitive.vasp", "In2 Cu2 Se4", 122),
    ],
)
def test_cells_have_the_atoms_and_the_symmetry_that_they_should(name, formula, group):
    found = crystal(name)
    assert found.composition.formula == formula
    assert SpacegroupAnalyzer(found).get_space_group_number() == group


def test_the_solid_solution_has_the_symmetry_of_rutile():
    found = crystal("oxide-solution-lines/inputs/oxide.cif")
    kinds = ["O" if site.is_ordered else "Ti" for site in found]
    assert SpacegroupAnalyzer(Structure(found.lattice, kinds, found.frac_coords)).get_space_group_number() == 136
    assert found.composition["Sn"] / (found.composition["Ti"] + found.composition["Sn"]) == pytest.approx(inputs.TIN)


def test_the_farthest_choices_are_one_structure():
    # All 2024 choices, none fixed: each that reaches the largest distance is the gold by symmetry.
    cell, metal, nitrogen = inputs.wurtzite_supercell()
    table = np.array([inputs.distances(cell, one, metal).min(axis=1) for one in metal])
    rated = [
        (min(table[i, j], table[i, k], table[j, k]), (i, j, k)) for i, j, k in itertools.combinations(range(24), 3)
    ]
    best = max(value for value, _ in rated)
    runner_up = max(value for value, _ in rated if value < best - 1e-6)
    assert best - runner_up > 0.5
    gold = crystal("distant-scandium/gold/supercell.vasp")
    matcher = StructureMatcher(primitive_cell=False, scale=False)
    chosen = [choice for value, choice in rated if value > best - 1e-6]
    assert len(chosen) > 1
    for choice in chosen:
        kinds = ["Sc" if index in choice else "Al" for index in range(24)] + ["N"] * 24
        assert matcher.fit(Structure(cell, kinds, np.vstack([metal, nitrogen])), gold, symmetric=True)


def test_no_line_is_near_the_limit_of_intensity():
    sizes = [size for *_, size in inputs.powder_lines(20, 80)]
    assert not [size for size in sizes if 3.5 < size < 4.5]


def test_no_line_is_near_the_limits_of_angle():
    angles = [angle for *_, angle, size in inputs.powder_lines(19, 81) if size > 1]
    assert not [angle for angle in angles if abs(angle - 20) < 0.5 or abs(angle - 80) < 0.5]


def test_form_factors_are_the_electrons_at_zero_angle():
    for element, electrons in (("O", 8), ("Ti", 22), ("Sn", 50)):
        assert inputs.form_factor(element, 0.0) == pytest.approx(electrons, abs=0.01)


def test_no_oxygen_is_near_the_limit_of_a_bond():
    cell, sites, _ = inputs.shaken_rutile()
    oxygen = np.array([place for element, place in sites if element == "O"])
    metal = [np.asarray(place) for element, place in sites if element == "Ti"]
    lengths = np.concatenate([inputs.distances(cell, place, oxygen).ravel() for place in metal])
    assert not lengths[(lengths > inputs.BOND_LIMIT - 0.2) & (lengths < inputs.BOND_LIMIT + 0.2)].size


def test_distances_agree_with_pymatgen():
    cell, sites, _ = inputs.shaken_rutile()
    found = Structure(cell, [element for element, _ in sites], [place for _, place in sites])
    mine = np.array([inputs.distances(cell, one, found.frac_coords).min(axis=1) for one in found.frac_coords])
    assert np.allclose(mine, found.distance_matrix)


def test_the_troubled_poscar_means_the_crystal_it_was_written_from():
    cell, sites, flags = inputs.shaken_rutile()
    lines = FILES["relaxing-octahedra/inputs/POSCAR"].decode("utf-8").split("\n")
    vectors = np.array([[float(word) for word in line.split()] for line in lines[2:5]])
    # The universal scaling factor of VASP: a negative number is the volume.
    factor = (-float(lines[1]) / np.linalg.det(vectors)) ** (1 / 3)
    assert np.allclose(vectors * factor, cell, atol=1e-6)
    rows = [line.split() for line in lines[9 : 9 + len(sites)]]
    places = np.array([[float(word) for word in row[:3]] for row in rows]) * factor
    assert np.allclose(places, np.array([place for _, place in sites]) @ cell, atol=1e-6)
    assert [" ".join(row[3:6]) for row in rows] == flags


def test_the_hidden_crystal_shows_at_the_noise_that_is_stated():
    found = crystal("hidden-chalcopyrite/inputs/average.cif")
    assert SpacegroupAnalyzer(found, symprec=0.01).get_space_group_number() == 1
    for symprec in (0.08, 0.1, 0.15):
        assert SpacegroupAnalyzer(found, symprec=symprec).get_space_group_number() == 122
