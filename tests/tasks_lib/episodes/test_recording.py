"""A person plays a task over VNC; the draft, played by the oracle, earns the same."""

from __future__ import annotations

import asyncio
import contextlib
import shutil
import threading
from dataclasses import dataclass, field
from pathlib import Path

import psutil
import pytest

from tasks_lib.episodes import Player, load_work, open_run, plain_phases, run_episode
from tasks_lib.episodes.recording import record_episode, recording_manifest
from tasks_lib.records import MachineSettings, Outcome, Phase, Step, VoidReason
from tasks_lib.records.errors import ConfigurationError
from tasks_lib.sandbox import provider
from tasks_lib.sandbox.viewing import viewing_problems
from tasks_lib.taskdefs import find_root, load_all, write_target

TWO_STAGES = Path(__file__).parents[2] / "fixtures" / "episodes" / "two_stages"
TASK = "shirley-in-own-slot"
missing = provider().problems(desktop=True) + viewing_problems()
missing += [] if shutil.which("fityk") else ["Fityk is not installed: apt-get install fityk"]
needs_programs = pytest.mark.skipif(bool(missing), reason="; ".join(missing))


@dataclass
class Desk:
    """Lets `work(url)` play the person in a thread, and is done when it returns."""

    work: object
    said: list[str] = field(default_factory=list)
    problem: BaseException | None = None

    def begin(self, stage, url) -> None:
        self._thread = threading.Thread(target=self._sit, args=(url,))
        self._thread.start()

    def _sit(self, url) -> None:
        try:
            self.work(url)
        except BaseException as problem:  # noqa: BLE001 - raised again by the one who waits
            self.problem = problem

    def is_done(self) -> bool:
        self._thread.join(0.3)
        return not self._thread.is_alive()

    def tell(self, text) -> None:
        self.said.append(text)


@pytest.fixture
def root(tmp_path):
    """A root with one task and no targets, so that the draft has to cut its own."""
    folder = find_root() / "mattoolbench" / "xps" / TASK
    shutil.copytree(folder, tmp_path / "defs" / "mattoolbench" / "xps" / TASK)
    return tmp_path / "defs"


@pytest.fixture
def recorded(store, root):
    """Record what `work(url)` does; return what became of it, the episode, and what was said."""

    def record(work):
        tasks = load_all(root)
        manifest = open_run(store, recording_manifest(tasks.tasks[0], tasks.digest, MachineSettings()))
        desk = Desk(work)
        episode = load_work(store, manifest.run_id, manifest.episodes[0].id, root)
        found = record_episode(episode, desk)
        if desk.problem is not None:
            raise desk.problem
        return found, episode, desk.said

    return record


def do_the_task(me):
    me.find("fityk/menu-data")
    me.press("ctrl", "o")
    me.find("gtk/cancel")
    me.write("./zn2p.xy")
    me.click(*me.find("gtk/open"))
    me.find("fityk/show-only-selected")
    me.click(*me.find("fityk/menu-data"))
    # The way leads over other entries, as a hand's does.
    x, y = me.find("fityk/data-xps")
    me.pointer(x, y - 60)
    me.see()
    me.pointer(x, y)
    me.click(*me.find("fityk/xps-calculate-shirley"))
    me.see()
    me.write("@1: print all: x, y > 'zn2p_bg.xy'")
    me.press("enter")
    me.see()
    me.click(*me.find("fityk/menu-session"))
    me.click(*me.find("fityk/session-save"))
    me.find("gtk/cancel")
    me.press("ctrl", "a")
    me.write("zn2p.fit")
    me.click(*me.find("gtk/save"))
    me.see()


@pytest.mark.desktop
@needs_programs
async def test_the_draft_of_what_a_person_did_earns_the_same(recorded, store, root, person, plan):
    found, episode, said = await asyncio.to_thread(recorded, lambda url: do_the_task(person(url)))
    assert found.verdict is not None
    assert found.verdict.outcome is Outcome.PASS
    assert said[0] == "the person is at the desktop"
    draft = found.drafts["main"]
    assert draft.notes == ()
    lines = [line for step in draft.steps for line in step.lines]
    # Open, Data, Calculate Shirley, Session, Save Session, Save; and a submenu that opens under the pointer alone.
    assert lines.count("computer.mouse.single_click()") == 6, draft.transcript()
    assert any(len(step.lines) == 1 and "move_abs" in step.lines[0] for step in draft.steps), draft.transcript()
    assert draft.targets
    assert all(name in draft.transcript() for name in draft.targets)
    # The store has the trajectory of an episode, each screen by its digest.
    steps = store.read_lines(episode.folder.last().stage("main").trajectory, Step)
    assert len(steps) == len(draft.steps) + 1
    assert all(step.actions and "target" not in step.reply for step in steps[:-1])
    assert store.get_blob(steps[0].observation.screenshot) == found.screens["main", 1]

    folder = root / "mattoolbench" / "xps" / TASK
    (folder / "oracle.md").write_text(draft.transcript(), encoding="utf-8")
    for target in draft.targets.values():
        write_target(root, target)
    manifest = plan(store, root, Player("oracle"), run_id="again")
    verdict = await run_episode(store, "again", manifest.episodes[0].id, root, plain_phases())
    assert told(verdict) == told(found.verdict)


def told(verdict):
    """What a verdict says; digests of files are left out, since files say when they were written."""
    return [(entry.id, entry.passed, entry.seen, entry.why) for entry in verdict.criteria]


@pytest.mark.desktop
@needs_programs
def test_a_machine_that_is_lost_is_void_and_what_was_done_is_drafted(recorded, person, store):
    def lose_it(url):
        me = person(url)
        me.click(*me.find("fityk/menu-data"))
        me.find("fityk/data-xps")
        for process in psutil.Process().children(recursive=True):
            with contextlib.suppress(psutil.NoSuchProcess):
                if "guest" in process.cmdline():
                    process.kill()
        assert me.gone.wait(20)

    found, _, said = recorded(lose_it)
    assert found.verdict is None
    assert (found.void.reason, found.void.phase) == (VoidReason.MACHINE_LOST, Phase.ACT)
    assert "the machine is lost; what was done until then is drafted" in said
    assert len(found.drafts["main"].steps) == 1


@pytest.mark.desktop
@needs_programs
def test_of_a_mixed_task_a_person_does_the_gui_stages_and_the_oracle_the_others(recorded, store, root, person):
    shutil.rmtree(root)
    shutil.copytree(TWO_STAGES, root)
    (file,) = root.rglob("task.yaml")
    first, name, second = file.read_text(encoding="utf-8").partition("- id: cube\n")
    file.write_text(first + name + second.replace("modality: code", "modality: gui", 1), encoding="utf-8")

    def press_a_key(url):
        me = person(url)
        me.press("ctrl", "q")
        me.click(300, 300)
        me.find_pointer(300, 300)

    found, episode, said = recorded(press_a_key)
    assert said[0] == "stage double (code) is played by the oracle"
    assert [entry.passed for entry in found.verdict.criteria] == [True, False]
    assert list(found.drafts) == ["cube"]
    assert [step.lines for step in found.drafts["cube"].steps] == [
        ('computer.keyboard.press("ctrl+q")',),
        ("computer.mouse.move_abs(300, 300)", "computer.mouse.single_click()"),
    ]
    for stage, steps in (("double", 2), ("cube", 3)):
        assert len(store.read_lines(episode.folder.last().stage(stage).trajectory, Step)) == steps


def test_a_task_without_a_gui_stage_is_refused():
    tasks = load_all(find_root().parent / "tests" / "fixtures" / "taskdefs" / "good")
    with pytest.raises(ConfigurationError, match=r"has no stage of modality gui \(code, figure\)"):
        recording_manifest(tasks.tasks[0], tasks.digest, MachineSettings())
