"""The gold of the Materials Project tasks against a second way to it, and the room that each tolerance leaves."""

from __future__ import annotations

import numpy as np
import pytest
from pymatgen.analysis.phase_diagram import PDEntry, PhaseDiagram
from pymatgen.analysis.structure_matcher import StructureMatcher
from pymatgen.core import Composition, Element, Structure
from pymatgen.core.surface import SlabGenerator
from pymatgen.symmetry.analyzer import SpacegroupAnalyzer

from infra.golds import mp, mp_hulls
from infra.golds.properties import number
from infra.inputs.mp import UNKNOWN, unknown_ordering
from tasks_lib.databases import Snapshot, load, of_formula, within_system
from tasks_lib.databases.entry import Entry


@pytest.fixture(scope="module")
def snapshot() -> Snapshot:
    return load()


def _diagram_entries(entries: tuple[Entry, ...]) -> list[PDEntry]:
    return [
        PDEntry(
            Composition(entry.structure.to_pymatgen().composition),
            number(entry, "energy_per_atom") * entry.nsites,
            name=entry.mp_id,
        )
        for entry in entries
    ]


@pytest.mark.parametrize("formula", ["Li2FePO4", "LiFeP2O7", "Fe3P2O8"])
def test_the_mixture_by_linear_programming_is_that_of_the_phase_diagram(snapshot: Snapshot, formula: str) -> None:
    entries = within_system(snapshot, "Li-Fe-P-O")
    composition = Composition(formula)
    _, shares = mp_hulls.mixture(entries, {str(symbol): count for symbol, count in composition.items()})
    wanted = PhaseDiagram(_diagram_entries(entries)).get_decomposition(composition)
    assert shares == pytest.approx({one.name: share for one, share in wanted.items() if share > 1e-6}, abs=1e-5)


def test_a_composition_outside_the_entries_has_no_mixture(snapshot: Snapshot) -> None:
    with pytest.raises(ValueError, match="hold no mixture"):
        mp_hulls.mixture(of_formula(snapshot, "TiO2"), {"Ti": 1, "O": 1})


def test_the_window_of_the_sesquioxide_is_that_of_the_phase_diagram(snapshot: Snapshot) -> None:
    found = mp_hulls.sesquioxide_window(snapshot)
    diagram = PhaseDiagram(_diagram_entries(within_system(snapshot, "Mn-O")))
    oxygen = diagram.el_refs[Element("O")].energy_per_atom
    places = [place - oxygen for place in diagram.get_transition_chempots(Element("O"))]
    for limit in found.values():
        assert min(abs(place - limit) for place in places) < 1e-4
    assert not [place for place in places if found["lower"] + 1e-4 < place < found["upper"] - 1e-4]


def test_the_margin_of_the_aluminide_is_no_built_in_number(snapshot: Snapshot) -> None:
    found = mp_hulls.aluminide_margin(snapshot)
    entries = _diagram_entries(within_system(snapshot, "Al-Ni"))
    (phase,) = (one for one in entries if one.composition.reduced_formula == "Al3Ni5")
    others = PhaseDiagram([one for one in entries if one is not phase])
    products, height = others.get_decomp_and_e_above_hull(phase, allow_negative=True)
    assert found["margin_mev"] == pytest.approx(-1000 * height, abs=1e-2)
    assert found["competitors"] == sorted(one.name for one in products)
    shortcut = PhaseDiagram(entries).get_equilibrium_reaction_energy(phase)
    assert abs(found["margin_mev"] + 1000 * shortcut) > 5


def test_the_slab_is_the_one_that_a_generator_cuts(snapshot: Snapshot) -> None:
    slab = mp.rock_salt_slab(snapshot)
    (entry,) = of_formula(snapshot, "NiO")
    cubic = SpacegroupAnalyzer(entry.structure.to_pymatgen()).get_conventional_standard_structure()
    cut = SlabGenerator(cubic, (1, 1, 0), 10, 15).get_slab().get_orthogonal_c_slab()
    assert len(np.unique(np.round(cut.cart_coords[:, 2], 2))) == 8
    cut.remove_sites(np.flatnonzero(cut.cart_coords[:, 2] > cut.cart_coords[:, 2].max() - 0.1).tolist())
    box = cut.lattice.matrix * np.array([[1], [1], [mp.SLAB_HEIGHT / cut.lattice.c]])
    lone = Structure(box, cut.species, cut.cart_coords, coords_are_cartesian=True)
    matcher = StructureMatcher(ltol=0.001, stol=0.01, angle_tol=0.1, scale=False)
    assert matcher.fit(slab, lone)
    assert slab.lattice.c == mp.SLAB_HEIGHT


def test_the_edges_of_the_body_centred_cell_are_those_of_the_standard_cell(snapshot: Snapshot) -> None:
    (entry,) = of_formula(snapshot, "K2MgF4")
    cell = SpacegroupAnalyzer(entry.structure.to_pymatgen()).get_conventional_standard_structure().lattice
    assert mp.body_centred_cell(snapshot) == pytest.approx({"a": cell.a, "c": cell.c}, abs=1e-5)


def test_the_unknown_crystal_is_one_ordering_and_no_other(snapshot: Snapshot) -> None:
    unknown = Structure.from_str(unknown_ordering().decode(), fmt="poscar")
    for tolerances in ({}, {"ltol": 0.05, "stol": 0.1, "angle_tol": 2.0}):
        matcher = StructureMatcher(**tolerances)
        fits = [one.mp_id for one in of_formula(snapshot, "Fe3Ni") if matcher.fit(unknown, one.structure.to_pymatgen())]
        assert fits == [UNKNOWN]
    assert SpacegroupAnalyzer(unknown, symprec=0.01).get_space_group_number() == 1


def test_no_value_lies_so_near_a_limit_that_reading_it_otherwise_changes_the_answer(snapshot: Snapshot) -> None:
    gaps = [one.value("band_gap") for one in snapshot if one.value("band_gap_is_direct") is True]
    assert min(abs(float(gap) - limit) for gap in gaps for limit in (1.0, 1.75)) > 0.03
    densities = sorted((number(one, "density") for one in snapshot if "O" in one.elements), reverse=True)
    assert densities[9] - densities[10] > 0.05
    perovskites = [one for one in snapshot if one.value("space_group_number") == 62 and "O" in one.elements]
    assert min(abs(number(one, "density") - 4) for one in perovskites) > 0.01
    components = sorted(
        (
            number(one, "piezoelectric_max")
            for one in snapshot
            if one.value("piezoelectric_max") is not None and "O" not in one.elements
        ),
        reverse=True,
    )
    assert components[4] - components[5] > 0.01


def test_a_property_that_is_missing_is_no_gold(snapshot: Snapshot) -> None:
    (entry,) = of_formula(snapshot, "K2MgF4")
    with pytest.raises(TypeError, match="ask only for what the snapshot holds"):
        number(entry, "band_gap")
