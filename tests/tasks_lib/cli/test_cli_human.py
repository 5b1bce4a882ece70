"""`matassay run --agent human` where nobody can be told of a desktop."""

from __future__ import annotations

import shutil
from pathlib import Path

from typer.testing import CliRunner

from tasks_lib.cli import app
from tasks_lib.episodes import human
from tasks_lib.taskdefs import find_root


def test_without_a_terminal_nobody_plays(tmp_path, monkeypatch):
    place = Path("mattoolbench") / "xps" / "active-range"
    shutil.copytree(find_root() / place, tmp_path / "defs" / place)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(human, "viewing_problems", list)
    words = ["run", "--agent", "human", "--task", "active-range", "--taskdefs", "defs", "--store", "store"]
    result = CliRunner().invoke(app, words)
    assert result.exit_code == 2
    assert "run agent 'human' in one, or let another agent play" in " ".join(result.stderr.split())
    assert not (tmp_path / "store" / "runs").exists()
