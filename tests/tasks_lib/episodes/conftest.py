"""Runs over small tasks in real machines."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tasks_lib.episodes import Player, episodes_for, make_manifest, open_run
from tasks_lib.records import MachineSettings, RunManifest
from tasks_lib.sandbox import provider
from tasks_lib.store import Store
from tasks_lib.taskdefs import load_all

FIXTURES = Path(__file__).parents[2] / "fixtures"
ONE_STAGE = FIXTURES / "episodes" / "one_stage"
TWO_STAGES = FIXTURES / "episodes" / "two_stages"

MakeRun = Callable[..., RunManifest]


@pytest.fixture(autouse=True)
def _machines() -> None:
    problems = provider("local").problems(desktop=False)
    if problems:
        pytest.skip("; ".join(problems))


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return Store.open(str(tmp_path / "store"))


@pytest.fixture
def one_stage(tmp_path: Path) -> Path:
    """A root of task definitions that a test may change."""
    return Path(shutil.copytree(ONE_STAGE, tmp_path / "one"))


@pytest.fixture
def make_run(store: Store) -> MakeRun:
    def make(root: Path, *players: Player, retries: int = 0, run_id: str = "r1", settings: Any = None) -> RunManifest:
        tasks = load_all(root)
        return open_run(
            store,
            make_manifest(
                "test",
                episodes_for(tasks.tasks, players or (Player("oracle"),), trials=1, seed=1),
                run_id=run_id,
                seed=1,
                machine=MachineSettings(),
                task_set_digest=tasks.digest,
                settings={"retries": retries, **(settings or {})},
            ),
        )

    return make
