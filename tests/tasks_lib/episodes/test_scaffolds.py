"""Every scaffold of `matassay new-task` as it is written, on real machines: a task is proved or absent."""

from __future__ import annotations

import asyncio
import shutil
from pathlib import Path

import pytest

from tasks_lib.episodes import (
    Player,
    check_proof,
    episodes_for,
    make_manifest,
    open_run,
    outcome_of,
    plain_phases,
    run_episode,
)
from tasks_lib.episodes.proofs import stuck_in
from tasks_lib.records import MachineSettings, Modality, Task
from tasks_lib.sandbox import environments, provider
from tasks_lib.store import Store
from tasks_lib.taskdefs import LIKES, find_root, load_task, new_task

PROGRAMS = {"microscopy": "gwyddion", "xps": "fityk"}


def _cases() -> list[object]:
    return [pytest.param(like, marks=[] if _is_code(like) else [pytest.mark.desktop], id=like) for like in LIKES]


def _is_code(like: str) -> bool:
    return like in {"code", "pymatgen", "mp", "oqmd", "optimade"}


def _skip_where_it_cannot_be_played(like: str, task: Task) -> None:
    problems = provider("local").problems(desktop=not _is_code(like))
    if problems:
        pytest.skip("; ".join(problems))
    if like in PROGRAMS and shutil.which(PROGRAMS[like]) is None:
        pytest.skip(f"no {PROGRAMS[like]} here: install the desktop programs")
    for stage in task.stages:
        if stage.environment and not environments.find(stage.environment, find_root()).is_built:
            pytest.skip(f"the environment {stage.environment} is not built: matassay environments build")


def _players(task: Task) -> list[Player]:
    """Return who plays: of a desktop task, whose episodes take half a minute each, the oracle and one near miss.

    The others are the same transcript with another replacement, which the lint of every scaffold reads; that nothing
    done and somebody without an aim score nothing is shown by the tasks that these are made like.
    """
    if task.modality is not Modality.CODE:
        return [Player("oracle"), Player("oracle", variant=task.near_misses[0].id)]
    return [*map(Player, ("oracle", "nop", "guess")), *(Player("oracle", variant=miss.id) for miss in task.near_misses)]


@pytest.mark.timeout(1200)
@pytest.mark.parametrize("like", _cases())
def test_a_scaffold_proves_as_it_is_written(like: str, store: Store, tmp_path: Path) -> None:
    root = tmp_path / "defs"
    for part in ("targets", "environments"):
        shutil.copytree(find_root() / part, root / part)
    loaded = load_task(new_task(root, f"open/made/my-{like}", like).folder)
    task = loaded.task
    _skip_where_it_cannot_be_played(like, task)
    players = _players(task)
    specs = episodes_for([loaded], players, trials=1, seed=1)
    manifest = open_run(
        store,
        make_manifest(
            "prove", specs, run_id="scaffold", seed=1, machine=MachineSettings(), task_set_digest="0" * 64,
            settings={"hints": True, "retries": 0},
        ),
    )  # fmt: skip
    for spec in manifest.episodes:
        asyncio.run(run_episode(store, manifest.run_id, spec.id, root, plain_phases()))
    proofs = [
        check_proof(
            task, spec, outcome_of(store, manifest.run_id, spec.id), stuck_in(store, manifest.run_id, spec, task)
        )
        for spec in manifest.episodes
    ]
    assert len(proofs) == len(players)
    assert [f"{proof.player}: {proof.why}" for proof in proofs if not proof.holds] == []
