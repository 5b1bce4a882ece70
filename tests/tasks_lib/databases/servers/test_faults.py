"""Each fault, seen by a real client or by plain HTTP exactly as it was ordered; none where none was ordered."""

from __future__ import annotations

import json
from typing import Any

import httpx
import pytest
import requests
from mp_api.client import MPRester
from mp_api.client.core import MPRestError
from optimade.client import OptimadeClient
from pydantic import ValidationError
from qmpy_rester import QMPYRester

from tasks_lib.databases import Snapshot
from tasks_lib.databases.servers import Dialect, FaultSettings, RunningServer, start
from tasks_lib.records.errors import ConfigurationError

KEY = "0123456789abcdef0123456789abcdef"


def _serve(dialect: str, snapshot: Snapshot, **faults: Any) -> RunningServer:
    return start(dialect, snapshot, faults=FaultSettings(**faults), api_key=KEY if dialect == "mp" else None)


def _rows(server: RunningServer, **query: Any) -> httpx.Response:
    return httpx.get(f"{server.url}oqmdapi/formationenergy", params=query)


def _structures(server: RunningServer, **query: Any) -> dict[str, Any]:
    reply = httpx.get(f"{server.endpoints['crystals']}/v1/structures", params=query)
    found: dict[str, Any] = reply.json()
    return found


def _client(server: RunningServer, **settings: Any) -> OptimadeClient:
    return OptimadeClient(base_urls=[server.endpoints["crystals"]], silent=True, **settings)


def test_an_honest_server_plays_none(oqmd: RunningServer) -> None:
    assert not FaultSettings().any
    assert oqmd.faults == FaultSettings()
    _rows(oqmd, limit=1)
    assert oqmd.requests()[-1].fault is None


def test_latency_is_waited_and_logged(small_snapshot: Snapshot) -> None:
    with _serve("oqmd", small_snapshot, latency_seconds=0.2) as server:
        assert _rows(server, limit=1).status_code == 200
        record = server.requests()[-1]
        assert record.fault == "latency"
        assert record.seconds >= 0.2


def test_the_client_waits_out_a_rate_limit(small_snapshot: Snapshot) -> None:
    with (
        _serve("mp", small_snapshot, rate_limited=2, retry_after_seconds=0) as server,
        MPRester(KEY, endpoint=server.url, mute_progress_bars=True) as client,
    ):
        assert len(client.materials.summary.search(formula="MgO", fields=["material_id"])) == 1
        statuses = [one.status for one in server.requests() if one.path.startswith("/materials/")]
        assert statuses == [429, 429, 200]


def test_a_rate_limit_says_when_to_come_back(small_snapshot: Snapshot) -> None:
    with _serve("optimade", small_snapshot, rate_limited=1, retry_after_seconds=7) as server:
        url = f"{server.endpoints['crystals']}/v1/structures"
        first = httpx.get(url)
        assert (first.status_code, first.headers["Retry-After"]) == (429, "7")
        assert httpx.get(url).status_code == 200


@pytest.mark.parametrize(("status", "answered"), [(502, True), (503, False)])
def test_the_client_retries_what_it_knows_and_shows_the_rest(
    small_snapshot: Snapshot, status: int, answered: bool
) -> None:
    with (
        _serve("mp", small_snapshot, server_errors=1, server_error_status=status) as server,
        MPRester(KEY, endpoint=server.url, mute_progress_bars=True) as client,
    ):
        if answered:
            assert client.materials.summary.search(formula="MgO", fields=["material_id"])
        else:
            with pytest.raises(MPRestError, match=f"status code {status}"):
                client.materials.summary.search(formula="MgO", fields=["material_id"])


def test_a_server_error_of_oqmd_is_no_data(small_snapshot: Snapshot) -> None:
    with _serve("oqmd", small_snapshot, server_errors=1, server_error_status=500) as server:
        rester = QMPYRester(endpoint=server.url.rstrip("/"))
        assert rester.get_oqmd_phases(verbose=False, element="Mg") is None
        assert rester.get_oqmd_phases(verbose=False, element="Mg")["data"]


@pytest.mark.parametrize("dialect", ["mp", "oqmd", "optimade"])
def test_a_truncated_body_breaks_off_below_its_length(small_snapshot: Snapshot, dialect: str) -> None:
    paths = {"mp": "materials/summary/", "oqmd": "oqmdapi/formationenergy", "optimade": "crystals/v1/structures"}
    with _serve(dialect, small_snapshot, truncated_bodies=1) as server:
        url, headers = server.url + paths[dialect], {"X-API-KEY": KEY}
        with pytest.raises(requests.exceptions.ChunkedEncodingError, match="IncompleteRead"):
            requests.get(url, headers=headers, timeout=10)
        assert server.requests()[-1].fault == "truncated"
        assert requests.get(url, headers=headers, timeout=10).json()["data"]


def test_endless_pages_repeat_the_first_for_ever(small_snapshot: Snapshot) -> None:
    with _serve("optimade", small_snapshot, endless_pages="repeat") as server:
        first = _structures(server, page_limit=5)
        link, links = first["links"]["next"], set()
        for _ in range(6):
            page = httpx.get(link).json()
            assert page["data"] == first["data"]
            links.add(link)
            link = page["links"]["next"]
        assert len(links) == 6
        query = "nelements>0"
        got = _client(server, max_results_per_provider=50).get(filter=query)["structures"][query]
        data = got[server.endpoints["crystals"]]["data"]
        assert len(data) > len(small_snapshot)
        assert len({one["id"] for one in data}) <= 20


def test_endless_pages_without_data(small_snapshot: Snapshot) -> None:
    with _serve("oqmd", small_snapshot, endless_pages="empty") as server:
        page = _rows(server, limit=50).json()
        assert len(page["data"]) == 20
        for _ in range(3):
            page = httpx.get(page["links"]["next"]).json()
            assert page["data"] == []
            assert page["links"]["next"]
            assert page["meta"]["more_data_available"] is True


def test_the_client_of_materials_project_collects_one_page_again_and_again(small_snapshot: Snapshot) -> None:
    with (
        _serve("mp", small_snapshot, endless_pages="repeat") as server,
        MPRester(KEY, endpoint=server.url, mute_progress_bars=True) as client,
    ):
        docs = client.materials.summary.search(elements=["O"], num_chunks=4, chunk_size=5, fields=["material_id"])
        assert len(docs) == 20
        assert len({str(doc.material_id) for doc in docs}) == 5


def test_a_stale_next_is_the_page_itself(small_snapshot: Snapshot) -> None:
    with _serve("optimade", small_snapshot, stale_next=True) as server:
        url = f"{server.endpoints['crystals']}/v1/structures?page_limit=5"
        page = httpx.get(url).json()
        assert page["links"]["next"] == url
        assert httpx.get(url.replace("=5", "=100")).json()["links"]["next"] is None


def test_stale_pages_of_materials_project_have_an_honest_count(small_snapshot: Snapshot) -> None:
    with (
        _serve("mp", small_snapshot, stale_next=True) as server,
        MPRester(KEY, endpoint=server.url, mute_progress_bars=True) as client,
    ):
        docs = client.materials.summary.search(elements=["O"], chunk_size=5, fields=["material_id"])
        ids = [str(doc.material_id) for doc in docs]
        assert ids[:3] == ids[5:8]
        assert client.materials.summary.count({"elements": "O"}) == 8


@pytest.mark.parametrize("dialect", ["oqmd", "optimade"])
def test_the_next_page_forgets_the_chosen_fields(small_snapshot: Snapshot, dialect: str) -> None:
    with _serve(dialect, small_snapshot, next_without_fields=True) as server:
        if dialect == "oqmd":
            first = _rows(server, limit=3, fields="name").json()
            second = httpx.get(first["links"]["next"]).json()
            sizes = [len(first["data"][0]), len(second["data"][0])]
        else:
            first = _structures(server, page_limit=3, response_fields="nsites")
            second = httpx.get(first["links"]["next"]).json()
            sizes = [len(page["data"][0]["attributes"]) for page in (first, second)]
        assert sizes[0] == 1
        assert sizes[1] > 10
        assert second["data"][0] != first["data"][0]


def test_a_misnamed_next_ends_the_client_early_and_in_silence(long_snapshot: Snapshot) -> None:
    with _serve("optimade", long_snapshot, misnamed_next=True) as server:
        page = _structures(server, page_limit=7)
        assert "next" not in page["links"]
        assert page["links"]["next_page"]
        assert page["meta"]["more_data_available"] is True
        query = "nelements>0"
        got = _client(server).get(filter=query)["structures"][query][server.endpoints["crystals"]]
        assert not got["errors"]
        assert len(got["data"]) == 20 < got["meta"]["data_returned"] == len(long_snapshot)


@pytest.mark.parametrize("dialect", list(Dialect))
def test_heartbeats_stay_honest(small_snapshot: Snapshot, dialect: Dialect) -> None:
    with _serve(dialect, small_snapshot, server_errors=99, rate_limited=99) as server:
        assert httpx.get(f"{server.url}heartbeat").json()["digest"] == f"sha256:{small_snapshot.digest}"


@pytest.mark.parametrize("name", ["next_without_fields", "misnamed_next"])
def test_a_fault_of_links_needs_a_dialect_with_links(small_snapshot: Snapshot, name: str) -> None:
    with pytest.raises(ConfigurationError, match=f"fault {name} needs pages with links"):
        _serve("mp", small_snapshot, **{name: True})


@pytest.mark.parametrize(
    "settings",
    [
        {"latency_seconds": 61},
        {"latency_seconds": float("nan")},
        {"rate_limited": -1},
        {"server_error_status": 200},
        {"endless_pages": "sometimes"},
        {"endless_pages": "repeat", "stale_next": True},
        {"colour": "red"},
    ],
)
def test_settings_out_of_bounds_are_refused(settings: dict[str, Any]) -> None:
    with pytest.raises(ValidationError):
        FaultSettings(**settings)


def test_settings_travel_in_a_manifest() -> None:
    ordered = FaultSettings(rate_limited=3, endless_pages="empty")
    assert FaultSettings.model_validate(json.loads(ordered.model_dump_json())) == ordered
    assert ordered.any
