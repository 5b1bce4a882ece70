"""No reply, however odd, makes a reader raise, and what is taken is fit to be written as strict JSON."""

from __future__ import annotations

import json
from copy import deepcopy
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tasks_lib.databases.ingest import Reply, optimade, oqmd, walk
from tasks_lib.databases.ingest import materials_project as mp

READERS = [optimade.read_page, oqmd.read_page, mp.read_page]
NUMBERS = st.integers() | st.floats() | st.just(10**400)
LEAVES = st.none() | st.booleans() | NUMBERS | st.text(max_size=8) | st.sampled_from(["C1O1", "Fe", "mp-1", "?a=1"])
NAMES = st.sampled_from(
    ["data", "links", "meta", "next", "href", "next_page", "id", "type", "attributes", "lattice_vectors", "elements",
     "elements_ratios", "dimension_types", "species", "last_modified", "data_returned", "data_available", "total_doc",
     "more_data_available", "name", "entry_id", "composition", "delta_e", "material_id", "thermo_type", "deprecated"]
) | st.text(max_size=5)  # fmt: skip
TREES = st.recursive(
    LEAVES, lambda inner: st.lists(inner, max_size=4) | st.dictionaries(NAMES, inner, max_size=5), max_leaves=25
)
SOUND: dict[str, Any] = {
    "id": "x-1", "type": "structures",
    "attributes": {
        "last_modified": "2026-01-01T00:00:00Z", "elements": ["Si"], "nelements": 1, "elements_ratios": [1.0],
        "chemical_formula_reduced": "Si", "chemical_formula_anonymous": "A", "dimension_types": [1, 1, 1],
        "nperiodic_dimensions": 3, "lattice_vectors": [[4, 0, 0], [0, 4, 0], [0, 0, 4]],
        "cartesian_site_positions": [[0, 0, 0]], "nsites": 1, "species_at_sites": ["Si"], "structure_features": [],
        "species": [{"name": "Si", "chemical_symbols": ["Si"], "concentration": [1.0]}], "assemblies": None,
    },
}  # fmt: skip
QUIET = settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.too_slow])


def _reply(document: Any) -> Reply:
    return Reply("http://h/s", 200, json.dumps(document).encode("utf-8", "replace"))


@pytest.mark.parametrize("read", READERS)
@QUIET
@given(body=st.binary(max_size=200))
def test_any_bytes(read: Any, body: bytes) -> None:
    assert not read(Reply("http://h/s", 200, body), "").items


@pytest.mark.parametrize("read", READERS)
@QUIET
@given(document=TREES, data=st.lists(TREES, max_size=4), links=TREES, meta=TREES)
def test_any_json(read: Any, document: Any, data: list[Any], links: Any, meta: Any) -> None:
    read(_reply(document), "")
    page = read(_reply({"data": data, "links": links, "meta": meta}), "http://h/s?response_fields=x")
    for found in page.findings:
        found.model_dump_json()
        assert len(found.value) <= 120


@QUIET
@given(name=st.sampled_from(sorted(SOUND["attributes"])), value=TREES, place=st.sampled_from(["whole", "first"]))
def test_a_sound_structure_with_one_field_exchanged(name: str, value: Any, place: str) -> None:
    item = deepcopy(SOUND)
    there = item["attributes"][name]
    if place == "first" and isinstance(there, list) and there:
        there[0] = value
    else:
        item["attributes"][name] = value
    taken, findings = optimade.read_structure(item, "data[0]")
    assert (taken is None) == bool(findings)
    if taken is not None:
        json.dumps(taken, allow_nan=False)


@pytest.mark.parametrize("read", READERS)
@QUIET
@given(pages=st.lists(st.fixed_dictionaries({"data": st.lists(TREES, max_size=2), "links": TREES, "meta": TREES}),
                      min_size=1, max_size=4))  # fmt: skip
def test_any_pages_end_and_only_whole_ones_are_complete(read: Any, pages: list[Any]) -> None:
    asked: list[str] = []

    def fetch(url: str) -> Reply:
        asked.append(url)
        return _reply(pages[len(asked) % len(pages)])

    got = walk(fetch, "http://h/s", read)
    assert got.pages == len(asked) <= 1_000
    assert not (got.complete and got.announced is not None and len(got.items) != got.announced)
