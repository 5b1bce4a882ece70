"""Gold of the tasks about compositions, energies and molecules, against pymatgen."""

from __future__ import annotations

import csv
import io
import itertools
import json

import numpy as np
import pytest
from pymatgen.analysis.chempot_diagram import ChemicalPotentialDiagram
from pymatgen.analysis.phase_diagram import PDEntry, PhaseDiagram
from pymatgen.core import Composition, Element
from pymatgen.io.xyz import XYZ

from infra.inputs import pymatgen_tables as inputs

FILES = inputs.files()


def rows(name: str) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(FILES[name].decode("utf-8"))))


def test_formulas_mean_the_amounts_they_were_written_from():
    for row in rows("transition-metal-valence/inputs/samples.csv"):
        amounts = inputs.SAMPLES[row["sample"]][1]
        found = Composition(row["formula"]).get_el_amt_dict()
        assert found == pytest.approx(amounts)


def test_valences_make_every_sample_neutral_and_differ_from_whole_numbers():
    for row in rows("transition-metal-valence/gold/valence.csv"):
        amounts = inputs.SAMPLES[row["sample"]][1]
        states = {**inputs.FIXED, **dict.fromkeys(inputs.REDOX, float(row["valence"]))}
        assert sum(states[element] * amount for element, amount in amounts.items()) == pytest.approx(0, abs=1e-3)
        assert 2 < float(row["valence"]) < 4
        assert abs(float(row["valence"]) - round(float(row["valence"]))) > 0.1


def test_dihedral_angles_are_those_that_the_molecules_were_built_with():
    frames = XYZ.from_str(FILES["dihedral-scan/inputs/scan.xyz"].decode("utf-8")).all_molecules
    gold = rows("dihedral-scan/gold/scan.csv")
    chain = [number - 1 for number in inputs.SCAN_ATOMS]
    assert len(frames) == len(gold) == len(inputs.SCAN)
    for frame, row, (dihedral, _) in zip(frames, gold, inputs.SCAN, strict=True):
        assert frame.composition.reduced_formula == "H5C2"
        assert frame.get_dihedral(*chain) == pytest.approx(dihedral, abs=1e-2)
        assert abs(dihedral) == pytest.approx(float(row["dihedral"]))
        bonds = [frame.get_distance(i, j) for i, j in itertools.pairwise(chain)]
        assert bonds == pytest.approx([inputs.BOND] * 3, abs=1e-5)
        table = frame.distance_matrix
        # Ten bonds to hydrogen, and no two hydrogen atoms in one another's place.
        assert np.isclose(table, inputs.HYDROGEN_BOND, atol=1e-4).sum() == 20
        assert table[np.triu_indices(14, 1)].min() > 1.05


def test_energies_of_the_scan_are_rounded_in_hartree_only():
    text = FILES["dihedral-scan/inputs/scan.xyz"].decode("utf-8")
    energies = [float(line.split()[-2]) for line in text.splitlines() if line.startswith("frame")]
    relative = (np.array(energies) - min(energies)) * inputs.HARTREE
    assert np.allclose(relative, [energy for _, energy in inputs.SCAN], atol=1e-4)


def entries() -> list[PDEntry]:
    return [
        PDEntry(Composition(row["cell"]), float(row["energy"]), name=row["phase"])
        for row in rows("oxygen-window/inputs/energies.csv")
    ]


def test_the_window_is_that_of_two_diagrams_of_pymatgen():
    gold = json.loads(FILES["oxygen-window/gold/window.json"])
    oxygen = Element("O")
    diagram = PhaseDiagram(entries())
    found = diagram.get_chempot_range_stability_phase(Composition("CaMn2O4"), oxygen)[oxygen]
    reference = diagram.el_refs[oxygen].energy_per_atom
    assert sorted(float(value - reference) for value in found) == pytest.approx([gold["min"], gold["max"]], abs=1e-4)
    other = ChemicalPotentialDiagram(entries())
    corners = other.domains["CaMn2O4"][:, other.elements.index(oxygen)]
    assert [corners.min(), corners.max()] == pytest.approx([gold["min"], gold["max"]], abs=1e-4)


def test_the_window_hangs_on_phases_of_both_sides():
    low, high = inputs.window()
    shifts = [np.subtract(inputs.window(name), (low, high)) for name in inputs.PHASES if name != inputs.WINDOW_OF]
    assert sum(abs(shift[0]) > 0.01 for shift in shifts) >= 2
    assert sum(abs(shift[1]) > 0.01 for shift in shifts) >= 2
    assert low < high < -0.5


def test_forms_of_one_composition_differ_in_energy():
    diagram = PhaseDiagram(entries())
    above = {entry.name: diagram.get_e_above_hull(entry) for entry in entries()}
    assert above["CaMn2O4-marokite"] == pytest.approx(0)
    for name in ("Ca-bcc", "MnO2-hollandite", "CaMnO3-cubic", "CaMn2O4-spinel"):
        assert above[name] > 0.01
