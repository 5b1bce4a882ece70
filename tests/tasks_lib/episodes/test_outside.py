"""An episode that another program plays: in the store it is one like any other."""

from __future__ import annotations

import contextlib
from pathlib import Path

import psutil
import pytest

from tasks_lib.agents.outside import LEFT
from tasks_lib.agents.transcripts import DONE
from tasks_lib.episodes import check_played_by_agents, read_manifest
from tasks_lib.episodes.outside import OutsideOrder, open_outside
from tasks_lib.records import Decision, Ending, MachineSettings, Outcome, Phase, Step, VoidReason
from tasks_lib.records.errors import ConfigurationError
from tasks_lib.taskdefs import load_all

TWO_STAGES = Path(__file__).parents[2] / "fixtures" / "episodes" / "two_stages"


@pytest.fixture
def opened(store):
    """Begin an episode of the only task of a root."""
    begun = []

    def begin(root, player="gym"):
        tasks = load_all(root)
        order = OutsideOrder(
            player=player, loaded=tasks.tasks[0], task_set_digest=tasks.digest, taskdefs=root, machine=MachineSettings()
        )
        begun.append(open_outside(order, store))
        return begun[-1]

    yield begin
    for episode in begun:
        episode.leave()


def steps(episode, stage):
    return episode.work.store.read_lines(episode.work.folder.last().stage(stage).trajectory, Step)


def test_all_stages_are_played_and_judged(opened):
    episode = opened(TWO_STAGES)
    oracle = episode.work.loaded.transcript
    replies = [reply for stage in ("double", "cube") for reply in (*oracle("oracle", stage, hints=True), DONE)]
    view = episode.view()
    assert "twice" in view.brief.instruction
    assert episode.earned() == {"edge-handed-over": 0, "volume": 0}
    view = episode.answer("```python\nimport os; os.remove('/etc/passwd')\n```\n\n```python")
    assert episode.last.wasted
    assert "never closed" in view.feedback
    known = []
    for reply in replies:
        view = episode.answer(reply)
        known.append(episode.earned())
    assert view is None
    assert known[0] == {"edge-handed-over": 2, "volume": 0}
    assert known[-1] == {"edge-handed-over": 2, "volume": 2}
    assert episode.verdict.outcome is Outcome.PASS
    assert episode.ending is Ending.DONE
    assert [step.reply for step in steps(episode, "cube")] == replies[-2:]
    assert episode.work.store.exists(episode.work.folder.last().verdict)
    # What was judged on the way has left nothing but blobs.
    assert len(steps(episode, "double")) == 3
    with pytest.raises(ConfigurationError, match="another program"):
        check_played_by_agents(read_manifest(episode.work.store, episode.work.run_id))


def test_who_leaves_has_given_up_and_what_is_there_is_judged(opened):
    episode = opened(TWO_STAGES, "mcp")
    episode.view()
    episode.answer(episode.work.loaded.transcript("oracle", "double", hints=True)[0])
    episode.leave()
    assert (episode.verdict.earned, episode.verdict.points) == (2, 4)
    assert episode.ending is Ending.GAVE_UP
    last = steps(episode, "cube")[-1]
    assert (last.reply, last.decision) == (LEFT, Decision.FAIL)
    episode.leave()


def test_a_machine_that_is_lost_is_void_and_no_score(opened):
    episode = opened(TWO_STAGES)
    episode.view()
    for process in psutil.Process().children(recursive=True):
        with contextlib.suppress(psutil.NoSuchProcess):
            if "guest" in process.cmdline():
                process.kill()
    assert episode.earned() == {}
    assert episode.answer("```python\nprint(1)\n```") is None
    assert episode.verdict is None
    assert (episode.void.reason, episode.void.phase) == (VoidReason.MACHINE_LOST, Phase.ACT)
    assert episode.earned() == {}
