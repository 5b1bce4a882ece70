"""`matassay new-task`: scaffolds that only lack what their author knows; a filled one proves on real machines."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner

from tasks_lib.agents import reply_problems
from tasks_lib.cli import app
from tasks_lib.databases.servers import Dialect
from tasks_lib.evaluation import GETTERS, METRICS
from tasks_lib.taskdefs import LIKES, find_root, lint, load_task

# What an author writes in place of each blank; any other blank gets a sentence.
FILLED = {
    "the number wanted": "27.55",  # Σxy of the sample, by hand
    "the numbers wanted": "0.6, 1.9, 4.65, 8.4, 12.0",
    "the number of points": "101",
    "the centre in eV": "284.93",
    "the unit": "V s",
    "title of the horizontal axis": "Time (s)",
    "title of the vertical axis": "Voltage (V)",
}
EXPRESSIONS = {
    "code": 'sum(row["x"] * row["y"] for row in rows)',
    "mixed": 'row["x"] * row["y"]',
}


@pytest.fixture
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("MATASSAY_CONFIG", raising=False)
    folder = tmp_path / "defs"
    folder.mkdir()
    shutil.copytree(find_root() / "targets", folder / "targets")
    return folder


def _call(root: Path, name: str, like: str, *words: str):
    return CliRunner().invoke(app, ["new-task", name, "--like", like, "--taskdefs", str(root), *words])


def _made(root: Path, like: str) -> Path:
    result = _call(root, f"open/made/my-{like}", like)
    assert result.exit_code == 0, result.output
    return root / "open" / "made" / f"my-{like}"


def _lint(folder: Path) -> list[str]:
    found = lint(folder, getters=GETTERS, metrics=METRICS, parse=reply_problems, endpoints=tuple(Dialect))
    return [str(finding) for finding in found]


def _fill(folder: Path, like: str) -> None:
    for path in (folder / "task.yaml", *folder.glob("*.md")):
        text = path.read_text(encoding="utf-8")
        text = re.sub(r'"<<fill an expression[^>]*>>"', lambda _: EXPRESSIONS[like], text)
        text = re.sub(r"<<fill (?!…)([^>]*)>>", lambda blank: FILLED.get(blank[1], f"Says {blank[1]}"), text)
        path.write_text(text, encoding="utf-8", newline="\n")


@pytest.mark.parametrize("like", LIKES)
def test_a_scaffold_lacks_nothing_but_what_its_author_knows(like: str, root: Path) -> None:
    folder = _made(root, like)
    found = _lint(folder)
    assert found
    assert all("[unfilled]" in finding for finding in found)
    assert len((folder / "task.yaml").read_text(encoding="utf-8").splitlines()) <= 80
    task = load_task(folder).task
    assert task.modality == {"xps": "gui"}.get(like, like)
    assert len({miss.kind for miss in task.near_misses}) == len(task.near_misses) >= 2
    assert {name for miss in task.near_misses for name in miss.fails} <= {one.id for one in task.criteria}


@pytest.mark.parametrize("like", LIKES)
def test_a_filled_scaffold_is_clean(like: str, root: Path) -> None:
    folder = _made(root, like)
    _fill(folder, like)
    assert _lint(folder) == []


def test_every_kind_says_how_many_blanks_lint_will_name(root: Path) -> None:
    for like in LIKES:
        document = json.loads(_call(root, f"open/made/a-{like}", like, "--json").stdout)
        assert document["blanks"] == len(_lint(Path(document["folder"]))) > 0
        there = Path(document["folder"]).rglob("*")
        assert document["files"] == sorted(
            path.relative_to(document["folder"]).as_posix() for path in there if path.is_file()
        )


def test_a_filled_scaffold_proves(root: Path, machines: None) -> None:
    _fill(_made(root, "code"), "code")
    argv = ["prove", "--taskdefs", str(root), "--store", "store", "--task", "my-code", "--json"]
    result = subprocess.run(
        [sys.executable, "-m", "tasks_lib.cli", *argv],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "MATASSAY_STATE": str(Path("state").resolve())},
    )
    assert result.returncode == 0, result.stderr + result.stdout
    document = json.loads(result.stdout)
    assert document["unproved"] == 0
    players = {proof["player"] for proof in document["proofs"]}
    assert players == {"oracle", "nop", "guess", "oracle-wrong-unit", "oracle-first-row-lost"}


@pytest.mark.parametrize(
    ("name", "like", "said"),
    [
        ("xps", "xps", "is no suite/domain/id"),
        ("open/made/../../../out", "code", "is no suite/domain/id"),
        ("open/made/..", "code", "is no suite/domain/id"),
        ("open//x", "code", "is no suite/domain/id"),
        ("open/made/Upper", "code", "is no suite/domain/id"),
        ("open/made/new", "paint", "no scaffold 'paint'"),
        ("open/made/taken", "code", "is not overwritten"),
        ("open/other/taken", "code", "is not overwritten"),
        ("open/made/empty", "code", "is not overwritten"),
        ("open/made/dangling", "code", "is not overwritten"),
        ("open/a-file/new", "code", "a-file"),
    ],
)
def test_wrong_use_ends_with_2_and_writes_nothing(name: str, like: str, said: str, root: Path) -> None:
    assert _call(root, "open/made/taken", "code").exit_code == 0
    (root / "open" / "made" / "empty").mkdir()
    (root / "open" / "made" / "dangling").symlink_to("nowhere")
    (root / "open" / "a-file").write_text("x", encoding="utf-8")
    before = _everything(root.parent)
    result = _call(root, name, like)
    assert result.exit_code == 2, result.output
    assert said.replace(" ", "") in "".join(result.output.split())  # a long path is broken anywhere
    assert isinstance(result.exception, SystemExit)
    assert _everything(root.parent) == before


def test_a_write_that_fails_half_way_leaves_nothing(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    written = Path.write_bytes

    def full(path: Path, data: bytes) -> int:
        if path.name == "task.yaml":
            raise OSError(28, "No space left on device", str(path))
        return written(path, data)

    monkeypatch.setattr(Path, "write_bytes", full)
    result = _call(root, "open/made/new", "code")
    assert result.exit_code == 2
    assert "No space left" in result.output
    assert list((root / "open" / "made").iterdir()) == []


def _everything(folder: Path) -> dict[str, bytes | None]:
    return {str(path): path.read_bytes() if path.is_file() else None for path in sorted(folder.rglob("*"))}
