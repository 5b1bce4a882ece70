"""`matassay environments`, and the environments that a run builds before it plays."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import typer
from typer.testing import CliRunner

from tasks_lib.cli import app
from tasks_lib.cli.run import _play
from tasks_lib.episodes import RunOrder, build_environments, episodes_for, make_manifest, needs_of
from tasks_lib.episodes.plan import Player
from tasks_lib.records import MachineSettings, RunManifest
from tasks_lib.sandbox import environments
from tasks_lib.store import Store
from tasks_lib.taskdefs import load_all

FIXTURES = Path(__file__).parents[2] / "fixtures" / "episodes"


@pytest.fixture
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Two environments: one of no package at all, one that no index has."""
    monkeypatch.setenv("MATASSAY_STATE", str(tmp_path / "state"))
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    folder = tmp_path / "taskdefs" / "environments"
    folder.mkdir(parents=True)
    (folder / "bare.txt").write_text("# nothing\n", encoding="utf-8")
    (folder / "unknown.txt").write_text("unobtainium-of-no-index\n", encoding="utf-8")
    return tmp_path / "taskdefs"


def _call(*words: str, root: Path):
    return CliRunner().invoke(app, ["environments", *words, "--taskdefs", str(root)])


def _manifest(settings: dict[str, object]) -> RunManifest:
    tasks = load_all(FIXTURES / "one_stage")
    episodes = episodes_for(tasks.tasks, [Player("oracle")], trials=1, seed=1)
    return make_manifest(
        "test", episodes, seed=1, machine=MachineSettings(), task_set_digest=tasks.digest, settings=settings
    )


def test_build_then_list(root: Path) -> None:
    assert _call("build", "bare", root=root).exit_code == 0
    assert "there already" in _call("build", "bare", root=root).output
    listed = json.loads(_call("list", "--json", root=root).stdout)
    assert [(entry["name"], entry["built"]) for entry in listed] == [("bare", True), ("unknown", False)]
    assert Path(listed[0]["folder"]).is_dir()


@pytest.mark.parametrize(
    ("words", "said"), [(("build", "unknown"), "No matching distribution"), (("build", "none"), "there are bare")]
)
def test_what_cannot_be_built_is_wrong_use_with_the_reason(root: Path, words: tuple[str, ...], said: str) -> None:
    result = _call(*words, root=root)
    assert result.exit_code == 2
    assert said in " ".join(result.output.split())


def test_a_run_builds_what_it_needs_and_goes_on_without_what_cannot_be(root: Path) -> None:
    said: list[str] = []
    build_environments(_manifest({"environments": ["bare", "unknown", "gone"]}), root, said.append)
    assert environments.find("bare", root).is_built
    assert "building the Python environment 'bare'" in said[0]
    assert [line.endswith("VOID") for line in said] == [False, False, True, True]
    said.clear()
    build_environments(_manifest({"environments": ["bare"]}), root, said.append)
    assert said == []


def test_a_manifest_says_which_environments_and_which_database_it_needs() -> None:
    assert needs_of(load_all(FIXTURES / "one_stage").tasks) == {}
    needs = needs_of(load_all(FIXTURES / "database").tasks)
    assert needs["databases"]["name"] == "matassay-snapshot-1"


def test_an_interrupt_while_an_environment_is_built_tells_how_to_go_on(
    root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def interrupted(environment: environments.PythonEnvironment) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(environments, "build", interrupted)
    manifest, store = _manifest({"environments": ["bare"]}), Store.open(str(tmp_path / "store"))
    order = RunOrder(
        store_url=store.url, run_id=manifest.run_id, taskdefs=root, models_file=None, concurrency=1, executor="inline"
    )
    with pytest.raises(typer.Exit) as ended:
        _play(order, manifest, store, False)
    assert ended.value.exit_code == 130
    assert f"matassay run --resume {manifest.run_id}" in capsys.readouterr().err
