"""A person plays an episode of a run."""

from __future__ import annotations

import asyncio
import shutil
import threading
from dataclasses import replace
from pathlib import Path

import pytest

from tasks_lib.episodes import Player, Selection, human, manifest_for, plain_phases, run_episode
from tasks_lib.episodes.human import check_human, seated
from tasks_lib.records import Decision, Ending, Evidence, MachineSettings, Step
from tasks_lib.records.errors import ConfigurationError
from tasks_lib.sandbox import provider
from tasks_lib.sandbox.viewing import viewing_problems
from tasks_lib.store import RunFolder
from tasks_lib.taskdefs import load_all

TWO_STAGES = Path(__file__).parents[2] / "fixtures" / "episodes" / "two_stages"
missing = provider().problems(desktop=True) + viewing_problems()


class Desk:
    """Lets `work(url)` play the person in a thread, and is done when it returns."""

    def __init__(self, work, said) -> None:
        self._work = work
        self._said = said

    def begin(self, stage, url) -> None:
        self._thread = threading.Thread(target=self._work, args=(stage.id, url))
        self._thread.start()

    def is_done(self) -> bool:
        self._thread.join(0.3)
        return not self._thread.is_alive()

    def tell(self, text) -> None:
        self._said.append(text)


@pytest.fixture
def root(tmp_path):
    """Both stages by hand."""
    folder = Path(shutil.copytree(TWO_STAGES, tmp_path / "root"))
    (file,) = folder.rglob("task.yaml")
    file.write_text(file.read_text(encoding="utf-8").replace("modality: code", "modality: gui"), encoding="utf-8")
    return folder


@pytest.mark.desktop
@pytest.mark.skipif(bool(missing), reason="; ".join(missing))
async def test_what_hands_did_is_a_trajectory_until_they_are_done_or_the_time_is(store, root, person, plan):
    said = []
    spent = threading.Event()

    def sit(stage, url):
        me = person(url)
        if stage == "double":
            me.press("ctrl", "q")
            me.click(300, 300)
            me.find_pointer(300, 300)
        else:
            spent.set()  # and never done
            me.gone.wait(30)

    def act(work, attempt, stage, machine):
        # The first stage would hand nothing over, and then the second would not begin.
        if stage.id == "double":
            machine.computer.put_file("doubled.json", b'{"a": 6.2}')
        return human.act(work, attempt, stage, machine, clock=lambda: 1e9 * spent.is_set())

    async def in_a_thread(*place):
        return await asyncio.to_thread(act, *place)

    manifest = plan(store, root, Player("human"))
    episode = manifest.episodes[0].id
    with seated(lambda: Desk(sit, said)):
        verdict = await run_episode(store, "r1", episode, root, replace(plain_phases(), act=in_a_thread))
    assert [entry.passed for entry in verdict.criteria] == [True, False]
    place = RunFolder(store, "r1").episode(episode).last()
    first = store.read_lines(place.stage("double").trajectory, Step)
    assert [[action.kind for action in step.actions] for step in first] == [
        ["keyboard.press"],
        ["mouse.move_abs", "mouse.single_click"],
        [],
    ]
    assert first[-1].decision is Decision.DONE
    assert store.get_blob(first[0].observation.screenshot).startswith(b"\x89PNG")
    endings = [store.read_document(place.stage(stage).evidence, Evidence).ending for stage in ("double", "cube")]
    assert endings == [Ending.DONE, Ending.SECONDS]
    assert "the time of stage cube is over (120 s)" in said


def test_what_no_person_can_play_is_refused_before_the_run(root, monkeypatch):
    with pytest.raises(ConfigurationError, match="stage double of task doubled-edge is of modality code"):
        check_human(load_all(TWO_STAGES).tasks)
    monkeypatch.setattr(human, "viewing_problems", list)
    choice = Selection(agents=("human",), machine=MachineSettings(), seed=0, hints=True, retries=0)

    def planned():
        return manifest_for(choice, root, run_id=None, command=())

    with pytest.raises(ConfigurationError, match="needs a person at this process's terminal"):
        planned()
    with seated(lambda: Desk(None, [])):
        assert planned().episodes[0].agent == "human"
        monkeypatch.setattr(human, "viewing_problems", lambda: ["it needs x11vnc"])
        with pytest.raises(ConfigurationError, match="x11vnc"):
            planned()
