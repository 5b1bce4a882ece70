"""The domain `oqmd`: what its tasks say of margins is so, right answers pass in another form, lazy ones do not."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from pymatgen.io.vasp.inputs import Poscar

from infra.golds import GOLDS
from infra.golds.__main__ import ROOT, everything
from infra.golds.oqmd import energy, height, ids, volume_per_atom
from infra.golds.properties import lowest
from tasks_lib.databases import Entry, Snapshot, load, of_formula, of_system, within_system
from tasks_lib.taskdefs import LoadedTask, load_all

from .conftest import earned

TASKS = {loaded.id: loaded for loaded in load_all(ROOT.parent).tasks if loaded.task.domain == "oqmd"}
LISTS = sorted(name for name, loaded in TASKS.items() if loaded.task.criteria[0].compares.metric != "key-values")
# The decimals that an instruction's tolerance allows.
DECIMALS = {
    "delta_e": 3, "volume": 2, "height_mev": 1, "span": 1, "volume_per_atom": 2, "x_au": 3, "delta_e_mev": 1,
    "band_gap": 2, "mean_delta_e": 3, "mean_volume": 2, "a": 3, "depth_mev": 1, "shortest": 3, "longest": 3,
    "energy": 3, "fraction": 3,
}  # fmt: skip


@pytest.fixture(scope="module")
def snapshot() -> Snapshot:
    return load()


def answer_of(task: LoadedTask) -> Any:
    return json.loads(task.gold()["answer.json"])["answer"]


def written(answer: Any) -> bytes:
    return json.dumps(answer).encode()


def rounded(answer: Any) -> Any:
    if isinstance(answer, list):
        return [rounded(item) for item in answer]
    if isinstance(answer, dict):
        return {key: round(item, DECIMALS[key]) if isinstance(item, float) else item for key, item in answer.items()}
    return answer


def as_wanted(task: LoadedTask) -> Any:
    """Return a right answer: the gold, or the first of what may be chosen freely."""
    answer = answer_of(task)
    count = task.task.criteria[0].compares.arguments.get("count")
    return answer[:count] if count else answer


def test_there_are_twenty_tasks_with_gold_of_their_own() -> None:
    assert len(TASKS) == 20
    everything()
    assert {f"oqmd/{name}" for name in TASKS} == {name for name in GOLDS if name.startswith("oqmd/")}
    levels = Counter(str(loaded.task.difficulty) for loaded in TASKS.values())
    assert levels == {"easy": 9, "medium": 7, "hard": 4}


@pytest.mark.parametrize("name", sorted(set(TASKS) - {"dense-titania-poscar"}))
def test_a_rounded_answer_in_another_order_with_more_keys_passes(name: str) -> None:
    answer = rounded(as_wanted(TASKS[name]))
    if isinstance(answer, list):
        answer = [{**item, "name": "X"} if isinstance(item, dict) else item for item in reversed(answer)]
    else:
        answer["name"] = "X"
    assert earned(TASKS[name], written(answer)) == 1


@pytest.mark.parametrize("name", sorted(set(LISTS) - {"dense-titania-poscar"}))
def test_a_list_that_holds_more_or_fewer_or_one_twice_fails(name: str) -> None:
    answer = as_wanted(TASKS[name])
    other = 9_000_499 if isinstance(answer[0], int) else {**answer[0], next(iter(answer[0])): "other"}
    assert other not in answer
    for wrong in ([*answer, other], answer[1:], [*answer[1:], answer[1]], [*answer, answer[0]], []):
        assert earned(TASKS[name], written(wrong)) == 0


@pytest.mark.parametrize("name", LISTS)
def test_the_list_of_every_entry_fails(name: str, snapshot: Snapshot) -> None:
    every = [
        {
            "entry_id": entry.oqmd_entry_id,
            "id": entry.id,
            "spacegroup": entry.value("space_group_symbol"),
            "delta_e": energy(entry),
            "height_mev": height(entry) * 1000,
            "volume_per_atom": volume_per_atom(entry),
            "band_gap": entry.value("band_gap"),
        }
        for entry in snapshot
    ]
    assert earned(TASKS[name], written(every)) == 0
    assert earned(TASKS[name], written(ids(snapshot))) == 0


def test_the_structure_passes_in_any_order_and_not_doubled() -> None:
    task = TASKS["dense-titania-poscar"]
    crystal = Poscar.from_str(task.gold()["answer.vasp"].decode()).structure
    turned = crystal.copy()
    turned.remove_sites(range(len(turned)))
    shift = np.array([0.25, 0.0, 0.5])
    for site in reversed(crystal):
        turned.append(site.specie, site.frac_coords + shift)
    assert earned(task, Poscar(turned).get_str(direct=False, significant_figures=5).encode()) == 1
    assert earned(task, Poscar(crystal * (2, 1, 1)).get_str().encode()) == 0
    stretched = crystal.copy()
    stretched.scale_lattice(crystal.volume * 1.02)
    assert earned(task, Poscar(stretched).get_str().encode()) == 0


def gap(values: list[float], at: int) -> float:
    """Return how far the value at a place in the sorted list is from the one before."""
    return sorted(values)[at] - sorted(values)[at - 1]


def nearest(entries: tuple[Entry, ...], measure: Callable[[Entry], float], *limits: float) -> float:
    return min(abs(measure(entry) - limit) for entry in entries for limit in limits)


def test_no_set_hangs_on_rounding(snapshot: Snapshot) -> None:
    assert gap([energy(one) for one in of_formula(snapshot, "Fe2O3")], 1) > 0.27
    iron = [height(one) for one in of_system(snapshot, "Fe")]
    assert min(gap(iron, at) for at in range(1, len(iron))) > 0.002
    assert nearest(of_formula(snapshot, "SiO2"), height, 0.02) > 0.005
    assert gap([height(one) for one in of_system(snapshot, "Ti", "O")], 5) > 0.0089
    assert gap([energy(one) for one in of_formula(snapshot, "MgO")], -1) * 2 * 96.485 > 97
    assert nearest(of_system(snapshot, "Fe", "S"), volume_per_atom, 12, 14) > 0.1
    blende = tuple(one for one in snapshot if one.strukturbericht == "B3" and height(one) == 0)
    assert nearest(blende, volume_per_atom, 10, 25) > 0.3
    gapped = tuple(one for one in snapshot if {"Ga", "In"} & set(one.elements) and one.value("band_gap") is not None)
    assert nearest(gapped, lambda one: float(one.value("band_gap")), 1.0, 2.0) > 0.03  # type: ignore[arg-type]
    titania = of_formula(snapshot, "TiO2")
    assert nearest(titania, height, 0.1) > 0.015
    assert gap([volume_per_atom(one) for one in titania if height(one) <= 0.1], 1) > 0.4


def test_what_lies_off_a_hull_lies_clearly_off(snapshot: Snapshot) -> None:
    def first(entries: tuple[Entry, ...]) -> float:
        return min(height(one) for one in entries if not one.value("is_stable"))

    barium = tuple(one for one in within_system(snapshot, "Ba-Ti-O") if len(one.elements) > 1)
    iron = tuple(one for one in snapshot if len(one.elements) == 3 and "Fe" in one.elements and "O" not in one.elements)
    assert first(barium) > 0.011
    assert first(iron) > 0.005
    for entry in snapshot:
        assert (height(entry) == 0) is entry.value("is_stable")


def test_every_ground_state_is_clear_of_the_next(snapshot: Snapshot) -> None:
    for formula in {one.formula for one in of_system(snapshot, "Cu", "Au")}:
        entries = of_formula(snapshot, formula)
        assert len(entries) == 1 or gap([energy(one) for one in entries], 1) > 0.0009
    for row in answer_of(TASKS["sesquioxide-ground-states"]):
        entries = of_formula(snapshot, f"{row['element']}2O3")
        assert len(entries) == 1 or gap([energy(one) for one in entries], 1) > 0.007
    titania = of_formula(snapshot, "TiO2")
    assert energy(lowest(snapshot, "TiO2")) == min(energy(one) for one in titania)
