"""The Materials Project's dialect, asked by the unmodified `mp-api` client and by plain HTTP."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
from emmet.core.elasticity import ElasticityDoc
from emmet.core.electronic_structure import ElectronicStructureDoc
from emmet.core.magnetism import MagnetismDoc
from emmet.core.material import MaterialsDoc
from emmet.core.provenance import ProvenanceDoc
from emmet.core.summary import SummaryDoc
from emmet.core.thermo import ThermoDoc
from mp_api.client import MPRester
from mp_api.client.core import MPRestError
from pydantic import BaseModel
from pymatgen.analysis.phase_diagram import PhaseDiagram

from tasks_lib.databases import Snapshot
from tasks_lib.databases.identifiers import mp_number
from tasks_lib.databases.servers import RunningServer, start

KEY = "0123456789abcdef0123456789abcdef"
MODELS: dict[str, type[BaseModel]] = {
    "core": MaterialsDoc,
    "summary": SummaryDoc,
    "thermo": ThermoDoc,
    "electronic_structure": ElectronicStructureDoc,
    "elasticity": ElasticityDoc,
    "magnetism": MagnetismDoc,
    "provenance": ProvenanceDoc,
}
# Fields that a document may lack or leave null although the model has them, and why.
NOT_IN_DOCS = {
    "structure",  # property documents of the real service do not carry it either
    "prop_origins",  # excluded by the model itself
}


@pytest.fixture(scope="module")
def client(materials_project: RunningServer) -> Iterator[MPRester]:
    with MPRester(KEY, endpoint=materials_project.url, mute_progress_bars=True) as found:
        yield found


def _get(server: RunningServer, path: str, key: str | None = KEY, **query: Any) -> httpx.Response:
    return httpx.get(server.url + path, params=query, headers={"X-API-KEY": key} if key else {})


def _numbers(docs: list[Any]) -> list[int]:
    return [mp_number(str(doc["material_id"])) - 9_000_000 for doc in docs]


def test_the_client_reads_version_and_digest(client: MPRester, materials_project: RunningServer) -> None:
    assert client.db_version == "small-snapshot"
    beat = _get(materials_project, "heartbeat", key=None).json()
    assert beat["digest"] == f"sha256:{materials_project.digest}"


@pytest.mark.parametrize(
    ("query", "numbers"),
    [
        ({"elements": ["O"], "band_gap": (3, 10)}, [12, 14, 15, 19]),
        ({"chemsys": "O-Ti"}, [14, 15]),
        ({"chemsys": ["Fe-O", "Mg-O"]}, [12, 13]),
        ({"chemsys": "Mg-*-O"}, [19, 20]),
        ({"formula": "TiO2"}, [14, 15]),
        ({"formula": ["NaCl", "Mg1 O1"]}, [10, 11, 12]),
        ({"formula": "*O2"}, [14, 15, 16]),
        ({"formula": "ABC3"}, [20]),
        ({"exclude_elements": ["O", "Fe", "Cl"], "num_elements": (1, 1)}, [3, 4, 5, 6, 7]),
        ({"is_stable": False}, [2, 11, 15, 20]),
        ({"energy_above_hull": (0.01, 0.09)}, [15]),
        ({"spacegroup_number": 227}, [3, 16, 19]),
        ({"spacegroup_symbol": "P6_3/mmc"}, [6, 7]),
        ({"crystal_system": "Tetragonal"}, [14, 15]),
        ({"is_metal": True, "elements": ["Fe"]}, [1, 2]),
        ({"k_vrh": (1, 500)}, [3, 4, 12]),
        ({"num_sites": (6, 14), "density": (0, 3.7)}, [16, 19]),
        ({"has_props": ["magnetism"]}, [1, 2, 13]),
        ({"material_ids": ["mp-9000012", "mp-9000003"]}, [12, 3]),
        ({"theoretical": True}, []),
    ],
)
def test_the_client_searches_the_summary(client: MPRester, query: dict[str, Any], numbers: list[int]) -> None:
    docs = client.materials.summary.search(**query, fields=["material_id"])
    found = _numbers([{"material_id": doc.material_id} for doc in docs])
    assert found == numbers


def test_the_client_reads_whole_summaries(client: MPRester, small_snapshot: Snapshot) -> None:
    (doc,) = client.materials.summary.search(material_ids="mp-9000012")
    entry = small_snapshot.by_number[9_000_012]
    assert doc.formula_pretty == "MgO"
    assert doc.band_gap == 7.8
    assert doc.is_metal is False
    assert doc.symmetry.number == 225
    assert doc.symmetry.crystal_system.value == "Cubic"
    assert doc.structure == entry.structure.to_pymatgen()
    assert doc.bulk_modulus["vrh"] == entry.value("bulk_modulus_vrh")
    assert doc.e_total is None
    assert doc.efermi is None
    assert set(type(doc).model_fields) >= set(SummaryDoc.model_fields) - {"prop_origins"}


def test_moments_of_the_cell_and_of_the_formula_are_told_apart(client: MPRester) -> None:
    (doc,) = client.materials.magnetism.search(material_ids=["mp-9000001"])
    assert doc.total_magnetization == doc.total_magnetization_normalized_formula_units == 2.2
    assert doc.total_magnetization_normalized_vol == pytest.approx(2.2 / doc.volume)
    assert doc.num_magnetic_sites == 1
    assert doc.ordering == "FM"


def test_what_decomposes_says_into_what(client: MPRester) -> None:
    (doc,) = client.materials.thermo.search(material_ids=["mp-9000020"])
    parts = {product.formula: product.amount for product in doc.decomposes_to}
    assert parts == {"MgO": pytest.approx(0.4), "TiO2": pytest.approx(0.6)}
    assert doc.energy_above_hull == pytest.approx(0.18)
    assert "machine-learned" in doc.warnings[0]


def test_the_helpers_work(client: MPRester, small_snapshot: Snapshot) -> None:
    rutile = small_snapshot.by_number[9_000_014]
    assert client.get_structure_by_material_id("mp-9000014") == rutile.structure.to_pymatgen()
    conventional = client.get_structure_by_material_id("mp-9000010", conventional_unit_cell=True)
    assert len(conventional) == 8
    found = client.find_structure(rutile.structure.to_pymatgen())
    assert mp_number(str(found)) == 9_000_014
    assert [mp_number(str(one)) for one in client.get_material_ids("O-Ti")] == [9_000_014, 9_000_015]
    assert "Kittel" in client.get_material_id_references("mp-9000003")[0]
    assert len(client.get_structures("TiO2")) == 2


def test_entries_make_the_hull_of_the_snapshot(client: MPRester, small_snapshot: Snapshot) -> None:
    entries = client.get_entries_in_chemsys("Mg-Ti-O", additional_criteria={"thermo_types": ["GGA_GGA+U"]})
    diagram = PhaseDiagram(entries)
    assert len(entries) == 7
    for entry in entries:
        wanted = small_snapshot.by_mp(str(entry.data["material_id"]))
        assert diagram.get_e_above_hull(entry) == pytest.approx(wanted.value("energy_above_hull"), abs=1e-9)


def test_counts_and_pages_agree(client: MPRester, materials_project: RunningServer) -> None:
    assert client.materials.summary.count({"elements": "O"}) == 8
    before = len(materials_project.requests())
    docs = client.materials.summary.search(elements=["O"], chunk_size=3, fields=["material_id"])
    asked = [one.query for one in materials_project.requests()[before:]]
    assert len(docs) == len({str(doc.material_id) for doc in docs}) == 8
    assert [query.count("_skip=") for query in asked] == [0, 1, 1]


def test_the_client_sorts(client: MPRester) -> None:
    docs = client.materials.summary.search(
        elements=["O"], num_elements=2, _sort_fields="-density", fields=["density", "material_id"]
    )
    densities = [doc.density for doc in docs]
    assert densities == sorted(densities, reverse=True)


def test_environment_variables_alone_lead_the_client_here(materials_project: RunningServer) -> None:
    script = (
        "from mp_api.client import MPRester\n"
        "with MPRester(mute_progress_bars=True) as m:\n"
        "    print(m.materials.summary.search(formula='MgO', fields=['band_gap'])[0].band_gap)\n"
    )
    ran = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", script],
        env={"PATH": "", "HOME": "/nonexistent", **materials_project.environment()},
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )
    assert ran.stdout.strip() == "7.8", ran.stderr


OPEN_DATA_SCRIPT = """
import json, sys, warnings
from mp_api.client import MPRester
with MPRester(mute_progress_bars=True, local_dataset_cache=sys.argv[1]) as m:
    entries = m.get_entries_in_chemsys(["Mg", "Ti", "O"])
    diagram = m.materials.thermo.get_phase_diagram_from_chemsys("Ti-O")
    whole = m.materials.summary.search()
    others = {n: len(getattr(m.materials, n).search()) for n in ("thermo", "elasticity", "magnetism", "provenance")}
    try:
        m.get_bandstructure_by_material_id("mp-9000012")
    except Exception as error:
        failed = f"{type(error).__name__}: {error}"
    print(json.dumps({
        "entries": len(entries),
        "stable": sorted(e.reduced_formula for e in diagram.stable_entries),
        "whole": sorted({doc.formula_pretty for doc in whole}),
        "count": len(whole),
        "others": others,
        "failed": failed,
    }))
"""


def test_phase_diagrams_and_whole_collections_come_from_the_open_data(
    materials_project: RunningServer, small_snapshot: Snapshot, tmp_path: Path
) -> None:
    ran = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", OPEN_DATA_SCRIPT, str(tmp_path)],
        env={"PATH": "", "HOME": str(tmp_path), **materials_project.environment()},
        capture_output=True,
        text=True,
        check=False,
        timeout=240,
    )
    assert ran.returncode == 0, ran.stderr
    found = json.loads(ran.stdout.splitlines()[-1])
    assert found["entries"] == 7
    assert found["stable"] == ["O2", "Ti", "TiO2"]
    assert found["count"] == len(small_snapshot)
    assert found["whole"] == sorted({entry.formula for entry in small_snapshot})
    assert found["others"] == {"thermo": 20, "elasticity": 3, "magnetism": 3, "provenance": 20}
    assert found["failed"].startswith("MPRestError")


def test_open_data_are_read_only_and_stay_in_their_folder(materials_project: RunningServer) -> None:
    base = f"{materials_project.endpoints['open_data']}/materialsproject-build"
    assert httpx.put(f"{base}/x", content=b"x").status_code in (401, 405, 501)
    for key in ("..%2f..%2f..%2fetc%2fpasswd", "collections", "absent"):
        reply = httpx.get(f"{base}/{key}")
        assert reply.status_code == 404
        assert "NoSuchKey" in reply.text
    listed = httpx.get(f"{materials_project.endpoints['open_data']}/..", params={"list-type": "2"})
    assert "<Contents>" not in listed.text


@pytest.mark.parametrize("name", MODELS)
def test_every_document_fits_the_clients_model(materials_project: RunningServer, name: str) -> None:
    docs = _get(materials_project, f"materials/{name}/", _all_fields=True, _limit=1000).json()["data"]
    assert docs
    model = MODELS[name]
    for doc in docs:
        # The client makes every field of an answer optional; so does this check.
        filled = {key: value for key, value in doc.items() if value is not None}
        optional = {"theoretical": True} if "theoretical" in model.model_fields else {}
        model.model_validate({**optional, **filled})
    named = {field.alias or key for key, field in model.model_fields.items()} | set(model.model_fields)
    missing = set(model.model_fields) - set(docs[0]) - NOT_IN_DOCS
    assert not missing
    assert set(docs[0]) - named <= {"thermo_id"}
    assert len({tuple(doc) for doc in docs}) == 1  # the client takes the fields of the first for those of all


@pytest.mark.parametrize(("key", "status"), [(None, 401), ("x" * 32, 403), ("short", 403)])
def test_the_key_is_asked_for(materials_project: RunningServer, key: str | None, status: int) -> None:
    reply = _get(materials_project, "materials/summary/", key=key)
    assert reply.status_code == status
    assert "API key" in reply.json()["detail"]


def test_the_client_shows_a_wrong_key(materials_project: RunningServer) -> None:
    with (
        MPRester("y" * 32, endpoint=materials_project.url, mute_progress_bars=True) as client,
        pytest.raises(MPRestError, match=r"status code 403[\s\S]*Invalid API key"),
    ):
        client.materials.summary.search(formula="MgO")


def test_an_absent_material_is_nothing_in_a_search_and_404_by_path(
    client: MPRester, materials_project: RunningServer
) -> None:
    assert client.materials.summary.search(material_ids=["mp-149"]) == []
    reply = _get(materials_project, "materials/summary/mp-149/")
    assert reply.status_code == 404
    assert "mp-149 not found" in reply.json()["detail"]
    found = _get(materials_project, "materials/core/mp-9000012/", _fields="formula_pretty,symmetry.number").json()
    assert found["data"] == [{"formula_pretty": "MgO", "symmetry": {"number": 225}}]


def test_both_spellings_of_an_id_find_it(materials_project: RunningServer) -> None:
    for spelling in ("mp-9000001", "mp-tsbpx", "mp-aaatsbpx"):
        data = _get(materials_project, "materials/summary/", material_ids=spelling, _fields="material_id").json()
        assert data["data"] == [{"material_id": "mp-tsbpx"}]


@pytest.mark.parametrize(
    ("query", "status", "word"),
    [
        ({"colour": "red"}, 400, "colour"),
        ({"limit": "5"}, 400, "_limit"),
        ({"_limit": "1001"}, 400, "max limit is 1000"),
        ({"_page": "2", "_skip": "3"}, 400, "not both"),
        ({"formula": "Fe2*,O"}, 400, "Wild cards"),
        ({"formula": "@!"}, 400, "formulas"),
        ({"formula": "Fe(" * 60}, 400, "formulas"),
        ({"formula": "*" * 30}, 400, "wild cards"),
        ({"chemsys": "Fe-*,O"}, 400, "Wild cards"),
        ({"elements": "Fe,Qq"}, 400, "elements"),
        ({"_sort_fields": ",".join(["volume"] * 11)}, 400, "at most 10"),
        ({"elements": ",".join(["Fe"] * 2001)}, 400, "at most"),
        ({"band_gap_min": "big"}, 422, "valid number"),
        ({"band_gap_min": "nan"}, 422, "finite"),
        ({"_skip": "-1"}, 422, "whole number"),
        ({"is_stable": "perhaps"}, 422, "boolean"),
        ({"crystal_system": "round"}, 422, "Cubic"),
        ({"spacegroup_number": "1e3"}, 422, "whole number"),
        ({"has_props": "charm"}, 422, "thermo"),
    ],
)
def test_wrong_queries_say_what_is_wrong(
    materials_project: RunningServer, query: dict[str, str], status: int, word: str
) -> None:
    reply = _get(materials_project, "materials/summary/", **query)
    assert reply.status_code == status
    assert word in json.dumps(reply.json()["detail"])


def test_the_client_shows_the_place_of_a_422(client: MPRester) -> None:
    with pytest.raises(MPRestError, match="crystal_system - Input should be Triclinic"):
        client.materials.summary.search(crystal_system="round")


def test_nested_and_unknown_fields(materials_project: RunningServer) -> None:
    reply = _get(
        materials_project, "materials/summary/", formula="MgO", _fields="symmetry.symbol,symmetry.number,what,a.b.c"
    ).json()
    assert reply["data"] == [{"symmetry": {"symbol": "Fm-3m", "number": 225}}]
    assert reply["meta"]["total_doc"] == 1


def test_missing_values_sort_first_and_match_no_bound(materials_project: RunningServer) -> None:
    reply = _get(materials_project, "materials/summary/", _sort_fields="band_gap", _fields="band_gap").json()
    gaps = [one["band_gap"] for one in reply["data"]]
    assert gaps == sorted(gaps, key=lambda gap: (gap is not None, gap or 0))
    assert gaps[0] is None
    bounded = _get(materials_project, "materials/summary/", band_gap_max=100, _fields="band_gap").json()
    assert bounded["meta"]["total_doc"] == sum(gap is not None for gap in gaps)


@pytest.mark.parametrize(
    "path", ["materials/tasks/", "materials/core/blessed_tasks/", "materials/phonon/", "molecules/summary/", "v2/"]
)
def test_what_is_not_served_is_501_and_names_what_is(materials_project: RunningServer, path: str) -> None:
    reply = _get(materials_project, path)
    assert reply.status_code == 501
    assert "/materials/summary/" in reply.json()["supported"]


def test_the_client_shows_a_501(client: MPRester) -> None:
    with pytest.raises(MPRestError, match=r"not served from the snapshot.*/materials/summary/"):
        client.materials.robocrys.search(keywords=["cubic"])


def test_keys_of_another_length_are_refused_before_the_start(small_snapshot: Snapshot) -> None:
    from tasks_lib.records.errors import ConfigurationError

    with pytest.raises(ConfigurationError, match="32 ASCII characters, got 5"):
        start("mp", small_snapshot, api_key="short")
