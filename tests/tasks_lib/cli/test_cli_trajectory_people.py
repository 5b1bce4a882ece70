"""`matassay trajectories prefer`, `preferences` and `sweep` as people call them."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import httpx
import numpy as np
import pytest
from typer.testing import CliRunner, Result

from tasks_lib.cli import app
from tasks_lib.evaluation.alignment.threshold import ThresholdSweep
from tasks_lib.reporting.preference import PreferencePage


@pytest.fixture(autouse=True)
def _here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("MATASSAY_STATE", str(tmp_path / "state"))
    for console in ("out", "err"):
        monkeypatch.setattr(f"tasks_lib.cli.console.{console}._width", 200)


def _run(*arguments: object) -> Result:
    return CliRunner().invoke(app, ["trajectories", *map(str, arguments)])


@pytest.fixture
def two(tmp_path: Path) -> list[str]:
    for model in ("alpha", "beta"):
        calls = [{"name": "math/add", "arguments": {"a": 1, "b": len(model)}}]
        tasks = [{"id": f"0000000{n}", "question": "Add.", "steps": [{"calls": calls}]} for n in range(4)]
        # Of the last task nobody is asked: both do the same.
        tasks[3]["steps"] = []
        (tmp_path / f"{model}.json").write_text(json.dumps(tasks), encoding="utf-8")
    return ["alpha.json", "beta.json"]


def _begin(*arguments: str) -> tuple[subprocess.Popen[str], str, list[str]]:
    """Start the command; return its process, the page's address and what it said before."""
    process = subprocess.Popen(
        [sys.executable, "-m", "tasks_lib.cli", "trajectories", "prefer", *arguments],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=os.environ,
    )  # fmt: skip
    assert process.stderr is not None
    said = []
    for line in process.stderr:
        said.append(line)
        if found := re.search(r"http://127\.0\.0\.1:\d+\S+", line):
            return process, found.group(), said
    pytest.fail(f"no address: {said}")


def _answer(address: str, *choices: tuple[int, str], finish: bool = False) -> None:
    with httpx.Client(trust_env=False, follow_redirects=True) as client:
        room = str(client.get(address).url)
        headers = {"Origin": room.rsplit("/", 2)[0]}
        for index, choice in choices:
            sent = client.post(f"{room}answer", data={"index": str(index), "choice": choice}, headers=headers)
            assert sent.status_code == 200
        if finish:
            assert client.post(f"{room}finish", headers=headers).status_code == 200


def test_answers_are_given_in_two_sittings_and_counted(two: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    command = [*two, "--results", "ann.jsonl", "--rater", "ann", "--seed", "3"]
    process, address, said = _begin(*command)
    assert "1 tasks are left out" in "".join(said)
    assert "0 of 3 pairs are answered" in "".join(said)
    _answer(address, (0, "tie"), (1, "left"))
    process.send_signal(signal.SIGINT)
    printed, remarks = process.communicate(timeout=60)
    assert process.returncode == 1, remarks
    assert "stopped" in remarks
    assert "1 of 3 pairs have no answer yet" in remarks
    assert "prefer alpha" in printed

    class Person(PreferencePage):
        """Somebody who comes as soon as the page is there."""

        def __enter__(self) -> PreferencePage:
            answers = threading.Thread(target=_answer, args=(self.url, (2, "right")), kwargs={"finish": True})
            answers.start()
            return super().__enter__()

    monkeypatch.setattr("tasks_lib.cli.trajectory_preference.PreferencePage", Person)
    done = _run("prefer", *command, "--json")
    assert done.exit_code == 0, done.stderr
    assert "2 of 3 pairs are answered" in done.stderr
    found = json.loads(done.stdout)
    lines = [json.loads(line) for line in Path("ann.jsonl").read_text(encoding="utf-8").splitlines()][1:]
    assert lines[0]["preferred"] == "tie"
    scores = {"first": 1.0, "tie": 0.5, "second": 0.0}
    assert found["all"]["share"] == pytest.approx(sum(scores[line["preferred"]] for line in lines) / 3)
    assert (found["all"]["answers"], found["all"]["ties"], found["all"]["units"]) == (3, 1, 3)
    assert found["left"]["share"] == pytest.approx(0.5)
    assert found["raters"] == {"ann": found["all"]}

    # All is answered: nothing is asked, the figures are printed.
    again = _run("prefer", *command, "--json")
    assert again.exit_code == 0
    assert json.loads(again.stdout) == found
    table = _run("preferences", "ann.jsonl").stdout
    assert table.splitlines()[1].split()[:3] == ["ann", "3", "1"]


@pytest.mark.parametrize(
    ("arguments", "match"),
    [
        (["alpha.json", "alpha.json"], "alpha comes twice"),
        (["alpha.json", "gone.json"], "gone.json"),
        (["alpha.json", "copy.json"], "share 4 tasks, and in none of them they differ"),
        (["alpha.json", "beta.json", "--seed", "-1"], "--seed"),
    ],
)
def test_what_cannot_be_asked_is_said_at_once(two: list[str], arguments: list[str], match: str) -> None:
    Path("copy.json").write_bytes(Path("alpha.json").read_bytes())
    done = _run("prefer", *arguments, "--results", "r.jsonl")
    assert done.exit_code == 2
    assert match in done.stderr
    assert not Path("r.jsonl").exists()


def test_files_that_are_no_results_are_refused(two: list[str]) -> None:
    done = _run("preferences", "alpha.json")
    assert done.exit_code == 2
    assert "line 1 of a results file says which study it is" in done.stderr


class _Angles:
    """Sees the number in a text as an angle."""

    name = "angles"
    digest = "1" * 64

    def encode(self, texts: Sequence[str]) -> Any:
        angles = np.array([float(json.loads(text)["x"]) for text in texts])
        return np.stack([np.cos(angles), np.sin(angles)], axis=1)


def test_a_sweep_prints_and_writes_what_it_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tasks_lib.cli.trajectory_sweep.find_encoder", lambda name: _Angles())
    pairs = [
        {"tool": "t", "reference": {"x": 0}, "prediction": {"x": float(np.arccos(cosine))}, "same": same}
        for cosine, same in [(0.1, False), (0.4, False), (0.5, True), (0.6, False), (0.7, True), (0.9, True)]
    ]
    Path("pairs.json").write_text(json.dumps(pairs), encoding="utf-8")
    done = _run("sweep", "pairs.json", "--out", "out", "--resamples", 50, "--seed", 4)
    assert done.exit_code == 0, done.output
    found = ThresholdSweep.from_json(Path("out/sweep.json").read_bytes())
    assert found.agreement == pytest.approx(5 / 6)
    assert f"tau {found.tau:.3f}" in done.stdout
    assert "at the published 0.8: agreement 0.667" in done.stdout
    assert Path("out/sweep.png").read_bytes().startswith(b"\x89PNG")
    said = json.loads(_run("sweep", "pairs.json", "--resamples", 50, "--seed", 4, "--json").stdout)
    assert said == found.model_dump(mode="json")


def test_a_sweep_of_nothing_is_refused() -> None:
    Path("pairs.json").write_text("[]", encoding="utf-8")
    done = _run("sweep", "pairs.json")
    assert done.exit_code == 2
    assert "2 to 10000 labelled pairs, got 0" in done.stderr
