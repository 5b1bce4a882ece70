"""What the tests of several rooms build."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, settings

from tasks_lib.episodes import Player, episodes_for, make_manifest, open_run
from tasks_lib.records import Json, MachineSettings, RunManifest
from tasks_lib.sandbox import provider
from tasks_lib.store import Store
from tasks_lib.taskdefs import load_all

# No test judges by the clock: how long an example takes is a matter of how busy the machine is.
settings.register_profile("matassay", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("matassay")


# Data of others, for tests alone: it lies beside the checkout, and nothing of it is committed.
SHARED = Path(__file__).resolve().parents[2] / "shared" / "data"


def pytest_make_parametrize_id(val: object, argname: str) -> str | None:
    """Name raw bytes by their argument: packed ones hold a time, and workers have to agree on the names of tests."""
    return argname if isinstance(val, bytes) and not (val.isascii() and val.decode().isprintable()) else None


def _plan(
    store: Store,
    root: Path,
    *players: Player,
    run_id: str = "r1",
    retries: int = 0,
    settings: Mapping[str, Json] | None = None,
) -> RunManifest:
    """Write a manifest over all tasks of a root; without players the oracle plays."""
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


@pytest.fixture(scope="session")
def shared_file() -> Callable[[str], Path]:
    """Find a file of the shared data by its path there; the test is skipped where it is not."""

    def find(name: str) -> Path:
        path = SHARED / name
        if not path.is_file():
            pytest.skip(f"{name} is not beside the repository (shared/data)")
        return path

    return find


@pytest.fixture(scope="session")
def shared_json(shared_file: Callable[[str], Path]) -> Callable[[str], Any]:
    """Read a JSON file of the shared data, once in a session: what comes back is not to be changed."""

    @cache
    def read(name: str) -> Any:
        return json.loads(shared_file(name).read_text(encoding="utf-8"))

    return read


@pytest.fixture(scope="session")
def machines() -> None:
    """Skip where no machine can be opened."""
    problems = provider("local").problems(desktop=False)
    if problems:
        pytest.skip("; ".join(problems))


@pytest.fixture(scope="session")
def plan() -> Callable[..., RunManifest]:
    return _plan
