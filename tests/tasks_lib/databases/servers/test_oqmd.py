"""OQMD's dialect, asked by `qmpy_rester` and by plain HTTP."""

from __future__ import annotations

from typing import Any

import httpx
import pytest
from qmpy_rester import QMPYRester

from tasks_lib.databases import Snapshot
from tasks_lib.databases.servers import RunningServer
from tasks_lib.databases.servers.oqmd import FIELDS, LARGEST_LIMIT


@pytest.fixture(scope="module")
def rester(oqmd: RunningServer) -> QMPYRester:
    return QMPYRester(endpoint=oqmd.url.rstrip("/"))


def _get(server: RunningServer, **query: Any) -> httpx.Response:
    return httpx.get(f"{server.url}oqmdapi/formationenergy", params=query)


def test_the_client_finds_phases_by_its_own_keywords(rester: QMPYRester) -> None:
    found = rester.get_oqmd_phases(
        verbose=False, element_set="(Fe-Mg),O", stability="<=0", natoms="<5", fields="name,stability"
    )
    assert found["data"] == [{"name": "MgO", "stability": 0.0}, {"name": "FeO", "stability": 0.0}]
    assert found["meta"]["data_available"] == 2
    assert found["meta"]["more_data_available"] is False


def test_the_client_leaves_fields_out(rester: QMPYRester) -> None:
    found = rester.get_oqmd_phases(verbose=False, element="Mg", fields="!sites,unit_cell", limit=1)
    assert set(found["data"][0]) == set(FIELDS) - {"sites", "unit_cell"}


def test_the_client_reads_one_phase_which_stands_bare(rester: QMPYRester) -> None:
    assert rester.get_oqmd_phase_by_id(9_000_010, fields="name,spacegroup") == {"name": "NaCl", "spacegroup": "Fm-3m"}


def test_the_client_reads_the_optimade_face(rester: QMPYRester) -> None:
    found = rester.get_optimade_structures(verbose=False, filter='elements HAS "Fe" AND _oqmd_stability=0', limit=1)
    assert found["meta"]["data_returned"] == 4
    assert len(found["data"]) == 1
    assert found["data"][0]["attributes"]["_oqmd_delta_e"] == 0.0


def test_the_reply_has_the_shape_of_the_real_one(oqmd: RunningServer) -> None:
    reply = _get(oqmd, filter="element=O AND ntypes=2", limit=2, format="json").json()
    assert list(reply) == ["links", "resource", "data", "meta", "response_message"]
    assert set(reply["links"]) == {"next", "previous", "base_url"}
    assert reply["response_message"] == "OK"
    assert reply["meta"]["api_version"] == "1.0"
    assert reply["meta"]["data_returned"] == 2
    assert tuple(reply["data"][0]) == FIELDS
    assert reply["data"][0]["composition"] == "Mg1 O1"
    assert reply["data"][0]["composition_generic"] == "AB"
    assert reply["data"][0]["sites"] == ["Mg @ 0 0 0", "O @ 0.5 0.5 0.5"]


def test_the_next_links_lead_through_all_rows_once(oqmd: RunningServer, small_snapshot: Snapshot) -> None:
    seen, link = [], f"{oqmd.url}oqmdapi/formationenergy?limit=7&fields=entry_id"
    while link:
        page = httpx.get(link).json()
        seen += [one["entry_id"] for one in page["data"]]
        assert page["meta"]["data_available"] == len(small_snapshot)
        link = page["links"]["next"]
    assert seen == [entry.number for entry in small_snapshot]


def test_the_previous_link_leads_back(oqmd: RunningServer) -> None:
    page = _get(oqmd, limit=5, offset=5, fields="entry_id").json()
    assert httpx.get(page["links"]["previous"]).json()["data"][0] == {"entry_id": 9_000_001}


@pytest.mark.parametrize(("descending", "first"), [(None, "Mg2AlO4"), ("True", "Fe")])
def test_rows_are_sorted_over_all_pages(oqmd: RunningServer, descending: str | None, first: str) -> None:
    query = {"sort_by": "delta_e", "limit": 3, "fields": "name,delta_e", **({"desc": descending} if descending else {})}
    reply = _get(oqmd, **query).json()
    energies = [one["delta_e"] for one in reply["data"]]
    assert energies == sorted(energies, reverse=bool(descending))
    assert reply["data"][0]["name"] == first
    assert reply["meta"]["data_available"] == 20


@pytest.mark.parametrize(
    ("composition", "names"),
    [
        ("TiO2", ["TiO2", "TiO2"]),
        ("Ti2O4", ["TiO2", "TiO2"]),
        ("Na-Cl", ["Na", "Cl2", "NaCl", "NaCl"]),
        ("Xe-O", ["O2"]),
    ],
)
def test_a_composition_is_one_formula_or_a_system_with_its_parts(
    oqmd: RunningServer, composition: str, names: list[str]
) -> None:
    data = _get(oqmd, composition=composition, fields="name").json()["data"]
    assert [one["name"] for one in data] == names


@pytest.mark.parametrize(
    ("query", "word"),
    [
        ({"filter": "colour=red"}, "colour"),
        ({"filter": "(" * 3000}, "character"),
        ({"composition": "no formula!"}, "composition"),
        ({"composition": "{Fe,Ni}O"}, "braces"),
        ({"sort_by": "name"}, "sort_by"),
        ({"icsd": "perhaps"}, "icsd"),
        ({"format": "xml"}, "format=json"),
    ],
)
def test_what_cannot_be_answered_is_a_400_that_says_why(oqmd: RunningServer, query: dict[str, str], word: str) -> None:
    reply = _get(oqmd, **query)
    assert reply.status_code == 400
    assert word in reply.json()["detail"]


def test_an_absurd_limit_is_lowered_and_said(oqmd: RunningServer) -> None:
    reply = _get(oqmd, limit=999_999_999, fields="name").json()
    assert f"lowered to {LARGEST_LIMIT}" in reply["meta"]["comments"]
    assert len(reply["data"]) == 20


def test_numbers_that_are_none_are_the_defaults_and_unknown_parameters_are_said(oqmd: RunningServer) -> None:
    reply = _get(oqmd, limit="-3", offset="1e9", colour="red", fields="name").json()
    assert len(reply["data"]) == 20
    assert "'colour' is unknown" in reply["meta"]["comments"]


def test_no_entry_is_from_the_icsd(oqmd: RunningServer) -> None:
    assert _get(oqmd, icsd="True").json()["data"] == []
    assert _get(oqmd, icsd="False").json()["meta"]["data_available"] == 20


def test_an_absent_phase_is_404_and_another_route_501(oqmd: RunningServer) -> None:
    assert httpx.get(f"{oqmd.url}oqmdapi/formationenergy/1").status_code == 404
    reply = httpx.get(f"{oqmd.url}oqmdapi/calculation?band_gap=1")
    assert reply.status_code == 501
    assert "/oqmdapi/formationenergy" in reply.json()["supported"]
