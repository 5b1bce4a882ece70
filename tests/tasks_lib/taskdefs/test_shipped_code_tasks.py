"""What every task of the four code domains keeps to; that they are proved is shown by `matassay prove`."""

from __future__ import annotations

from collections import Counter

import pytest

from tasks_lib.records import Modality
from tasks_lib.taskdefs import LoadedTask, find_root, load_all

DOMAINS = {"mp": ("mp",), "oqmd": ("oqmd",), "optimade": ("optimade",), "pymatgen": ()}
TASKS = [loaded for loaded in load_all(find_root()).tasks if loaded.task.domain in DOMAINS]

each_task = pytest.mark.parametrize("loaded", TASKS, ids=[loaded.id for loaded in TASKS])


def test_there_are_twenty_in_each_domain() -> None:
    assert Counter(loaded.task.domain for loaded in TASKS) == dict.fromkeys(DOMAINS, 20)


@each_task
def test_one_question_with_one_answer(loaded: LoadedTask) -> None:
    task = loaded.task
    assert task.modality is Modality.CODE
    assert (len(task.criteria), task.points) == (1, 1)
    assert not task.criteria[0].given


@each_task
def test_difficulty_has_a_reason(loaded: LoadedTask) -> None:
    why = loaded.task.difficulty_why or ""
    assert len(why) >= 20
    assert why.endswith(".")


@each_task
def test_scripts_run_in_the_domains_environment_and_reach_its_database_alone(loaded: LoadedTask) -> None:
    (stage,) = loaded.task.stages
    assert stage.environment == loaded.task.domain
    assert stage.endpoints == DOMAINS[loaded.task.domain]
    assert stage.budget.steps == 10


@each_task
def test_it_can_be_told_with_hints_and_without(loaded: LoadedTask) -> None:
    (stage,) = loaded.task.stages
    assert stage.hints
    for hint in stage.hints:
        assert hint not in stage.instruction


@each_task
def test_three_near_misses_of_different_kinds(loaded: LoadedTask) -> None:
    kinds = [near_miss.kind for near_miss in loaded.task.near_misses]
    assert None not in kinds
    assert len(set(kinds)) >= 3


@each_task
def test_gold_is_of_the_snapshot_or_of_the_generator(loaded: LoadedTask) -> None:
    compares = loaded.task.criteria[0].compares
    if loaded.task.stages[0].endpoints:
        assert compares.gold is not None
        assert compares.want is None
    assert loaded.gold() or compares.want is not None
