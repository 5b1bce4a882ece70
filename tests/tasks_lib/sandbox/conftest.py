from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from tasks_lib.records import MachineSettings
from tasks_lib.sandbox import Machine, provider

PROVIDER = provider()


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    missing = PROVIDER.problems(desktop=True)
    if missing:
        for item in items:
            if item.get_closest_marker("desktop"):
                item.add_marker(pytest.mark.skip(reason="; ".join(missing)))


def _isolated() -> bool:
    return not PROVIDER.problems(desktop=False)


@pytest.fixture(scope="module")
def code_machine() -> Iterator[Machine]:
    """A machine without a desktop; shut in where this host can, else not."""
    machine = PROVIDER.open(
        MachineSettings(memory_mb=768, processes=64, disk_mb=64, isolated=_isolated()), desktop=False
    )
    yield machine
    machine.close()


@pytest.fixture(scope="module")
def desktop_machine() -> Iterator[Machine]:
    machine = PROVIDER.open(MachineSettings(), desktop=True)
    yield machine
    machine.close()


@pytest.fixture
def needs_isolation() -> None:
    if not _isolated():
        pytest.skip("; ".join(PROVIDER.problems(desktop=False)))


@pytest.fixture
def needs_veusz() -> None:
    if shutil.which("veusz") is None:
        pytest.skip("Veusz is not installed: apt-get install veusz")


@pytest.fixture(scope="session")
def repository() -> Path:
    return Path(__file__).resolve().parents[3]
