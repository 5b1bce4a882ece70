"""A person plays an episode of a run."""

from __future__ import annotations

import asyncio
import base64
import shutil
import threading
from dataclasses import replace
from pathlib import Path

import pytest

from tasks_lib.episodes import EpisodeVoidError, Player, Selection, human, manifest_for, plain_phases, run_episode
from tasks_lib.episodes.human import seated
from tasks_lib.records import Decision, Ending, Evidence, MachineSettings, Step
from tasks_lib.records.errors import ConfigurationError
from tasks_lib.sandbox import provider
from tasks_lib.sandbox.viewing import viewing_problems
from tasks_lib.store import RunFolder
from tasks_lib.taskdefs import find_root
from tasks_lib.taskdefs.transcript import fences

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


def trajectories(store, run, episode):
    place = RunFolder(store, run).episode(episode).last()
    return lambda stage: store.read_lines(place.stage(stage).trajectory, Step)


async def replayed(store, root, plan, agent="human"):
    manifest = plan(store, root, Player("replay"), run_id="again", settings={"replay": {"run": "r1", "agent": agent}})
    return await run_episode(store, "again", manifest.episodes[0].id, root, plain_phases())


def oracle(root, stage):
    (file,) = root.rglob(f"oracle.{stage}.md")
    return fences(file.read_text(encoding="utf-8"))[0].body


@pytest.mark.parametrize("solved", [True, False])
async def test_code_stages_are_played_on_the_page_and_played_again(store, plan, window, solved):
    states, said = {}, []

    def write(stage, url):
        me = window(url)
        states[stage] = [me.asked()]
        states[stage].append(me.do(do="run", script="print(6 * 7)\nraise SystemExit(3)"))
        states[stage].append(me.do(do="run", script=oracle(TWO_STAGES, stage)))
        if stage == "double" or solved:
            states[stage].append(me.do(do="done"))
        else:
            me.do(do="run", script='open("volume.json", "w").write("no")')
            states[stage].append(me.do(do="fail"))

    manifest = plan(store, TWO_STAGES, Player("human"))
    episode = manifest.episodes[0].id
    with seated(lambda: Desk(write, said)):
        verdict = await run_episode(store, "r1", episode, TWO_STAGES, plain_phases())
    assert (verdict.score == 1, verdict.earned) == (solved, 4 if solved else 2)
    steps = trajectories(store, "r1", episode)
    first = steps("double")
    assert [step.index for step in first] == [1, 2, 3]
    assert [step.decision for step in first] == [Decision.CONTINUE, Decision.CONTINUE, Decision.DONE]
    assert first[0].actions[0].kind == "python"
    assert (first[0].actions[0].ok, first[1].actions[0].ok) == (False, True)
    # What is shown is what an agent is told, and what was recorded.
    assert states["double"][1]["feedback"] == first[0].feedback == "return code 3\nstdout:\n42"
    assert [state["steps_left"] for state in states["double"][:3]] == [5, 4, 3]
    assert [state["step"] for state in states["double"][:3]] == [1, 2, 3]
    assert any("doubled.json" in line for line in states["double"][2]["files"])
    assert states["double"][0]["files"][0].startswith("cell.json")
    assert states["double"][3]["state"] == "over"
    assert steps("cube")[-1].decision is (Decision.DONE if solved else Decision.FAIL)
    again = await replayed(store, TWO_STAGES, plan)
    assert (again.score, again.earned) == (verdict.score, verdict.earned)


async def test_the_budgets_of_a_code_stage_hold(store, plan, window):
    said, left, ended = [], threading.Event(), threading.Event()

    def write(stage, url):
        me = window(url)
        me.asked()
        if stage == "double":
            for _ in range(4):
                assert me.do(do="run", script=oracle(TWO_STAGES, stage))["state"] == "asking"
            assert me.do(do="run", script="1 / 0")["state"] == "over"
            return
        me.socket.close()  # and never comes back
        left.set()
        ended.wait(30)

    def act(work, attempt, stage, machine):
        ending = human.act(work, attempt, stage, machine, clock=lambda: 1e9 * left.is_set())
        if stage.id == "cube":
            ended.set()
        return ending

    async def in_a_thread(*place):
        return await asyncio.to_thread(act, *place)

    episode = plan(store, TWO_STAGES, Player("human")).episodes[0].id
    with seated(lambda: Desk(write, said)):
        verdict = await run_episode(store, "r1", episode, TWO_STAGES, replace(plain_phases(), act=in_a_thread))
    assert verdict.earned == 2
    place = RunFolder(store, "r1").episode(episode).last()
    endings = [store.read_document(place.stage(stage).evidence, Evidence).ending for stage in ("double", "cube")]
    assert endings == [Ending.STEPS, Ending.SECONDS]
    assert len(store.read_lines(place.stage("double").trajectory, Step)) == 5
    assert "the budget of stage double is spent (5 steps)" in said
    assert "the budget of stage cube is spent (120 s)" in said


async def test_a_machine_that_is_taken_away_ends_the_waiting(store, plan, window):
    def write(stage, url):
        me = window(url)
        me.asked()
        me.do(do="run", script="print(1)")
        taken.set()
        me.until(lambda state: state["state"] == "over")

    taken = threading.Event()

    def act(work, attempt, stage, machine):
        threading.Thread(target=lambda: taken.wait(60) and machine.close()).start()
        return human.act(work, attempt, stage, machine)

    async def in_a_thread(*place):
        return await asyncio.to_thread(act, *place)

    episode = plan(store, TWO_STAGES, Player("human"), retries=0).episodes[0].id
    with seated(lambda: Desk(write, [])), pytest.raises(EpisodeVoidError, match="VOID"):
        await run_episode(store, "r1", episode, TWO_STAGES, replace(plain_phases(), act=in_a_thread))
    assert [step.feedback for step in trajectories(store, "r1", episode)("double")] == ["return code 0\nstdout:\n1"]


@pytest.fixture
def figures(tmp_path):
    place = Path("mattoolbench") / "figures" / "cell-cycling"
    shutil.copytree(find_root() / place, tmp_path / "defs" / place)
    return tmp_path / "defs"


@pytest.mark.desktop
@pytest.mark.skipif(bool(missing), reason="; ".join(missing))
@pytest.mark.parametrize("solved", [True, False])
async def test_a_figure_is_made_by_scripts_and_hands_together(store, plan, figures, window, person, solved):
    (file,) = figures.rglob("oracle.md")
    script = fences(file.read_text(encoding="utf-8"))[0].body
    if not solved:
        script = script.replace("blanksaredata=True", "blanksaredata=False")
    states, said = [], []

    def write(stage, url):
        me = window(url)
        states.append(me.asked())
        states.append(me.do(do="run", kind="veusz", script="nonsense("))
        eyes = person(url, me.keys)
        eyes.click(300, 300)
        eyes.find_pointer(300, 300)
        eyes.press("tab")
        eyes.click(500, 400)
        eyes.find_pointer(500, 400)
        states.append(me.do(do="run", kind="veusz", script=script))
        states.append(
            me.do(do="run", kind="python", script="computer.mouse.move_abs(40, 50)\ncomputer.mouse.single_click()")
        )
        states.append(me.do(do="done"))

    episode = plan(store, figures, Player("human")).episodes[0].id
    with seated(lambda: Desk(write, said)):
        verdict = await run_episode(store, "r1", episode, figures, plain_phases())
    assert (verdict.score == 1) is solved
    steps = trajectories(store, "r1", episode)("main")
    assert [step.index for step in steps] == list(range(1, len(steps) + 1))
    kinds = [[action.kind for action in step.actions] for step in steps]
    # The calls of the machine's own mouse are no doing of hands.
    click = ["mouse.move_abs", "mouse.single_click"]
    assert kinds == [["veusz"], click, ["keyboard.press"], click, ["veusz"], click, []]
    assert states[1]["figure"] is None
    assert base64.b64decode(states[2]["figure"]).startswith(b"\x89PNG")
    assert [state["steps_left"] for state in states[:4]] == [15, 14, 10, 9]
    assert all(step.observation.screenshot for step in steps)
    again = await replayed(store, figures, plan)
    assert again.earned == verdict.earned


@pytest.mark.desktop
@pytest.mark.skipif(bool(missing), reason="; ".join(missing))
async def test_a_mixed_task_of_a_person_is_played_again(store, plan, tmp_path, window, person):
    place = Path("mattoolbench") / "mixed" / "anatase-reference-overlay"
    root = tmp_path / "defs"
    shutil.copytree(find_root() / place, root / place)

    def write(stage, url):
        me = window(url)
        me.asked()
        if stage == "figure":
            eyes = person(url, me.keys)
            eyes.click(300, 300)
            eyes.find_pointer(300, 300)
        me.do(do="run", kind="veusz" if stage == "figure" else "python", script=oracle(root, stage))
        me.do(do="done")

    episode = plan(store, root, Player("human")).episodes[0].id
    with seated(lambda: Desk(write, [])):
        verdict = await run_episode(store, "r1", episode, root, plain_phases())
    assert verdict.score == 1
    assert len(trajectories(store, "r1", episode)("figure")) == 3
    again = await replayed(store, root, plan)
    assert (again.score, again.earned) == (1, verdict.earned)


@pytest.mark.desktop
@pytest.mark.skipif(bool(missing), reason="; ".join(missing))
async def test_hands_right_before_a_script_is_run_are_kept(store, plan, figures, window, person):
    class Quick(Desk):
        """All is done between two looks at the recording."""

        def begin(self, stage, url) -> None:
            self._url = url
            self._turns = 0

        def is_done(self) -> bool:
            self._turns += 1
            if self._turns == 1:
                me = window(self._url)
                me.asked()
                eyes = person(self._url, me.keys)
                eyes.click(300, 300)
                eyes.find_pointer(300, 300)
                me.send(do="run", kind="veusz", script="Add('page')")
                me.until(lambda state: state["state"] == "busy")
            return self._turns > 1

    episode = plan(store, figures, Player("human")).episodes[0].id
    with seated(lambda: Quick(None, [])):
        await run_episode(store, "r1", episode, figures, plain_phases())
    steps = trajectories(store, "r1", episode)("main")
    kinds = [[action.kind for action in step.actions] for step in steps]
    assert kinds == [["mouse.move_abs", "mouse.single_click"], ["veusz"], []]


@pytest.mark.desktop
@pytest.mark.skipif(bool(missing), reason="; ".join(missing))
async def test_hands_count_for_the_steps_of_a_figure(store, plan, figures, window, person):
    (task,) = figures.rglob("task.yaml")
    task.write_text(task.read_text(encoding="utf-8").replace("steps: 15", "steps: 2"), encoding="utf-8", newline="\n")
    said = []

    def write(stage, url):
        me = window(url)
        me.asked()
        eyes = person(url, me.keys)
        for x in (300, 500):
            eyes.click(x, 300)
            eyes.find_pointer(x, 300)
        assert me.do(do="run", kind="veusz", script="Add('page')")["state"] == "over"

    episode = plan(store, figures, Player("human")).episodes[0].id
    with seated(lambda: Desk(write, said)):
        await run_episode(store, "r1", episode, figures, plain_phases())
    place = RunFolder(store, "r1").episode(episode).last().stage("main")
    assert store.read_document(place.evidence, Evidence).ending is Ending.STEPS
    assert [step.actions[-1].kind for step in store.read_lines(place.trajectory, Step)] == ["mouse.single_click"] * 2
    assert "the budget of stage main is spent (2 steps)" in said


def test_what_no_person_can_play_is_refused_before_the_run(root, monkeypatch):
    monkeypatch.setattr(human, "viewing_problems", list)
    choice = Selection(agents=("human",), machine=MachineSettings(), seed=0, hints=True, retries=0)

    def planned(place=root):
        return manifest_for(choice, place, run_id=None, command=())

    with pytest.raises(ConfigurationError, match="needs a person at this process's terminal"):
        planned()
    with seated(lambda: Desk(None, [])):
        assert planned().episodes[0].agent == "human"
        monkeypatch.setattr(human, "viewing_problems", lambda: ["it needs x11vnc"])
        with pytest.raises(ConfigurationError, match="x11vnc"):
            planned()
        assert planned(TWO_STAGES).episodes[0].agent == "human"  # code alone needs no desktop
