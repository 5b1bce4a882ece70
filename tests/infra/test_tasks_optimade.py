"""The domain `optimade`: its gold agrees with what the providers serve, right answers pass in other forms, lazy not."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest
from pymatgen.core import Structure
from pymatgen.io.vasp.inputs import Poscar

from infra.golds.__main__ import ROOT
from infra.golds.optimade import formula, in_binaries, ratio
from infra.golds.properties import milli
from tasks_lib.databases import Snapshot, load, of_formula, of_system
from tasks_lib.databases.identifiers import mp_alpha_id
from tasks_lib.databases.servers._optimade_documents import structure
from tasks_lib.databases.servers.optimade import BINARIES
from tasks_lib.taskdefs import LoadedTask, load_all

from .conftest import earned

TASKS = {loaded.id: loaded for loaded in load_all(ROOT.parent).tasks if loaded.task.domain == "optimade"}
VALUES = sorted(name for name, loaded in TASKS.items() if "answer.json" in loaded.gold())
# The decimals that the instructions ask for at least.
DECIMALS = {
    "energy_above_hull": 2,
    "formation_energy": 3,
    "volume": 2,
    "distance": 3,
    "cost": 1,
    "step": 2,
    "energy": 3,
}


@pytest.fixture(scope="module")
def snapshot() -> Snapshot:
    return load()


def answer_of(task: LoadedTask) -> Any:
    """Return a right answer: the gold, or the last of those that may be chosen freely."""
    answer = json.loads(task.gold()["answer.json"])["answer"]
    count = task.task.criteria[0].compares.arguments.get("count")
    if not count:
        return answer
    return answer[-count:] if isinstance(answer, list) else {key: value[-count:] for key, value in answer.items()}


def spelled_otherwise(answer: Any, key: str = "") -> Any:
    """Return the answer in the Materials Project's ids, numbers rounded as far as the instruction allows."""
    if isinstance(answer, dict):
        return {name: spelled_otherwise(answer[name], name) for name in reversed(answer)}
    if isinstance(answer, list):
        return [spelled_otherwise(item, key) for item in answer]
    if isinstance(answer, str) and answer.startswith("matassay-"):
        return mp_alpha_id(int(answer.removeprefix("matassay-")), padding=8)
    return round(answer, DECIMALS.get(key, 6)) if isinstance(answer, float) else answer


def items_of(answer: Any) -> list[Any] | None:
    """Return the one list of an answer that is a set; None where there is none, or where its order counts."""
    if isinstance(answer, dict):
        lists = [value for value in answer.values() if isinstance(value, list)]
        return lists[0] if len(answer) == len(lists) == 1 else None
    return answer if isinstance(answer, list) else None


NUMBERED = [name for name in VALUES if DECIMALS.keys() & set(json.dumps(answer_of(TASKS[name])).split('"'))]


def test_the_domain_has_its_tasks() -> None:
    assert len(TASKS) == 20
    assert len(VALUES) == 19
    levels = [str(loaded.task.difficulty) for loaded in TASKS.values()]
    assert [levels.count(level) for level in ("easy", "medium", "hard")] == [9, 7, 4]


@pytest.mark.parametrize("name", VALUES)
def test_a_right_answer_passes_however_it_is_written(name: str) -> None:
    answer = answer_of(TASKS[name])
    assert earned(TASKS[name], json.dumps(answer).encode()) == 1
    assert earned(TASKS[name], json.dumps(spelled_otherwise(answer), indent=4).encode()) == 1


@pytest.mark.parametrize("name", [name for name in VALUES if items_of(answer_of(TASKS[name])) is not None])
def test_order_does_not_count_and_one_more_or_less_does(name: str) -> None:
    task = TASKS[name]
    answer = answer_of(task)
    items = items_of(answer)
    assert items is not None

    def left(changed: list[Any]) -> int:
        whole = changed if isinstance(answer, list) else dict.fromkeys(answer, changed)
        return earned(task, json.dumps(whole).encode())

    other = dict(items[0], id="matassay-9000300") if isinstance(items[0], dict) else "matassay-9000300"
    assert left(items[::-1]) == 1
    for wrong in (items[1:], [*items, items[0]], [*items, other], [other, *items[1:]], []):
        assert left(wrong) == 0


@pytest.mark.parametrize("name", NUMBERED)
def test_every_number_counts(name: str) -> None:
    """A list of right ids whose numbers are off by a hundredth, or all zero, earns nothing."""
    for factor in (1.01, 0.0):

        def scaled(answer: Any, key: str = "", factor: float = factor) -> Any:
            if isinstance(answer, dict):
                return {name: scaled(value, name) for name, value in answer.items()}
            if isinstance(answer, list):
                return [scaled(item, key) for item in answer]
            return answer * factor if key in DECIMALS else answer

        assert earned(TASKS[name], json.dumps(scaled(answer_of(TASKS[name]))).encode()) == 0


def test_ice_passes_in_any_order_and_not_in_another_cell(snapshot: Snapshot) -> None:
    task = TASKS["stable-ice-cell"]
    cell = Poscar.from_str(task.gold()["answer.vasp"].decode()).structure

    def left(crystal: Structure) -> int:
        return earned(task, Poscar(crystal).get_str(significant_figures=6).encode())

    shuffled = Structure.from_sites([cell[at] for at in np.random.default_rng(3).permutation(len(cell))])
    strained = cell.copy().scale_lattice(cell.volume * 1.03)  # one percent an edge
    assert (left(cell), left(shuffled)) == (1, 1)
    others = [one.structure.to_pymatgen() for one in of_formula(snapshot, "H2O")]
    assert sorted(left(other) for other in others) == [0, 1]
    assert [left(cell.make_supercell(2, in_place=False)), left(strained)] == [0, 0]


def test_the_gold_restates_what_the_providers_serve(snapshot: Snapshot) -> None:
    """The rule of coverage and the formulas stand twice, once here and once in the server: they agree."""
    letters = "ABCDEFGHIJ"
    for entry in snapshot:
        assert in_binaries(entry) == BINARIES.covers(entry)
        served = structure(entry, {}, {text: "x" for one in entry.properties.values() if (text := one.source)})
        assert formula(entry) == served["chemical_formula_reduced"]
        anonymous = "".join(
            f"{letter}{count if count > 1 else ''}" for letter, count in zip(letters, ratio(entry), strict=False)
        )
        assert anonymous == served["chemical_formula_anonymous"]


def test_no_answer_hangs_on_the_last_digit_of_a_limit(snapshot: Snapshot) -> None:
    """Whatever an agent rounds, no entry changes sides; the one dense alloy that might is meant to."""
    heights = [milli(entry) for entry in of_formula(snapshot, "SiO2")]
    assert min(abs(height - 20) for height in heights) > 1
    oxides = [milli(entry) for entry in of_system(snapshot, "Ti-O")]
    assert min(abs(height - 100) for height in oxides) > 1
    assert min(height for height in oxides if height) > 1
    cells = [entry.value("volume") for entry in snapshot if in_binaries(entry) and "O" in entry.elements]
    assert min(abs(float(str(volume)) - limit) for volume in cells for limit in (60, 80)) > 0.1
    dense = {
        entry.id: float(str(entry.value("density"))) for entry in snapshot if in_binaries(entry) and entry.nsites <= 2
    }
    assert [name for name, density in dense.items() if abs(density - 15) < 0.1] == ["matassay-9000581"]
    assert dense["matassay-9000581"] == pytest.approx(14.998, abs=5e-4)
