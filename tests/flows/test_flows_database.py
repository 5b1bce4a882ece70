"""The embedded PostgreSQL: no account, no port, no survivor."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from flows.serving import database
from flows.serving.children import Child, members
from tasks_lib.records.errors import ConfigurationError

pytestmark = pytest.mark.serving
Until = Callable[..., Any]


@pytest.fixture
def sockets() -> Iterator[Path]:
    # Not below tmp_path: the name of a unix socket has at most 107 bytes.
    with tempfile.TemporaryDirectory(prefix="pg-", ignore_cleanup_errors=True) as folder:
        yield Path(folder)


def _start(data: Path, sockets: Path, until: Until) -> Child:
    log = data.with_suffix(".log")
    child = Child("database", "flows.serving.database", [str(data), str(sockets)], environ=os.environ, log=log)
    until(lambda: database.ready(sockets) or not child.alive(), 60, "PostgreSQL answers")
    assert child.alive(), child.last_words()
    return child


def _ask(sockets: Path, query: str) -> Any:
    import asyncpg

    async def ask() -> Any:
        connection = await asyncpg.connect(host=str(sockets), user="matassay", database="postgres")
        try:
            return await connection.fetchval(query)
        finally:
            await connection.close()

    return asyncio.run(ask())


def test_it_keeps_its_data_and_listens_on_no_port(tmp_path: Path, sockets: Path, until: Until) -> None:
    data = tmp_path / "data"
    child = _start(data, sockets, until)
    try:
        assert _ask(sockets, "SHOW listen_addresses") == ""
        assert _ask(sockets, "SHOW unix_socket_permissions") == "0700"
        _ask(sockets, "CREATE TABLE kept AS SELECT 7 AS n")
        listening = [c for p in members(child.pid) for c in p.net_connections("inet") if c.status == "LISTEN"]
        assert listening == []
    finally:
        child.stop()
    assert child.process.returncode == 0
    assert data.stat().st_uid == os.geteuid()
    sockets.mkdir(exist_ok=True)
    child = _start(data, sockets, until)
    try:
        assert _ask(sockets, "SELECT n FROM kept") == 7
    finally:
        child.stop()


def test_it_ends_when_its_guard_is_killed(tmp_path: Path, sockets: Path, until: Until) -> None:
    child = _start(tmp_path / "data", sockets, until)
    child.process.kill()
    child.process.wait()
    child.stop()
    assert members(child.pid) == []
    assert not database.ready(sockets)


def test_it_ends_when_the_starter_of_its_guard_is_killed(tmp_path: Path, sockets: Path, until: Until) -> None:
    program = (
        "import os, sys, time\nfrom pathlib import Path\nfrom flows.serving.children import Child\n"
        "child = Child('database', 'flows.serving.database', sys.argv[1:], environ=os.environ,\n"
        "              log=Path(sys.argv[1] + '.log'))\n"
        "print(child.pid, flush=True)\ntime.sleep(600)\n"
    )
    starter = subprocess.Popen(
        [sys.executable, "-c", program, str(tmp_path / "data"), str(sockets)], stdout=subprocess.PIPE, text=True
    )
    assert starter.stdout is not None
    group = int(starter.stdout.readline())
    try:
        until(lambda: database.ready(sockets), 60, "PostgreSQL answers")
    finally:
        starter.kill()
        starter.communicate()
    until(lambda: not members(group), 30, "PostgreSQL has ended")
    assert not sockets.exists()


def test_a_first_start_that_was_killed_half_way_is_begun_anew(tmp_path: Path) -> None:
    half = tmp_path / "data.new"
    half.mkdir()
    (half / "PG_VERSION").write_text("18\n", encoding="ascii")
    database.initialise(tmp_path / "data")
    assert (tmp_path / "data" / "global").is_dir()
    assert not half.exists()


def test_initdb_says_why_it_fails(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("", encoding="ascii")
    with pytest.raises(ConfigurationError, match="initdb could not make"):
        database.initialise(tmp_path / "file" / "data")


def test_root_is_mapped_away_and_others_are_left_as_they_are() -> None:
    assert database.unprivileged(["postgres"], uid=1000) == ["postgres"]
    if os.geteuid() == 0:
        done = subprocess.run(database.unprivileged(["id", "-u"]), capture_output=True, text=True, check=True)
        assert done.stdout.strip() != "0"


def test_root_without_user_name_spaces_is_told_what_to_do(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(ConfigurationError, match="database_url"):
        database.unprivileged(["postgres"], uid=0)


def test_without_the_wheel_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(database, "find_spec", lambda name: None)
    with pytest.raises(ConfigurationError, match=r"matassay\[serve\]"):
        database.binaries()
