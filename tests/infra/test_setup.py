"""Set-up where system packages may not be installed: says which command to give an administrator, and goes on."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
NOBODY = 65534


def _listed() -> set[str]:
    lines = (ROOT / "infra" / "packages.desktop.txt").read_text(encoding="utf-8").splitlines()
    return {line for line in lines if line and not line.startswith("#")}


def _program(folder: Path, name: str, text: str) -> None:
    path = folder / name
    path.write_text(f"#!/bin/sh\n{text}\n", encoding="utf-8", newline="\n")
    path.chmod(0o755)


def _set_up(tmp_path: Path, *words: str, installed: str = "not-installed", sudo: str | None = None):
    """Run the real script as an ordinary user, on a host whose dpkg says what the test wants."""
    clone, programs = tmp_path / "clone", tmp_path / "programs"
    shutil.copytree(
        ROOT / "infra", clone / "infra", ignore=shutil.ignore_patterns("inputs", "databases", "__pycache__")
    )
    shutil.copy(ROOT / "pyproject.toml", clone)
    programs.mkdir()
    _program(programs, "dpkg-query", f"printf %s {installed}")
    _program(programs, "sudo", sudo or "exit 1")
    for folder in (tmp_path, *tmp_path.parents):
        if folder.stat().st_uid == os.geteuid() and folder != Path(folder.anchor) and "pytest" in str(folder):
            folder.chmod(0o755)
    as_user = {}
    if os.geteuid() == 0:
        shutil.chown(clone, NOBODY)
        as_user = {"user": NOBODY, "group": NOBODY, "extra_groups": []}
    return subprocess.run(
        ["bash", "infra/setup.sh", *words],
        cwd=clone, env={**os.environ, "PATH": f"{programs}:{os.environ['PATH']}"}, capture_output=True, text=True,
        timeout=60, check=False, **as_user,
    )  # fmt: skip


def test_who_may_not_install_gets_the_command_for_an_administrator(tmp_path: Path) -> None:
    done = _set_up(tmp_path, "packages")
    assert done.returncode == 0, done.stderr
    (command,) = [line for line in done.stderr.splitlines() if "apt-get install" in line]
    assert command.removeprefix("setup:").split()[:3] == ["sudo", "apt-get", "update"]
    assert _listed() <= set(command.split())
    assert "VOID(no desktop)" in done.stderr


def test_with_sudo_that_asks_no_password_apt_is_called(tmp_path: Path) -> None:
    called = tmp_path / "clone" / "called"
    done = _set_up(tmp_path, "packages", sudo=f'[ "$1" = -n ] && exit 0; echo "$@" >> {called}')
    assert done.returncode == 0, done.stderr
    calls = called.read_text(encoding="utf-8").splitlines()
    assert calls[0].endswith("update")
    assert _listed() <= set(calls[1].split())


def test_a_failed_install_does_not_stop_the_rest(tmp_path: Path) -> None:
    done = _set_up(tmp_path, "packages", sudo='[ "$1" = -n ] && exit 0; echo "E: no mirror" ; exit 100')
    assert done.returncode == 0
    assert "E: no mirror" in done.stderr
    assert "apt-get install" in done.stderr


def test_where_nothing_is_missing_nothing_is_said(tmp_path: Path) -> None:
    done = _set_up(tmp_path, "packages", installed="installed")
    assert (done.returncode, done.stderr) == (0, "")


def test_an_unknown_target_is_wrong_use(tmp_path: Path) -> None:
    done = _set_up(tmp_path, "everything")
    assert done.returncode == 2
    assert "give run, test or packages" in done.stderr


@pytest.mark.parametrize("name", ["packages.desktop.txt", "packages.test.txt"])
def test_package_lists_hold_names_and_remarks_only(name: str) -> None:
    lines = (ROOT / "infra" / name).read_text(encoding="utf-8").splitlines()
    assert lines
    for line in lines:
        assert line.startswith("#") or line.replace("-", "").replace(".", "").replace("+", "").isalnum(), line
