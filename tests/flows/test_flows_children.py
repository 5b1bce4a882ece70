"""Programs that we start end with us, however we end, and take all of their own with them."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import textwrap
from collections.abc import Callable
from pathlib import Path
from typing import Any

import psutil
import pytest

from flows.serving.children import Child, end_group, members
from tasks_lib.records.errors import HarnessTimeoutError

Until = Callable[..., Any]

# A child that starts a grandchild, says both pids, and then waits; `stubborn` ones ignore SIGTERM.
PROGRAM = """
import os, signal, subprocess, sys, time
from flows.serving import lifeline
stubborn = sys.argv[1] == "stubborn"
if stubborn:
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
lifeline.hold(grace=0.5)
code = "import signal, time\\n" + ("signal.signal(signal.SIGTERM, signal.SIG_IGN)\\n" if stubborn else "")
grandchild = subprocess.Popen([sys.executable, "-c", code + "time.sleep(600)"])
print(os.getpid(), grandchild.pid, signal.getsignal(signal.SIGINT) is signal.default_int_handler, flush=True)
time.sleep(600)
"""


@pytest.fixture
def environ(tmp_path: Path) -> dict[str, str]:
    (tmp_path / "long_lived.py").write_text(PROGRAM, encoding="utf-8")
    root = str(Path(__file__).parents[2])
    return {**os.environ, "PYTHONPATH": os.pathsep.join((str(tmp_path), root))}


def _said(log: Path, until: Until) -> tuple[int, int, str]:
    words = until(lambda: log.exists() and log.read_text(encoding="utf-8").split(), 30, "the child speaks")
    return int(words[0]), int(words[1]), words[2]


@pytest.mark.parametrize("manner", ["polite", "stubborn"])
def test_stopping_ends_the_whole_group(manner: str, tmp_path: Path, environ: dict[str, str], until: Until) -> None:
    log = tmp_path / "child.log"
    child = Child("child", "long_lived", [manner], environ=environ, log=log)
    pid, grandchild, _ = _said(log, until)
    assert {process.pid for process in members(child.pid)} == {pid, grandchild}
    child.stop(grace=0.5)
    assert members(child.pid) == []
    assert not child.alive()
    child.stop()


@pytest.mark.parametrize("manner", ["polite", "stubborn"])
def test_kill_9_of_the_starter_leaves_nobody(
    manner: str, tmp_path: Path, environ: dict[str, str], until: Until
) -> None:
    log = tmp_path / "child.log"
    starter = textwrap.dedent(
        f"""
        import os, time
        from pathlib import Path
        from flows.serving.children import Child
        child = Child("child", "long_lived", [{manner!r}], environ=os.environ, log=Path({str(log)!r}))
        time.sleep(600)
        """
    )
    process = subprocess.Popen([sys.executable, "-c", starter], env=environ)
    try:
        group, grandchild, _ = _said(log, until)
        assert psutil.pid_exists(grandchild)
    finally:
        process.kill()
        process.wait()
    until(lambda: not members(group), 30, "the child and the grandchild have ended")


def test_a_background_job_of_a_shell_hands_on_no_deaf_ear(
    tmp_path: Path, environ: dict[str, str], until: Until
) -> None:
    """A shell starts background jobs with SIGINT ignored; the programs below have to hear it again."""
    log = tmp_path / "child.log"
    old = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        child = Child("child", "long_lived", ["polite"], environ=environ, log=log)
    finally:
        signal.signal(signal.SIGINT, old)
    try:
        assert _said(log, until)[2] == "True"
    finally:
        child.stop(grace=0.5)


def test_a_child_that_does_not_end_is_named_with_its_log(tmp_path: Path, environ: dict[str, str], until: Until) -> None:
    log = tmp_path / "child.log"
    child = Child("the clock", "long_lived", ["polite"], environ=environ, log=log)
    try:
        _said(log, until)
        with pytest.raises(HarnessTimeoutError, match=rf"the clock \(process {child.pid}\).*{log}"):
            child.wait(0.01)
    finally:
        child.stop(grace=0.5)


def test_last_words_are_the_end_of_the_log(tmp_path: Path, environ: dict[str, str]) -> None:
    child = Child("child", "no_such_module", [], environ=environ, log=tmp_path / "child.log")
    assert child.wait(30) != 0
    child.stop()
    assert "no_such_module" in child.last_words(1)


def test_a_group_that_is_gone_is_no_error() -> None:
    process = subprocess.Popen(["true"], start_new_session=True)
    process.wait()
    end_group(process.pid, grace=0.1)
