"""`matassay databases diff|build|verify` and `matassay run --live|--fault`, as a person types them."""

from __future__ import annotations

import importlib.util
import json
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from typer.testing import CliRunner

from tasks_lib.cli import app, database_checks
from tasks_lib.databases import Snapshot, load
from tasks_lib.databases.alteration import altered
from tasks_lib.databases.servers import FaultSettings, RunningServer, start
from tasks_lib.records import RunManifest
from tasks_lib.store import RunFolder, Store

DATABASE = Path(__file__).parents[2] / "fixtures" / "episodes" / "database"
KEY = "0123456789abcdef0123456789abcdef"


@pytest.fixture(autouse=True)
def _here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for name in ("MATASSAY_CONFIG", "MP_API_KEY"):
        monkeypatch.delenv(name, raising=False)


@pytest.fixture(scope="module")
def shipped() -> Snapshot:
    return load()


@pytest.fixture(scope="module")
def moved(shipped: Snapshot) -> Snapshot:
    oxide = next(entry for entry in shipped if entry.chemical_system == "Fe-O")
    return altered(shipped, name="moved", gone=[oxide.number])


@pytest.fixture(scope="module")
def moved_oqmd(moved: Snapshot) -> Iterator[RunningServer]:
    with start("oqmd", moved) as server:
        yield server


@pytest.fixture
def root(tmp_path: Path, shipped: Snapshot) -> Path:
    found = Path(shutil.copytree(DATABASE, tmp_path / "taskdefs"))
    gold = next(found.glob("*/*/*/gold/answer.json"))
    numbers = [entry.number for entry in shipped if entry.chemical_system == "Fe-O"]
    document = {"database": {"name": shipped.name, "digest": shipped.digest}, "how": "x", "answer": numbers}
    gold.write_text(json.dumps(document), encoding="utf-8")
    return found


def _call(*words: object):
    return CliRunner().invoke(app, [str(word) for word in words])


def _diff(*words: object):
    return _call("databases", "diff", *words)


def _verify(*words: object):
    return _call("databases", "verify", *words)


def _few(snapshot: Snapshot) -> Snapshot:
    return Snapshot(snapshot.header, [entry for entry in snapshot if set(entry.elements) <= {"Mg", "O"}])


def test_a_difference_of_two_files(shipped: Snapshot, tmp_path: Path) -> None:
    few = _few(shipped)
    gone = next(entry for entry in few if entry.formula == "MgO")
    few.save(tmp_path / "a.xz")
    altered(few, name="moved", gone=[gone.number]).save(tmp_path / "b.xz")
    said = _diff("a.xz", "b.xz")
    assert said.exit_code == 1
    assert "ids gone: 1" in said.output
    assert f"before: {shipped.name}" in said.output
    read = json.loads(_diff("a.xz", "b.xz", "--json").stdout)
    assert len(read["gone"]) == 1
    assert read["after"]["name"] == "moved"
    same = _diff("a.xz", "a.xz")
    assert (same.exit_code, "nothing differs" in same.output) == (0, True)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("a.xz",), "a difference takes two"),
        (("a.xz", "b.xz"), "no snapshot can be read at b.xz"),
        (("no-such-run",), "no run 'no-such-run'"),
    ],
)
def test_differences_that_cannot_be_told(
    shipped: Snapshot, root: Path, tmp_path: Path, words: tuple[str, ...], said: str
) -> None:
    _few(shipped).save(tmp_path / "a.xz")
    result = _diff(*words, "--store", tmp_path / "store", "--taskdefs", root)
    assert result.exit_code == 2
    assert said in " ".join(result.output.split())


def _live(root: Path, *words: object):
    return _call("run", "--task", "iron-oxides", "--taskdefs", root, "--store", "store", "--resume", "r1", *words)


@pytest.mark.serving
def test_a_live_run_against_a_database_that_moved(root: Path, moved_oqmd: RunningServer, machines: None) -> None:
    Path("matassay.toml").write_text(f'[databases]\noqmd = "{moved_oqmd.url}"\n', encoding="utf-8")
    ran = _live(root, "--agent", "nop", "--live")
    assert ran.exit_code == 0, ran.output
    manifest = Store.open("store").read_document("runs/r1/manifest.json", RunManifest)
    assert [spec.agent for spec in manifest.episodes] == ["nop", "oracle"]
    assert manifest.settings["databases"]["upstreams"]["oqmd"] == moved_oqmd.url
    said = _diff("r1", "--store", "store", "--taskdefs", root)
    assert said.exit_code == 1
    assert "iron-oxides: database moved" in said.output
    assert "nop, trial 1: database moved" in said.output
    read = json.loads(_diff("r1", "--store", "store", "--taskdefs", root, "--json").stdout)
    assert read["tasks"][0]["moved"][0]["criterion"] == "all-entries"
    again = _call("run", "--resume", "r1", "--store", "store", "--taskdefs", root, "--fault", "server_errors=1")
    assert again.exit_code == 2
    assert "was planned with the public databases" in " ".join(again.output.split())


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--live", "--fault", "server_errors=1"), "not both"),
        (("--fault", "colour=red"), "there are latency_seconds"),
        (("--fault", "server_errors"), "NAME=VALUE"),
    ],
)
def test_databases_that_a_run_cannot_have(root: Path, words: tuple[str, ...], said: str) -> None:
    result = _live(root, *words)
    assert result.exit_code == 2
    assert said in " ".join(result.output.split())
    assert not Path("store/runs").exists()


def test_a_live_run_of_materials_project_needs_a_key(root: Path) -> None:
    file = next(root.glob("*/*/*/task.yaml"))
    file.write_text(file.read_text("utf-8").replace("endpoints: [oqmd]", "endpoints: [mp]"), "utf-8")
    result = _live(root, "--live")
    assert result.exit_code == 2
    assert "set MP_API_KEY" in " ".join(result.output.split())


def test_a_fault_of_links_is_refused_where_pages_have_none(root: Path) -> None:
    file = next(root.glob("*/*/*/task.yaml"))
    file.write_text(file.read_text("utf-8").replace("endpoints: [oqmd]", "endpoints: [oqmd, mp]"), "utf-8")
    result = _live(root, "--fault", "misnamed_next=true")
    assert result.exit_code == 2
    assert "needs pages with links" in " ".join(result.output.split())


def test_live_is_for_tasks_that_ask_a_database() -> None:
    root = DATABASE.parent / "one_stage"
    result = _call("run", "--taskdefs", root, "--store", "store", "--live")
    assert result.exit_code == 2
    assert "none here does" in " ".join(result.output.split())


def test_faults_stand_in_the_manifest(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys.modules["tasks_lib.cli.run"], "_play", lambda *_: None)
    assert _live(root, "--agent", "nop", "--fault", "rate_limited=2").exit_code == 0
    manifest = Store.open("store").read_document(RunFolder(Store.open("store"), "r1").manifest, RunManifest)
    assert manifest.settings["databases"]["faults"] == {"rate_limited": 2}
    assert manifest.settings["databases"]["mode"] == "snapshot"
    assert [spec.agent for spec in manifest.episodes] == ["nop"]


@pytest.mark.parametrize(("faults", "code"), [({}, 0), ({"misnamed_next": True}, 1)])
def test_verify_asks_a_live_database(shipped: Snapshot, faults: dict[str, bool], code: int) -> None:
    with start("oqmd", shipped, faults=FaultSettings(**faults)) as server:
        said = _verify("--url", server.url, "--dialect", "oqmd", "--pages", "2")
        read = _verify("--url", server.url, "--dialect", "oqmd", "--pages", "2", "--json")
    assert said.exit_code == code, said.output
    assert ("is well formed" if code == 0 else "is not well formed") in said.output
    assert json.loads(read.stdout)["well_formed"] == (code == 0)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--url", "http://127.0.0.1:1"), "give --dialect"),
        (("--url", "127.0.0.1", "--dialect", "oqmd"), "begins with http"),
        (("--url", "http://127.0.0.1:1", "--dialect", "mp"), "holds no key"),
        (("--url", "http://127.0.0.1:1", "--dialect", "oqmd", "--energies", "5"), "by itself"),
        (("--snapshot", "absent.xz"), "no snapshot can be read"),
    ],
)
def test_what_cannot_be_verified(words: tuple[str, ...], said: str) -> None:
    result = _verify(*words)
    assert result.exit_code == 2
    assert said in " ".join(result.output.split())


def test_verify_derives_a_snapshot_again(shipped: Snapshot, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(database_checks, "_of_the_checkout", lambda *_: iter(()))
    few = _few(shipped)
    few.save(tmp_path / "few.xz")
    said = _verify("--snapshot", "few.xz")
    assert said.exit_code == 0, said.output
    assert f"{len(few)} entries, 0 complaints" in said.output
    entry = next(entry for entry in few if entry.formula == "MgO")
    wrong = entry.model_copy(
        update={"properties": {**entry.properties, "density": entry.properties["volume"].model_copy(
            update={"value": 99.0, "unit": "g/cm³"})}}
    )  # fmt: skip
    Snapshot(few.header, [one if one.number != entry.number else wrong for one in few]).save(tmp_path / "wrong.xz")
    read = _verify("--snapshot", "wrong.xz", "--json")
    assert read.exit_code == 1
    (complaint,) = json.loads(read.stdout)["complaints"]
    assert (complaint["entry"], complaint["name"], complaint["stored"]) == (entry.id, "density", 99.0)


def test_verify_asks_the_checkout_for_the_systems_of_the_tasks(shipped: Snapshot) -> None:
    found = list(database_checks._of_the_checkout(_few(shipped), 0))
    assert found
    assert all("has stable and unstable entries" in line for line in found)
    assert list(database_checks._of_the_checkout(shipped, 0)) == []


def test_build_says_what_is_absent(monkeypatch: pytest.MonkeyPatch) -> None:
    real = importlib.util.find_spec
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None if name == "chgnet" else real(name))
    result = _call("databases", "build")
    assert result.exit_code == 2
    assert "pip install -e '.[databases-build]'" in " ".join(result.output.split())
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None if name.startswith("infra") else real(name))
    result = _call("databases", "build")
    assert result.exit_code == 2
    assert "run it in a checkout" in " ".join(result.output.split())


@pytest.mark.skipif(importlib.util.find_spec("chgnet") is not None, reason="the potential is installed here")
def test_energies_are_not_recomputed_without_the_potential(shipped: Snapshot, tmp_path: Path) -> None:
    _few(shipped).save(tmp_path / "few.xz")
    result = _verify("--snapshot", "few.xz", "--energies", "5")
    assert result.exit_code == 2
    assert "needs ase" in " ".join(result.output.split())
