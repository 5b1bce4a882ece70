"""`matassay trajectories replay`: tables, JSON, files and exit codes."""

from __future__ import annotations

import csv
import json
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner, Result

from tasks_lib.cli import app
from tasks_lib.evaluation.alignment.replay import CallClass, ReplayReport

SCHEMA = {"type": "object", "properties": {"title": {"type": "string"}}, "required": ["title"]}
CALLS = [
    {"name": "wiki/summary", "arguments": {"title": "Newark"}, "result": "A city."},
    {"name": "wiki/summary", "arguments": {"page": "Newark"}, "result": "A city."},
    {"name": "=wiki/look", "arguments": {}, "result": "Unknown tool: =wiki/look"},
    {"name": "wiki/summary", "arguments": {"title": "Nowhere"}, "result": "[Tool error] 404 not found"},
]


@pytest.fixture(autouse=True)
def _wide(monkeypatch: pytest.MonkeyPatch) -> None:
    for console in ("out", "err"):
        monkeypatch.setattr(f"tasks_lib.cli.console.{console}._width", 240)


@pytest.fixture
def files(tmp_path: Path) -> tuple[Path, Path]:
    tools, predictions = tmp_path / "tools.json", tmp_path / "gpt[red].json"
    tools.write_text(json.dumps({"wiki": [{"name": "summary", "inputSchema": SCHEMA}]}), encoding="utf-8")
    predictions.write_text(json.dumps([{"id": "00010000", "steps": [{"calls": CALLS}, 3]}]), encoding="utf-8")
    return predictions, tools


def _replay(predictions: Path, tools: Path, *more: Any) -> Result:
    return CliRunner().invoke(app, ["trajectories", "replay", str(predictions), "--tools", str(tools), *map(str, more)])


def test_the_tables_have_all_classes_met_and_the_published_ones(files: tuple[Path, Path]) -> None:
    found = _replay(*files)
    assert found.exit_code == 0, found.output
    cells = [[cell.strip() for cell in line.split("│")] for line in found.output.splitlines() if line.startswith("│")]
    rows = {row[1]: row[2] for row in reversed(cells)}
    assert rows["success"] == "1 (20.0%; 3.6% to 62.4%)"
    assert rows["illegal format"].startswith("1 (20.0%")
    assert rows["without class"] == "0"
    assert "gpt[red]" in found.output
    assert "gpt[red]: 1 calls with invalid arguments that the server answered all the same" in found.output
    assert "a step is an object" in found.stderr


def test_json_and_files_have_every_label(files: tuple[Path, Path], tmp_path: Path) -> None:
    found = _replay(*files, "--json", "--out", tmp_path / "out")
    (told,) = json.loads(found.stdout)
    report = ReplayReport.from_json((tmp_path / "out" / "gpt[red]" / "report.json").read_bytes())
    assert report.model_dump(mode="json") == told
    assert report.total.counts[CallClass.NOT_FOUND] == 1
    with (tmp_path / "out" / "gpt[red]" / "calls.csv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    assert [row["kind"] for row in rows] == [label.kind for label in report.labels]
    assert rows[3]["tool"] == "'=wiki/look"


def test_groups_by_tool(files: tuple[Path, Path]) -> None:
    output = _replay(*files, "--by", "tool").output
    assert "no call" in output
    assert "wiki/summary" in output


def test_a_file_without_a_task_is_no_success(files: tuple[Path, Path]) -> None:
    files[0].write_text('{"results": []}', encoding="utf-8")
    assert _replay(*files).exit_code == 1


def test_a_snapshot_that_is_none_and_a_name_twice_are_wrong_use(files: tuple[Path, Path], tmp_path: Path) -> None:
    (tmp_path / "broken.json").write_text('{"wiki": 3}', encoding="utf-8")
    found = _replay(files[0], tmp_path / "broken.json")
    assert (found.exit_code, "a list of tools is wanted" in found.stderr) == (2, True)
    again = CliRunner().invoke(app, ["trajectories", "replay", str(files[0]), str(files[0]), "--tools", str(files[1])])
    assert (again.exit_code, "comes twice" in again.stderr) == (2, True)
