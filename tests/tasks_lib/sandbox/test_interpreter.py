"""Which folders of the host an interpreter brings into a machine, and what in them is covered."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tasks_lib.records.errors import ProvisionError
from tasks_lib.sandbox import _bubblewrap, _interpreter


def test_a_virtual_environment_brings_itself_and_its_base_but_not_their_parents() -> None:
    found = _interpreter.running()
    prefix = Path(sys.prefix)
    if not prefix.is_relative_to("/usr"):
        assert prefix in found.folders
        assert prefix.parent not in found.folders
    assert all(folder not in {Path("/"), Path.home()} for folder in found.folders)


def test_the_systems_interpreter_needs_no_folder() -> None:
    if not Path("/usr/bin/python3").exists():
        pytest.skip("no system python3")
    assert _interpreter.inspect(Path("/usr/bin/python3")).folders == ()


def test_an_interpreter_that_claims_the_home_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    fake = tmp_path / "bin" / "python"
    fake.parent.mkdir()
    fake.write_text(f'#!/bin/sh\necho \'["{tmp_path}", "/usr", "/usr/bin/python3", "/usr/lib", "/usr/lib"]\'\n')
    fake.chmod(0o755)
    monkeypatch.setenv("HOME", str(tmp_path))
    with pytest.raises(ProvisionError, match="claims the whole of"):
        _interpreter.inspect(fake)


def test_a_checkout_inside_a_mounted_folder_is_covered_and_its_environment_mounted_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A conda-like layout: the base installation holds the checkout, which holds the virtual environment."""
    base = tmp_path / "conda"
    house = base / "src" / "matassay"
    environment = house / ".venv"
    (house / "tasks_lib" / "sandbox").mkdir(parents=True)
    (house / "taskdefs").mkdir()
    (house / "pyproject.toml").touch()
    environment.mkdir()
    monkeypatch.setattr(_interpreter, "__file__", str(house / "tasks_lib" / "sandbox" / "_interpreter.py"))
    interpreter = _interpreter.Interpreter(environment / "bin" / "python", (base, environment), ())
    assert house in _interpreter.hidden([interpreter])
    empty = tmp_path / "empty"
    mounts = _bubblewrap._interpreter_mounts([interpreter], empty)
    assert mounts.index("--tmpfs") > mounts.index(str(base))
    last_cover = max(index for index, word in enumerate(mounts) if word == str(house))
    again = max(index for index, word in enumerate(mounts) if word == str(environment))
    assert again > last_cover


def test_covers_never_hide_the_environment_they_lie_in() -> None:
    """With bubblewrap and the real interpreter: what is mounted runs, what is covered is empty."""
    if (problem := _bubblewrap.problem()) is not None:
        pytest.skip(problem)
    empty = Path("/dev/null")
    argv = ["bwrap", "--unshare-all", "--ro-bind", "/usr", "/usr", *_bubblewrap._links(), "--proc", "/proc"]
    argv += [
        *_bubblewrap._interpreter_mounts([_interpreter.running()], empty),
        "--",
        sys.executable,
        "-I",
        "-c",
        "import flask",
    ]
    subprocess.run(argv, check=True, timeout=60)
