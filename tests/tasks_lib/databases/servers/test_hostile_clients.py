"""Clients that want to wear a server down: the process behind it plays episodes, and must not suffer."""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import socket
import threading
from collections.abc import Callable
from contextlib import ExitStack
from http.client import HTTPConnection
from pathlib import Path
from typing import Any
from urllib.parse import quote, urlencode

import httpx
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from starlette.responses import PlainTextResponse
from starlette.types import Receive, Scope, Send

from tasks_lib.databases import Snapshot
from tasks_lib.databases.servers import Dialect, FaultSettings, RunningServer
from tasks_lib.databases.servers._edge import MOST_AT_ONCE, Edge
from tasks_lib.databases.servers._loopback import Loopback
from tasks_lib.databases.servers._mp_open_data import BUCKET, OpenData
from tasks_lib.databases.servers.request_log import RequestLog
from tasks_lib.records import now

# Values that parsers trip over: too long, too deep, too large, of another script, with bytes that no name can have.
_NASTY = st.one_of(
    st.sampled_from(
        [
            "", "0", "-1", "1e999", "9" * 5_000, "١٢٣", "²", "NaN", "\x00", "\ud7ff", "a" * 5_000, "../" * 50, "%",
            "(" * 500, "(" * 60 + "Fe" + ")9" * 60, "~" * 500, "NOT " * 100, "," * 1_000, "Fe1e308O1e308",
            "(Fe1e300)1e300", "*" * 9, "Fe-*-*", "-" * 300, "mp-" + "9" * 400, "nelements=" + "9" * 400,
            '"' * 99, "elements HAS " * 50, "volume<1e999", "'", "\\", "\n", "🜔", "Fe\u200b", "ﬀ", "İ", "[]", "{}",
        ]
    ),
    st.text(max_size=60),
)  # fmt: skip
_ROUTES: dict[Dialect, tuple[list[str], list[str]]] = {
    Dialect.MATERIALS_PROJECT: (
        [
            "materials/summary/", "materials/thermo/", "materials/elasticity/", "materials/magnetism/",
            "materials/summary/mp-{}/", "materials/core/mp-{}", f"open-data/{BUCKET}", f"open-data/{BUCKET}/{{}}",
            "open-data/{}", "open-data/{}/x", "heartbeat", "{}",
        ],
        [
            "_fields", "_limit", "_skip", "_page", "_per_page", "_sort_fields", "_all_fields", "formula", "chemsys",
            "elements", "exclude_elements", "material_ids", "band_gap_min", "energy_above_hull_max", "is_stable",
            "crystal_system", "spacegroup_number", "spacegroup_symbol", "has_props", "ordering", "k_vrh", "deprecated",
            "thermo_types", "prefix", "start-after", "delimiter", "{}",
        ],
    ),
    Dialect.OQMD: (
        ["oqmdapi/formationenergy", "oqmdapi/formationenergy/{}", "optimade/v1/structures", "optimade/{}", "{}"],
        [
            "fields", "fields!", "filter", "limit", "offset", "sort_by", "desc", "sort_offset", "format", "composition",
            "icsd", "noduplicate", "page_limit", "response_fields", "{}",
        ],
    ),
    Dialect.OPTIMADE: (
        [
            "crystals/v1/structures", "binaries/v1/structures", "crystals/v1/structures/{}", "crystals/v1/info/{}",
            "crystals/v1/references", "crystals/v1/links", "crystals/versions", "crystals/{}", "{}",
        ],
        [
            "filter", "page_limit", "page_offset", "page_number", "response_fields", "sort", "include", "email_address",
            "api_hint", "response_format", "page_cursor", "{}",
        ],
    ),
}  # fmt: skip


@st.composite
def _requests(draw: st.DrawFn, dialect: Dialect) -> tuple[str, str]:
    paths, names = _ROUTES[dialect]
    path = draw(st.sampled_from(paths)).format(draw(_NASTY).replace("/", "").replace("?", "").replace("#", ""))
    pairs = draw(st.lists(st.tuples(st.sampled_from(names), _NASTY, _NASTY), max_size=3))
    query = urlencode([(name.format(key), value) for name, key, value in pairs], errors="replace")
    return path[:6_000], query


@pytest.mark.parametrize("dialect", list(Dialect))
def test_no_question_makes_a_server_fail(
    dialect: Dialect, oqmd: RunningServer, optimade: RunningServer, materials_project: RunningServer
) -> None:
    server = {one.dialect: one for one in (oqmd, optimade, materials_project)}[dialect]

    @settings(max_examples=60, deadline=None, derandomize=True, suppress_health_check=list(HealthCheck))
    @given(asked=_requests(dialect))
    def ask(asked: tuple[str, str]) -> None:
        path, query = asked
        target = f"/{quote(path, errors='replace')}?{query}"
        with contextlib.closing(HTTPConnection("127.0.0.1", server.port, timeout=120)) as client:
            client.request("GET", target[:30_000], headers={"X-API-KEY": server.api_key or ""})
            reply = client.getresponse()
            assert reply.status != 500, (target, reply.read()[:300])

    ask()


def _edge(app: Callable[..., Any], log: RequestLog) -> Edge:
    return Edge(
        app, name="x", digest="0" * 64, faults=FaultSettings(), is_data=lambda path: True, dialect=Dialect.OQMD, log=log
    )


def test_few_requests_are_worked_on_at_once_and_all_are_answered() -> None:
    at_once, most = itertools.count(), 0
    inside = 0

    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        nonlocal inside, most
        inside += 1
        most = max(most, inside)
        next(at_once)
        await asyncio.sleep(0)
        await PlainTextResponse("done")(scope, receive, send)
        inside -= 1

    async def crowd() -> None:
        edge, scope = _edge(app, RequestLog()), {"type": "http", "method": "GET", "path": "/", "query_string": b""}

        async def receive() -> dict[str, Any]:
            return {"type": "http.request"}

        async def send(message: Any) -> None:
            await asyncio.sleep(0)

        await asyncio.gather(*(edge({**scope, "headers": []}, receive, send) for _ in range(50)))

    asyncio.run(crowd())
    assert next(at_once) == 50
    assert most == MOST_AT_ONCE


def test_requests_that_wait_do_not_hold_up_the_end() -> None:
    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        if scope["path"] != "/heartbeat":
            await asyncio.Event().wait()
        await PlainTextResponse("done")(scope, receive, send)

    before = threading.active_count()
    loopback = Loopback(0)
    loopback.serve(_edge(app, RequestLog()), "blocked")
    with ExitStack() as stack:
        for _ in range(20):
            raw = stack.enter_context(socket.create_connection(("127.0.0.1", loopback.port)))
            raw.sendall(b"GET /slow HTTP/1.1\r\nHost: x\r\n\r\n")
        stack.enter_context(socket.create_connection(("127.0.0.1", loopback.port))).sendall(
            b"GET /half HTTP/1.1\r\nA: "
        )
        loopback.close()
    assert threading.active_count() == before


def test_the_log_in_memory_is_bounded_whatever_is_sent() -> None:
    log = RequestLog()
    long = {"time": now(), "method": "G" * 60_000, "path": "/" + "p" * 60_000, "query": "q" * 4_000, "status": 200}
    for _ in range(3_000):
        log.add(**long, body_bytes=0, seconds=0.0, fault=None)
    kept = log.records()
    assert kept[-1].number == 3_000
    assert sum(len(one.model_dump_json()) for one in kept) < 10_000_000
    log = RequestLog()
    for _ in range(10_050):
        log.add(**{**long, "method": "GET", "path": "/", "query": ""}, body_bytes=0, seconds=0.0, fault=None)
    assert [one.number for one in log.records()] == list(range(51, 10_051))


@pytest.mark.parametrize(
    ("dialect", "path", "query"),
    [
        ("mp", "materials/summary/", "_fields=" + ",".join(f"f{number}" for number in range(201))),
        ("mp", "materials/summary/", "_sort_fields=" + ",".join(["volume"] * 11)),
        ("oqmd", "oqmdapi/formationenergy", "filter=" + "%7C".join(["volume<0"] * 501)),
        ("oqmd", "optimade/v1/structures", "filter=" + "%20OR%20".join(["nsites=1"] * 201)),
        ("optimade", "crystals/v1/structures", "filter=" + "%20OR%20".join(['species.name%20HAS%20"x"'] * 201)),
        ("optimade", "crystals/v1/structures", "sort=" + ",".join(["nsites"] * 11)),
    ],
)
def test_what_would_take_long_is_refused(
    dialect: str,
    path: str,
    query: str,
    oqmd: RunningServer,
    optimade: RunningServer,
    materials_project: RunningServer,
) -> None:
    server = {one.dialect: one for one in (oqmd, optimade, materials_project)}[Dialect(dialect)]
    reply = httpx.get(f"{server.url}{path}?{query}", headers={"X-API-KEY": server.api_key or ""})
    assert reply.status_code == 400
    assert "at most" in reply.text


def test_a_field_that_is_asked_for_often_is_given_once(materials_project: RunningServer) -> None:
    url = f"{materials_project.url}materials/summary/?_fields={','.join(['volume'] * 4_000)}"
    reply = httpx.get(url, headers={"X-API-KEY": materials_project.api_key or ""})
    assert reply.status_code == 200
    assert list(reply.json()["data"][0]) == ["volume"]


def test_a_socket_of_another_protocol_is_not_opened(oqmd: RunningServer) -> None:
    with contextlib.closing(HTTPConnection("127.0.0.1", oqmd.port, timeout=30)) as client:
        upgrade = {
            "Connection": "Upgrade", "Upgrade": "websocket", "Sec-WebSocket-Version": "13",
            "Sec-WebSocket-Key": "a" * 22,
        }  # fmt: skip
        client.request("GET", "/heartbeat", headers=upgrade)
        assert client.getresponse().status == 200


def test_a_table_that_is_built_while_the_server_closes_is_removed(
    small_snapshot: Snapshot, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    with ExitStack() as stack:
        data = OpenData(small_snapshot, [], stack)

        def make(table: str, folder: Path) -> None:
            stack.close()
            folder.mkdir(parents=True)
            (folder / "part").write_text("late", encoding="utf-8")

        monkeypatch.setattr(data, "_make", make)
        data._holding("collections/summary")
    assert list(tmp_path.iterdir()) == []
