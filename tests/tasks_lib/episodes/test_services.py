"""Databases of a stage: started with its machine, reachable from it alone, ended with it; and what they keep."""

from __future__ import annotations

import asyncio
import json
import shutil
import socket
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tasks_lib.databases import load
from tasks_lib.episodes import EpisodeVoidError, Player, load_work, plain_phases, run_episode
from tasks_lib.episodes.services import SETTING, Services, database_settings
from tasks_lib.records import Outcome, Phase, RunManifest, Step, Verdict, VoidReason
from tasks_lib.store import RunFolder, StageFolder, Store

from .conftest import FIXTURES, MakeRun

DATABASE = FIXTURES / "episodes" / "database"


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return Path(shutil.copytree(DATABASE, tmp_path / "database"))


def _play(store: Store, manifest: RunManifest, root: Path, number: int = 0) -> Verdict:
    episode = manifest.episodes[number].id
    return asyncio.run(run_episode(store, manifest.run_id, episode, root, plain_phases()))


def _place(store: Store, manifest: RunManifest) -> StageFolder:
    return RunFolder(store, manifest.run_id).episode(manifest.episodes[0].id).attempt(1).stage()


def _oracle(root: Path, script: str) -> None:
    file = next(root.glob("*/*/*/oracle.md"))
    file.write_text(f"```python\n{script}\n```\n---\n```decision\nDONE\n```\n", encoding="utf-8")


def _requests(store: Store, place: StageFolder) -> list[dict[str, Any]]:
    return [json.loads(line) for line in store.read_bytes(place.requests("oqmd")).decode("utf-8").splitlines()]


def test_an_agent_asks_the_database_and_its_questions_are_kept(store: Store, make_run: MakeRun, root: Path) -> None:
    manifest = make_run(root)
    assert _play(store, manifest, root).outcome is Outcome.PASS
    asked = [record for record in _requests(store, _place(store, manifest)) if "formationenergy" in record["path"]]
    assert [(record["method"], record["status"]) for record in asked] == [("GET", 200)]
    assert "element_set" in asked[0]["query"]


def test_the_database_ends_with_the_machine(store: Store, make_run: MakeRun, root: Path) -> None:
    manifest = make_run(root)
    ports: list[int] = []

    async def act(work: Any, attempt: Any, stage: Any, machine: Any) -> Any:
        ports.extend(machine.provision.facts["endpoints"].values())
        return await plain_phases().act(work, attempt, stage, machine)

    phases = replace(plain_phases(), act=act)
    asyncio.run(run_episode(store, manifest.run_id, manifest.episodes[0].id, root, phases))
    assert len(ports) == 1
    with pytest.raises(ConnectionRefusedError):
        socket.create_connection(("127.0.0.1", ports[0]), timeout=5).close()


def test_only_the_named_database_is_reached(store: Store, make_run: MakeRun, root: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as other:
        port = other.getsockname()[1]
        _oracle(
            root,
            "import json, os, socket\n"
            "def reaches(host, port):\n"
            "    try:\n        socket.create_connection((host, port), timeout=3).close()\n        return True\n"
            "    except OSError:\n        return False\n"
            "own = int(os.environ['oqmd_url'].rsplit(':', 1)[1])\n"
            f"print(reaches('127.0.0.1', own), reaches('127.0.0.1', {port}), reaches('192.0.2.1', 80))\n",
        )
        manifest = make_run(root)
        _play(store, manifest, root)
    (first, *_) = store.read_lines(_place(store, manifest).trajectory, Step)
    assert "True False False" in first.feedback


def test_the_key_of_a_database_reaches_no_prompt_and_no_record(store: Store, make_run: MakeRun, root: Path) -> None:
    file = next(root.glob("*/*/*/task.yaml"))
    file.write_text(file.read_text(encoding="utf-8").replace("endpoints: [oqmd]", "endpoints: [mp]"), encoding="utf-8")
    _oracle(root, "import os\nkey = os.environ['MP_API_KEY']\nprint(len(key), key)")
    manifest = make_run(root)
    _play(store, manifest, root)
    (first, *_) = store.read_lines(_place(store, manifest).trajectory, Step)
    assert "32 [redacted]" in first.feedback


def test_a_snapshot_that_is_not_the_manifests_is_void(store: Store, make_run: MakeRun, root: Path) -> None:
    settings = {**database_settings(), "digest": "0" * 64}
    manifest = make_run(root, Player("oracle"), settings={SETTING: settings})
    with pytest.raises(EpisodeVoidError, match="was planned for database matassay-snapshot-1") as caught:
        _play(store, manifest, root)
    assert caught.value.record.phase is Phase.PROVISION
    assert caught.value.record.reason is VoidReason.PROVISION


def test_a_service_that_nobody_knows_is_void(store: Store, make_run: MakeRun, root: Path) -> None:
    file = next(root.glob("*/*/*/task.yaml"))
    file.write_text(file.read_text(encoding="utf-8").replace("[oqmd]", "[oqmd, icsd]"), encoding="utf-8")
    manifest = make_run(root)
    with pytest.raises(EpisodeVoidError, match="no service is called 'icsd'") as caught:
        _play(store, manifest, root)
    assert caught.value.record.reason is VoidReason.TASK


def test_an_environment_that_is_not_built_is_void_and_says_the_command(
    store: Store, make_run: MakeRun, root: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("MATASSAY_STATE", str(tmp_path / "state"))
    (root / "environments").mkdir()
    (root / "environments" / "rocks.txt").write_text("quartzite\n", encoding="utf-8")
    file = next(root.glob("*/*/*/task.yaml"))
    text = file.read_text(encoding="utf-8")
    file.write_text(text.replace("endpoints:", "environment: rocks\nendpoints:", 1), encoding="utf-8")
    manifest = make_run(root)
    with pytest.raises(EpisodeVoidError, match="matassay environments build rocks") as caught:
        _play(store, manifest, root)
    assert caught.value.record.reason is VoidReason.PROVISION


def test_faults_of_the_manifest_are_played_and_kept(store: Store, make_run: MakeRun, root: Path) -> None:
    settings = {**database_settings(), "faults": {"server_errors": 1}}
    manifest = make_run(root, Player("oracle"), settings={SETTING: settings})
    assert _play(store, manifest, root).outcome is Outcome.FAIL
    faults = [record["fault"] for record in _requests(store, _place(store, manifest)) if record["fault"]]
    assert len(faults) == 1


def test_the_settings_name_the_snapshot_that_is_served() -> None:
    settings = database_settings()
    assert (settings["digest"], settings["faults"]) == (load().digest, {})


def test_a_second_end_keeps_the_requests_of_the_first(store: Store, make_run: MakeRun, root: Path) -> None:
    manifest = make_run(root)
    work = load_work(store, manifest.run_id, manifest.episodes[0].id, root)
    services = Services(work, work.task.stages[0])
    place = _place(store, manifest)
    services.close(store, place)
    kept = store.read_bytes(place.requests("oqmd"))
    services.close(store, place)
    assert store.read_bytes(place.requests("oqmd")) == kept
