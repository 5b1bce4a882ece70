"""Questions to a snapshot, answered against a plain loop."""

from __future__ import annotations

import pytest

from tasks_lib.databases import by_stability, load, of_formula, of_system, system, within_system


@pytest.fixture(scope="module")
def snapshot():
    return load()


def test_a_system_is_sorted_and_named_in_any_way():
    assert system("O", "Fe", "Li") == system("Li-O-Fe") == system("Fe-O", "Li", "O") == "Fe-Li-O"


def test_of_and_within_a_system(snapshot):
    exactly, within = of_system(snapshot, "O", "Mg"), within_system(snapshot, "Mg-O")
    assert exactly
    assert {entry.chemical_system for entry in exactly} == {"Mg-O"}
    assert {entry.chemical_system for entry in within} == {"Mg", "O", "Mg-O"}
    assert {e.id for e in exactly} < {e.id for e in within}


def test_a_formula_however_written(snapshot):
    found = of_formula(snapshot, "O4Ti2")
    assert found == of_formula(snapshot, "TiO2")
    assert {entry.formula for entry in found} == {"TiO2"}
    with pytest.raises(ValueError, match="invalid formula"):
        of_formula(snapshot, "Nonsense?")


def test_by_stability(snapshot):
    ordered = by_stability(of_formula(snapshot, "MgO"))
    heights = [entry.value("energy_above_hull") for entry in ordered]
    assert heights == sorted(heights)
    assert ordered[0].value("space_group_number") == 225
