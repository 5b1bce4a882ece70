"""Files of the store over HTTP: links open, untrusted pages do not run, nothing outside is reached."""

from __future__ import annotations

import asyncio
from pathlib import Path

import httpx
import pytest
from starlette.applications import Starlette
from starlette.routing import Route

from flows.links import PREFIX, link
from flows.serving.files import StoreFiles
from tasks_lib.store import Store


class Client:
    """Asks an application without a network."""

    def __init__(self, app: Starlette) -> None:
        self._transport = httpx.ASGITransport(app, raise_app_exceptions=False)

    def request(self, method: str, address: str) -> httpx.Response:
        async def ask() -> httpx.Response:
            async with httpx.AsyncClient(transport=self._transport, base_url="http://127.0.0.1") as client:
                return await client.request(method, address)

        return asyncio.run(ask())

    def get(self, address: str) -> httpx.Response:
        return self.request("GET", address)


@pytest.fixture
def client(store: Store) -> Client:
    store.write_bytes("runs/r1/handoffs/e1/fit/table.csv", b"a,b\n1,2\n")
    store.write_bytes("runs/r1/handoffs/e1/fit/page.html", b"<script>alert(1)</script>")
    store.write_bytes("runs/r1/handoffs/e1/fit/draw.svg", b"<svg onload='alert(1)'/>")
    store.write_bytes("runs/r1/report/index.html", b"<h1>Run</h1>")
    store.write_bytes("leases/secret/lease.json", b"{}")
    return Client(Starlette(routes=[Route(PREFIX + "/{path:path}", StoreFiles(store).answer, methods=["GET"])]))


def test_text_is_shown_as_text(client: Client) -> None:
    answer = client.get(link("runs/r1/handoffs/e1/fit/table.csv"))
    assert answer.text == "a,b\n1,2\n"
    assert answer.headers["content-type"] == "text/plain; charset=utf-8"
    assert answer.headers["x-content-type-options"] == "nosniff"


@pytest.mark.parametrize("name", ["page.html", "draw.svg"])
def test_pages_of_agents_are_downloaded(client: Client, name: str) -> None:
    answer = client.get(link(f"runs/r1/handoffs/e1/fit/{name}"))
    assert answer.headers["content-type"] == "application/octet-stream"
    assert answer.headers["content-disposition"] == f'attachment; filename="{name}"'
    assert "sandbox" in answer.headers["content-security-policy"]


def test_the_report_is_shown_without_scripts_and_without_the_rights_of_the_origin(client: Client) -> None:
    answer = client.get(link("runs/r1/report/index.html"))
    assert answer.headers["content-type"] == "text/html; charset=utf-8"
    policy = answer.headers["content-security-policy"]
    assert policy.startswith("sandbox; default-src 'none'")
    assert "script" not in policy


@pytest.mark.parametrize(
    ("media_type", "content_type"),
    [
        ("image/png", "image/png"),
        ("text/csv", "text/plain; charset=utf-8"),
        ("text/html", "application/octet-stream"),
        ("image/svg+xml", "application/octet-stream"),
        ("application/pdf", "application/octet-stream"),
        ("", "application/octet-stream"),
    ],
)
def test_a_blob_is_what_its_link_says_only_if_that_is_harmless(
    client: Client, store: Store, media_type: str, content_type: str
) -> None:
    blob = store.put_blob(b"\x89PNG", "image/png")
    answer = client.get(link(store.blob_path(blob.sha256), media_type=media_type, name='a"b\r\nX: y'))
    assert answer.content == b"\x89PNG"
    assert answer.headers["content-type"] == content_type
    assert "x" not in answer.headers
    if "content-disposition" in answer.headers:
        assert answer.headers["content-disposition"] == 'attachment; filename="a_b__X__y"'


@pytest.mark.parametrize(
    "path",
    [
        "runs/../leases/secret/lease.json",
        "runs/%2e%2e/leases/secret/lease.json",
        "leases/secret/lease.json",
        "/etc/passwd",
        "runs//etc/passwd",
        "runs/r1\\..\\..\\x",
        "runs/r1/none.txt",
        "",
    ],
)
def test_nothing_else_is_reached(client: Client, path: str) -> None:
    assert client.get(f"{PREFIX}/{path}").status_code == 404


def test_a_link_out_of_the_store_is_not_followed(client: Client, store: Store, tmp_path: Path) -> None:
    outside = tmp_path / "secret.txt"
    outside.write_text("secret", encoding="utf-8")
    inside = store.local_path("runs/r1/handoffs/e1/fit/way-out.txt")
    assert inside is not None
    inside.symlink_to(outside)
    answer = client.get(link("runs/r1/handoffs/e1/fit/way-out.txt"))
    assert answer.status_code == 404
    assert "secret" not in answer.text


def test_links_survive_odd_names(client: Client, store: Store) -> None:
    path = "runs/r1/handoffs/e1/fit/C 1s & 50 %? #2 µm.txt"
    store.write_bytes(path, b"ok")
    assert client.get(link(path)).text == "ok"


@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE"])
def test_the_store_is_read_only(client: Client, method: str) -> None:
    assert client.request(method, link("runs/r1/handoffs/e1/fit/table.csv")).status_code == 405
