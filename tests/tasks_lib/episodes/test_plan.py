"""Planning a run: every pair once, names and seeds derived, a manifest that is never changed."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tasks_lib.episodes import Player, episodes_for, make_manifest, open_run, unreadable_episodes
from tasks_lib.episodes.plan import seed_of
from tasks_lib.records import MachineSettings
from tasks_lib.records.errors import ConfigurationError
from tasks_lib.store import RunFolder, Store
from tasks_lib.taskdefs import Problem, TaskSet, load_all

PLAYERS = (Player("oracle"), Player("nop"), Player("llm", model="qwen-3"))


@pytest.fixture(scope="module")
def tasks() -> TaskSet:
    return load_all()


def _manifest(tasks: TaskSet, seed: int = 7, run_id: str = "r1"):
    return make_manifest(
        "smoke",
        episodes_for(tasks.tasks, PLAYERS, trials=2, seed=seed),
        run_id=run_id,
        seed=seed,
        machine=MachineSettings(),
        task_set_digest=tasks.digest,
        settings={},
    )


def test_every_pair_stands_once_per_trial_and_whole_trials_come_first(tasks: TaskSet) -> None:
    episodes = episodes_for(tasks.tasks, PLAYERS, trials=2, seed=7)
    assert len({spec.id for spec in episodes}) == len(episodes) == len(tasks.tasks) * 3 * 2
    assert [spec.trial for spec in episodes] == sorted(spec.trial for spec in episodes)
    assert {(spec.agent, spec.model) for spec in episodes} == {("oracle", None), ("nop", None), ("llm", "qwen-3")}


def test_the_plan_depends_on_the_seed_alone(tasks: TaskSet) -> None:
    assert episodes_for(tasks.tasks, PLAYERS, trials=1, seed=7) == episodes_for(tasks.tasks, PLAYERS, trials=1, seed=7)
    seeds = {spec.seed for spec in episodes_for(tasks.tasks, PLAYERS, trials=1, seed=7)}
    assert len(seeds) == len(tasks.tasks) * 3
    assert seeds.isdisjoint(spec.seed for spec in episodes_for(tasks.tasks, PLAYERS, trials=1, seed=8))


@given(st.integers(min_value=0, max_value=2**31), st.text(max_size=40), st.text(max_size=40))
def test_a_seed_fits_32_bits_and_its_parts_do_not_run_together(seed: int, first: str, second: str) -> None:
    derived = seed_of(seed, first, second)
    assert 0 <= derived < 2**32
    if second and "\x1f" not in first + second:
        assert derived != seed_of(seed, first + second)


def test_a_task_that_cannot_be_read_stays_in_the_plan(tmp_path) -> None:
    problem = Problem("mattoolbench", "xps", "broken-one", tmp_path, ())
    (spec,) = unreadable_episodes([problem], [Player("oracle")], trials=1, seed=0)
    assert spec.task_id == "broken-one"
    assert spec.modality is None


def test_a_run_is_opened_once_and_found_again(tmp_path, tasks: TaskSet) -> None:
    store = Store.open(str(tmp_path))
    manifest = _manifest(tasks)
    assert open_run(store, manifest) == manifest
    again = _manifest(tasks)
    assert open_run(store, again) == manifest, "the manifest in the store wins, with its time of creation"


def test_a_run_is_never_given_other_episodes(tmp_path, tasks: TaskSet) -> None:
    store = Store.open(str(tmp_path))
    open_run(store, _manifest(tasks))
    before = store.read_bytes(RunFolder(store, "r1").manifest)
    with pytest.raises(ConfigurationError, match="give the same selection, or another run name"):
        open_run(store, _manifest(tasks, seed=8))
    assert store.read_bytes(RunFolder(store, "r1").manifest) == before


def test_an_empty_selection_is_the_users_error(tasks: TaskSet) -> None:
    with pytest.raises(ConfigurationError, match="selects no task"):
        make_manifest("x", (), seed=0, machine=MachineSettings(), task_set_digest=tasks.digest, settings={})


@pytest.mark.parametrize("name", ["../up", "A", "a/b", "a" * 101])
def test_a_run_name_that_is_no_folder_name_is_the_users_error(tasks: TaskSet, name: str) -> None:
    with pytest.raises(ConfigurationError, match="cannot be written down"):
        _manifest(tasks, run_id=name)
