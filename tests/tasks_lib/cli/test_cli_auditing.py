"""`matassay evaluator-audit` over a proof that was really played: tables, JSON, markdown and exit codes."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

import pytest
from typer.testing import CliRunner, Result

from tasks_lib.cli import app
from tasks_lib.store import Store, runs

GOOD = Path(__file__).parents[2] / "fixtures" / "episodes" / "one_stage"


class Proved(NamedTuple):
    """A run of a proof, the tasks that it played, and where it is kept."""

    run_id: str
    root: Path
    store: Path


@pytest.fixture(scope="module")
def proof(tmp_path_factory: pytest.TempPathFactory, machines: None) -> Proved:
    """Prove a good task and one whose volume is any file that is there."""
    folder = tmp_path_factory.mktemp("proof")
    root = Path(shutil.copytree(GOOD, folder / "tasks"))
    lenient = Path(
        shutil.copytree(root / "open" / "powder" / "lattice-parameter", root / "open" / "lenient" / "any-file")
    )
    text = (lenient / "task.yaml").read_text(encoding="utf-8")
    for good, bad in (
        ("open/powder/lattice-parameter", "open/lenient/any-file"),
        ("getter: json, path: volume.json, pointer: /volume", "getter: file, path: volume.json"),
        ("number, want: 29.791, tolerance: 0.001 Å³", "exists"),
    ):
        assert good in text
        text = text.replace(good, bad)
    (lenient / "task.yaml").write_text(text, encoding="utf-8")
    place = folder / "store"
    subprocess.run(
        [sys.executable, "-m", "tasks_lib.cli", "prove", "--taskdefs", str(root), "--store", str(place), "--json"],
        capture_output=True, check=False, env={**os.environ, "MATASSAY_STATE": str(folder / "state")}, cwd=folder,
    )  # fmt: skip
    return Proved(runs(Store.open(str(place)))[-1], root, place)


@pytest.fixture(autouse=True)
def _here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("MATASSAY_CONFIG", raising=False)
    # Wide enough that no word of a table is cut.
    monkeypatch.setattr("tasks_lib.cli.console.out._width", 240)


def _audit(run_id: str, root: Path, store: Path, *words: str) -> Result:
    return CliRunner().invoke(app, ["evaluator-audit", run_id, "--store", str(store), "--taskdefs", str(root), *words])


def test_a_proof_whose_evaluators_are_good_ends_with_0(proof: Proved) -> None:
    table = _audit(*proof, "--domain", "powder")
    assert table.exit_code == 0, table.output
    assert "0 disagreements, 0 adversarial states accepted" in " ".join(table.output.split())
    machine = _audit(*proof, "--json", "--task", "lattice-parameter")
    assert machine.exit_code == 0
    document = json.loads(machine.stdout)
    assert document["run"] == proof.run_id
    # Five were played; four right ones were derived: two other layouts, two within the tolerance.
    assert document["states"] - document["adversarial"] == 9
    assert {row["f1"] for row in document["rows"]} == {1.0}
    assert document["accepted"] == document["disagreements"] == document["left_out"] == []
    text = _audit(*proof, "--markdown", "--domain", "powder")
    assert text.exit_code == 0
    assert text.stdout.startswith("| domain | level |")


def test_an_adversarial_state_that_is_accepted_ends_with_1_and_is_listed(proof: Proved) -> None:
    result = _audit(*proof, "--least-f1", "0")
    assert result.exit_code == 1, result.output
    said = " ".join(result.output.split())
    assert "disagreements" in said
    assert "instruction as file: volume.json" in said
    machine = _audit(*proof, "--json")
    assert "F1 of lenient by task is" in machine.stderr
    document = json.loads(machine.stdout)
    assert any("input as file" in name for name in document["accepted"])
    task = next(entry for entry in document["disagreements"] if entry["kind"] == "instruction as file")
    assert (task["task"], task["criterion"], task["truth"], task["said"]) == ("any-file", None, False, True)


def test_a_task_that_changed_since_its_proof_ends_with_1(proof: Proved, tmp_path: Path) -> None:
    root = Path(shutil.copytree(proof.root, tmp_path / "tasks"))
    file = root / "open" / "powder" / "lattice-parameter" / "task.yaml"
    file.write_text(file.read_text(encoding="utf-8").replace("0.0005 Å", "0.0006 Å"), encoding="utf-8")
    other = _audit(proof.run_id, root, proof.store, "--domain", "powder")
    assert other.exit_code == 1
    assert "another one now" in " ".join(other.output.split())


def test_a_run_that_is_not_there_is_wrong_use() -> None:
    result = _audit("no-such-run", GOOD, Path("store"))
    assert result.exit_code == 2
    assert "no run 'no-such-run'" in " ".join(result.output.split())


def test_two_forms_at_once_are_wrong_use() -> None:
    assert _audit("any", GOOD, Path("store"), "--markdown", "--json").exit_code == 2
