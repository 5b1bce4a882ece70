"""What the builder derives: hulls, symmetry, structures made from prototypes; and what its verification catches."""

from __future__ import annotations

import pytest
from pymatgen.core.composition import Composition
from pymatgen.core.lattice import Lattice
from pymatgen.core.structure import Structure

from infra.databases.prototypes import shipped, substituted
from infra.databases.starting import primitive
from infra.databases.verify import complaints, systems
from tasks_lib.databases import Snapshot, geometry, load
from tasks_lib.databases.hulls import stabilities

pytestmark = pytest.mark.filterwarnings("ignore::UserWarning", "ignore::DeprecationWarning")


def test_a_hull_worked_out_by_hand():
    energies = {
        "a": (Composition("Li4"), -1.0),
        "b": (Composition("O2"), -2.0),
        "ab": (Composition("LiO"), -2.5),
        "ab high": (Composition("Li2O2"), -2.3),
        "a3b": (Composition("Li3O"), -1.5),
    }
    found = stabilities(energies)
    assert found["ab"].formation_energy == pytest.approx(-1.0)
    assert found["ab"].is_stable
    assert found["ab"].decomposes_to == {"ab": 1.0}
    assert found["ab high"].above_hull == pytest.approx(0.2)
    # On the line from Li (-1.0) to LiO (-2.5) a quarter of oxygen has -1.75 eV/atom.
    assert found["a3b"].above_hull == pytest.approx(0.25)
    assert found["a3b"].decomposes_to == pytest.approx({"a": 0.5, "ab": 0.5})
    assert not found["a3b"].is_stable


def test_a_hull_without_a_corner_is_refused():
    with pytest.raises(ValueError, match=r"none of \['O'\]"):
        stabilities({"a": (Composition("Li"), -1.0), "ab": (Composition("LiO"), -2.0)})


@pytest.mark.parametrize(
    ("number", "system"),
    [(1, "triclinic"), (2, "triclinic"), (3, "monoclinic"), (16, "orthorhombic"), (75, "tetragonal"), (143, "trigonal"),
     (167, "trigonal"), (168, "hexagonal"), (194, "hexagonal"), (195, "cubic"), (230, "cubic")],
)  # fmt: skip
def test_crystal_systems(number, system):
    assert geometry.crystal_system(number) == system


def test_symmetry_and_measures_of_rock_salt():
    halite = Structure.from_spacegroup("Fm-3m", Lattice.cubic(5.64), ["Na", "Cl"], [[0, 0, 0], [0.5, 0.5, 0.5]])
    small = primitive(halite)
    assert len(small) == 2
    assert geometry.symmetry(small) == {
        "space_group_number": 225,
        "space_group_symbol": "Fm-3m",
        "crystal_system": "cubic",
        "point_group": "m-3m",
    }
    assert geometry.measures(small)["volume_per_atom"] == pytest.approx(5.64**3 / 8, abs=1e-6)
    assert geometry.measures(small)["density"] == pytest.approx(2.164, abs=0.005)


def test_every_prototype_of_pymatgen_up_to_forty_atoms_is_taken():
    starts = shipped()
    assert len(starts) == 278
    assert len({start.key for start in starts}) == 278
    assert max(len(start.structure) for start in starts) == 40


def test_a_substitution_keeps_the_symmetry_and_scales_the_cell():
    start = substituted("AB_cF8_225_a_b", "NaCl", {"Na": "Mg", "Cl": "O"}, "periclase")
    assert geometry.symmetry(start.structure)["space_group_number"] == 225
    assert start.structure.composition.reduced_formula == "MgO"
    assert start.structure.volume < 30
    assert start.key == "like/AB_cF8_225_a_b/NaCl/OMg"
    assert "Mg" in start.origin


def test_an_element_is_scaled_by_its_radius():
    start = substituted("A_cF8_227_a", "C", {"C": "Si"})
    assert start.structure.volume / 2 == pytest.approx(20, rel=0.15)


def test_a_substitution_that_cannot_be_made():
    with pytest.raises(ValueError, match="ships no prototype"):
        substituted("AB_cF8_225_a_b", "KCl", {"K": "Mg", "Cl": "O"})
    with pytest.raises(ValueError, match="one new symbol for each"):
        substituted("AB_cF8_225_a_b", "NaCl", {"Na": "Mg"})


SHIPPED = load()


def altered(number, name, value):
    """Return the shipped snapshot with one stored value changed."""
    entries = []
    for entry in SHIPPED:
        properties = dict(entry.properties)
        if entry.number == number:
            properties[name] = properties[name].model_copy(update={"value": value})
        entries.append(entry.model_copy(update={"properties": properties}))
    return Snapshot(SHIPPED.header, entries)


def test_the_shipped_snapshot_verifies():
    assert list(complaints(SHIPPED)) == []


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("space_group_number", 1),
        ("volume", 1.0),
        ("density", 99.0),
        ("formation_energy_per_atom", -9.0),
        ("is_stable", None),
    ],
)
def test_an_altered_value_is_found(name, value):
    entry = next(entry for entry in SHIPPED if entry.formula == "MgO" and entry.value("is_stable"))
    value = False if name == "is_stable" else value
    found = list(complaints(altered(entry.number, name, value)))
    assert any(entry.id in line and name in line for line in found)


def test_a_lowered_energy_moves_the_hull():
    entry = next(entry for entry in SHIPPED if entry.formula == "MgO" and not entry.value("is_stable"))
    found = list(complaints(altered(entry.number, "energy_per_atom", -20.0)))
    assert any(entry.id in line and "energy_above_hull" in line for line in found)


def test_a_system_without_unstable_entries_is_found():
    kept = [entry for entry in SHIPPED if entry.chemical_system != "Mg-O" or entry.value("is_stable")]
    assert "Mg-O" in systems()
    assert any(
        line.startswith("Mg-O has stable and unstable entries") for line in complaints(Snapshot(SHIPPED.header, kept))
    )
