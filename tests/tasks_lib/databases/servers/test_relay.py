"""A relay before a second, altered server: real clients, no credential on this side, every reply on record."""

from __future__ import annotations

import gzip
import hashlib
import socket
import subprocess
import sys
import threading
import zlib
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import httpx
import pytest
from mp_api.client import MPRester
from mp_api.client.core import MPRestError
from optimade.client import OptimadeClient
from qmpy_rester import QMPYRester

from tasks_lib.databases import Snapshot, _outbound
from tasks_lib.databases.alteration import altered
from tasks_lib.databases.ingest import Fetcher, walk
from tasks_lib.databases.ingest import optimade as reader
from tasks_lib.databases.servers import FaultSettings, Relay, RelayedReply, RunningServer, relay, start
from tasks_lib.records import now
from tasks_lib.records.errors import ConfigurationError

REAL_KEY = "f" * 32
SECRET = ("authorization", "cookie", "x-api-key", "x-amz-security-token")


class Kept:
    """What a relay gave to its recorder."""

    def __init__(self) -> None:
        self.replies: list[RelayedReply] = []
        self.bodies: dict[str, bytes] = {}

    def __call__(self, reply: RelayedReply, body: bytes) -> None:
        self.replies.append(reply)
        self.bodies[reply.sha256] = body


@pytest.fixture(scope="module")
def moved(small_snapshot: Snapshot) -> Snapshot:
    """The next release: B2 FeAl lies 50 meV higher, a TiO2 is gone, MgO has another id."""
    by_formula = {entry.formula: entry.number for entry in small_snapshot}
    return altered(
        small_snapshot,
        name="moved-snapshot",
        energies={by_formula["AlFe"]: 0.05},
        gone=[by_formula["TiO2"]],
        renumbered={by_formula["MgO"]: 9_000_500},
    )


@pytest.fixture(scope="module")
def upstreams(moved: Snapshot) -> Iterator[dict[str, RunningServer]]:
    with (
        start("mp", moved, api_key=REAL_KEY) as mp,
        start("oqmd", moved) as oqmd,
        start("optimade", moved) as optimade,
    ):
        yield {"mp": mp, "oqmd": oqmd, "optimade": optimade}


@pytest.fixture
def kept() -> Kept:
    return Kept()


@pytest.fixture
def mp(upstreams: dict[str, RunningServer], kept: Kept) -> Iterator[Relay]:
    server = upstreams["mp"]
    with relay("mp", server.url, api_key=REAL_KEY, open_data=server.endpoints["open_data"], record=kept) as made:
        yield made


@pytest.fixture
def oqmd_relay(upstreams: dict[str, RunningServer], kept: Kept) -> Iterator[Relay]:
    with relay("oqmd", upstreams["oqmd"].url, record=kept) as made:
        yield made


@pytest.fixture
def optimade_relay(upstreams: dict[str, RunningServer], kept: Kept) -> Iterator[Relay]:
    with relay("optimade", list(upstreams["optimade"].endpoints.values()), record=kept) as made:
        yield made


def test_an_altered_snapshot_differs_as_said(small_snapshot: Snapshot, moved: Snapshot) -> None:
    assert moved.digest != small_snapshot.digest
    assert len(moved) == len(small_snapshot) - 1
    before = next(entry for entry in small_snapshot if entry.formula == "AlFe")
    after = moved.by_number[before.number]
    energies = [float(entry.value("formation_energy_per_atom")) for entry in (before, after)]  # type: ignore[arg-type]
    assert energies[1] - energies[0] == pytest.approx(0.05)
    assert {entry.formula for entry in moved if entry.number == 9_000_500} == {"MgO"}
    with pytest.raises(ConfigurationError, match="are none"):
        altered(small_snapshot, name="x", gone=[9_999_999])


def test_the_client_of_materials_project_sees_the_live_answers(mp: Relay, moved: Snapshot, kept: Kept) -> None:
    with MPRester(mp.api_key, endpoint=mp.url, mute_progress_bars=True) as client:
        docs = client.materials.summary.search(formula="MgO", fields=["material_id", "energy_above_hull"])
        assert client.db_version == "moved-snapshot"
    assert [moved.by_mp(str(doc.material_id)).number for doc in docs] == [9_000_500]
    assert all(reply.status == 200 for reply in kept.replies)
    asked = [reply for reply in kept.replies if reply.path == "/materials/summary/"]
    assert "formula=MgO" in asked[0].query
    assert asked[0].endpoint == "mp"


OPEN_DATA_SCRIPT = """
from mp_api.client import MPRester
with MPRester(mute_progress_bars=True) as m:
    diagram = m.materials.thermo.get_phase_diagram_from_chemsys("Al-Fe")
    print(*sorted(e.reduced_formula for e in diagram.all_entries))
"""


def test_phase_diagrams_come_through_the_open_data_route(
    mp: Relay, moved: Snapshot, kept: Kept, tmp_path: Path
) -> None:
    # In a process of its own, as on a machine: while it reads a table the client holds the interpreter's lock.
    ran = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", OPEN_DATA_SCRIPT],
        env={"PATH": "", "HOME": str(tmp_path), **mp.environment()},
        capture_output=True,
        text=True,
        check=False,
        timeout=240,
    )
    assert ran.returncode == 0, ran.stderr
    inside = sorted(entry.formula for entry in moved if set(entry.elements) <= {"Al", "Fe"})
    assert ran.stdout.split() == inside
    objects = [reply for reply in kept.replies if reply.endpoint == "open_data"]
    assert any(reply.path.endswith(".parquet") and reply.status == 206 and reply.byte_range for reply in objects)
    assert {reply.upstream for reply in objects} != {reply.upstream for reply in kept.replies}


def test_the_real_key_stays_in_the_relay(mp: Relay, kept: Kept) -> None:
    assert mp.api_key != REAL_KEY
    assert REAL_KEY not in str(mp.environment())
    url = f"{mp.url}materials/summary/?formula=MgO"
    assert httpx.get(url).status_code == 401
    assert httpx.get(url, headers={"X-API-KEY": REAL_KEY}).status_code == 403
    assert not kept.replies
    answered = httpx.get(f"{url}&API_KEY={mp.api_key}", headers={"X-API-KEY": str(mp.api_key)})
    assert answered.status_code == 200
    record = kept.replies[0].model_dump_json()
    for key in (REAL_KEY, str(mp.api_key)):
        assert key not in record
        assert key not in str(answered.headers)


def test_every_reply_is_recorded_as_it_came(oqmd_relay: Relay, upstreams: dict[str, RunningServer], kept: Kept) -> None:
    before = now()
    query = "oqmdapi/formationenergy?fields=name,delta_e&limit=3"
    here = httpx.get(oqmd_relay.url + query)
    there = httpx.get(upstreams["oqmd"].url + query)
    (reply,) = kept.replies
    body = kept.bodies[reply.sha256]
    assert hashlib.sha256(body).hexdigest() == reply.sha256
    assert (reply.size, reply.status, reply.method) == (len(body), 200, "GET")
    assert (reply.path, reply.query) == ("/oqmdapi/formationenergy", "fields=name,delta_e&limit=3")
    assert reply.media_type == "application/json"
    assert before <= reply.time <= now()
    assert reply.time.utcoffset().total_seconds() == 0  # type: ignore[union-attr]
    assert here.json()["data"] == there.json()["data"]
    assert upstreams["oqmd"].url.encode() in body
    assert [one.status for one in oqmd_relay.requests()] == [200]


def test_links_lead_back_to_the_relay(oqmd_relay: Relay, upstreams: dict[str, RunningServer]) -> None:
    links = httpx.get(f"{oqmd_relay.url}oqmdapi/formationenergy?limit=3").json()["links"]
    assert links["next"].startswith(oqmd_relay.url)
    assert links["base_url"]["href"] == f"{oqmd_relay.url}oqmdapi"
    assert upstreams["oqmd"].url not in str(links)
    assert httpx.get(links["next"]).json()["data"]


def test_a_walk_through_the_relay_is_whole(optimade_relay: Relay, moved: Snapshot) -> None:
    url = f"{optimade_relay.endpoints['crystals']}/v1/structures?page_limit=5"
    with Fetcher(optimade_relay.url) as fetch:
        got = walk(fetch, url, reader.read_page)
    assert got.complete
    assert len(got.items) == len(moved)


def test_the_client_of_oqmd_pages_through_the_relay(oqmd_relay: Relay, moved: Snapshot) -> None:
    rester = QMPYRester(endpoint=oqmd_relay.environment()["oqmd_url"])
    found = rester.get_oqmd_phases(verbose=False, limit=100, fields="name,delta_e")
    assert len(found["data"]) == len(moved)


def test_the_client_of_optimade_asks_both_providers(optimade_relay: Relay, moved: Snapshot, kept: Kept) -> None:
    assert list(optimade_relay.endpoints) == ["crystals", "binaries"]
    client = OptimadeClient(base_urls=optimade_relay.environment()["OPTIMADE_BASE_URLS"].split(), silent=True)
    query = 'elements HAS "O"'
    got = client.get(filter=query)["structures"][query]
    counts = {url.rsplit("/", 1)[1]: len(one["data"]) for url, one in got.items()}
    assert counts["crystals"] == sum("O" in entry.elements for entry in moved)
    assert 0 < counts["binaries"] < counts["crystals"]
    assert {reply.endpoint for reply in kept.replies} == {"crystals", "binaries"}


def test_errors_of_the_upstream_are_errors_here(mp: Relay, kept: Kept) -> None:
    headers = {"X-API-KEY": str(mp.api_key)}
    paths = {"materials/phonon/": 501, "materials/summary/mp-1/": 404, "materials/summary/?_limit=x": 422}
    for path, status in paths.items():
        reply = httpx.get(mp.url + path, headers=headers)
        assert reply.status_code == status
        assert "detail" in reply.json()
    assert [reply.status for reply in kept.replies] == list(paths.values())
    with MPRester("0" * 32, endpoint=mp.url, mute_progress_bars=True) as client, pytest.raises(MPRestError):
        client.materials.summary.search(formula="MgO")


def test_a_rate_limit_says_through_the_relay_when_to_come_back(small_snapshot: Snapshot, kept: Kept) -> None:
    faults = FaultSettings(rate_limited=1, retry_after_seconds=7)
    with start("oqmd", small_snapshot, faults=faults) as server, relay("oqmd", server.url, record=kept) as made:
        reply = httpx.get(f"{made.url}oqmdapi/formationenergy")
        assert (reply.status_code, reply.headers["Retry-After"]) == (429, "7")
    assert [one.status for one in kept.replies] == [429]


def test_a_body_that_breaks_off_is_no_reply(small_snapshot: Snapshot, kept: Kept) -> None:
    with (
        start("oqmd", small_snapshot, faults=FaultSettings(truncated_bodies=1)) as server,
        relay("oqmd", server.url, record=kept) as made,
    ):
        assert httpx.get(f"{made.url}oqmdapi/formationenergy").status_code == 502
    assert [(one.status, one.size) for one in kept.replies] == [(None, 0)]
    assert "RemoteProtocolError" in kept.replies[0].problem


def test_an_upstream_that_is_away(kept: Kept) -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        address = f"http://127.0.0.1:{free.getsockname()[1]}"
    with relay("oqmd", address, record=kept) as made:
        assert httpx.get(f"{made.url}oqmdapi/formationenergy").status_code == 502
    assert kept.replies[0].problem.startswith("ConnectError")


def _answering(reply: Callable[[bytes], bytes]) -> tuple[str, threading.Event, threading.Thread]:
    """Serve raw bytes: what no honest server of ours would say."""
    listening = socket.create_server(("127.0.0.1", 0))
    stop = threading.Event()

    def serve() -> None:
        listening.settimeout(0.1)
        while not stop.is_set():
            try:
                connection, _ = listening.accept()
            except TimeoutError:
                continue
            with connection:
                connection.settimeout(5)
                connection.sendall(reply(connection.recv(65_536)))
        listening.close()

    thread = threading.Thread(target=serve, daemon=True)
    thread.start()
    return f"http://127.0.0.1:{listening.getsockname()[1]}", stop, thread


def _asked_of(reply: Callable[[bytes], bytes], path: str, kept: Kept) -> httpx.Response:
    address, stop, thread = _answering(reply)
    try:
        with relay("oqmd", address, record=kept) as made:
            return httpx.get(made.url + path, headers={"Cookie": "a=b", "Authorization": "Bearer x"})
    finally:
        stop.set()
        thread.join(5)


def test_a_redirect_to_another_host_is_not_followed(kept: Kept) -> None:
    elsewhere = b"HTTP/1.1 302 Found\r\nLocation: http://127.0.0.2:9/secret\r\nContent-Length: 0\r\n\r\n"
    reply = _asked_of(lambda _: elsewhere, "oqmdapi/formationenergy", kept)
    assert reply.status_code == 502
    assert "127.0.0.2:9" in kept.replies[0].problem


def test_a_redirect_on_the_same_host_is_followed(kept: Kept) -> None:
    def answer(asked: bytes) -> bytes:
        if b"GET /oqmdapi/new" in asked:
            return (
                b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 2\r\nConnection: close\r\n\r\n{}"
            )
        return b"HTTP/1.1 301 Moved\r\nLocation: /oqmdapi/new\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"

    assert _asked_of(answer, "oqmdapi/formationenergy", kept).json() == {}


def test_nothing_of_the_clients_own_reaches_the_upstream(kept: Kept) -> None:
    seen: list[bytes] = []

    def answer(asked: bytes) -> bytes:
        seen.append(asked.lower())
        return b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\nSet-Cookie: a=b\r\nConnection: close\r\n\r\n{}"

    reply = _asked_of(answer, "oqmdapi/formationenergy?x=%20y", kept)
    assert reply.status_code == 200
    assert "set-cookie" not in reply.headers
    assert b"get /oqmdapi/formationenergy?x=%20y http" in seen[0]
    assert not [name for name in SECRET if name.encode() in seen[0]]


def test_too_large_a_body_is_cut_off(kept: Kept, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_outbound, "LARGEST_BODY", 1_000)
    body = b"x" * 2_000
    head = b"HTTP/1.1 200 OK\r\nContent-Length: 2000\r\nConnection: close\r\n\r\n"
    assert _asked_of(lambda _: head + body, "oqmdapi/formationenergy", kept).status_code == 502
    assert "more than 1000 bytes" in kept.replies[0].problem


def _said(body: bytes, *headers: bytes, status: bytes = b"200 OK") -> bytes:
    lines = (b"HTTP/1.1 " + status, *headers, b"Content-Length: %d" % len(body), b"Connection: close", b"", body)
    return b"\r\n".join(lines)


_REPEATED = REAL_KEY.encode()
_CLIMBS = ("/?k=" + REAL_KEY, "http://127.0.0.2:9/" + REAL_KEY)


@pytest.mark.parametrize(
    "answer",
    [
        _said(
            b'{"detail": "Invalid API key: ' + _REPEATED + b'"}', b"Content-Type: application/json", status=b"403 No"
        ),
        _said(b"<pre>x-api-key: " + _REPEATED + b"</pre>", b"Content-Type: text/html", status=b"500 Debug"),
        _said(b"{}", b"ETag: " + _REPEATED, b"Retry-After: " + _REPEATED),
        _said(b"", b"Location: " + _CLIMBS[1].encode(), status=b"302 Found"),
        _said(b"", b"Location: " + _CLIMBS[0].encode(), status=b"302 Found"),
        b"HTTP/1.1 200 " + _REPEATED + b"\r\n" + _REPEATED + b"\r\n\r\n",
    ],
)
def test_a_key_that_an_upstream_repeats_goes_nowhere(answer: bytes, kept: Kept) -> None:
    address, stop, thread = _answering(lambda _: answer)
    try:
        with relay("mp", address, api_key=REAL_KEY, record=kept) as made:
            reply = httpx.get(f"{made.url}materials/summary/", headers={"X-API-KEY": made.api_key or ""})
    finally:
        stop.set()
        thread.join(5)
    assert kept.replies
    shown = [reply.text, str(dict(reply.headers)), *(one.to_line() for one in kept.replies), str(kept.bodies)]
    assert not [text for text in shown if REAL_KEY in text]


@pytest.mark.parametrize(
    "key", [REAL_KEY + "\n", "\n" + REAL_KEY, REAL_KEY + "\r\nHost: x", "f" * 31 + "é", "f f" * 10]
)
def test_a_key_that_cannot_be_sent_is_refused_and_not_repeated(key: str, kept: Kept) -> None:
    with pytest.raises(ConfigurationError, match="set the bare key") as caught:
        relay("mp", "http://127.0.0.1:9", api_key=key, record=kept)
    assert key.strip() not in str(caught.value)


def test_a_packed_body_is_read_and_one_that_swells_is_cut_off(kept: Kept, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_outbound, "LARGEST_BODY", 3_000_000)
    text = b"[" + b"1," * 100_000 + b"1]"
    for pack, name in ((gzip.compress, b"gzip"), (zlib.compress, b"deflate")):
        answer = _said(pack(text), b"Content-Encoding: " + name)
        assert _asked_of(lambda _, answer=answer: answer, "a", kept).content == text  # type: ignore[misc]
    swelling = _said(gzip.compress(bytes(50_000_000)), b"Content-Encoding: gzip")
    assert _asked_of(lambda _: swelling, "a", kept).status_code == 502
    assert "more than 3000000 bytes" in kept.replies[-1].problem


_TWICE = gzip.compress(gzip.compress(b"{}", mtime=0), mtime=0)


@pytest.mark.parametrize(
    ("headers", "body", "word"),
    [
        ([b"Content-Encoding: gzip, gzip"], _TWICE, "not asked for"),
        ([b"Content-Encoding: gzip", b"Content-Encoding: gzip"], _TWICE, "not asked for"),
        ([b"Content-Encoding: br"], b"x", "not asked for"),
        ([b"Content-Encoding: gzip"], b"no gzip", "not packed as"),
        ([b"Content-Encoding: gzip"], gzip.compress(b"1" * 999, mtime=0)[:-9], "breaks off"),
    ],
)
def test_bodies_packed_otherwise_are_no_replies(headers: list[bytes], body: bytes, word: str, kept: Kept) -> None:
    assert _asked_of(lambda _: _said(body, *headers), "a", kept).status_code == 502
    assert word in kept.replies[0].problem


@pytest.mark.parametrize(
    ("answer", "status"),
    [
        (_said(b"{}", b"ETag: \xe2\x98\x83", b"Last-Modified: \x7f"), 200),
        (_said(b"{}", b"Content-Type: text/h\xc3\xa9"), 200),
        (_said(b"{}", status=b"999 What"), 502),
        (_said(b"{}", status=b"199 What"), 502),
        (_said(b"", status=b"304 Not Modified"), 304),
        (b"HTTP/1.1 204 None\r\nConnection: close\r\n\r\nxx", 204),
    ],
)
def test_odd_replies_do_not_break_the_relay(answer: bytes, status: int, kept: Kept) -> None:
    assert _asked_of(lambda _: answer, "a", kept).status_code == status


@pytest.mark.parametrize(
    "target",
    ["/../etc/passwd", "/oqmdapi/../../x", "/oqmdapi/%2e%2e/x", "/oqmdapi/%252e%252e/x", "/oqmdapi%2fx", "/a%5cb",
     "/a%00", "//elsewhere/x", "/a\\b"],
)  # fmt: skip
def test_paths_that_could_leave_the_upstream(oqmd_relay: Relay, kept: Kept, target: str) -> None:
    with socket.create_connection(("127.0.0.1", oqmd_relay.port), timeout=10) as raw:
        raw.sendall(f"GET {target} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n".encode("latin-1"))
        assert raw.recv(100).split(b" ")[1] == b"400"
    assert not kept.replies


@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE", "PATCH"])
def test_databases_are_only_asked(oqmd_relay: Relay, mp: Relay, kept: Kept, method: str) -> None:
    headers = {"X-API-KEY": str(mp.api_key)}
    assert httpx.request(method, f"{oqmd_relay.url}oqmdapi/formationenergy").status_code == 405
    assert httpx.request(method, f"{mp.url}materials/summary/", headers=headers).status_code == 405
    assert not kept.replies
    posted = httpx.request(method, f"{mp.url}materials/core/find_structure/", headers=headers, json={})
    assert posted.status_code == (501 if method == "POST" else 405)


def test_a_path_of_no_provider_is_not_relayed(optimade_relay: Relay, kept: Kept) -> None:
    assert httpx.get(f"{optimade_relay.url}elsewhere/v1/structures").status_code == 501
    assert httpx.get(f"{optimade_relay.url}crystalsx/v1/structures").status_code == 501
    assert httpx.post(f"{optimade_relay.url}crystals", content=b"x" * 1_000_001).status_code == 413
    assert httpx.get(f"{optimade_relay.url}crystals/?x=" + "x" * 32_001).status_code == 414
    assert not kept.replies


def test_a_recorder_that_fails_keeps_the_data_from_the_client(upstreams: dict[str, RunningServer]) -> None:
    def full(reply: RelayedReply, body: bytes) -> None:
        raise OSError(28, "No space left on device")

    with relay("oqmd", upstreams["oqmd"].url, record=full) as made:
        assert httpx.get(f"{made.url}oqmdapi/formationenergy").status_code == 507
        assert isinstance(made.failure, OSError)


@pytest.mark.parametrize(("name", "most"), [("MOST_REPLIES", 2), ("LARGEST_SUM", 100)])
def test_a_stage_is_not_given_without_end(
    oqmd_relay: Relay, kept: Kept, monkeypatch: pytest.MonkeyPatch, name: str, most: int
) -> None:
    monkeypatch.setattr(sys.modules["tasks_lib.databases.servers.relay"], name, most)
    url = f"{oqmd_relay.url}oqmdapi/formationenergy?limit=1"
    statuses = [httpx.get(url).status_code for _ in range(3)]
    assert statuses[0] == 200
    assert statuses[2] == 429
    assert len(kept.replies) == statuses.count(200)
    assert oqmd_relay.failure is None


def test_many_clients_at_once_have_numbers_of_their_own(oqmd_relay: Relay, kept: Kept) -> None:
    def ask(number: int) -> int:
        return httpx.get(f"{oqmd_relay.url}oqmdapi/formationenergy?limit=1&offset={number}").status_code

    with ThreadPoolExecutor(8) as pool:
        assert set(pool.map(ask, range(20))) == {200}
    assert [reply.number for reply in kept.replies] == list(range(1, 21))


def test_closing_frees_port_and_threads(upstreams: dict[str, RunningServer], kept: Kept) -> None:
    made = relay("oqmd", upstreams["oqmd"].url, record=kept)
    made.close()
    made.close()
    with pytest.raises(httpx.ConnectError):
        httpx.get(made.url)


def test_a_database_that_hangs_does_not_hold_up_the_end(kept: Kept) -> None:
    asked, may_answer = threading.Event(), threading.Event()

    def answer(_: bytes) -> bytes:
        asked.set()
        may_answer.wait(60)
        return b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\nConnection: close\r\n\r\n{}"

    address, stop, thread = _answering(answer)
    with ThreadPoolExecutor(1) as pool:
        with relay("oqmd", address, record=kept) as made:
            waiting = pool.submit(httpx.get, f"{made.url}oqmdapi/formationenergy", timeout=60)
            assert asked.wait(60)
        assert not may_answer.is_set()
        assert waiting.exception(60) is not None or waiting.result().status_code >= 500
    may_answer.set()
    stop.set()
    thread.join(60)
    assert kept.replies == []


@pytest.mark.parametrize(
    ("dialect", "upstream", "word"),
    [
        ("sql", "http://h", "a dialect is one of"),
        ("mp", "http://h", "set MP_API_KEY"),
        ("oqmd", "ftp://h", "an upstream is http"),
        ("oqmd", "http://", "an upstream is http"),
        ("oqmd", "http://h:99999", "an upstream is http"),
        ("oqmd", "http://user:word@h/x", "without credentials"),
        ("oqmd", "http://h?x=1", "an upstream is http"),
        ("oqmd", ["http://a", "http://b"], "from one address"),
        ("optimade", [], "from one address"),
    ],
)
def test_wrong_orders_are_refused(dialect: str, upstream: Any, word: str, kept: Kept) -> None:
    with pytest.raises(ConfigurationError, match=word) as told:
        relay(dialect, upstream, record=kept)
    assert "word" not in str(told.value)


def test_providers_have_names_of_their_own(kept: Kept) -> None:
    bases = ["https://optimade.materialsproject.org", "https://oqmd.org/optimade", "https://x.org/optimade/alexandria",
             "https://y.org/alexandria/v1"]  # fmt: skip
    with relay("optimade", bases, record=kept) as made:
        assert list(made.endpoints) == ["optimade.materialsproject.org", "oqmd.org", "alexandria", "alexandria-2"]
