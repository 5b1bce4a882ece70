"""`matassay prove --repeat`: proofs that flicker are listed, for people and machines, and end with exit code 1."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner

from tasks_lib.cli import app
from tasks_lib.cli.proving import _show, _show_flaky, _show_repeats
from tasks_lib.episodes import Difference, Flaky, Proof, Repeats

GOOD = Path(__file__).parents[2] / "fixtures" / "episodes" / "one_stage"


@pytest.fixture(autouse=True)
def _here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, machines: None) -> None:
    monkeypatch.chdir(tmp_path)


def _prove(root: Path, *words: str) -> subprocess.CompletedProcess[str]:
    argv = ["prove", "--taskdefs", str(root), "--store", "store", "--repeat", "2", *words]
    environ = {**os.environ, "MATASSAY_STATE": str(Path("state").resolve()), "COLUMNS": "120"}
    return subprocess.run(
        [sys.executable, "-m", "tasks_lib.cli", *argv], capture_output=True, text=True, check=False, env=environ
    )


def test_an_answer_that_changes_within_its_tolerance_is_flaky(tmp_path: Path) -> None:
    root = Path(shutil.copytree(GOOD, tmp_path / "tasks"))
    oracle = root / "open" / "powder" / "lattice-parameter" / "oracle.md"
    text = oracle.read_text(encoding="utf-8")
    assert '"volume": a**3' in text
    # Below the tolerance by far, and another one in each play.
    noisy = text.replace('"volume": a**3', '"volume": a**3 + __import__("uuid").uuid4().int * 1e-44')
    oracle.write_text(noisy, encoding="utf-8")
    result = _prove(root, "--json")
    assert result.returncode == 1, result.stderr
    document = json.loads(result.stdout)
    assert document["unproved"] == 0
    flaky = {entry["player"]: entry for entry in document["flaky"]}
    assert set(flaky) == {"oracle", "oracle-edge-squared", "oracle-wrong-line"}
    seen = next(item for item in flaky["oracle"]["differences"] if item["what"] == "cell-volume: seen")
    assert [trials for _, trials in seen["values"]] == [[1], [2]]
    assert all(abs(float(value) - 29.791) < 1e-4 for value, _ in seen["values"])
    repeats = {entry["player"]: entry for entry in document["repeats"]}
    assert (repeats["oracle"]["passes"], repeats["oracle"]["verdicts"]) == (2, 2)
    assert (repeats["nop"]["passes"], repeats["nop"]["verdicts"]) == (0, 1)


def test_a_sample_that_cannot_be_drawn_is_told_before_anything_is_played() -> None:
    for words in (["--sample", "half"], ["--sample", "xps=1"], ["--sample", "0"]):
        result = CliRunner().invoke(app, ["prove", "--taskdefs", str(GOOD), "--store", "store", *words])
        assert result.exit_code == 2, result.stderr
        assert "sample" in result.stderr
        assert not Path("store", "runs").exists()


def test_the_table_says_what_differs_in_which_trial(capsys: pytest.CaptureFixture[str]) -> None:
    long = '"' + "x" * 400 + '"'
    difference = Difference("positions: seen", (("[[284.8]]", (1, 3)), (long, (2,))))
    _show_flaky((Flaky("c1s", "oracle", 3, (difference,)),))
    said = " ".join(capsys.readouterr().out.split())
    assert "1 proofs are flaky" in said
    assert "[[284.8]]" in said  # no markup
    assert "1, 3" in said
    assert "…" in said
    _show_flaky(())
    assert "flaky: none; all trials of each proof end in the same verdict" in capsys.readouterr().out


def test_the_passes_of_each_oracle_are_told_and_whether_its_verdicts_are_identical(
    capsys: pytest.CaptureFixture[str],
) -> None:
    _show_repeats(
        [
            Repeats("c1s", "nop", 10, 0, 1),
            Repeats("c1s", "oracle", 10, 10, 1),
            Repeats("o1s", "nop", 10, 0, 2),
            Repeats("o1s", "oracle", 10, 9, 3),
        ]
    )
    lines = [" ".join(line.replace("│", " ").split()) for line in capsys.readouterr().out.splitlines()]
    assert "c1s 10/10 identical 2/2" in lines
    assert "o1s 9/10 3 different 0/2" in lines


def test_each_domain_is_told_how_many_of_its_tasks_are_proved(capsys: pytest.CaptureFixture[str]) -> None:
    proofs = [
        Proof("garnet", "oracle", 1, True, ""),
        Proof("garnet", "nop", 1, False, "1 of 1 points for doing nothing"),
        Proof("spinel", "oracle", 1, True, ""),
        Proof("c1s", "oracle", 1, True, ""),
    ]
    _show(proofs, {"garnet": "mp", "spinel": "mp", "c1s": "xps"})
    said = capsys.readouterr().out
    assert "mp: 1/2 tasks proved" in said
    assert "xps: 1/1 tasks proved" in said
    assert "3 of 4 proofs hold" in said
