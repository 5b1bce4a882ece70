"""Broken paging, seen in real servers with a fault on and in replies written by hand: stopped, told, never complete."""

from __future__ import annotations

import contextlib
import gzip
import json
import threading
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import urlsplit

import pytest

from tasks_lib.databases import Snapshot, _outbound
from tasks_lib.databases.ingest import (
    Collected,
    Effect,
    Fault,
    Fetcher,
    Limits,
    Page,
    Reply,
    optimade,
    oqmd,
    walk,
    walk_counted,
)
from tasks_lib.databases.ingest import materials_project as mp
from tasks_lib.databases.ingest.pages import lost_fields, next_page, with_query
from tasks_lib.databases.servers import FaultSettings, RunningServer, start

KEY = "0123456789abcdef0123456789abcdef"
PATHS = {"mp": "materials/summary/?_fields=material_id", "oqmd": "oqmdapi/formationenergy?limit=7",
         "optimade": "crystals/v1/structures?page_limit=7"}  # fmt: skip
READERS: dict[str, Callable[[Reply, str], Page]] = {
    "mp": mp.read_page, "oqmd": oqmd.read_page, "optimade": optimade.read_page
}  # fmt: skip


def faults(got: Collected) -> list[Fault]:
    return [one.fault for one in got.findings]


def collect(dialect: str, snapshot: Snapshot, query: str = "", limits: Limits | None = None, **wrong: Any) -> Collected:
    key = KEY if dialect == "mp" else None
    with start(dialect, snapshot, faults=FaultSettings(**wrong), api_key=key) as server:
        url = server.url + PATHS[dialect] + query
        with Fetcher(server.url, api_key=key) as fetch:
            if dialect == "mp":
                counted = with_query(url, {"_limit": "7"})
                return walk_counted(fetch, counted, mp.read_page, parameter="_skip", limits=limits)
            return walk(fetch, url, READERS[dialect], limits)


@pytest.mark.parametrize("dialect", list(PATHS))
def test_an_honest_source_is_got_whole(small_snapshot: Snapshot, dialect: str) -> None:
    got = collect(dialect, small_snapshot)
    assert got.complete
    assert not got.malformed
    assert (len(got.items), got.announced, got.pages) == (20, 20, 3)


@pytest.mark.parametrize("dialect", ["oqmd", "optimade"])
def test_pages_without_data_for_ever(small_snapshot: Snapshot, dialect: str) -> None:
    got = collect(dialect, small_snapshot, endless_pages="empty")
    assert faults(got) == [Fault.EMPTY_PAGE]
    assert got.malformed
    assert not got.complete
    assert len(got.items) == 7
    assert got.findings[0].path == "links.next"


@pytest.mark.parametrize("dialect", ["oqmd", "optimade"])
def test_the_same_page_again_for_ever(small_snapshot: Snapshot, dialect: str) -> None:
    got = collect(dialect, small_snapshot, endless_pages="repeat")
    assert faults(got) == [Fault.PAGE_AGAIN]
    assert got.malformed
    assert not got.complete
    assert (len(got.items), got.pages) == (7, 2)


@pytest.mark.parametrize("dialect", ["oqmd", "optimade"])
def test_a_next_that_is_the_page_itself(small_snapshot: Snapshot, dialect: str) -> None:
    got = collect(dialect, small_snapshot, stale_next=True)
    assert faults(got) == [Fault.PAGE_AGAIN]
    assert not got.complete
    assert (len(got.items), got.pages) == (7, 1)


@pytest.mark.parametrize("dialect", ["oqmd", "optimade"])
def test_a_misnamed_next(small_snapshot: Snapshot, dialect: str) -> None:
    got = collect(dialect, small_snapshot, misnamed_next=True)
    assert faults(got) == [Fault.MISNAMED_NEXT]
    assert got.findings[0].path == "links.next_page"
    assert not got.complete
    assert len(got.items) == 7


@pytest.mark.parametrize(
    ("dialect", "query"), [("oqmd", "&fields=name,entry_id"), ("optimade", "&response_fields=nsites")]
)
def test_a_next_that_loses_the_chosen_fields(small_snapshot: Snapshot, dialect: str, query: str) -> None:
    honest = collect(dialect, small_snapshot, query)
    assert honest.complete
    assert len(honest.items) == 20
    got = collect(dialect, small_snapshot, query, next_without_fields=True)
    assert faults(got) == [Fault.FIELDS_LOST]
    assert not got.complete
    assert len(got.items) == 7


def test_an_ignored_offset_of_materials_project(small_snapshot: Snapshot) -> None:
    got = collect("mp", small_snapshot, stale_next=True)
    assert faults(got) == [Fault.PAGING_IGNORED]
    assert got.findings[0].path == "_skip"
    assert not got.complete
    assert (len(got.items), got.pages) == (7, 2)


@pytest.mark.parametrize("wrong", ["repeat", "empty"])
def test_endless_counts_of_materials_project(small_snapshot: Snapshot, wrong: str) -> None:
    got = collect("mp", small_snapshot, endless_pages=wrong)
    assert faults(got) == [Fault.PAGING_IGNORED if wrong == "repeat" else Fault.TOO_FEW]
    assert not got.complete
    assert len(got.items) == 7


@pytest.mark.parametrize("parameter", ["page_offset", "page_number"])
def test_counting_through_an_honest_source(small_snapshot: Snapshot, parameter: str) -> None:
    with start("optimade", small_snapshot) as server, Fetcher(server.url) as fetch:
        url = f"{server.endpoints['crystals']}/v1/structures?page_limit=7"
        got = walk_counted(fetch, url, optimade.read_page, parameter=parameter)
    assert got.complete
    assert len(got.items) == 20


def test_an_ignored_page_number(small_snapshot: Snapshot) -> None:
    with start("optimade", small_snapshot, faults=FaultSettings(endless_pages="repeat")) as server:
        url = f"{server.endpoints['crystals']}/v1/structures?page_limit=7"
        with Fetcher(server.url) as fetch:
            got = walk_counted(fetch, url, optimade.read_page, parameter="page_number")
    assert faults(got) == [Fault.PAGING_IGNORED]
    assert got.findings[0].path == "page_number"
    assert len(got.items) == 7
    assert not got.complete


def test_an_unfinished_body_is_asked_again_later_and_nothing_is_complete(small_snapshot: Snapshot) -> None:
    got = collect("oqmd", small_snapshot, truncated_bodies=1)
    assert faults(got) == [Fault.UNREACHABLE]
    assert not got.complete
    assert not got.malformed
    assert got.items == ()


def test_a_rate_limit_is_waited_out(small_snapshot: Snapshot) -> None:
    got = collect("optimade", small_snapshot, rate_limited=2, retry_after_seconds=0)
    assert got.complete
    assert len(got.items) == 20


def test_a_server_that_fails_for_good_is_unreachable(small_snapshot: Snapshot) -> None:
    got = collect("oqmd", small_snapshot, server_errors=9, server_error_status=500)
    assert faults(got) == [Fault.UNREACHABLE]
    assert got.findings[0].value == '"status 500"'


def test_our_own_limits_are_no_fault_of_the_source(small_snapshot: Snapshot) -> None:
    got = collect("optimade", small_snapshot, limits=Limits(pages=2))
    assert faults(got) == [Fault.LIMIT]
    assert not got.malformed
    assert not got.complete
    assert len(got.items) == 14


def _played(*documents: Any) -> tuple[Callable[[str], Reply], list[str]]:
    """Return a source that answers its n-th question with the n-th document."""
    asked: list[str] = []

    def fetch(url: str) -> Reply:
        asked.append(url)
        return Reply(url, 200, json.dumps(documents[min(len(asked), len(documents)) - 1]).encode())

    return fetch, asked


def _rows(*numbers: int, next_: str | None = None, total: int | None = None) -> dict[str, Any]:
    return {
        "data": [{"entry_id": number} for number in numbers],
        "links": {"next": next_},
        "meta": {"data_available": total},
    }


def test_overlapping_pages_go_on_and_are_told() -> None:
    fetch, asked = _played(_rows(1, 2, next_="?offset=2", total=3), _rows(2, 3, total=3))
    got = walk(fetch, "http://h/a", oqmd.read_page)
    assert asked == ["http://h/a", "http://h/a?offset=2"]
    assert faults(got) == [Fault.ITEM_AGAIN]
    assert [one["entry_id"] for one in got.items] == [1, 2, 3]
    assert not got.complete


def test_fewer_than_announced_is_never_complete() -> None:
    fetch, _ = _played(_rows(1, 2, total=5))
    got = walk(fetch, "http://h/a", oqmd.read_page)
    assert faults(got) == [Fault.TOO_FEW]
    assert not got.complete


def test_more_than_announced_is_told() -> None:
    fetch, _ = _played(_rows(1, 2, total=1))
    assert faults(walk(fetch, "http://h/a", oqmd.read_page)) == [Fault.TOO_MANY]


def test_another_host_is_not_asked() -> None:
    fetch, asked = _played(_rows(1, next_="http://elsewhere/a?offset=1", total=2))
    got = walk(fetch, "http://h/a", oqmd.read_page)
    assert faults(got) == [Fault.FOREIGN_NEXT]
    assert len(asked) == 1


def test_rows_of_names_may_be_equal_but_not_for_ever() -> None:
    page = {"data": [{"name": "TiO2"}], "links": {"next": "?offset=1"}, "meta": {"data_available": 2}}
    last = {**page, "links": {"next": None}}
    fetch, _ = _played(page, last)
    assert walk(fetch, "http://h/a", oqmd.read_page).complete

    asked: list[str] = []

    def endless(url: str) -> Reply:
        asked.append(url)
        document = {**page, "links": {"next": f"?offset={len(asked)}"}, "meta": {}}
        return Reply(url, 200, json.dumps(document).encode())

    got = walk(endless, "http://h/a", oqmd.read_page)
    assert faults(got) == [Fault.PAGE_AGAIN]
    assert len(asked) == 3


def test_later_pages_with_other_fields_lost_them() -> None:
    def page(token: str | None, attributes: dict[str, Any]) -> dict[str, Any]:
        item = {"id": token or "last", "type": "structures", "attributes": attributes}
        return {"data": [item], "links": {"next": token}, "meta": {"data_returned": 9}}

    few = {"elements": ["Si"], "nelements": 1}
    more = {"elements": ["Si"], "nelements": 1, "chemical_formula_reduced": "Si"}
    fetch, _ = _played(page("?t=a", few), page("?t=b", more))
    got = walk(fetch, "http://h/structures?response_fields=elements,nelements", optimade.read_page)
    assert faults(got) == [Fault.FIELDS_LOST]
    assert got.findings[0].value == '["chemical_formula_reduced"]'


@pytest.mark.parametrize(
    ("asked", "following", "lost"),
    [
        ("http://h/s?response_fields=a&filter=x", "http://h/s?filter=x&page_offset=20", "response_fields"),
        ("http://h/s?response_fields=a", "http://h/s?page_offset=20", "response_fields"),
        ("http://h/s?response_fields=a", "http://h/s?page_offset=20&response_fields=a", None),
        ("http://h/s?response_fields=a&filter=x", "http://h/s?cursor=8f3e", None),
        ("http://h/s?filter=x", "http://h/s?filter=x&page_offset=20", None),
        ("http://h/s?fields=name&limit=5", "http://h/s?limit=5&offset=5", "fields"),
    ],
)
def test_which_next_links_lose_fields(asked: str, following: str, lost: str | None) -> None:
    assert lost_fields(asked, following) == lost


@pytest.mark.parametrize(
    ("links", "more", "link", "fault"),
    [
        ({"next": "http://h/s?page=2"}, True, "http://h/s?page=2", None),
        ({"next": {"href": "http://h/s?page=2"}}, True, "http://h/s?page=2", None),
        ({"next": "?page=2"}, None, "http://h/s?page=2", None),
        ({"next": None}, False, None, None),
        (None, None, None, None),
        ({}, True, None, Fault.TOO_FEW),
        ({"next_page": "?page=2"}, None, None, Fault.MISNAMED_NEXT),
        ({"nextPage": "?page=2"}, True, None, Fault.MISNAMED_NEXT),
        ({"next_page": None}, False, None, None),
        ("http://h/s?page=2", None, None, Fault.NOT_A_REPLY),
        ({"next": 7}, None, None, Fault.NOT_A_REPLY),
        ({"next": "http://[h/s"}, None, None, Fault.NOT_A_REPLY),
        ({"next": "ftp://h/s"}, None, None, Fault.FOREIGN_NEXT),
    ],
)
def test_next_links_in_all_their_forms(links: Any, more: Any, link: str | None, fault: Fault | None) -> None:
    found, findings = next_page(links, more, "http://h/s")
    assert found == link
    assert [one.fault for one in findings] == ([fault] if fault else [])


def test_a_finding_shows_no_key_and_no_wall_of_text() -> None:
    fetch, _ = _played({"data": "x" * 10_000})
    got = walk(fetch, "http://h/a?API_KEY=secret&limit=1", oqmd.read_page)
    assert "secret" not in str(got.findings[0])
    assert len(got.findings[0].value) <= 120
    assert got.findings[0].effect is Effect.MALFORMED


def test_a_fetcher_asks_no_other_host_and_bounds_what_it_reads(oqmd: RunningServer) -> None:
    with Fetcher(oqmd.url) as fetch:
        assert fetch(f"{oqmd.url}heartbeat").status == 200
        assert "only 127.0.0.1 is asked" in fetch("http://localhost:1/heartbeat").problem
        assert fetch(f"http://127.0.0.1:{oqmd.port + 1 if oqmd.port < 65535 else 1}/").problem


def test_a_fetcher_unpacks_a_body_no_further_than_its_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_outbound, "LARGEST_BODY", 1_000_000)
    swelling = gzip.compress(bytes(50_000_000))

    class Answering(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            body = swelling if self.path == "/swells" else gzip.compress(b"{}")
            self.send_response(200)
            self.send_header("Content-Encoding", "gzip")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            with contextlib.suppress(OSError):
                self.wfile.write(body)

        def log_message(self, *words: object) -> None:
            """Say nothing."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Answering) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        base = f"http://127.0.0.1:{server.server_port}"
        with Fetcher(base) as fetch:
            assert fetch(f"{base}/small").body == b"{}"
            assert "more than 1000000 bytes" in fetch(f"{base}/swells").problem
        server.shutdown()


@pytest.mark.parametrize(
    ("base", "url", "same"),
    [
        ("http://h/a", "https://h/b", True),
        ("http://h:80/a", "http://h:81/b", False),
        ("http://h:8000/a", "https://h/b", True),
        ("https://h/a", "http://h/b", False),
        ("https://h/a", "https://g/b", False),
        ("https://h:1/a", "https://h:1/b", True),
    ],
)
def test_a_key_never_leads_from_https_to_http(base: str, url: str, same: bool) -> None:
    assert _outbound.is_same_service(urlsplit(base), url) is same
