"""What the tests of several rooms build."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

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
def machines() -> None:
    """Skip where no machine can be opened."""
    problems = provider("local").problems(desktop=False)
    if problems:
        pytest.skip("; ".join(problems))


@pytest.fixture(scope="session")
def plan() -> Callable[..., RunManifest]:
    return _plan
