"""An entry says of each value how it is known, in the unit of the vocabulary."""

from __future__ import annotations

import pytest
from pydantic import ValidationError

from tasks_lib.databases import MISSING, PROPERTIES, Crystal, Entry, Property, Provenance

GAP = Property(provenance=Provenance.LITERATURE, value=1.12, unit="eV", source="a book")
ENERGY = Property(provenance=Provenance.COMPUTED, value=-5.4, unit="eV/atom", method="a potential", version="1")


def silicon(**properties: Property) -> dict[str, object]:
    return {
        "number": 9_000_001,
        "origin": "by hand",
        "relaxation": "none",
        "formula": "Si",
        "anonymous_formula": "A",
        "elements": ("Si",),
        "structure": Crystal(
            lattice=((0.0, 2.715, 2.715), (2.715, 0.0, 2.715), (2.715, 2.715, 0.0)),
            species=("Si", "Si"),
            positions=((0.0, 0.0, 0.0), (0.25, 0.25, 0.25)),
        ),
        "properties": dict.fromkeys(PROPERTIES, MISSING) | properties,
    }


def test_one_number_is_behind_every_id():
    entry = Entry.model_validate(silicon())
    assert entry.id == "matassay-9000001"
    assert entry.mp_id == "mp-9000001"
    assert entry.mp_alpha_id == "mp-tsbpx"
    assert entry.oqmd_entry_id == 9_000_001
    assert entry.oqmd_calculation_id == 19_000_001


def test_values_and_missing_values():
    entry = Entry.model_validate(silicon(band_gap=GAP))
    assert entry.value("band_gap") == 1.12
    assert entry.value("energy_per_atom") is None
    assert (entry.chemical_system, entry.nsites) == ("Si", 2)
    with pytest.raises(KeyError):
        entry.value("colour")


def test_the_structure_becomes_pymatgens():
    structure = Entry.model_validate(silicon()).structure.to_pymatgen()
    assert structure.composition.reduced_formula == "Si"
    assert structure.get_distance(0, 1) == pytest.approx(3**0.5 / 4 * 5.43, abs=1e-6)


@pytest.mark.parametrize(
    "wrong",
    [
        {"provenance": "computed", "value": 1.0, "unit": "eV", "method": "m"},
        {"provenance": "computed", "value": 1.0, "unit": "eV", "version": "v"},
        {"provenance": "literature", "value": 1.0, "unit": "eV", "method": "m"},
        {"provenance": "literature", "unit": "eV", "source": "s"},
        {"provenance": "missing", "value": 0.0},
        {"provenance": "missing", "source": "s"},
        {"provenance": "guessed", "value": 0.0},
    ],
)
def test_a_value_without_its_origin_is_refused(wrong):
    with pytest.raises(ValidationError):
        Property.model_validate(wrong)


def test_a_value_in_another_unit_is_refused():
    with pytest.raises(ValidationError, match="is in 'eV', got 'meV': convert the value"):
        Entry.model_validate(silicon(band_gap=GAP.model_copy(update={"unit": "meV"})))


def test_every_property_of_the_vocabulary_is_there_and_no_other():
    short = silicon()
    del short["properties"]["density"]
    with pytest.raises(ValidationError, match="density"):
        Entry.model_validate(short)
    with pytest.raises(ValidationError, match="colour"):
        Entry.model_validate(silicon(colour=GAP))


def test_elements_and_sites_agree():
    with pytest.raises(ValidationError, match="elements are those of the structure"):
        Entry.model_validate(silicon() | {"elements": ("Ge",)})
    with pytest.raises(ValidationError, match="one position for each site"):
        Crystal(lattice=((1, 0, 0), (0, 1, 0), (0, 0, 1)), species=("Si", "Si"), positions=((0, 0, 0),))


def test_nan_is_no_coordinate():
    with pytest.raises(ValidationError):
        Crystal(lattice=((1, 0, 0), (0, 1, 0), (0, 0, 1)), species=("Si",), positions=((float("nan"), 0, 0),))


def test_numbers_outside_the_range_are_refused():
    with pytest.raises(ValidationError):
        Entry.model_validate(silicon() | {"number": 149})
