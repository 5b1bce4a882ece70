"""Runs over small tasks in real machines."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest

from tasks_lib.records import RunManifest
from tasks_lib.store import Store

FIXTURES = Path(__file__).parents[2] / "fixtures"
ONE_STAGE = FIXTURES / "episodes" / "one_stage"
TWO_STAGES = FIXTURES / "episodes" / "two_stages"

MakeRun = Callable[..., RunManifest]


@pytest.fixture(autouse=True)
def _machines(machines: None) -> None:
    """Every test here plays in machines, or plans for them."""


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return Store.open(str(tmp_path / "store"))


@pytest.fixture
def one_stage(tmp_path: Path) -> Path:
    """A root of task definitions that a test may change."""
    return Path(shutil.copytree(ONE_STAGE, tmp_path / "one"))


@pytest.fixture
def make_run(store: Store, plan: MakeRun) -> MakeRun:
    """Plan a run in this test's store."""
    return partial(plan, store)
