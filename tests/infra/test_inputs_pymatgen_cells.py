"""Gold of the tasks about cells, meshes, strain and surfaces, against pymatgen and spglib."""

from __future__ import annotations

import itertools
import json
import math
import re
from pathlib import Path

import numpy as np
import pytest
import yaml
from pymatgen.core import Structure
from pymatgen.symmetry.analyzer import SpacegroupAnalyzer

from infra.inputs import pymatgen_cells as inputs
from infra.inputs.crystals import distances

ROOT = Path(__file__).parents[2] / "taskdefs" / "mattoolbench" / "pymatgen"
FILES = inputs.files()

pytestmark = pytest.mark.filterwarnings("ignore::UserWarning", "ignore::DeprecationWarning:spglib")


def crystal(name: str) -> Structure:
    return Structure.from_str(FILES[name].decode("utf-8"), fmt="cif" if name.endswith(".cif") else "poscar")


def rows(name: str) -> list[list[str]]:
    return [line.split(",") for line in FILES[name].decode("utf-8").splitlines()[1:]]


def test_the_rhombohedral_cell_is_the_one_of_spglib():
    found = crystal("rhombohedral-cell/inputs/telluride.cif")
    analyzer = SpacegroupAnalyzer(found)
    assert analyzer.get_space_group_number() == 166
    lattice = analyzer.get_primitive_standard_structure().lattice
    gold = json.loads(FILES["rhombohedral-cell/gold/cell.json"])
    assert lattice.abc == pytest.approx([gold["a"]] * 3, abs=1e-4)
    assert lattice.angles == pytest.approx([gold["alpha"]] * 3, abs=1e-3)
    assert found.get_primitive_structure().lattice.a < gold["a"] - 1  # the shortest edges would not do


def test_skewed_distances_agree_with_pymatgen_and_need_images():
    found = crystal("skewed-cell-distances/inputs/network.cif")
    labels = list(found.labels)
    naive = 0
    for first, second, distance in rows("skewed-cell-distances/gold/distances.csv"):
        i, j = labels.index(first), labels.index(second)
        assert found.get_distance(i, j) == pytest.approx(float(distance), abs=2e-4)
        apart = found[j].frac_coords - found[i].frac_coords
        naive += np.linalg.norm((apart - np.round(apart)) @ found.lattice.matrix) > float(distance) + 0.1
    assert naive >= 3


def test_three_cells_each_way_are_enough_for_every_pair_of_the_skewed_crystal():
    places = np.array([np.asarray(place) for _, place in inputs.skewed_sites()])
    for one in places:
        near, far = (distances(inputs.SKEWED_CELL, one, places, reach).min(axis=1) for reach in (3, 7))
        assert np.allclose(near, far)


def test_no_spacing_of_the_mesh_is_near_the_limit():
    lattice = crystal("kspacing-mesh/inputs/POSCAR").lattice.reciprocal_lattice
    exact = [edge / inputs.SPACING for edge in lattice.abc]
    assert inputs.mesh() == tuple(math.ceil(number) for number in exact)
    assert all(0.05 < number % 1 < 0.95 for number in exact)


@pytest.mark.parametrize(
    ("text", "fits"),
    [
        ("any comment\n0\nGamma\n8 8 5\n", True),
        ("\n 0 ! automatic\ngamma centred\n  8   8  5\n0. 0.0 0.00\n", True),
        ("mesh\n0\nG\n8 8 5\n 0 0 0", True),
        ("mesh\n0\nMonkhorst-Pack\n8 8 5\n0 0 0\n", False),
        ("mesh\n0\nGamma\n8 8 5\n0.5 0.5 0.5\n", False),
        ("mesh\n0\nGamma\n7 7 5\n", False),
        ("mesh\n0\nGamma\n8 8 50\n", False),
        ("mesh\n0\nGamma\n8 8 5\n0 0 0\n7 7 5\n", False),
    ],
)
def test_what_a_kpoints_file_may_look_like(text, fits):
    assert (re.fullmatch(inputs.kpoints_pattern(), text) is not None) is fits


def test_the_task_holds_the_pattern_of_the_generator():
    task = yaml.safe_load((ROOT / "kspacing-mesh" / "task.yaml").read_text(encoding="utf-8"))
    assert task["criteria"][0]["compares"]["want"] == inputs.kpoints_pattern()


def test_groups_of_the_strained_crystal_are_those_of_spglib():
    found = crystal("strained-zincblende/inputs/crystal.cif")
    assert np.allclose(found.lattice.matrix, inputs.ZINCBLENDE_A * np.eye(3))
    for name, strain in json.loads(FILES["strained-zincblende/inputs/strains.json"]).items():
        strained = Structure(found.lattice.matrix @ (np.eye(3) + np.array(strain)), found.species, found.frac_coords)
        wanted = inputs.STRAINS[name][1]
        for symprec in (1e-5, 1e-4, 5e-4):
            assert SpacegroupAnalyzer(strained, symprec=symprec).get_space_group_number() == wanted
        # With the usual tolerance nearly all look cubic.
        assert wanted == 216 or SpacegroupAnalyzer(strained).get_space_group_number() != wanted


def test_every_strain_leaves_other_operations_of_zincblende():
    # The 24 operations of the group's point group: permutations of the axes with an even number of minus signs.
    swaps = [np.eye(3)[list(order)] for order in itertools.permutations(range(3))]
    signs = [sign for sign in itertools.product((1, -1), repeat=3) if np.prod(sign) == 1]
    group = [np.diag(sign) @ swap for sign in signs for swap in swaps]
    sizes = {119: 8, 160: 6, 44: 4, 22: 4, 216: 24, 5: 2, 8: 2, 1: 1}
    for name, strain in inputs.strain_tensors().items():
        left = [turn for turn in group if np.allclose(turn @ strain @ turn.T, strain, atol=1e-9)]
        assert len(left) == sizes[inputs.STRAINS[name][1]]


def test_the_slab_is_the_bulk_with_vacuum():
    slab, bulk = crystal("perovskite-slab/gold/slab.vasp"), crystal("perovskite-slab/inputs/perovskite.cif")
    assert slab.composition.formula == "Ba3 Zr4 O11"
    heights = np.sort(np.unique(np.round(slab.cart_coords[:, 2], 6)))
    assert np.allclose(np.diff(heights), bulk.lattice.c / 2, atol=1e-5)
    assert slab.lattice.c - (heights[-1] - heights[0]) == pytest.approx(inputs.VACUUM)
    edge = heights[[0, -1]]
    outer = {site.specie.symbol for site in slab if np.abs(site.z - edge).min() < 1e-4}
    assert outer == {"Zr", "O"}
    # Within the slab every zirconium has oxygen at half an edge on all sides but the outer one.
    near = [len(slab.get_neighbors(s, bulk.lattice.c / 2 + 0.1)) for s in slab if s.specie.symbol == "Zr"]
    assert sorted(near) == [5, 5, 6, 6]
