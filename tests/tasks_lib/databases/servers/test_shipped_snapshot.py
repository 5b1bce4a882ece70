"""The snapshot of the package in every dialect: each document fits the client's model, and the hulls agree."""

from __future__ import annotations

from collections import Counter

import httpx
import pytest
from emmet.core.elasticity import ElasticityDoc
from emmet.core.electronic_structure import ElectronicStructureDoc
from emmet.core.magnetism import MagnetismDoc
from emmet.core.material import MaterialsDoc
from emmet.core.provenance import ProvenanceDoc
from emmet.core.summary import SummaryDoc
from emmet.core.thermo import ThermoDoc
from optimade.models import ReferenceResource, StructureResource
from pydantic import BaseModel
from pymatgen.analysis.phase_diagram import PhaseDiagram
from pymatgen.entries.computed_entries import ComputedStructureEntry

from tasks_lib.databases import Snapshot, load
from tasks_lib.databases.servers import _mp_documents as mp
from tasks_lib.databases.servers import _optimade_documents as documents
from tasks_lib.databases.servers import start
from tasks_lib.databases.servers.optimade import BINARIES, CRYSTALS, OQMD_FACE, Provider

MODELS: dict[str, type[BaseModel]] = {
    "core": MaterialsDoc,
    "summary": SummaryDoc,
    "thermo": ThermoDoc,
    "electronic_structure": ElectronicStructureDoc,
    "elasticity": ElasticityDoc,
    "magnetism": MagnetismDoc,
    "provenance": ProvenanceDoc,
}


@pytest.fixture(scope="module")
def shipped() -> Snapshot:
    return load()


@pytest.fixture(scope="module")
def materials(shipped: Snapshot) -> list[mp.Material]:
    return [mp.Material(entry, shipped) for entry in shipped]


@pytest.mark.parametrize("name", MODELS)
def test_every_document_fits_the_clients_model(materials: list[mp.Material], name: str) -> None:
    docs = mp.collection(name, materials)
    model = MODELS[name]
    optional = {"theoretical": True} if "theoretical" in model.model_fields else {}
    for doc in docs:
        model.model_validate({**optional, **{key: value for key, value in doc.items() if value is not None}})
    assert len(docs) <= len(materials)
    assert len({tuple(doc) for doc in docs}) <= 1


@pytest.mark.parametrize("provider", [CRYSTALS, BINARIES, OQMD_FACE])
def test_every_structure_and_reference_fits_the_standard(shipped: Snapshot, provider: Provider) -> None:
    covered = [entry for entry in shipped if provider.covers(entry)]
    references, ids = documents.references(shipped, covered)
    top = ("id", "type", "relationships")
    for doc in references:
        attributes = {key: value for key, value in doc.items() if key not in top}
        ReferenceResource.model_validate({"id": doc["id"], "type": "references", "attributes": attributes})
    for entry in covered:
        doc = documents.structure(entry, provider.fields, ids)
        attributes = {key: value for key, value in doc.items() if key not in (*top, *provider.fields)}
        StructureResource.model_validate({**{key: doc[key] for key in top}, "attributes": attributes})
    assert len({doc["id"] for doc in references}) == len(references)


def test_the_smaller_provider_is_smaller_for_formulas_that_both_have(shipped: Snapshot) -> None:
    both = [Counter(entry.formula for entry in shipped if one.covers(entry)) for one in (CRYSTALS, BINARIES)]
    assert 0 < both[1].total() < both[0].total()
    assert both[1] <= both[0]


def test_served_entries_rebuild_the_hulls_of_the_snapshot(materials: list[mp.Material]) -> None:
    entries = {one.entry.number: ComputedStructureEntry.from_dict(mp.computed_entry(one)) for one in materials}
    systems = sorted({one.entry.elements for one in materials if len(one.entry.elements) == 2})[:25]
    assert systems
    for elements in systems:
        inside = [one.entry for one in materials if set(one.entry.elements) <= set(elements)]
        diagram = PhaseDiagram([entries[entry.number] for entry in inside])
        for entry in inside:
            above = diagram.get_e_above_hull(entries[entry.number])
            if entry.elements == elements:
                assert above == pytest.approx(entry.value("energy_above_hull"), abs=1e-6)


@pytest.mark.parametrize("dialect", ["mp", "oqmd", "optimade"])
def test_every_dialect_serves_every_entry(shipped: Snapshot, dialect: str) -> None:
    paths = {"mp": "materials/summary/", "oqmd": "oqmdapi/formationenergy", "optimade": "crystals/v1/structures"}
    with start(dialect, shipped) as server:
        headers = {"X-API-KEY": server.api_key} if server.api_key else {}
        meta = httpx.get(server.url + paths[dialect], headers=headers, timeout=60).json()["meta"]
    assert meta.get("total_doc", meta.get("data_available")) == len(shipped)
