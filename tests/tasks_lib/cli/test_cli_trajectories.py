"""`matassay trajectories export|import`: what goes out comes back and is played to the same verdict."""

from __future__ import annotations

import asyncio
import importlib.util
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner, Result

from tasks_lib.cli import app
from tasks_lib.episodes import Player, drive, load_work, plain_phases
from tasks_lib.records import RunManifest, Verdict
from tasks_lib.store import Store

ROOT = Path(__file__).parents[2] / "fixtures" / "episodes" / "one_stage"
TASK = "lattice-parameter"
CANARY = "sk-canary-0123456789"
REPLY = "```python\nprint(1)\n```"

Plan = Callable[..., RunManifest]


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Store:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("MATASSAY_CONFIG", raising=False)
    monkeypatch.setenv("MATASSAY_STORE", str(tmp_path / "store"))
    monkeypatch.setenv("MATASSAY_TASKDEFS", str(ROOT))
    return Store.open(str(tmp_path / "store"))


def call(*arguments: str) -> Result:
    return CliRunner().invoke(app, ["trajectories", *arguments])


def played(place: Store, manifest: RunManifest) -> Verdict:
    return asyncio.run(drive(load_work(place, manifest.run_id, manifest.episodes[0].id, ROOT), plain_phases()))


def talk(tmp_path: Path, reply: str = REPLY) -> Path:
    """A file of somebody else's conversation."""
    file = tmp_path / "other.jsonl"
    messages = [{"role": "user", "content": f"go, {CANARY}"}, {"role": "assistant", "content": reply}]
    file.write_text(json.dumps({"messages": messages}) + "\n", encoding="utf-8")
    return file


def test_what_went_out_and_came_back_is_played_to_the_same_verdict(place: Store, plan: Plan, machines: None) -> None:
    first = played(place, plan(place, ROOT))
    for form, source in (("osworld", "osworld"), ("chat", "chat/r1.jsonl")):
        assert call("export", "r1", "--format", form, "--out", form).exit_code == 0
        told = call("import", source, "--run", f"back-{form}", "--json")
        assert json.loads(told.stdout)["players"] == ["imported-oracle"]
        replay = {"replay": {"run": f"back-{form}", "agent": "imported-oracle"}}
        again = played(place, plan(place, ROOT, Player("replay"), run_id=f"again-{form}", settings=replay))
        assert again.criteria == first.criteria


def test_a_key_of_the_environment_is_in_no_file_that_an_export_writes(
    place: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = talk(tmp_path, f"```python\nkey = {CANARY!r}\n```")
    assert call("import", str(file), "--task", TASK, "--run", "dirty").exit_code == 0
    assert any(CANARY.encode() in place.read_bytes(path) for path in place.list("runs"))
    # The variable's name says nothing; that it is a model's key does.
    monkeypatch.setenv("LAB_ACCESS", CANARY)
    Path("matassay.toml").write_text(
        '[models.lab]\nbase_url = "http://127.0.0.1:1/v1"\nmodel = "x"\napi_key_env = "LAB_ACCESS"\n', encoding="utf-8"
    )
    forms = ["osworld", "chat", *(["inspect"] if importlib.util.find_spec("inspect_ai") else [])]
    for form in forms:
        made = call("export", "dirty", "--format", form, "--outcome", "all", "--out", f"out/{form}", "--json")
        assert made.exit_code == 0, made.output
        assert CANARY not in made.output
        files = [path for path in (tmp_path / "out" / form).rglob("*") if path.is_file()]
        assert files
        for path in files:
            assert CANARY.encode() not in _plain(path), path


def _plain(path: Path) -> bytes:
    if path.suffix != ".eval":
        return path.read_bytes()
    import zipfile

    with zipfile.ZipFile(path) as archive:
        return b"".join(archive.read(name) for name in archive.namelist())


def test_conversations_are_of_what_passed_unless_more_is_asked_for(place: Store, tmp_path: Path) -> None:
    call("import", str(talk(tmp_path)), "--task", TASK, "--run", "r1")
    refused = call("export", "r1", "--format", "chat", "--out", "out")
    assert refused.exit_code == 2
    assert "loosen --task, --agent or --outcome" in " ".join(refused.stderr.split())
    assert not Path("out").exists()
    assert call("export", "r1", "--format", "chat", "--out", "out", "--outcome", "all").exit_code == 0


def test_an_imported_run_is_not_gone_on_with(place: Store, tmp_path: Path) -> None:
    call("import", str(talk(tmp_path)), "--task", TASK, "--run", "r1", "--agent", "GPT x")
    refused = CliRunner().invoke(app, ["retry", "r1"])
    assert refused.exit_code == 2
    assert "--replay RUN:PLAYER" in " ".join(refused.stderr.split())


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["import", "gone.jsonl"], "give one that is there"),
        (["import", "other.txt"], "is no folder, no .eval and no .jsonl file"),
        (["import", "other.jsonl"], "it says not which task it is of"),
        (["import", "other.jsonl", "--task", "zzz"], "is none of the 1 task definitions"),
        (["import", "."], "holds no trajectory"),
        (["export", "gone", "--format", "chat", "--out", "out"], "no run 'gone'"),
    ],
)
def test_what_cannot_be_done_is_told_with_exit_code_2(
    place: Store, tmp_path: Path, arguments: list[str], says: str
) -> None:
    talk(tmp_path)
    Path("other.txt").write_text("x", encoding="utf-8")
    made = call(*arguments)
    assert made.exit_code == 2
    assert says in " ".join(made.stderr.split())


@pytest.mark.skipif(importlib.util.find_spec("inspect_ai") is not None, reason="inspect-ai is installed")
@pytest.mark.parametrize("arguments", [["export", "r1", "--format", "inspect", "--out", "o"], ["import", "x.eval"]])
def test_without_the_package_it_is_told_how_to_install_it(place: Store, tmp_path: Path, arguments: list[str]) -> None:
    Path("x.eval").write_bytes(b"PK")
    made = call(*arguments)
    assert made.exit_code == 2
    assert "pip install 'matassay[inspect]'" in " ".join(made.stderr.split())


def test_the_verbs_are_told(place: Store) -> None:
    told: Any = call("--help").stdout
    assert "export" in told
    assert "import" in told
