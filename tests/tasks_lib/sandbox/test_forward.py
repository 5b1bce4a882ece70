"""Endpoints: bytes go both ways, whole, also when one side is done sooner; closing leaves no listener."""

from __future__ import annotations

import asyncio
import socket
import threading
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import pytest

from tasks_lib.sandbox.guest.forward import Forwarder, loopback_listener, unix_listener


def _read_all(connection: socket.socket) -> bytes:
    return b"".join(iter(lambda: connection.recv(65_536), b""))


class _Far:
    """A server that reads until the other side is done and then answers with what it read, doubled."""

    def __init__(self) -> None:
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.port = self.listener.getsockname()[1]
        self._thread = threading.Thread(target=self._serve)
        self._thread.start()

    def close(self) -> None:
        # The thread waits on this descriptor: closed under it, its number would soon be another socket's.
        self.listener.shutdown(socket.SHUT_RDWR)
        self._thread.join()
        self.listener.close()

    def _serve(self) -> None:
        while True:
            try:
                connection, _ = self.listener.accept()
            except OSError:
                return
            with connection:
                connection.sendall(_read_all(connection) * 2)


@pytest.fixture
def far() -> Iterator[_Far]:
    server = _Far()
    yield server
    server.close()


def _ask(family: int, address: object, data: bytes) -> bytes:
    with socket.socket(family) as near:
        near.settimeout(60)
        near.connect(address)
        near.sendall(data)
        near.shutdown(socket.SHUT_WR)
        return _read_all(near)


def test_there_and_back_through_both_ends(far: _Far, tmp_path: Path) -> None:
    """As in a machine: loopback -> unix socket -> loopback."""
    path = tmp_path / "s"
    outer = Forwarder([(unix_listener(path), partial(asyncio.open_connection, "127.0.0.1", far.port))])
    assert path.stat().st_mode & 0o077 == 0
    inside = loopback_listener(0)
    port = inside.getsockname()[1]
    inner = Forwarder([(inside, partial(asyncio.open_unix_connection, str(path)))])
    data = bytes(range(256)) * 8192
    try:
        assert _ask(socket.AF_INET, ("127.0.0.1", port), data) == data * 2
        answers: list[bytes] = []
        askers = [
            threading.Thread(target=lambda n=n: answers.append(_ask(socket.AF_UNIX, str(path), b"x" * n)))
            for n in range(1, 21)
        ]
        for asker in askers:
            asker.start()
        for asker in askers:
            asker.join()
        assert sorted(map(len, answers)) == [2 * n for n in range(1, 21)]
    finally:
        inner.close()
        outer.close()
        outer.close()
    with pytest.raises(OSError, match="refused"):
        _ask(socket.AF_INET, ("127.0.0.1", port), b"")


def test_nobody_at_the_far_end_closes_the_connection(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as gone:
        port = gone.getsockname()[1]
    forwarder = Forwarder([(unix_listener(tmp_path / "s"), partial(asyncio.open_connection, "127.0.0.1", port))])
    try:
        with socket.socket(socket.AF_UNIX) as near:
            near.settimeout(60)
            near.connect(str(tmp_path / "s"))
            assert near.recv(1) == b""
    finally:
        forwarder.close()
