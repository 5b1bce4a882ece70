"""Recorded traffic of real clients: an honest source has no findings however it is asked, a broken one has its own."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import httpx
import pytest
from mp_api.client import MPRester
from optimade.client import OptimadeClient
from qmpy_rester import QMPYRester

from tasks_lib.databases import Snapshot
from tasks_lib.databases.ingest import Fault, Finding, Reply, survey
from tasks_lib.databases.ingest.survey import reader_for
from tasks_lib.databases.servers import FaultSettings, Relay, RelayedReply, relay, start

KEY = "0123456789abcdef0123456789abcdef"


@contextmanager
def _relayed(dialect: str, snapshot: Snapshot, **faults: Any) -> Iterator[tuple[Relay, list[Reply]]]:
    replies: list[Reply] = []

    def record(told: RelayedReply, body: bytes) -> None:
        replies.append(Reply(told.url, told.status or 0, body, told.problem))

    key = KEY if dialect == "mp" else None
    with start(dialect, snapshot, faults=FaultSettings(**faults), api_key=key) as server:
        upstream = list(server.endpoints.values()) if dialect == "optimade" else server.url
        with relay(dialect, upstream, api_key=key, record=record) as made:
            yield made, replies


def _faults(findings: tuple[Finding, ...]) -> set[Fault]:
    return {one.fault for one in findings}


def _ask_mp(made: Relay) -> None:
    with MPRester(made.api_key, endpoint=made.url, mute_progress_bars=True) as client:
        client.materials.summary.search(elements=["O"], chunk_size=3, fields=["material_id"])
        client.materials.summary.search(formula="MgO", fields=["material_id", "band_gap"])
        client.materials.summary.search(formula="MgO", fields=["material_id", "band_gap"])


def _ask_oqmd(made: Relay) -> None:
    rester = QMPYRester(endpoint=made.url.rstrip("/"))
    rester.get_oqmd_phases(verbose=False, limit=4, fields="name,entry_id")
    rester.get_oqmd_phases(verbose=False, limit=4, fields="name")
    for query in ("limit=5&offset=3", "limit=5", "limit=5&offset=1"):  # overlapping, as a careless agent asks
        httpx.get(f"{made.url}oqmdapi/formationenergy?{query}")
    httpx.get(f"{made.url}oqmdapi/formationenergy?filter=colour=red")


def _ask_optimade(made: Relay, most: int = 60) -> None:
    client = OptimadeClient(
        base_urls=list(made.endpoints.values()), silent=True, max_results_per_provider=most, max_attempts=1
    )
    client.get(filter="nelements>0")
    client.get(filter="nsites>0", response_fields=["nsites"])


@pytest.mark.parametrize("dialect", ["mp", "oqmd", "optimade"])
def test_an_honest_source_has_no_findings(long_snapshot: Snapshot, dialect: str) -> None:
    ask = {"mp": _ask_mp, "oqmd": _ask_oqmd, "optimade": _ask_optimade}[dialect]
    with _relayed(dialect, long_snapshot) as (made, replies):
        ask(made)
    assert len(replies) > 3
    assert survey(dialect, replies) == ()


@pytest.mark.parametrize(
    ("faults", "fault"),
    [
        ({"endless_pages": "repeat"}, Fault.PAGE_AGAIN),
        ({"endless_pages": "empty"}, Fault.EMPTY_PAGE),
        ({"stale_next": True}, Fault.PAGE_AGAIN),
        ({"misnamed_next": True}, Fault.MISNAMED_NEXT),
        ({"next_without_fields": True}, Fault.FIELDS_LOST),
    ],
)
def test_what_a_client_walked_into_is_found_afterwards(
    long_snapshot: Snapshot, faults: dict[str, Any], fault: Fault
) -> None:
    with _relayed("optimade", long_snapshot, **faults) as (made, replies):
        _ask_optimade(made, most=100)
    assert _faults(survey("optimade", replies)) == {fault}


def test_an_ignored_count_is_found_afterwards(small_snapshot: Snapshot) -> None:
    with _relayed("mp", small_snapshot, stale_next=True) as (made, replies):
        _ask_mp(made)
    assert _faults(survey("mp", replies)) == {Fault.PAGING_IGNORED}


def test_a_source_that_fails_is_unreachable_and_a_wrong_question_is_not(small_snapshot: Snapshot) -> None:
    with _relayed("oqmd", small_snapshot, server_errors=1, truncated_bodies=1) as (made, replies):
        for query in ("limit=1", "limit=2", "filter=colour=red", "limit=3"):
            httpx.get(f"{made.url}oqmdapi/formationenergy?{query}")
    assert [one.fault for one in survey("oqmd", replies)] == [Fault.UNREACHABLE] * 2


@pytest.mark.parametrize(
    ("dialect", "path", "read"),
    [
        ("optimade", "/crystals/v1/structures", True),
        ("optimade", "/crystals/v1/structures/", True),
        ("optimade", "/v1/structures/matassay-9000001", True),
        ("optimade", "/crystals/v1/info/structures", False),
        ("optimade", "/crystals/v1/info", False),
        ("optimade", "/crystals/v1/references", False),
        ("oqmd", "/oqmdapi/formationenergy", True),
        ("oqmd", "/optimade/v1/structures", True),
        ("oqmd", "/oqmdapi/calculation", False),
        ("mp", "/materials/summary/", True),
        ("mp", "/materialsproject-build/objects/x.parquet", False),
        ("mp", "/heartbeat", False),
    ],
)
def test_which_replies_hold_data(dialect: str, path: str, read: bool) -> None:
    assert (reader_for(dialect, f"http://h{path}?x=/structures") is not None) == read
