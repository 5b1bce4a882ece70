"""The command that adds an extra."""

import re
import shlex
import sys
import tomllib
from pathlib import Path

import pytest

from tasks_lib.records.extras import install_command


def test_it_names_the_interpreter_that_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "executable", "/opt/an environment/bin/python")
    words = shlex.split(install_command("m3"))
    assert words == ["/opt/an environment/bin/python", "-m", "pip", "install", "matassay[m3]"]


def test_it_is_short_within_the_folder_at_hand(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "executable", str(tmp_path / ".venv" / "bin" / "python"))
    assert install_command("mcp") == ".venv/bin/python -m pip install 'matassay[mcp]'"


def test_every_extra_that_an_error_asks_for_exists() -> None:
    root = Path(__file__).parents[3]
    known = tomllib.loads((root / "pyproject.toml").read_text(encoding="utf-8"))["project"]["optional-dependencies"]
    sources = [file for folder in ("tasks_lib", "flows") for file in sorted((root / folder).rglob("*.py"))]
    asked = {
        extra
        for file in sources
        for extra in re.findall(r"install_command\([\"'](\S+?)[\"']\)", file.read_text(encoding="utf-8"))
    }
    assert asked
    assert asked - set(known) == set()
