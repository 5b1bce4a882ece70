"""Files of a real microscope, where they lie beside the repository."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

SHARED = Path(__file__).resolve().parents[4] / "shared" / "data" / "nid"


@pytest.fixture(scope="session")
def shared_folder() -> Path:
    """Return the folder of those files, which need not be there."""
    return SHARED


@pytest.fixture(scope="session")
def shared_file() -> Callable[[str], Path]:
    """Find a file of the real microscope by name; the test is skipped where it is not there."""

    def find(name: str) -> Path:
        path = SHARED / name
        if not path.is_file():
            pytest.skip(f"the recorded file {name} is not beside the repository (shared/data/nid)")
        return path

    return find
