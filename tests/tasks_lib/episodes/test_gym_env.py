"""The tasks as a Gymnasium environment."""

from __future__ import annotations

import shutil
import warnings
from pathlib import Path

import numpy as np
import pytest

from tasks_lib.agents.settings import AgentSettings
from tasks_lib.records import Outcome, Verdict
from tasks_lib.records.errors import ConfigurationError
from tasks_lib.sandbox import provider
from tasks_lib.store import RunFolder, Store
from tasks_lib.taskdefs import find_root, load_all

gymnasium = pytest.importorskip("gymnasium", reason="the extra gym is not installed")
from gymnasium.utils.env_checker import check_env  # noqa: E402

from tasks_lib.episodes.gym_env import ENVIRONMENT, TaskEnv  # noqa: E402

ONE_STAGE = Path(__file__).parents[2] / "fixtures" / "episodes" / "one_stage"
TASK = "lattice-parameter"
missing = provider().problems(desktop=True) + ([] if shutil.which("fityk") else ["Fityk is not installed"])


@pytest.fixture
def env(tmp_path):
    made = TaskEnv([TASK], store=str(tmp_path / "store"), taskdefs=ONE_STAGE)
    yield made
    made.close()


def verdict_of(folder: Path, info) -> Verdict:
    store = Store.open(str(folder / "store"))
    return store.read_document(RunFolder(store, info["run"]).episode(info["episode"]).last().verdict, Verdict)


def test_the_checker_of_gymnasium_is_content(tmp_path):
    with warnings.catch_warnings():
        warnings.simplefilter("error", UserWarning)  # what the checker only remarks is wrong here, too
        made = gymnasium.make(
            ENVIRONMENT,
            tasks=[TASK],
            store=str(tmp_path / "store"),
            taskdefs=str(ONE_STAGE),
            dense=False,
            disable_env_checker=True,
        )
        check_env(made.unwrapped)
        made.close()


def test_rewards_sum_to_the_score_and_the_episode_is_in_the_store(env, tmp_path):
    first, info = env.reset(seed=3, options={"task": TASK})
    assert first in env.observation_space
    assert info["earned"] == {"cell-volume": 0, "line-spacings": 0}
    assert "fenced blocks" in info["system"]
    gold = "29.791"
    oracle = load_all(ONE_STAGE).tasks[0].transcript("oracle", "main", hints=True)
    volume_only = oracle[0].partition("with open")[0] + "```"
    rewards, told = [], [first["text"], info["system"]]
    for reply in (volume_only, "gibberish", oracle[0], oracle[1]):
        seen, reward, ended, spent, info = env.step(reply)
        rewards.append(reward)
        told.append(seen["text"])
        assert seen in env.observation_space
        assert not spent
    assert ended
    assert rewards == pytest.approx([2 / 3, 0.0, 1 / 3, 0.0])
    assert (info["outcome"], info["ending"], info["wasted"]) == ("PASS", "done", False)
    assert not any(gold in text or "cell-volume" in text for text in told)
    assert verdict_of(tmp_path, info).outcome is Outcome.PASS
    with pytest.raises(gymnasium.error.ResetNeeded):
        env.step("more")


@pytest.mark.parametrize(
    "action", [{"tool": "run_script"}, {"tool": 3}, [{"arguments": 1}], 7, None, [], "x" * 300_000]
)
def test_what_is_no_action_is_told_and_costs_a_step(shared_env, action):
    seen, reward, ended, spent, info = shared_env.step(action)
    assert info["wasted"]
    assert (reward, ended, spent) == (0.0, False, False)
    assert "What came of your last reply" in seen["text"]


@pytest.fixture(scope="module")
def shared_env(tmp_path_factory):
    made = TaskEnv([TASK], store=str(tmp_path_factory.mktemp("gym") / "store"), taskdefs=ONE_STAGE)
    made.reset()
    yield made
    made.close()


def test_what_is_not_there_is_refused(env):
    with pytest.raises(ConfigurationError, match="no task 'nowhere'; it has lattice-parameter"):
        env.reset(options={"task": "nowhere"})
    with pytest.raises(ConfigurationError, match="takes a list of task ids"):
        TaskEnv(TASK)
    with pytest.raises(gymnasium.error.ResetNeeded):
        env.step("anything")


@pytest.mark.desktop
@pytest.mark.skipif(bool(missing), reason="; ".join(missing))
def test_a_desktop_is_seen_and_operated(tmp_path):
    place = Path("mattoolbench") / "xps" / "active-range"
    shutil.copytree(find_root() / place, tmp_path / "defs" / place)
    env = TaskEnv(
        ["active-range"],
        store=str(tmp_path / "store"),
        taskdefs=tmp_path / "defs",
        asked=AgentSettings(steps=3),
        render_mode="rgb_array",
    )
    try:
        seen, info = env.reset()
        assert seen in env.observation_space
        assert seen["screenshot"].std() > 20
        assert np.array_equal(env.render(), seen["screenshot"])
        menu = [{"tool": "mouse_move_abs", "arguments": {"x": 33, "y": 33}}, {"tool": "mouse_single_click"}]
        after, _, ended, _, info = env.step(menu)
        assert not info["wasted"]
        assert not ended
        assert not np.array_equal(after["screenshot"], seen["screenshot"])
        assert "Fityk" in after["text"]
        outside = {"tool": "mouse_move_abs", "arguments": {"x": 5000, "y": 33}}
        after, _, _, _, info = env.step(outside)
        assert info["wasted"]
        assert set(env.evaluate().values()) == {0}
        # The third step is the last of the budget, so it is cut off and does not end it by itself.
        final, _, ended, spent, info = env.step({"tool": "keyboard_press", "arguments": {"keys": "escape"}})
        assert (ended, spent, info["outcome"], info["ending"]) == (False, True, "FAIL", "step budget")
        assert final["screenshot"].std() > 20
        assert final["text"] == "The episode is over."
    finally:
        env.close()
