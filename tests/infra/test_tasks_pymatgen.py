"""The domain `pymatgen`: right answers pass in every form that the instructions allow, lazy ones pass in none."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path

import numpy as np
import pytest
from pymatgen.core import Structure
from pymatgen.core.surface import SlabGenerator
from pymatgen.io.cif import CifWriter
from pymatgen.io.vasp.inputs import Poscar

from infra.inputs import pymatgen_sites, pymatgen_vasp
from tasks_lib.taskdefs import load_all

from .conftest import earned as earned_by

ROOT = Path(__file__).parents[2] / "taskdefs"
TASKS = {loaded.id: loaded for loaded in load_all(ROOT).tasks if loaded.task.domain == "pymatgen"}
GOLD = {name: next(iter(loaded.gold().items()), ("", b"")) for name, loaded in TASKS.items()}
TABLES = sorted(name for name, (file, _) in GOLD.items() if file.endswith(".csv"))
OBJECTS = sorted(name for name, (file, _) in GOLD.items() if file.endswith(".json"))
STRUCTURES = sorted(name for name, (file, _) in GOLD.items() if file.endswith(".vasp"))
TEXTS = {
    "kspacing-mesh": b"mesh\n0\nGamma\n8 8 5\n",
    "moments-after-sorting": (
        "MAGMOM = " + " ".join(f"{moment:g}" for moment in pymatgen_vasp.sorted_moments()) + "\n"
    ).encode(),
}
# The decimals that the instructions ask for at least.
DECIMALS = {
    "distance": 3, "max_force": 4, "pressure": 4, "energy": 2, "dihedral": 2, "valence": 3, "two_theta": 3, "mean": 4,
    "shortest": 4, "longest": 4, "a": 4, "alpha": 3, "gap": 4, "vertical_gap": 4, "bulk": 2, "shear": 2,
    "young_110": 2, "min": 3, "max": 3,
}  # fmt: skip

pytestmark = pytest.mark.filterwarnings("ignore::UserWarning", "ignore::DeprecationWarning")


def earned(name: str, content: bytes) -> int:
    return earned_by(TASKS[name], content)


def decimals(name: str, key: str) -> int:
    return {"relaxation-record": 5, "dihedral-scan": 2}[name] if key == "energy" else DECIMALS[key]


def rounded(name: str, key: str, value: str) -> str:
    return f"{float(value):.{decimals(name, key)}f}" if key in DECIMALS else value


def table(name: str) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(GOLD[name][1].decode("utf-8"))))


def as_csv(rows: list[dict[str, str]], delimiter: str = ",", end: str = "\n") -> bytes:
    lines = [delimiter.join(rows[0]), *(delimiter.join(row.values()) for row in rows)]
    return (end.join(lines) + end).encode("utf-8")


def test_every_task_has_its_place():
    assert len(TASKS) == 20
    assert sorted([*TABLES, *OBJECTS, *STRUCTURES, *TEXTS]) == sorted(TASKS)
    for loaded in TASKS.values():
        (stage,) = loaded.task.stages
        assert stage.environment == "pymatgen"
        assert loaded.task.difficulty_why
        assert (len(loaded.task.criteria), loaded.task.points) == (1, 1)
        kinds = [near.kind for near in loaded.task.near_misses]
        assert None not in kinds
        assert len(set(kinds)) >= 3


def test_difficulties_are_spread():
    found = [str(loaded.task.difficulty.value) for loaded in TASKS.values()]
    assert {kind: found.count(kind) for kind in ("easy", "medium", "hard")} == {"easy": 8, "medium": 8, "hard": 4}


@pytest.mark.parametrize("name", TABLES)
def test_right_tables_pass_in_other_forms(name):
    rows = table(name)
    assert earned(name, as_csv(rows)) == 1
    backwards = [{key: rounded(name, key, row[key]) for key in reversed(row)} for row in reversed(rows)]
    assert earned(name, as_csv(backwards, ", ", "\r\n")) == 1
    assert earned(name, as_csv([{**row, "remark": "as read"} for row in rows], ";")) == 1


@pytest.mark.parametrize("name", TABLES)
def test_lazy_tables_do_not_pass(name):
    rows = table(name)
    assert earned(name, b"") == 0
    assert earned(name, as_csv(rows[1:])) == 0
    assert earned(name, as_csv([*rows, rows[-1]])) == 0
    for key in rows[0]:
        other = [row[key] for row in rows]
        shifted = [*other[1:], other[0]]
        if shifted != other and key != "name":
            assert earned(name, as_csv([{**row, key: v} for row, v in zip(rows, shifted, strict=True)])) == 0
        if key in DECIMALS and decimals(name, key) > 1:
            assert earned(name, as_csv([{**row, key: f"{float(row[key]):.0f}"} for row in rows])) == 0
            assert earned(name, as_csv([{**row, key: f"{float(row[key]) * 1.01:.5f}"} for row in rows])) == 0


@pytest.mark.parametrize("name", OBJECTS)
def test_right_objects_pass_in_other_forms(name):
    answer = json.loads(GOLD[name][1])
    assert earned(name, json.dumps(answer).encode()) == 1
    other = {key: round(answer[key], DECIMALS.get(key, 6)) for key in reversed(answer)}
    assert earned(name, json.dumps({**other, "remark": "as read"}, indent=1).encode()) == 1


@pytest.mark.parametrize("name", OBJECTS)
def test_lazy_objects_do_not_pass(name):
    answer = json.loads(GOLD[name][1])
    assert earned(name, b"{}") == 0
    for key, value in answer.items():
        for wrong in (None, 0, value + 0.1, -value, str(value) + " or so"):
            assert earned(name, json.dumps({**answer, key: wrong}).encode()) == 0
        assert earned(name, json.dumps({k: v for k, v in answer.items() if k != key}).encode()) == 0


@pytest.mark.parametrize("name", sorted(TEXTS))
def test_texts_pass_as_they_are_meant(name):
    text = TEXTS[name]
    assert earned(name, text) == 1
    assert earned(name, text.replace(b"\n", b"\r\n")) == 1
    assert earned(name, text.replace(b" ", b"   ")) == 1
    assert earned(name, text * 2) == 0
    assert earned(name, text.replace(b" ", b" 1 ", 1)) == 0


def gold_of(name: str) -> Structure:
    return Poscar.from_str(GOLD[name][1].decode("utf-8")).structure


def written(structure: Structure, name: str, **how: object) -> bytes:
    """Return a structure in the form that the task wants."""
    path = str(TASKS[name].task.criteria[0].reads.path)
    if path.endswith(".cif"):
        return str(CifWriter(structure, **how)).encode("utf-8")
    return Poscar(structure).get_str(**how).encode("utf-8")


@pytest.mark.parametrize("name", STRUCTURES)
def test_right_structures_pass_in_other_forms(name):
    gold = gold_of(name)
    assert earned(name, written(gold, name)) == 1
    rng = np.random.default_rng(7)
    shuffled = Structure.from_sites([gold[int(index)] for index in rng.permutation(len(gold))])
    assert earned(name, written(shuffled, name)) == 1
    shuffled.translate_sites(range(len(gold)), [0.11, 0.23, 0.37], to_unit_cell=False)
    assert earned(name, written(shuffled, name)) == 1
    turned = Structure(gold.lattice.matrix[[2, 0, 1]], gold.species, gold.frac_coords[:, [2, 0, 1]])
    assert earned(name, written(turned, name)) == 1
    if not name.endswith("chalcopyrite"):
        assert earned(name, written(gold, name, direct=False, significant_figures=6)) == 1


@pytest.mark.parametrize("name", STRUCTURES)
def test_lazy_structures_do_not_pass(name):
    gold = gold_of(name)
    scaled = gold.copy()
    scaled.scale_lattice(gold.volume * 1.02)
    assert earned(name, written(scaled, name)) == 0
    doubled = gold.copy()
    doubled.make_supercell((1, 1, 2))
    assert earned(name, written(doubled, name)) == 0
    fewer = gold.copy()
    fewer.remove_sites([0])
    assert earned(name, written(fewer, name)) == 0
    for path in (ROOT / "mattoolbench" / "pymatgen" / name / "inputs").iterdir():
        assert earned(name, path.read_bytes()) == 0


def test_a_slab_of_the_generator_passes():
    bulk = Structure.from_file(ROOT / "mattoolbench/pymatgen/perovskite-slab/inputs/perovskite.cif")
    found = [
        slab
        for slab in SlabGenerator(bulk, (0, 0, 1), 13, 15, primitive=False).get_slabs(symmetrize=True)
        if slab.composition.formula == "Ba3 Zr4 O11"
    ]
    heights = found[0].cart_coords[:, 2]
    lattice = np.array(found[0].lattice.matrix)
    lattice[2] *= (np.ptp(heights) + 15.0) / lattice[2, 2]
    slab = Structure(lattice, found[0].species, found[0].cart_coords, coords_are_cartesian=True)
    assert earned("perovskite-slab", written(slab, "perovskite-slab")) == 1


def test_any_of_the_lowest_orders_passes_and_no_other():
    cell, cations, oxygen = pymatgen_sites.niobate_sites()
    rated = pymatgen_sites.rated_orders()
    lowest = [chosen for energy, chosen in rated if energy < rated[0][0] + 1e-3]
    for chosen, points in ((lowest[-1], 1), (rated[len(lowest)][1], 0), (rated[-1][1], 0)):
        kinds = ["Nb" if index in chosen else "Li" for index in range(len(cations))] + ["O"] * len(oxygen)
        order = Structure(cell, kinds, np.vstack([cations, oxygen]))
        assert earned("lowest-ewald-order", written(order, "lowest-ewald-order")) == points
