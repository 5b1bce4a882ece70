"""The control server's doors: token, sizes, shapes, and that nothing handed over is ever run as the server's code."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from flask.testing import FlaskClient

from tasks_lib.sandbox.guest.files import WorkFolder
from tasks_lib.sandbox.guest.scripts import Outcome, ScriptRequest
from tasks_lib.sandbox.guest.server import TOKEN_HEADER, create_app
from tasks_lib.sandbox.guest.settings import GuestSettings

TOKEN = {TOKEN_HEADER: "right"}


class _Breaks:
    def run(self, request: ScriptRequest) -> Outcome:
        msg = f"cannot {request.kind}"
        raise OSError(msg)


@pytest.fixture
def client(tmp_path: Path) -> Iterator[FlaskClient]:
    settings = GuestSettings(
        desktop=False,
        width=0,
        height=0,
        home="/h",
        work=str(tmp_path),
        runtime="/r",
        python="/p",
        file_mb=1,
        isolated=True,
    )
    app = create_app("right", settings, WorkFolder(tmp_path), _Breaks(), None)  # type: ignore[arg-type]
    with app.test_client() as client:
        yield client


@pytest.mark.parametrize("path", ["/probe", "/files", "/file?path=a", "/screenshot", "/", "/static/x"])
@pytest.mark.parametrize("headers", [{}, {TOKEN_HEADER: "wrong"}, {TOKEN_HEADER: ""}, {TOKEN_HEADER: "ß"}])
def test_every_door_asks_for_the_token(client: FlaskClient, path: str, headers: dict[str, str]) -> None:
    answer = client.get(path, headers=headers)
    assert answer.status_code == 401
    assert answer.json == {"error": "the token is missing or wrong", "kind": "token"}


def test_unknown_doors_and_methods(client: FlaskClient) -> None:
    for method, path, status in (("GET", "/execute", 404), ("POST", "/probe", 405), ("DELETE", "/file", 405)):
        answer = client.open(path, method=method, headers=TOKEN)
        assert answer.status_code == status
        assert set(answer.json) == {"error", "kind"}


def test_a_body_that_is_too_big_is_refused_unread(client: FlaskClient) -> None:
    for method, path, size in (("POST", "/script", 9), ("POST", "/action", 9), ("PUT", "/file?path=a", 300)):
        length = {"CONTENT_LENGTH": str(size * 1024 * 1024)}
        answer = client.open(path, method=method, headers=TOKEN, environ_overrides=length)
        assert (answer.status_code, answer.json["kind"]) == (413, "too-big")


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"not json",
        b"[]",
        b'{"text": 5}',
        b'{"text": "x", "extra": 1}',
        b"\xff\xfe",
        b'{"text": "x", "kind": "sh"}',
    ],
)
def test_a_malformed_script_request_is_an_action_error(client: FlaskClient, body: bytes) -> None:
    answer = client.post("/script", headers=TOKEN, data=body)
    assert (answer.status_code, answer.json["kind"]) == (400, "action")


def test_a_fault_of_the_server_is_told_as_broken(client: FlaskClient) -> None:
    answer = client.post("/script", headers=TOKEN, json={"text": "x"})
    assert (answer.status_code, answer.json["kind"]) == (500, "broken")
    assert "OSError: cannot python" in answer.json["error"]


@pytest.mark.parametrize("path", ["/screenshot", "/observe", "/digest", "/clipboard", "/installed"])
def test_without_a_desktop_its_doors_answer_409(client: FlaskClient, path: str) -> None:
    answer = client.get(path, headers=TOKEN)
    assert (answer.status_code, answer.json["kind"]) == (409, "no-desktop")


def test_files_through_the_doors(client: FlaskClient) -> None:
    assert client.put("/file", query_string={"path": "a/b"}, headers=TOKEN, data=b"data").status_code == 200
    assert client.get("/file", query_string={"path": "a/b"}, headers=TOKEN).data == b"data"
    listing: Any = client.get("/files", headers=TOKEN).json
    assert [entry["path"] for entry in listing["entries"]] == ["a", "a/b"]
    assert client.get("/file", headers=TOKEN).status_code == 400
    assert client.get("/file", query_string={"path": "../x"}, headers=TOKEN).status_code == 400
