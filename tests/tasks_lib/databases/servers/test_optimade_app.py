"""What servers of the OPTIMADE dialect share, and what they must not: one grammar, one set of documents, no logs."""

from __future__ import annotations

import gc
import logging
import threading
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import httpx
import pytest
from optimade.exceptions import BadRequest

from tasks_lib.databases import Snapshot
from tasks_lib.databases.servers import RunningServer, start
from tasks_lib.databases.servers._optimade_app import parser_type, quiet


def _names() -> set[str]:
    # Imported late and quietly: left to itself, the package's server logs to a folder of the whole machine.
    quiet()
    from optimade.server.config import ServerConfig
    from optimade.server.entry_collections.mongo import get_mongo_client

    return set(get_mongo_client(ServerConfig(database_backend="mongomock")).list_database_names())


def test_two_servers_of_one_snapshot_fill_their_collections_once(
    small_snapshot: Snapshot, monkeypatch: pytest.MonkeyPatch
) -> None:
    query = {"filter": 'elements HAS "O"'}
    with start("optimade", small_snapshot) as first, start("optimade", small_snapshot) as second:
        replies = [httpx.get(f"{one.endpoints['crystals']}/v1/structures", params=query) for one in (first, second)]
        links = [httpx.get(f"{one.endpoints['crystals']}/v1/links").json()["data"] for one in (first, second)]
    assert replies[0].json()["data"] == replies[1].json()["data"] != []
    assert [len(found) for found in links] == [1, 1]
    assert links[0][0]["attributes"]["base_url"] == first.endpoints["crystals"]
    assert links[1][0]["attributes"]["base_url"] == second.endpoints["crystals"]
    before = _names()

    def refuse(*arguments: Any) -> None:
        raise AssertionError

    monkeypatch.setattr("tasks_lib.databases.servers._optimade_documents.structure", refuse)
    with start("optimade", small_snapshot) as third:
        reply = httpx.get(f"{third.endpoints['crystals']}/v1/structures", params=query).json()
    assert reply["data"] == replies[0].json()["data"]
    assert _names() == before


def test_documents_go_with_their_snapshot(small_snapshot: Snapshot) -> None:
    before = _names()
    snapshot = Snapshot(small_snapshot.header, small_snapshot.entries)
    start("optimade", snapshot).close()
    assert len(_names() - before) == 2
    del snapshot
    gc.collect()
    assert _names() <= before


def test_servers_that_start_at_once_have_the_routes_of_one(small_snapshot: Snapshot) -> None:
    with ThreadPoolExecutor(4) as pool:
        servers: list[RunningServer] = list(pool.map(lambda _: start("optimade", small_snapshot), range(4)))
    try:
        for server in servers:
            url = server.endpoints["binaries"]
            assert httpx.get(f"{url}/versions").status_code == 200
            assert httpx.get(f"{url}/v1/structures").status_code == 200
    finally:
        for server in servers:
            server.close()
    from optimade.filterparser import LarkParser
    from optimade.server.create_app import MAIN_ENDPOINTS
    from optimade.server.entry_collections import entry_collections

    assert entry_collections.LarkParser is LarkParser
    assert not [module for module in MAIN_ENDPOINTS if module.__name__.endswith("versions")]


def test_parsers_share_the_grammar_and_keep_no_request(monkeypatch: pytest.MonkeyPatch) -> None:
    """One thread parses while another does; each gets the tree of its own filter."""
    first, second = parser_type()(), parser_type()()
    assert first.lark is second.lark
    entered, done = threading.Event(), threading.Event()

    class Slow:
        def parse(self, text: str) -> str:
            if text == "slow":
                entered.set()
                assert done.wait(10)
            return f"tree of {text}"

    monkeypatch.setattr(parser_type(), "lark", Slow())
    with ThreadPoolExecutor(1) as pool:
        slow = pool.submit(first.parse, "slow")
        assert entered.wait(10)
        assert first.parse("fast") == "tree of fast"
        done.set()
        assert slow.result(10) == "tree of slow"


def test_a_filter_that_cannot_be_parsed_is_the_askers_fault() -> None:
    with pytest.raises(BadRequest, match="nelements = ="):
        parser_type()().parse("nelements = = 2")


def test_nothing_is_logged_beyond_the_package(small_snapshot: Snapshot, capfd: pytest.CaptureFixture[str]) -> None:
    seen: list[logging.LogRecord] = []

    class Keep(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            seen.append(record)

    handler = Keep()
    logging.getLogger().addHandler(handler)
    try:
        with start("optimade", small_snapshot) as server:
            httpx.get(f"{server.endpoints['crystals']}/v1/structures", params={"filter": "nelements = = 2"})
    finally:
        logging.getLogger().removeHandler(handler)
    assert [record for record in seen if record.name.startswith("optimade")] == []
    assert capfd.readouterr() == ("", "")
