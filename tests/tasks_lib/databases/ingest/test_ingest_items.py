"""Structures, entries and documents that the field has seen broken: the right value of each, with its path."""

from __future__ import annotations

import json
import math
from copy import deepcopy
from typing import Any

import pytest

from tasks_lib.databases.ingest import Effect, Fault, Finding, Reply, optimade, oqmd
from tasks_lib.databases.ingest import materials_project as mp

NAN, INFINITE = math.nan, math.inf
SITES = "cartesian_site_positions"
ROCK_SALT: dict[str, Any] = {
    "id": "x-1",
    "type": "structures",
    "attributes": {
        "last_modified": "2026-01-01T00:00:00Z",
        "immutable_id": "x-1",
        "elements": ["Mg", "O"],
        "nelements": 2,
        "elements_ratios": [0.5, 0.5],
        "chemical_formula_descriptive": "MgO",
        "chemical_formula_reduced": "MgO",
        "chemical_formula_anonymous": "AB",
        "dimension_types": [1, 1, 1],
        "nperiodic_dimensions": 3,
        "lattice_vectors": [[4.2, 0, 0], [0, 4.2, 0], [0, 0, 4.2]],
        "cartesian_site_positions": [[0, 0, 0], [2.1, 2.1, 2.1]],
        "nsites": 2,
        "species": [
            {"name": "Mg", "chemical_symbols": ["Mg"], "concentration": [1.0]},
            {"name": "O", "chemical_symbols": ["O"], "concentration": [1.0]},
        ],
        "species_at_sites": ["Mg", "O"],
        "structure_features": [],
    },
}


def structure(**changes: Any) -> dict[str, Any]:
    item = deepcopy(ROCK_SALT)
    item["attributes"] |= changes
    return item


def faults(findings: tuple[Finding, ...]) -> list[Fault]:
    return [one.fault for one in findings]


def reply(document: Any, url: str = "http://h/s") -> Reply:
    return Reply(url, 200, json.dumps(document).encode())


def test_a_sound_structure_is_taken_as_it_is() -> None:
    assert optimade.read_structure(ROCK_SALT, "data[0]") == (ROCK_SALT, ())


@pytest.mark.parametrize(
    ("changes", "fault", "path"),
    [
        ({SITES: [[0, 0, 0], [2.1, NAN, 2.1]]}, Fault.NOT_FINITE, f"{SITES}[1][1]"),
        ({SITES: [[INFINITE, 0, 0], [1, 1, 1]]}, Fault.NOT_FINITE, f"{SITES}[0][0]"),
        ({"elements_ratios": [NAN, 0.5]}, Fault.NOT_FINITE, "elements_ratios[0]"),
        ({"lattice_vectors": [[0, 0, 0]] * 3}, Fault.NO_CELL, "lattice_vectors"),
        ({"lattice_vectors": [[4, 0, 0], [4, 0, 0], [0, 0, 4]]}, Fault.NO_CELL, "lattice_vectors"),
        ({"lattice_vectors": [[4, 0, 0], [0, 4, 0], [0, 0, 0]]}, Fault.NO_CELL, "lattice_vectors"),
        ({"last_modified": "2026-01-01T00:00:00"}, Fault.NAIVE_TIME, "last_modified"),
        ({"last_modified": 1_700_000_000}, Fault.NOT_THE_MODEL, "last_modified"),
        ({"last_modified": "yesterday"}, Fault.NOT_THE_MODEL, "last_modified"),
        ({"chemical_formula_reduced": "Mg1O1"}, Fault.NOT_THE_MODEL, "chemical_formula_reduced"),
        ({"nsites": 3}, Fault.NOT_THE_MODEL, ""),
    ],
)  # fmt: skip
def test_what_the_models_take_and_we_do_not(changes: dict[str, Any], fault: Fault, path: str) -> None:
    taken, findings = optimade.read_structure(structure(**changes), "data[4]")
    assert taken is None
    assert findings[0].fault is fault
    assert findings[0].path == f"data[4].attributes.{path}".rstrip(".")
    assert findings[0].effect is Effect.REJECTED


def test_a_rejected_structure_leaves_the_others_and_a_set_that_is_not_whole() -> None:
    good = {**structure(), "id": "x-2"}
    document = {
        "data": [structure(elements_ratios=[NAN, 0.5]), good],
        "links": {"next": None},
        "meta": {"data_returned": 2, "more_data_available": False},
    }
    page = optimade.read_page(reply(document))
    assert [identity for identity, _ in page.items] == ["x-2"]
    assert page.size == 2
    assert [(one.fault, one.path) for one in page.findings] == [
        (Fault.NOT_FINITE, "data[0].attributes.elements_ratios[0]")
    ]


def test_nan_in_a_providers_own_field_is_a_missing_value() -> None:
    taken, findings = optimade.read_structure(structure(_dcgat_gap=NAN, _dcgat_tensor=[1.0, [NAN]]), "data[0]")
    assert taken is not None
    assert taken["attributes"]["_dcgat_gap"] is None
    assert taken["attributes"]["_dcgat_tensor"] is None
    assert [(one.fault, one.path) for one in findings] == [
        (Fault.OWN_NAN, "data[0].attributes._dcgat_gap"),
        (Fault.OWN_NAN, "data[0].attributes._dcgat_tensor[1][0]"),
    ]


def test_a_molecule_needs_no_cell() -> None:
    molecule = structure(
        dimension_types=[0, 0, 0], nperiodic_dimensions=0, lattice_vectors=[[None] * 3, [None] * 3, [None] * 3]
    )
    assert optimade.read_structure(molecule, "data[0]")[0] == molecule
    layer = structure(
        dimension_types=[1, 1, 0], nperiodic_dimensions=2, lattice_vectors=[[4, 0, 0], [0, 4, 0], [0, 0, 0]]
    )
    assert optimade.read_structure(layer, "data[0]")[0] == layer


def test_chosen_fields_may_leave_others_away_but_not_be_wrong() -> None:
    url = "http://h/structures?response_fields=elements,nelements"
    one = {"id": "a", "type": "structures", "attributes": {"elements": ["Si"], "nelements": 1}}
    two = {"id": "b", "type": "structures", "attributes": {"elements": "Si", "nelements": 1}}
    page = optimade.read_page(reply({"data": [one, two], "links": {}, "meta": {}}, url))
    assert [identity for identity, _ in page.items] == ["a"]
    assert [(found.fault, found.path) for found in page.findings] == [
        (Fault.NOT_THE_MODEL, "data[1].attributes.elements")
    ]
    whole = optimade.read_page(reply({"data": [one], "links": {}, "meta": {}}, "http://h/structures"))
    assert whole.items == ()


def test_one_structure_alone_is_a_page_of_one() -> None:
    page = optimade.read_page(reply({"data": ROCK_SALT, "links": {}, "meta": {"data_returned": 1}}))
    assert (page.size, page.next, page.announced, page.findings) == (1, None, 1, ())


@pytest.mark.parametrize("body", [b"", b"<html>", b'{"data": [', b"[" * 100_000, b"\xff\xfe\x00", b"9" * 5000])
@pytest.mark.parametrize("read", [optimade.read_page, oqmd.read_page, mp.read_page])
def test_what_is_no_reply_is_told_in_every_dialect(body: bytes, read: Any) -> None:
    page = read(Reply("http://h/s", 200, body))
    assert not page.readable
    assert faults(page.findings) == [Fault.NOT_JSON]


@pytest.mark.parametrize("read", [optimade.read_page, oqmd.read_page, mp.read_page])
@pytest.mark.parametrize("document", [[], 7, "x", None, {}, {"data": 7}, {"data": None}])
def test_json_that_is_no_page_is_told_in_every_dialect(document: Any, read: Any) -> None:
    page = read(reply(document))
    assert faults(page.findings) == [Fault.NOT_A_REPLY]
    assert not page.readable


# OQMD ---------------------------------------------------------------------------------------------------------------


def test_oqmd_reply_without_meta() -> None:
    page = oqmd.read_page(reply({"data": [{"name": "CO", "entry_id": 1}], "links": {"next": None}}))
    assert [(one.fault, one.path, one.effect) for one in page.findings] == [(Fault.NO_META, "meta", Effect.MALFORMED)]
    assert len(page.items) == 1


def test_oqmd_single_entry_that_is_not_under_data() -> None:
    page = oqmd.read_page(reply({"name": "CO", "entry_id": 1, "delta_e": -0.5}))
    assert [(one.fault, one.path, one.effect) for one in page.findings] == [(Fault.BARE_ENTRY, "", Effect.NOTED)]
    assert page.items == (("entry_id=1", {"name": "CO", "entry_id": 1, "delta_e": -0.5}),)


@pytest.mark.parametrize(
    ("name", "formula", "read"),
    [
        ("name", "C1O1", "CO"),
        ("name", "Fe2O3", None),
        ("name", "C1O12", "CO12"),
        ("name", "Al11Fe1", "Al11Fe"),
        ("name", "Fe0.1Ni0.9", None),
        ("composition", "C1O1", "CO"),
        ("composition", "C1 O1", None),
        ("composition", "Fe1", None),
        ("chemical_formula", "Na1Cl1", "NaCl"),
    ],
)
def test_oqmd_formula_with_ones(name: str, formula: str, read: str | None) -> None:
    entry, findings = oqmd.read_entry({name: formula}, "data[2]")
    assert entry == {name: read or formula}
    assert [(one.fault, one.path, one.value) for one in findings] == (
        [(Fault.COUNTED_ONES, f"data[2].{name}", f'"{formula}"')] if read else []
    )


@pytest.mark.parametrize("formula", ["Xx2O3", "", 7, "C1O1" * 100, "(Fe", "Fe-O"])
def test_oqmd_formula_that_is_none(formula: Any) -> None:
    entry, findings = oqmd.read_entry({"name": formula}, "data[0]")
    assert entry is None
    assert [(one.fault, one.path) for one in findings] == [(Fault.NOT_THE_MODEL, "data[0].name")]


@pytest.mark.parametrize("text", ["Fe,O", "Fe O", "['Fe', 'O']", '["Fe", "O"]', "Fe-O"])
def test_oqmd_elements_as_text(text: str) -> None:
    entry, findings = oqmd.read_entry({"elements": text}, "data[0]")
    assert entry == {"elements": ["Fe", "O"]}
    assert [(one.fault, one.path) for one in findings] == [(Fault.ELEMENTS_AS_TEXT, "data[0].elements")]


@pytest.mark.parametrize("elements", ["iron", "Zz", "", 7, ["Fe", 8], ["Zz"], {"Fe": 1}])
def test_oqmd_elements_that_are_none(elements: Any) -> None:
    entry, findings = oqmd.read_entry({"elements": elements}, "")
    assert entry is None
    assert [(one.fault, one.path) for one in findings] == [(Fault.NOT_THE_MODEL, "elements")]


@pytest.mark.parametrize(
    ("value", "fault"), [(NAN, Fault.NOT_FINITE), ("-0.5", Fault.NOT_THE_MODEL), (True, Fault.NOT_THE_MODEL)]
)
def test_oqmd_energies_are_finite_numbers(value: Any, fault: Fault) -> None:
    entry, findings = oqmd.read_entry({"delta_e": value}, "data[0]")
    assert entry is None
    assert [(one.fault, one.path) for one in findings] == [(fault, "data[0].delta_e")]


def test_each_fault_of_oqmd_is_told_apart_in_one_reply() -> None:
    document = {"data": [{"name": "C1O1", "elements": "C,O"}, {"name": "Fe2O3", "elements": ["Fe", "O"]}]}
    page = oqmd.read_page(reply(document))
    assert [(one.fault, one.path) for one in page.findings] == [
        (Fault.NO_META, "meta"),
        (Fault.COUNTED_ONES, "data[0].name"),
        (Fault.ELEMENTS_AS_TEXT, "data[0].elements"),
    ]


# Materials Project --------------------------------------------------------------------------------------------------


def test_one_material_with_two_hull_energies() -> None:
    documents = [
        {"material_id": "mp-19770", "thermo_type": "GGA_GGA+U", "energy_above_hull": 0.0},
        {"material_id": "mp-19770", "thermo_type": "R2SCAN", "energy_above_hull": 0.031},
        {"material_id": "mp-149", "thermo_type": "GGA_GGA+U", "energy_above_hull": 0.0},
    ]
    hulls = mp.read_hulls(documents)
    assert [(one.fault, one.path) for one in hulls.findings] == [(Fault.TWO_HULLS, "data[1].energy_above_hull")]
    assert hulls.height("mp-19770", "R2SCAN") == 0.031
    assert hulls.height("mp-19770", "GGA_GGA+U") == 0.0
    assert hulls.height("mp-19770", "SCAN") is None
    assert hulls.height("mp-1", "R2SCAN") is None


def test_two_thermo_types_of_one_material_are_two_documents() -> None:
    documents = [
        {"material_id": "mp-1", "thermo_type": kind, "energy_above_hull": 0.1} for kind in ("GGA_GGA+U", "R2SCAN")
    ]
    page = mp.read_page(reply({"data": documents, "meta": {"total_doc": 2}}))
    assert len(set(page.identities)) == 2
    assert page.findings == ()


def test_a_deprecated_id_is_kept_and_told() -> None:
    document = {"material_id": "mp-5", "deprecated": True, "band_gap": 1.0}
    taken, findings = mp.read_document(document, "data[0]")
    assert taken == document
    assert [(one.fault, one.path, one.value) for one in findings] == [
        (Fault.DEPRECATED, "data[0].deprecated", '"mp-5"')
    ]


def test_values_and_ids_that_are_gone_after_a_release() -> None:
    expected = {
        "mp-9000001": {"band_gap": 1.1, "efermi": None},
        "mp-9000002": {"band_gap": 2.0},
        "mp-3": {"density": 1},
    }
    now = [{"material_id": "mp-tsbpx", "band_gap": None, "efermi": 3.0}, {"material_id": "mp-9000002", "band_gap": 2.1}]
    assert [(one.fault, one.path) for one in mp.compare_with(expected, now)] == [
        (Fault.VALUE_GONE, "data[0].band_gap"),
        (Fault.ID_GONE, "data"),
    ]


@pytest.mark.parametrize(
    ("document", "fault", "path"),
    [
        ({"material_id": "149"}, Fault.NOT_THE_MODEL, "material_id"),
        ({"material_id": None}, Fault.NOT_THE_MODEL, "material_id"),
        ({"material_id": "mp-1", "energy_above_hull": NAN}, Fault.NOT_FINITE, "energy_above_hull"),
        ({"material_id": "mp-1", "band_gap": "1.1"}, Fault.NOT_THE_MODEL, "band_gap"),
    ],
)
def test_documents_of_materials_project_that_are_none(document: Any, fault: Fault, path: str) -> None:
    taken, findings = mp.read_document(document, "data[0]")
    assert taken is None
    assert [(one.fault, one.path) for one in findings] == [(fault, f"data[0].{path}")]


@pytest.mark.parametrize("identity", ["mp-149", "mp-tsbpx", "mp-aaatsbpx", "mvc-12"])
def test_ids_of_materials_project(identity: str) -> None:
    assert mp.read_document({"material_id": identity}, "data[0]")[1] == ()


def test_many_documents_without_a_count_may_be_a_part() -> None:
    two = [{"material_id": "mp-1"}, {"material_id": "mp-2"}]
    assert faults(mp.read_page(reply({"data": two})).findings) == [Fault.NO_META]
    assert mp.read_page(reply({"data": two[:1]})).findings == ()
