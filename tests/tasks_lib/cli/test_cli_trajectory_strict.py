"""`matassay trajectories score` in strict mode and `trajectories baselines`: tables, files, refusals, exit codes."""

from __future__ import annotations

import csv
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from typer.testing import CliRunner, Result

from tasks_lib.cli import app
from tasks_lib.evaluation.alignment import read_trajectories
from tasks_lib.evaluation.alignment.strict import BaselineStudy, StrictReport, read_snapshot
from tasks_lib.evaluation.alignment.synthetic import synthetic_references

TOOLS = {
    "tools": [{"name": "look/up", "inputSchema": {"properties": {"bird": {"type": "string"}, "n": {"default": 5}}}}]
}
BIRDS = ["eagle", "heron", "osprey", "kite"]


class Letters:
    """Takes the letters of a text for its meaning."""

    name = "letters"
    digest = "2" * 64

    def encode(self, texts: Sequence[str]) -> Any:
        return np.array(
            [[text.lower().count(letter) + 0.01 for letter in "abcdefghijklmnopqrstuvwxyz"] for text in texts]
        )


@pytest.fixture(autouse=True)
def _here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("MATASSAY_STATE", str(tmp_path / "state"))
    for console in ("out", "err"):
        monkeypatch.setattr(f"tasks_lib.cli.console.{console}._width", 80)
    for command in ("scores", "baselines"):
        monkeypatch.setattr(f"tasks_lib.cli.trajectory_{command}.find_encoder", lambda name: Letters())


def _task(number: int, bird: str) -> dict[str, Any]:
    steps = [{"calls": [{"name": "look/up", "arguments": {"bird": bird}}]}]
    return {"id": f"{number:04}0000", "type": "birds", "steps": steps}


@pytest.fixture
def files(tmp_path: Path) -> tuple[Path, Path, Path]:
    references = [_task(number, bird) for number, bird in enumerate(BIRDS)]
    predictions = [_task(0, "Eagle"), _task(1, "puffin"), _task(9, "kite")]
    for name, content in (("references", references), ("model", predictions), ("tools", TOOLS)):
        (tmp_path / f"{name}.json").write_text(json.dumps(content), encoding="utf-8")
    return tmp_path / "references.json", tmp_path / "model.json", tmp_path / "tools.json"


def _run(*arguments: object) -> Result:
    return CliRunner().invoke(app, ["trajectories", *map(str, arguments)])


def test_strict_is_the_default_and_baselines_stand_below(files: tuple[Path, Path, Path]) -> None:
    done = _run("score", files[0], files[1], "--tools", files[2])
    assert done.exit_code == 0, done.output
    rows = [line.split() for line in done.stdout.splitlines() if line.strip()]
    assert rows[0] == ["file", "tasks", "matched", "score", "calls", "order", "R", "P", "tools"]
    assert rows[1] == ["model", "4", "1/4", "0.250", "0.250", "-", "0.250", "0.250", "0.500"]
    assert rows[2] == ["(copy)", "1.000", "1.000", "-", "1.000", "1.000", "1.000"]
    assert [" ".join(row[:-6]) for row in rows[3:6]] == ["(argument swap)", "(family template)", "(empty)"]
    assert [row[-6] for row in rows[3:6]] == ["0.000", "0.000", "0.000"]
    assert "model: 2 of 4 tasks missing" in done.stdout
    assert max(map(len, done.stdout.splitlines())) <= 80
    assert "counts 0, 00020000: no prediction" in done.stderr.replace("\n", " ")
    assert "inferred" not in done.stderr
    assert "inferred" in _run("score", files[0], files[1]).stderr


def test_files_say_how_each_argument_was_judged(files: tuple[Path, Path, Path], tmp_path: Path) -> None:
    done = _run("score", *files[:2], "--tools", files[2], "--out", tmp_path / "scores", "--json")
    (said,) = json.loads(done.stdout)
    folder = tmp_path / "scores" / "model"
    report = StrictReport.from_json((folder / "report.json").read_bytes())
    assert said == report.model_dump(mode="json")
    assert report.tools_digest == read_snapshot(files[2]).digest
    with (folder / "arguments.csv").open(encoding="utf-8", newline="") as file:
        rows = [(row["pointer"], row["score"], row["weight"], row["reference"]) for row in csv.DictReader(file)]
    assert rows == [("/bird", "1.0", "1.0", '"eagle"'), ("/n", "1.0", "0.0", "5")]
    with (folder / "tasks.csv").open(encoding="utf-8", newline="") as file:
        assert [row["missing"] for row in csv.DictReader(file)] == ["", "", "no prediction", "no prediction"]


@pytest.mark.parametrize(
    ("options", "told"),
    [
        (["--tau-weak", "0.5"], "--tau-weak belongs to --mode compat"),
        (["--mode", "compat", "--tools", "tools.json"], "--tools belongs to --mode strict"),
        (["--mode", "compat", "--workspace", "/a"], "--workspace belongs to --mode strict"),
        (["--mode", "compat", "--rules", "model.json"], "--rules belongs to --mode strict"),
        (["--rules", "model.json"], "rules of arguments"),
        (["--tools", "model.json"], "a tool is an object with a name"),
    ],
)
def test_options_of_the_other_mode_and_wrong_tools_are_refused(
    options: list[str], told: str, files: tuple[Path, Path, Path]
) -> None:
    done = _run("score", *files[:2], *options)
    assert done.exit_code == 2
    assert told in " ".join(done.output.split())


def test_repeats_are_refused_and_nothing_scored_is_exit_1(files: tuple[Path, Path, Path], tmp_path: Path) -> None:
    (tmp_path / "twice.json").write_text(json.dumps([_task(0, "kite")] * 2), encoding="utf-8")
    done = _run("score", files[0], tmp_path / "twice.json")
    assert (done.exit_code, "an id stands once" in " ".join(done.output.split())) == (2, True)
    (tmp_path / "none.json").write_text("[]", encoding="utf-8")
    assert _run("score", files[0], tmp_path / "none.json").exit_code == 1


@pytest.mark.parametrize("mode", ["strict", "compat"])
@pytest.mark.parametrize("content", ["[]", "{}", '[{"id": "other", "steps": []}]', '{"results": []}'])
def test_that_there_is_nothing_to_score_is_told_before_an_encoder_is_looked_for(
    mode: str, content: str, files: tuple[Path, Path, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def missing(name: str) -> None:
        raise AssertionError(name)

    monkeypatch.setattr("tasks_lib.cli.trajectory_scores.find_encoder", missing)
    (tmp_path / "none.json").write_text(content, encoding="utf-8")
    done = _run("score", files[0], tmp_path / "none.json", "--mode", mode)
    assert done.exit_code == 1, done.output
    assert "nothing to score" in done.stderr


def test_rules_of_a_file_are_heard_by_both_commands(files: tuple[Path, Path, Path], tmp_path: Path) -> None:
    rules = {"tools": {"look/up": {"/bird": {"kind": "identifier"}}}}
    (tmp_path / "rules.json").write_text(json.dumps(rules), encoding="utf-8")
    stated = ("--tools", files[2], "--rules", tmp_path / "rules.json", "--json")
    (plain,), (strict,) = (
        json.loads(_run("score", *files[:2], *options).stdout) for options in (("--tools", files[2], "--json"), stated)
    )
    assert (plain["rules_digest"], plain["total"]["matched"]) == (None, 1)
    assert (len(strict["rules_digest"]), strict["total"]["matched"]) == (64, 0)
    study = json.loads(_run("baselines", files[0], *stated).stdout)
    assert study["rules_digest"] == strict["rules_digest"]


def test_baselines_of_synthetic_references_and_of_a_file_are_the_same(tmp_path: Path) -> None:
    done = _run("baselines", "--seed", 3, "--out", tmp_path / "study", "--json")
    assert done.exit_code == 0, done.output
    study = BaselineStudy.model_validate_json(done.stdout)
    assert study == BaselineStudy.from_json((tmp_path / "study" / "study.json").read_bytes())
    assert (study.tasks, study.steps, study.calls) == (211, 644, 1337)
    found = {one.name: one for one in study.strategies}
    assert found["copy"].strict.score == found["one by one"].strict.score == 1.0
    assert found["argument swap"].strict.score <= 0.25
    assert found["family template"].strict.score <= 0.25
    assert found["one step"].strict.score < 0.6
    assert found["few copied"].strict.score < 0.1 < found["few copied"].published_average
    assert found["argument swap"].strict.tools == 1.0
    assert found["empty"].strict.score == 0.0
    written = read_trajectories(tmp_path / "study" / "references.json")
    assert written.trajectories == synthetic_references(3).trajectories
    again = _run("baselines", tmp_path / "study" / "references.json", "--tools", tmp_path / "study" / "tools.json",
                 "--seed", 3, "--json")  # fmt: skip
    assert BaselineStudy.model_validate_json(again.stdout).strategies == study.strategies


def test_the_table_of_baselines_fits_a_terminal(files: tuple[Path, Path, Path]) -> None:
    done = _run("baselines", files[0], "--tools", files[2])
    assert done.exit_code == 0, done.output
    assert "4 tasks, 4 steps, 4 calls" in " ".join(done.stdout.split())
    assert [line.split()[:2] for line in done.stdout.splitlines() if line.startswith("copy")] == [
        ["copy", "1.000"],
        ["copy", "0.833"],
    ]
    assert max(map(len, done.stdout.splitlines())) <= 100
