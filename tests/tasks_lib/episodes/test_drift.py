"""Live runs end to end: a task asked of a second, altered database; "database moved" apart from "agent wrong"."""

from __future__ import annotations

import asyncio
import hashlib
import json
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tasks_lib.databases import Snapshot
from tasks_lib.databases.alteration import altered
from tasks_lib.databases.ingest import Fault
from tasks_lib.databases.servers import FaultSettings, RelayedReply, RunningServer, start
from tasks_lib.databases.upstreams import Upstreams
from tasks_lib.episodes import EpisodeVoidError, Player, live_settings, plain_phases, run_episode
from tasks_lib.episodes.drift import Cause, RunDrift, TaskDrift, drift
from tasks_lib.episodes.live_databases import shipped
from tasks_lib.episodes.services import SETTING
from tasks_lib.records import Outcome, Phase, RunManifest, Step, VoidReason
from tasks_lib.records.errors import ConfigurationError
from tasks_lib.store import RunFolder, StageFolder, Store
from tasks_lib.taskdefs import load_all

from .conftest import FIXTURES, MakeRun

DATABASE = FIXTURES / "episodes" / "database"
ORACLE, NOP, NEAR = Player("oracle"), Player("nop"), Player("oracle", variant="first-page")
KEY = "0123456789abcdef0123456789abcdef"
Play = Callable[..., TaskDrift]


@pytest.fixture(scope="module")
def moved() -> Snapshot:
    """The next release, in which one of the iron oxides is no more."""
    snapshot = shipped()
    oxide = next(entry for entry in snapshot if entry.chemical_system == "Fe-O")
    return altered(snapshot, name="moved", gone=[oxide.number])


@pytest.fixture(scope="module")
def same_oqmd() -> Iterator[RunningServer]:
    with start("oqmd", shipped()) as server:
        yield server


@pytest.fixture(scope="module")
def moved_oqmd(moved: Snapshot) -> Iterator[RunningServer]:
    with start("oqmd", moved) as server:
        yield server


@pytest.fixture
def root(tmp_path: Path) -> Path:
    found = Path(shutil.copytree(DATABASE, tmp_path / "database"))
    gold = next(found.glob("*/*/*/gold/answer.json"))
    numbers = [entry.number for entry in shipped() if entry.chemical_system == "Fe-O"]
    database = {"name": shipped().name, "digest": shipped().digest, "taken": "2026-11-30T12:00:00Z"}
    gold.write_text(json.dumps({"database": database, "how": "the system's entries", "answer": numbers}), "utf-8")
    return found


def _run(store: Store, make_run: MakeRun, root: Path, upstreams: Upstreams, *players: Player) -> RunManifest:
    manifest = make_run(root, *players, settings={SETTING: live_settings(upstreams)})
    for spec in manifest.episodes:
        try:
            asyncio.run(run_episode(store, manifest.run_id, spec.id, root, plain_phases()))
        except EpisodeVoidError:
            continue
    return manifest


def _drift(store: Store, root: Path) -> RunDrift:
    return drift(store, "r1", load_all(root).tasks)


def _stage(store: Store, number: int, manifest: RunManifest) -> StageFolder:
    return RunFolder(store, manifest.run_id).episode(manifest.episodes[number].id).attempt(1).stage()


def test_a_database_that_holds_makes_the_agent_wrong(
    store: Store, make_run: MakeRun, root: Path, same_oqmd: RunningServer
) -> None:
    manifest = _run(store, make_run, root, Upstreams(oqmd=same_oqmd.url), ORACLE, NOP, NEAR)
    checked = _drift(store, root)
    (task,) = checked.tasks
    assert not checked.moved
    assert (task.state, task.moved, task.findings, task.raised) == (Cause.HOLDS, (), (), "")
    assert {one.agent: one.cause for one in task.episodes} == {"nop": Cause.AGENT, "oracle-first-page": Cause.AGENT}
    assert task.gold["digest"] == shipped().digest
    assert task.gold["taken"] == "2026-11-30T12:00:00Z"
    assert task.asked.replies == 1
    assert task.asked.first is not None
    assert manifest.created <= task.asked.first <= task.asked.last  # type: ignore[operator]
    assert task.asked.upstreams == (same_oqmd.url.rstrip("/"),)
    assert RunDrift.model_validate_json(checked.to_json()) == checked


def test_every_reply_of_a_live_run_is_in_the_store(
    store: Store, make_run: MakeRun, root: Path, same_oqmd: RunningServer
) -> None:
    manifest = _run(store, make_run, root, Upstreams(oqmd=same_oqmd.url), ORACLE)
    place = _stage(store, 0, manifest)
    (reply,) = store.read_lines(place.replies, RelayedReply)
    body = store.read_bytes(store.blob_path(reply.sha256))
    assert hashlib.sha256(body).hexdigest() == reply.sha256
    assert (len(body), reply.status, reply.path) == (reply.size, 200, "/oqmdapi/formationenergy")
    assert len(json.loads(body)["data"]) == sum(entry.chemical_system == "Fe-O" for entry in shipped())
    (asked, *_) = store.read_bytes(place.requests("oqmd")).decode("utf-8").splitlines()
    assert json.loads(asked)["status"] == 200


def test_a_database_that_moved_says_nothing_of_the_agents(
    store: Store, make_run: MakeRun, root: Path, moved_oqmd: RunningServer
) -> None:
    _run(store, make_run, root, Upstreams(oqmd=moved_oqmd.url), ORACLE, NOP, NEAR)
    (task,) = _drift(store, root).tasks
    assert task.state is Cause.MOVED
    assert {one.cause for one in task.episodes} == {Cause.MOVED}
    (criterion,) = task.moved
    assert criterion.criterion == "all-entries"
    wanted, seen = criterion.wanted["value"], criterion.seen
    assert len(wanted) == len(seen) + 1
    assert set(seen) < set(wanted)
    assert criterion.why.endswith("is missing")


def test_a_gold_without_a_record_of_its_database_has_the_manifests(
    store: Store, make_run: MakeRun, root: Path, same_oqmd: RunningServer
) -> None:
    gold = next(root.glob("*/*/*/gold/answer.json"))
    gold.write_text(json.dumps({"answer": json.loads(gold.read_text("utf-8"))["answer"]}), "utf-8")
    _run(store, make_run, root, Upstreams(oqmd=same_oqmd.url), ORACLE)
    (task,) = _drift(store, root).tasks
    assert task.state is Cause.HOLDS
    assert task.gold == {"name": shipped().name, "digest": shipped().digest}


def test_an_oracle_that_raises_on_the_live_answers(
    store: Store, make_run: MakeRun, root: Path, same_oqmd: RunningServer
) -> None:
    script = next(root.glob("*/*/*/oracle.md"))
    script.write_text(script.read_text("utf-8").replace('["data_available"]', '["data_existing"]'), "utf-8")
    _run(store, make_run, root, Upstreams(oqmd=same_oqmd.url), ORACLE, NOP)
    (task,) = _drift(store, root).tasks
    assert task.state is Cause.MOVED
    assert task.raised.startswith("KeyError: 'data_existing'")


def test_a_source_that_broke_its_rules_is_malformed(store: Store, make_run: MakeRun, root: Path) -> None:
    script = next(root.glob("*/*/*/oracle.md"))
    script.write_text(script.read_text("utf-8").replace("limit=1000", "limit=3"), "utf-8")
    with start("oqmd", shipped(), faults=FaultSettings(misnamed_next=True)) as server:
        _run(store, make_run, root, Upstreams(oqmd=server.url), ORACLE, NOP)
    (task,) = _drift(store, root).tasks
    assert task.state is Cause.MALFORMED
    assert [one.fault for one in task.findings] == [Fault.MISNAMED_NEXT]
    assert {one.cause for one in task.episodes} == {Cause.MALFORMED}


def test_a_source_that_did_not_answer_is_unreachable(store: Store, make_run: MakeRun, root: Path) -> None:
    with start("oqmd", shipped(), faults=FaultSettings(server_errors=9)) as server:
        _run(store, make_run, root, Upstreams(oqmd=server.url), ORACLE, NOP)
    (task,) = _drift(store, root).tasks
    assert task.state is Cause.UNREACHABLE
    assert [one.fault for one in task.findings] == [Fault.UNREACHABLE]


def test_an_oracle_that_has_not_played_decides_nothing(
    store: Store, make_run: MakeRun, root: Path, same_oqmd: RunningServer
) -> None:
    make_run(root, ORACLE, NOP, settings={SETTING: live_settings(Upstreams(oqmd=same_oqmd.url))})
    (task,) = _drift(store, root).tasks
    assert task.state is Cause.UNDECIDED
    assert {one.cause for one in task.episodes} == {Cause.UNDECIDED}


def test_the_key_of_a_live_database_stays_with_the_harness(
    store: Store, make_run: MakeRun, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = next(root.glob("*/*/*/task.yaml"))
    file.write_text(file.read_text("utf-8").replace("endpoints: [oqmd]", "endpoints: [mp]"), "utf-8")
    next(root.glob("*/*/*/oracle.md")).write_text(
        "```python\nimport os, urllib.request\n"
        "ask = urllib.request.Request(os.environ['MP_API_ENDPOINT'] + 'materials/summary/?formula=MgO&_limit=1',\n"
        "                             headers={'X-API-KEY': os.environ['MP_API_KEY']})\n"
        f"print(urllib.request.urlopen(ask).status, '{KEY[:6]}' in os.environ['MP_API_KEY'])\n```\n",
        "utf-8",
    )
    monkeypatch.setenv("MP_API_KEY", KEY)
    with start("mp", shipped(), api_key=KEY) as server:
        addresses = Upstreams(mp=server.url, open_data=server.endpoints["open_data"])
        manifest = _run(store, make_run, root, addresses, ORACLE)
    place = _stage(store, 0, manifest)
    (first, *_) = store.read_lines(place.trajectory, Step)
    assert "200 False" in first.feedback
    for path in store.list(RunFolder(store, manifest.run_id).path):
        assert KEY.encode() not in store.read_bytes(path), path


def test_a_live_run_without_a_key_is_void(
    store: Store, make_run: MakeRun, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = next(root.glob("*/*/*/task.yaml"))
    file.write_text(file.read_text("utf-8").replace("endpoints: [oqmd]", "endpoints: [mp]"), "utf-8")
    monkeypatch.delenv("MP_API_KEY", raising=False)
    manifest = make_run(root, settings={SETTING: live_settings(Upstreams())})
    with pytest.raises(EpisodeVoidError, match="set MP_API_KEY") as caught:
        asyncio.run(run_episode(store, manifest.run_id, manifest.episodes[0].id, root, plain_phases()))
    assert (caught.value.record.phase, caught.value.record.reason) == (Phase.PROVISION, VoidReason.PROVISION)


def test_a_reply_that_cannot_be_kept_makes_the_episode_void(
    store: Store, make_run: MakeRun, root: Path, same_oqmd: RunningServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    keep = Store.append_line

    def full(self: Store, path: str, line: str) -> None:
        if path.endswith("replies.jsonl"):
            raise OSError(28, "No space left on device")
        keep(self, path, line)

    monkeypatch.setattr(Store, "append_line", full)
    manifest = _run(store, make_run, root, Upstreams(oqmd=same_oqmd.url), ORACLE)
    (task,) = _drift(store, root).tasks
    assert task.state is Cause.UNDECIDED
    assert "VOID(disk full)" in task.why
    assert not store.exists(_stage(store, 0, manifest).evidence)


def test_a_run_over_a_snapshot_cannot_drift(store: Store, make_run: MakeRun, root: Path) -> None:
    make_run(root)
    with pytest.raises(ConfigurationError, match="matassay run --live"):
        _drift(store, root)


@pytest.mark.parametrize("address", ["oqmd.org", "http://key@oqmd.org", "file:///etc"])
def test_addresses_that_are_none_are_refused_at_the_start(address: str) -> None:
    with pytest.raises(ConfigurationError, match="an upstream is http"):
        live_settings(Upstreams(oqmd=address))


def test_an_agents_own_trouble_with_the_source_is_not_its_fault(
    store: Store, make_run: MakeRun, root: Path, same_oqmd: RunningServer
) -> None:
    settings: dict[str, Any] = {SETTING: live_settings(Upstreams(oqmd=same_oqmd.url))}
    manifest = make_run(root, ORACLE, NEAR, settings=settings)
    first, second = (spec.id for spec in manifest.episodes)
    assert asyncio.run(run_episode(store, "r1", first, root, plain_phases())).outcome is Outcome.PASS
    place = RunFolder(store, "r1").episode(second)
    asyncio.run(run_episode(store, "r1", second, root, plain_phases()))
    (reply,) = store.read_lines(place.attempt(1).stage().replies, RelayedReply)
    away = reply.model_copy(update={"status": 503, "number": 2})
    store.append_line(place.attempt(1).stage().replies, away.to_line())
    (task,) = _drift(store, root).tasks
    assert task.state is Cause.HOLDS
    assert [one.cause for one in task.episodes] == [Cause.UNREACHABLE]
