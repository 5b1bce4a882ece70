"""Starting and stopping servers: loopback only, evidence kept, nothing left behind."""

from __future__ import annotations

import socket
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import httpx
import pytest

from tasks_lib.databases import Snapshot
from tasks_lib.databases.servers import Dialect, RequestRecord, RunningServer, start
from tasks_lib.records.errors import ConfigurationError


@pytest.mark.parametrize("dialect", list(Dialect))
def test_every_reply_names_the_snapshot(small_snapshot: Snapshot, dialect: Dialect) -> None:
    with start(dialect, small_snapshot) as server:
        for path in ("heartbeat", "nowhere", "?filter=" + "x" * 40_000):
            reply = httpx.get(server.url + path)
            assert reply.headers["X-MatAssay-Snapshot"] == f"sha256:{small_snapshot.digest}"
            assert reply.headers["X-MatAssay-Snapshot-Name"] == "small-snapshot"


def test_a_closed_server_frees_port_and_thread_and_may_be_closed_again(small_snapshot: Snapshot) -> None:
    before = threading.active_count()
    server = start("mp", small_snapshot)
    port = server.port
    assert httpx.get(f"{server.url}heartbeat").status_code == 200
    server.close()
    server.close()
    assert threading.active_count() == before
    with pytest.raises(httpx.ConnectError):
        httpx.get(f"{server.url}heartbeat")
    with start("mp", small_snapshot, port=port) as again:
        assert again.port == port


def test_it_listens_on_loopback_only(oqmd: RunningServer) -> None:
    assert oqmd.url == f"http://127.0.0.1:{oqmd.port}/"
    # Another address of the loopback network is not bound either.
    with pytest.raises(ConnectionRefusedError), socket.create_connection(("127.0.0.2", oqmd.port), timeout=5):
        pass


def test_a_taken_port_is_named(small_snapshot: Snapshot, oqmd: RunningServer) -> None:
    with pytest.raises(ConfigurationError, match=f"127.0.0.1:{oqmd.port}.*choose another port"):
        start("oqmd", small_snapshot, port=oqmd.port)


@pytest.mark.parametrize(
    ("dialect", "settings", "word"),
    [
        ("sql", {}, "a dialect is one of"),
        ("oqmd", {"api_key": "x" * 32}, "asks for no key"),
        ("mp", {"port": 70_000}, "port"),
    ],
)
def test_wrong_orders_are_refused(
    small_snapshot: Snapshot, dialect: str, settings: dict[str, object], word: str
) -> None:
    with pytest.raises(ConfigurationError, match=word):
        start(dialect, small_snapshot, **settings)  # type: ignore[arg-type]


def test_requests_are_kept_as_evidence_without_keys(small_snapshot: Snapshot, tmp_path: Path) -> None:
    log = tmp_path / "requests.jsonl"
    secret = "0123456789abcdef0123456789abcdef"
    with start("mp", small_snapshot, api_key=secret, log=log) as server:
        url = f"{server.url}materials/summary/"
        httpx.get(url, params={"formula": "MgO"}, headers={"X-API-KEY": secret})
        httpx.get(url, params={"API_KEY": secret, "formula": "MgO"})
        kept = server.requests()
    lines = [RequestRecord.model_validate_json(line) for line in log.read_text(encoding="utf-8").splitlines()]
    assert lines == kept
    assert [one.status for one in kept[-2:]] == [200, 401]
    assert kept[-2].query == "formula=MgO"
    assert kept[-2].body_bytes > 100
    assert secret not in log.read_text(encoding="utf-8")
    assert [one.number for one in kept] == list(range(1, len(kept) + 1))


def test_an_overlong_query_and_body_are_refused(oqmd: RunningServer) -> None:
    assert httpx.get(f"{oqmd.url}oqmdapi/formationenergy", params={"filter": "x" * 33_000}).status_code == 414
    reply = httpx.post(f"{oqmd.url}oqmdapi/formationenergy", content=b"x" * 1_000_001)
    assert reply.status_code == 413


def test_what_is_no_http_does_no_harm(oqmd: RunningServer) -> None:
    for junk in (b"\x00\xff" * 50, b"GET / HTTP/1.1\r\nContent-Length: -5\r\n\r\n", b"GET " + b"a" * 100_000):
        with socket.create_connection(("127.0.0.1", oqmd.port), timeout=5) as raw:
            raw.sendall(junk)
            raw.shutdown(socket.SHUT_WR)
            raw.recv(100)
    assert httpx.get(f"{oqmd.url}heartbeat").status_code == 200


def test_many_clients_at_once_get_the_same_answer(materials_project: RunningServer) -> None:
    headers = {"X-API-KEY": str(materials_project.api_key)}
    url = f"{materials_project.url}materials/summary/?elements=O&_fields=material_id"

    def ask(_: int) -> str:
        data: list[dict[str, str]] = httpx.get(url, headers=headers).json()["data"]
        return str(data)

    with ThreadPoolExecutor(8) as pool:
        assert len(set(pool.map(ask, range(40)))) == 1


def test_two_snapshots_are_served_side_by_side(small_snapshot: Snapshot) -> None:
    altered = Snapshot(small_snapshot.header, small_snapshot.entries[:5])
    with start("optimade", small_snapshot) as one, start("optimade", altered) as other:
        counts = [
            httpx.get(f"{server.endpoints['crystals']}/v1/structures").json()["meta"]["data_available"]
            for server in (one, other)
        ]
    assert counts == [20, 5]
    assert one.digest != other.digest


@pytest.mark.parametrize("dialect", list(Dialect))
def test_the_variables_that_a_prompt_names_are_those_of_the_server(small_snapshot: Snapshot, dialect: Dialect) -> None:
    with start(dialect, small_snapshot) as server:
        assert set(dialect.address_variables) <= set(server.environment())
