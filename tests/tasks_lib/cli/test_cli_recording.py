"""`matassay record`: the page in a real browser, the end by Enter or Ctrl-C, and what is refused beforehand."""

from __future__ import annotations

import contextlib
import json
import os
import pty
import re
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import psutil
import pytest
from typer.testing import CliRunner

from tasks_lib.cli import app, recording
from tasks_lib.cli.desk import TerminalDesk
from tasks_lib.episodes import open_run
from tasks_lib.episodes.recording import recording_manifest
from tasks_lib.records import MachineSettings
from tasks_lib.sandbox import provider
from tasks_lib.sandbox.viewing import viewing_problems
from tasks_lib.store import Store
from tasks_lib.taskdefs import find_root, load_task

TASK = "active-range"
SUITE = Path("mattoolbench") / "xps" / TASK
missing = provider().problems(desktop=True) + viewing_problems()
missing += [] if shutil.which("fityk") else ["Fityk is not installed: apt-get install fityk"]
needs_programs = pytest.mark.skipif(bool(missing), reason="; ".join(missing))
CHROMIUM = shutil.which("chromium")


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """One GUI task, and beside it one of code alone."""
    folder = tmp_path / "defs"
    shutil.copytree(find_root() / SUITE, folder / SUITE)
    code = Path("open") / "powder" / "lattice-parameter"
    shutil.copytree(Path(__file__).parents[2] / "fixtures" / "episodes" / "one_stage" / code, folder / code)
    return folder


class Command:
    """The command in a process of its own, with a terminal to press Enter in."""

    def __init__(self, folder: Path, root: Path) -> None:
        self.out = folder / "draft"
        self.store = folder / "store"
        self._terminal, inside = pty.openpty()
        words = ["record", TASK, "--json", "--out", self.out, "--store", self.store, "--taskdefs", root]
        self.process = subprocess.Popen(
            [sys.executable, "-m", "tasks_lib.cli", *map(str, words)],
            stdin=inside, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=folder, start_new_session=True,
        )  # fmt: skip
        os.close(inside)
        assert self.process.stderr is not None
        found = next((match for line in self.process.stderr if (match := re.search(r"http://127\S+", line))), None)
        assert found is not None
        self.url = found[0]
        self.below = psutil.Process(self.process.pid).children(recursive=True)

    def enter(self) -> None:
        os.write(self._terminal, b"\n")

    def end(self) -> tuple[int, dict]:
        """Wait; return the exit code and what was printed. Nothing of the machine is left."""
        printed, said = self.process.communicate(timeout=120)
        os.close(self._terminal)
        assert self.below
        _, alive = psutil.wait_procs(self.below, timeout=10)
        assert not alive, alive
        return self.process.returncode, json.loads(printed) | {"said": said}


@pytest.fixture
def started(tmp_path: Path, root: Path) -> Iterator[Callable[[], Command]]:
    commands: list[Command] = []

    def start() -> Command:
        commands.append(Command(tmp_path, root))
        return commands[-1]

    yield start
    for command in commands:
        with contextlib.suppress(ProcessLookupError):
            command.process.kill()


# Parts of the desktop that are light where these are there, and dark or black where not: x, y, width, height.
TOOLBAR, SESSION_MENU, FILE_DIALOG = (300, 22, 600, 16), (60, 300, 100, 60), (500, 500, 100, 60)


def wait_for_light(page, part: tuple[int, int, int, int], light: bool) -> None:
    """Wait as a person does who looks before going on."""
    page.wait_for_function(
        """([x, y, width, height, wanted]) => {
             const d = document.querySelector('canvas').getContext('2d').getImageData(x, y, width, height).data;
             let light = 0; for (let i = 0; i < d.length; i += 4) light += d[i] > 200;
             return light > d.length / 8 === wanted; }""",
        arg=[*part, light],
        timeout=60_000,
    )


@pytest.mark.desktop
@pytest.mark.browser
@needs_programs
@pytest.mark.skipif(CHROMIUM is None, reason="Chromium is not installed: apt-get install chromium")
def test_a_person_works_in_the_browser_and_presses_enter(started, tmp_path):
    from PIL import Image
    from playwright.sync_api import sync_playwright

    command = started()
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        page = browser.new_page(viewport={"width": 1200, "height": 800})
        page.goto(command.url)
        page.get_by_text("Connected to MatAssay").wait_for(timeout=60_000)
        canvas = page.locator("canvas")
        # Fityk's own window is on it: light menus over a dark plot, not an empty canvas.
        wait_for_light(page, TOOLBAR, True)
        box = canvas.bounding_box()
        scale = box["width"] / 1440
        page.mouse.click(box["x"] + 33 * scale, box["y"] + 33 * scale)
        wait_for_light(page, SESSION_MENU, True)
        page.keyboard.press("Escape")
        wait_for_light(page, SESSION_MENU, False)
        page.keyboard.press("Control+o")
        wait_for_light(page, FILE_DIALOG, True)
        page.screenshot(path=tmp_path / "page.png")
        browser.close()
    with Image.open(tmp_path / "page.png") as picture:
        assert len(picture.convert("L").getcolors(256)) > 20
    command.enter()
    code, told = command.end()
    assert code == 1
    assert (told["earned"], told["points"], told["interrupted"], told["void"]) == (0, 3, False, None)
    assert {entry["why"] for entry in told["criteria"]} == {"there is no file range.fit"}
    assert "the person left the desktop; the recording waits" in told["said"]
    draft = told["drafts"]["main"]
    text = (command.out / "oracle.md").read_text(encoding="utf-8")
    assert draft["file"] == str(command.out / "oracle.md")
    assert 'computer.keyboard.press("esc")\ncomputer.keyboard.press("ctrl+o")' in text
    assert "computer.mouse.single_click()" in text
    assert sorted(path.name for path in (command.out / "screens").iterdir()) == ["main-01.png", "main-02.png"]
    verdicts = [path for path in Store.open(str(command.store)).list("runs") if path.endswith("verdict.json")]
    assert len(verdicts) == 1


@pytest.mark.desktop
@needs_programs
def test_ctrl_c_judges_nothing_keeps_the_draft_and_leaves_no_process(started, person):
    command = started()
    me = person(command.url)
    me.find("fityk/menu-data")
    me.press("ctrl", "o")
    me.find("gtk/cancel")
    command.process.send_signal(signal.SIGINT)
    code, told = command.end()
    assert code == 130
    assert told["interrupted"]
    assert told["criteria"] == []
    assert told["drafts"]["main"]["steps"] == 1
    assert 'computer.keyboard.press("ctrl+o")' in (command.out / "oracle.md").read_text(encoding="utf-8")
    assert me.gone.wait(20)


@pytest.mark.desktop
@needs_programs
def test_a_recording_that_is_killed_takes_its_machine_along(started, person):
    command = started()
    me = person(command.url)
    below = psutil.Process(command.process.pid).children(recursive=True)
    assert "x11vnc" in {process.name() for process in below}
    command.process.kill()
    command.process.wait()
    _, alive = psutil.wait_procs(below, timeout=30)
    assert not alive, alive
    assert me.gone.wait(20)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("no-such-task", "--until-file", "done"), "no-such-task"),
        (("lattice-parameter", "--until-file", "done"), "no stage of modality gui (code): write its oracle by hand"),
        ((TASK, "--until-file", "done", "--out", "there"), "there/oracle.md is there already"),
        ((TASK, "--until-file", "there"), "there is there already, so the recording would end at once"),
        ((TASK,), "there is no terminal to press Enter in: give --until-file FILE"),
    ],
)
def test_what_cannot_be_recorded_is_refused_before_anybody_works(words, said, root, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(recording, "viewing_problems", list)
    (tmp_path / "there").mkdir()
    (tmp_path / "there" / "oracle.md").write_text("An oracle.\n", encoding="utf-8")
    result = CliRunner().invoke(app, ["record", *words, "--taskdefs", str(root), "--store", "store"])
    assert result.exit_code == 2
    assert said in " ".join(result.stderr.split())
    assert not (tmp_path / "store").exists()
    assert (tmp_path / "there" / "oracle.md").read_text(encoding="utf-8") == "An oracle.\n"


@pytest.mark.parametrize(
    ("there", "said"),
    [
        ("targets/draft/01.png", "targets/draft/01.png is there already"),
        ("screens/main-01.png", "screens/main-01.png is there already"),
        ("screens", "screens"),
        ("targets", "targets"),
        ("", "out"),
    ],
)
def test_a_folder_that_cannot_take_a_draft_is_refused_before_anybody_works(there, said, root, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(recording, "viewing_problems", list)
    file = tmp_path / "out" / there if there else tmp_path / "out"
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_bytes(b"of another draft")
    words = ["record", TASK, "--until-file", "done", "--out", "out", "--taskdefs", str(root), "--store", "store"]
    result = CliRunner().invoke(app, words)
    assert result.exit_code == 2
    assert said in "".join(result.stderr.split("\n"))
    assert file.read_bytes() == b"of another draft"
    assert not (tmp_path / "store").exists()


def test_a_link_that_leads_nowhere_is_not_written_through(root, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(recording, "viewing_problems", list)
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "oracle.md").symlink_to(tmp_path / "elsewhere.md")
    words = ["record", TASK, "--until-file", "done", "--out", "out", "--taskdefs", str(root), "--store", "store"]
    result = CliRunner().invoke(app, words)
    assert result.exit_code == 2
    assert "oracle.md is there already" in " ".join(result.stderr.split())
    assert not (tmp_path / "elsewhere.md").exists()


def test_an_enter_from_before_a_stage_does_not_end_it(root, monkeypatch):
    terminal, inside = pty.openpty()
    with os.fdopen(terminal, "wb", buffering=0) as keyboard, os.fdopen(inside, encoding="utf-8") as stdin:
        monkeypatch.setattr(sys, "stdin", stdin)
        desk = TerminalDesk()
        keyboard.write(b"\n\n")
        desk.begin(load_task(root / SUITE).task.stages[0], "http://127.0.0.1:1/")
        assert not desk.is_done()
        keyboard.write(b"\n")
        assert desk.is_done()
        assert not desk.is_done()


@pytest.mark.parametrize("words", [["retry", "r1"], ["run", "--resume", "r1"]])
def test_no_agent_goes_on_with_a_recording(words, root, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    loaded = load_task(root / SUITE)
    manifest = recording_manifest(loaded, "0" * 64, MachineSettings()).model_copy(update={"run_id": "r1"})
    open_run(Store.open("store"), manifest)
    result = CliRunner().invoke(app, [*words, "--taskdefs", str(root), "--store", "store"])
    assert result.exit_code == 2
    assert f"record anew, `matassay record {TASK}`" in " ".join(result.stderr.split())


def test_missing_programs_are_named_with_the_command_that_installs_them(root, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(recording, "viewing_problems", lambda: ["it needs x11vnc: apt-get install x11vnc"])
    result = CliRunner().invoke(app, ["record", TASK, "--until-file", "done", "--taskdefs", str(root)])
    assert result.exit_code == 2
    assert "apt-get install x11vnc" in result.stderr
