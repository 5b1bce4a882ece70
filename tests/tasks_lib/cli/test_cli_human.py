"""`matassay run --agent human`: the page in a real browser, Ctrl-C, and nobody to be told."""

from __future__ import annotations

import contextlib
import os
import pty
import re
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import httpx
import psutil
import pytest
from typer.testing import CliRunner

from tasks_lib.cli import app
from tasks_lib.episodes import human
from tasks_lib.records import Outcome, Step, Verdict, VoidRecord
from tasks_lib.sandbox import provider
from tasks_lib.sandbox.viewing import viewing_problems
from tasks_lib.store import AttemptFolder, RunFolder, Store
from tasks_lib.taskdefs import find_root
from tasks_lib.taskdefs.transcript import fences

MIXED = Path("mattoolbench") / "mixed" / "anatase-reference-overlay"
missing = provider().problems(desktop=True) + viewing_problems()
missing += [] if shutil.which("veusz") else ["Veusz is not installed: apt-get install veusz"]
CHROMIUM = shutil.which("chromium")


class Command:
    """The command in a process of its own, with a terminal to press Enter in."""

    def __init__(self, folder: Path, root: Path) -> None:
        self.store = Store.open(str(folder / "store"))
        self._terminal, inside = pty.openpty()
        words = [
            "run",
            "--agent",
            "human",
            "--json",
            "--task",
            MIXED.name,
            "--store",
            folder / "store",
            "--taskdefs",
            root,
        ]
        self.process = subprocess.Popen(
            [sys.executable, "-m", "tasks_lib.cli", *map(str, words)],
            stdin=inside, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, cwd=folder,
            start_new_session=True,
        )  # fmt: skip
        os.close(inside)

    def url(self) -> str:
        """Wait for the address of the next stage."""
        assert self.process.stderr is not None
        seen = []
        for line in self.process.stderr:
            seen.append(line)
            if found := re.search(r"http://127\S+token=\S+", line):
                return found[0]
        raise AssertionError("".join(seen))

    def end(self) -> tuple[int, str]:
        """Wait; return the exit code and what was said. Nothing of the machine is left."""
        below = psutil.Process(self.process.pid).children(recursive=True)
        _, said = self.process.communicate(timeout=120)
        os.close(self._terminal)
        _, alive = psutil.wait_procs(below, timeout=10)
        assert not alive, alive
        return self.process.returncode, said

    def attempt(self) -> AttemptFolder:
        (run,) = self.store.children("runs")
        (episode,) = self.store.children(f"runs/{run}/episodes")
        last = RunFolder(self.store, run).episode(episode).last()
        assert last is not None
        return last


@pytest.fixture
def started(tmp_path: Path) -> Iterator[Callable[[Path], Command]]:
    commands: list[Command] = []

    def start(place: Path) -> Command:
        shutil.copytree(find_root() / place, tmp_path / "defs" / place)
        commands.append(Command(tmp_path, tmp_path / "defs"))
        return commands[-1]

    yield start
    for command in commands:
        with contextlib.suppress(ProcessLookupError):
            command.process.kill()


def oracle(stage: str) -> str:
    return fences((find_root() / MIXED / f"oracle.{stage}.md").read_text(encoding="utf-8"))[0].body


@pytest.mark.desktop
@pytest.mark.browser
@pytest.mark.skipif(bool(missing), reason="; ".join(missing))
@pytest.mark.skipif(CHROMIUM is None, reason="Chromium is not installed: apt-get install chromium")
def test_a_person_plays_a_mixed_task_in_the_browser(started, tmp_path):
    from playwright.sync_api import sync_playwright

    command = started(MIXED)
    said: list[str] = []
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox", "--disable-gpu"])
        context = browser.new_context(viewport={"width": 1600, "height": 1000})
        for stage, kind in (("reference", "python"), ("figure", "veusz")):
            page = context.new_page()
            page.on("pageerror", lambda error: said.append(str(error)))
            page.on("console", lambda message: said.append(message.text) if message.type == "error" else None)
            page.goto(command.url())
            page.wait_for_selector("#run:enabled", timeout=60_000)
            for width in (400, 1600):
                page.set_viewport_size({"width": width, "height": 1000})
                spare = "document.documentElement.scrollWidth - document.documentElement.clientWidth"
                assert page.evaluate(spare) == 0, width
            page.click("#run")
            assert page.inner_text("#said") == "There is nothing to run: write a script first."
            page.evaluate("at('script').value = 'x'.repeat(LONGEST + 1)")
            page.click("#run")
            assert "at most 100000 characters, this one has 100001" in page.inner_text("#said")
            page.fill("#script", oracle(stage))
            page.reload()  # what was written is still there
            page.wait_for_selector("#run:enabled", timeout=60_000)
            assert page.input_value("#script") == oracle(stage)
            assert page.input_value("#kind") == kind
            page.press("#script", "Control+Enter")
            page.wait_for_selector("#feedback:has-text('return code 0')", timeout=120_000)
            page.wait_for_selector("#run:enabled", timeout=60_000)
            assert page.is_visible("#screen") is (stage == "figure")
            if stage == "figure":
                page.evaluate("at('figure').decode()")
                assert page.evaluate("at('figure').naturalWidth") > 100
                page.frame_locator("#screen").locator("canvas").wait_for()
            else:
                assert page.get_attribute("#script", "placeholder").startswith("A whole Python script")
                assert "reference.csv" in page.inner_text("#files")
            page.screenshot(path=str(tmp_path / f"{stage}.png"))
            page.click("#done")
            page.wait_for_selector("#said:has-text('This stage is over')", timeout=60_000)
            assert page.is_disabled("#run")
        browser.close()
    code, told = command.end()
    assert code == 0, told
    assert said == []
    verdict = command.store.read_document(command.attempt().verdict, Verdict)
    assert (verdict.outcome, verdict.score) == (Outcome.PASS, 1)
    lines = command.store.read_lines(command.attempt().stage("reference").trajectory, Step)
    assert [step.index for step in lines] == [1, 2]


@pytest.mark.desktop
@pytest.mark.skipif(bool(missing), reason="; ".join(missing))
def test_ctrl_c_keeps_what_was_done(started, window):
    command = started(MIXED)
    me = window(command.url())
    me.asked()
    me.do(do="run", script="print('kept')")
    os.killpg(command.process.pid, signal.SIGINT)
    code, told = command.end()
    assert code == 130, told
    assert command.store.read_document(command.attempt().void, VoidRecord).reason == "cancelled"
    (step,) = command.store.read_lines(command.attempt().stage("reference").trajectory, Step)
    assert step.feedback.endswith("kept")
    with pytest.raises(httpx.ConnectError):
        httpx.get(f"{me.folder}/")


@pytest.mark.desktop
@pytest.mark.skipif(bool(missing), reason="; ".join(missing))
def test_ctrl_c_while_a_script_of_a_figure_runs_keeps_hands_and_scripts(started, window, person):
    command = started(MIXED)
    me = window(command.url())
    me.asked()
    me.do(do="run", script=oracle("reference"))
    me.send(do="done")
    me = window(command.url())
    me.asked()
    eyes = person(f"{me.folder}/?", me.keys)
    eyes.click(300, 300)
    eyes.find_pointer(300, 300)
    me.do(do="run", kind="veusz", script="Add('page')")
    me.send(do="run", kind="veusz", script="import time\ntime.sleep(600)")
    me.until(lambda state: state["state"] == "busy")
    os.killpg(command.process.pid, signal.SIGINT)
    code, told = command.end()
    assert code == 130, told
    assert command.store.read_document(command.attempt().void, VoidRecord).reason == "cancelled"
    steps = command.store.read_lines(command.attempt().stage("figure").trajectory, Step)
    click = ["mouse.move_abs", "mouse.single_click"]
    assert [[action.kind for action in step.actions] for step in steps] == [click, ["veusz"]]
    assert [step.index for step in steps] == [1, 2]


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
