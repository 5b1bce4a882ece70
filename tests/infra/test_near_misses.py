"""Near misses of the desktop's two first domains: of three kinds at least, and one for every criterion."""

from __future__ import annotations

from pathlib import Path

import pytest

from tasks_lib.taskdefs import LoadedTask, load_all

ROOT = Path(__file__).parents[2] / "taskdefs"
TASKS: dict[str, LoadedTask] = {
    f"{loaded.task.domain}/{loaded.id}": loaded
    for loaded in load_all(ROOT).tasks
    if loaded.task.domain in ("microscopy", "xps")
}

# What goes wrong at a desktop, and the words that near misses call it by. Wrong methods, extra steps and missing
# constraints are near misses too, but belong to their subject and do not count here.
KINDS = {
    "wrong file": {"wrong-file", "wrong-window", "wrong-slot", "same-slot"},
    "wrong order": {"wrong-order"},
    "cancelled dialog": {"cancelled-dialog"},
    "typed and never applied": {"typed-not-applied", "not-applied"},
    "left as it was": {"default-left", "partial", "step-left-out"},
    "neighbour": {
        "neighbour",
        "neighbour-data",
        "neighbour-peak",
        "neighbour-region",
        "neighbour-setting",
        "neighbour-value",
        "typed-wrong-field",
        "wrong-axis",
        "wrong-field",
    },
    "other name or format": {"other-name", "other-format"},
    "value beyond tolerance": {"off-by-one", "sign", "tolerance", "unit", "wrong-direction", "wrong-value"},
}


@pytest.mark.parametrize("name", sorted(TASKS))
def test_near_misses_are_of_three_different_kinds(name: str) -> None:
    called = {miss.kind for miss in TASKS[name].task.near_misses}
    kinds = sorted(kind for kind, words in KINDS.items() if words & called)
    assert len(kinds) >= 3, f"{name} has {', '.join(kinds)}; add near misses of another kind: {', '.join(KINDS)}"


@pytest.mark.parametrize("name", sorted(TASKS))
def test_every_criterion_fails_in_some_near_miss(name: str) -> None:
    task = TASKS[name].task
    failed = {criterion for miss in task.near_misses for criterion in miss.fails}
    assert {criterion.id for criterion in task.criteria} == failed


def test_no_word_is_of_two_kinds() -> None:
    words = [word for found in KINDS.values() for word in found]
    assert len(words) == len(set(words))
