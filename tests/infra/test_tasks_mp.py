"""The domain `mp`: right answers pass in every form that the instructions allow, lazy ones pass in none."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from pymatgen.core import Structure
from pymatgen.io.vasp.inputs import Poscar
from pymatgen.symmetry.analyzer import SpacegroupAnalyzer

from infra.golds.__main__ import ROOT
from tasks_lib.databases import Entry, Snapshot, load
from tasks_lib.taskdefs import LoadedTask, load_all

from .conftest import earned

TASKS = {loaded.id: loaded for loaded in load_all(ROOT.parent).tasks if loaded.task.domain == "mp"}
STRUCTURES = sorted(name for name, loaded in TASKS.items() if "answer.vasp" in loaded.gold())
VALUES = sorted(set(TASKS) - set(STRUCTURES))
METRICS = {name: str(loaded.task.criteria[0].compares.metric) for name, loaded in TASKS.items()}
LISTS = sorted(name for name, metric in METRICS.items() if metric in ("set-equals", "members", "table-match"))
# The decimals that the instructions ask for at least.
DECIMALS = {
    "bulk_modulus": 2, "shear_modulus": 2, "a": 3, "c": 3, "above_hull_mev": 2, "moment": 2, "e_max": 3, "share": 4,
    "formation_energy": 4, "reaction_energy": 3, "density": 2, "voltage": 3, "lower": 3, "upper": 3, "margin_mev": 2,
}  # fmt: skip


@pytest.fixture(scope="module")
def snapshot() -> Snapshot:
    return load()


def answer_of(task: LoadedTask) -> Any:
    """Return a right answer: the gold, or the first of those that may be chosen freely."""
    answer = json.loads(task.gold()["answer.json"])["answer"]
    count = task.task.criteria[0].compares.arguments.get("count")
    return {key: value[:count] for key, value in answer.items()} if count else answer


def as_deliverable(task: LoadedTask, answer: Any) -> Any:
    """Return the answer as the instruction wants the file: a gold that is a list stands under the criterion's key."""
    pointer = str(task.task.criteria[0].reads.arguments.get("pointer", ""))
    return {pointer.removeprefix("/"): answer} if isinstance(answer, list) else answer


def written(task: LoadedTask, answer: Any) -> bytes:
    return json.dumps(as_deliverable(task, answer)).encode()


def changed(answer: Any, change: Callable[[str, Any], Any], key: str = "") -> Any:
    """Return the answer with every value changed; lists keep their key."""
    if isinstance(answer, dict):
        return {name: changed(value, change, name) for name, value in answer.items()}
    if isinstance(answer, list):
        return [changed(value, change, key) for value in answer]
    return change(key, answer)


def kinds(answer: Any) -> set[str]:
    """Return the names of the types of all values of an answer."""
    found: set[str] = set()
    changed(answer, lambda _, value: found.add(type(value).__name__))
    return found


def spelt(snapshot: Snapshot, spell: Callable[[Entry], str]) -> Callable[[str, Any], Any]:
    def change(_: str, value: Any) -> Any:
        return spell(snapshot.by_mp(value)) if isinstance(value, str) and value.startswith("mp-") else value

    return change


def rows_of(answer: Any) -> list[Any]:
    """Return the list that an answer is or holds."""
    return answer if isinstance(answer, list) else next(value for value in answer.values() if isinstance(value, list))


def test_twenty_tasks_of_three_difficulties_each_say_why() -> None:
    assert len(TASKS) == 20
    assert Counter(str(one.task.difficulty) for one in TASKS.values()) == {"easy": 9, "medium": 7, "hard": 4}
    assert all(one.task.difficulty_why for one in TASKS.values())
    for loaded in TASKS.values():
        assert len({miss.kind for miss in loaded.task.near_misses if miss.kind}) >= 3


@pytest.mark.parametrize("name", VALUES)
def test_the_least_decimals_that_are_asked_for_pass(name: str) -> None:
    def change(key: str, value: Any) -> Any:
        return round(value, DECIMALS[key]) if isinstance(value, float) else value

    assert earned(TASKS[name], written(TASKS[name], changed(answer_of(TASKS[name]), change))) == 1


def coarse(key: str, value: Any) -> Any:
    """Round to two decimals fewer than the instruction asks for."""
    return round(value, DECIMALS[key] - 2) if isinstance(value, float) else value


@pytest.mark.parametrize("name", [name for name in VALUES if "float" in kinds(answer_of(TASKS[name]))])
def test_two_decimals_fewer_fail(name: str) -> None:
    assert earned(TASKS[name], written(TASKS[name], changed(answer_of(TASKS[name]), coarse))) == 0


@pytest.mark.parametrize("name", VALUES)
def test_every_spelling_of_an_id_and_every_order_pass(name: str, snapshot: Snapshot) -> None:
    task = TASKS[name]
    spellings: list[Callable[[Entry], str]] = [
        lambda entry: entry.mp_id,
        lambda entry: entry.mp_alpha_id,
        lambda entry: entry.id,
        lambda entry: "mp-" + entry.mp_alpha_id.removeprefix("mp-").rjust(8, "a"),
    ]
    for spell in spellings:
        answer = changed(answer_of(task), spelt(snapshot, spell))
        if name in LISTS:
            rows_of(answer).reverse()
        assert earned(task, written(task, answer)) == 1


@pytest.mark.parametrize("name", LISTS)
def test_a_list_with_one_more_or_fewer_or_one_twice_fails(name: str, snapshot: Snapshot) -> None:
    task = TASKS[name]
    known = {json.dumps(row) for row in rows_of(json.loads(task.gold()["answer.json"])["answer"])}

    def with_rows(rows: list[Any]) -> bytes:
        answer = answer_of(task)
        return written(task, rows if isinstance(answer, list) else {**answer, next(iter(answer)): rows})

    rows = rows_of(answer_of(task))
    other = "mp-9000002" if isinstance(rows[0], str) else {**rows[0], "material_id": "mp-9000002"}
    assert json.dumps(other) not in known
    for wrong in ([*rows, other], rows[1:], [*rows[1:], rows[1]], [*rows, rows[0]], [*rows[1:], other], []):
        assert earned(task, with_rows(wrong)) == 0
    everything = [
        entry.mp_id if isinstance(rows[0], str) else {**rows[0], "material_id": entry.mp_id} for entry in snapshot
    ]
    assert earned(task, with_rows(everything)) == 0


@pytest.mark.parametrize("name", VALUES)
def test_another_value_or_none_fails(name: str) -> None:
    task = TASKS[name]
    answer = answer_of(task)
    for change in (
        lambda _, value: value + 0.05 if isinstance(value, float) else "none",
        lambda _, value: None,
        lambda _, value: [value],
    ):
        assert earned(task, written(task, changed(answer, change))) == 0
    assert earned(task, b"{}") == 0
    assert earned(task, b"") == 0


@pytest.mark.parametrize("name", STRUCTURES)
def test_a_structure_passes_in_any_cell_and_origin_and_not_stretched(name: str) -> None:
    task = TASKS[name]
    crystal = Poscar.from_str(task.gold()["answer.vasp"].decode()).structure

    def poscar(structure: Structure) -> bytes:
        return Poscar(structure).get_str(significant_figures=5).encode()

    moved = crystal.copy().translate_sites(range(len(crystal)), [0.13, 0.29, 0.41])
    doubled = crystal.make_supercell([[1, 1, 0], [-1, 1, 0], [0, 0, 1]], in_place=False)
    for right in (crystal, moved, doubled, Structure.from_sites(list(reversed(crystal)))):
        assert earned(task, poscar(right)) == 1
    stretched = crystal.copy().scale_lattice(crystal.volume * 1.01**3)
    lacking = crystal.copy()
    lacking.remove_sites([0])
    for wrong in (stretched, lacking):
        assert earned(task, poscar(wrong)) == 0


def test_a_conventional_cell_of_the_telluride_passes() -> None:
    task = TASKS["calaverite-structure"]
    crystal = Poscar.from_str(task.gold()["answer.vasp"].decode()).structure
    conventional = SpacegroupAnalyzer(crystal).get_conventional_standard_structure()
    assert len(conventional) == 2 * len(crystal)
    assert earned(task, Poscar(conventional).get_str(significant_figures=5).encode()) == 1


def test_a_slab_may_lie_anywhere_in_its_cell_but_the_cell_is_of_one_height() -> None:
    task = TASKS["rock-salt-slab"]
    slab = Poscar.from_str(task.gold()["answer.vasp"].decode()).structure
    for height, points in ((30.0, 1), (30.5, 0), (25.0, 0)):
        box = slab.lattice.matrix * np.array([[1], [1], [height / slab.lattice.c]])
        lone = Structure(box, slab.species, slab.cart_coords, coords_are_cartesian=True)
        assert earned(task, Poscar(lone).get_str(significant_figures=5).encode()) == points


def test_no_instruction_holds_an_id_or_number_of_its_answer() -> None:
    for name, loaded in TASKS.items():
        told = " ".join([loaded.task.stages[0].instruction, *loaded.task.stages[0].hints])
        golden = " ".join(data.decode() for data in loaded.gold().values())
        assert not set(re.findall(r"mp-\d{7}", told)) & set(re.findall(r"mp-\d{7}", golden)) or name in STRUCTURES
