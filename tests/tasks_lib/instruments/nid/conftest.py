"""Recorded files, where they are at hand, and frames made here."""

from __future__ import annotations

import importlib.util
from collections.abc import Callable
from pathlib import Path

import pytest

from tasks_lib.instruments.frame import Frame

# Tests are made of these files before there are fixtures.
SHARED = Path(__file__).resolve().parents[5] / "shared" / "data" / "nid"


def recorded_files() -> list[Path]:
    """Files of a real microscope beside the repository, and those that come with NSFopen."""
    spec = importlib.util.find_spec("NSFopen")
    examples = Path(spec.origin).parent / "example" if spec and spec.origin else None
    return sorted(SHARED.glob("*.nid")) + (sorted(examples.rglob("*.nid")) if examples else [])


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    if "recorded_file" in metafunc.fixturenames:
        names = [pytest.param(path, id=f"{path.parent.name}-{path.stem}") for path in recorded_files()]
        skip = pytest.mark.skip(reason="neither the shared .nid files nor NSFopen's examples are at hand")
        metafunc.parametrize("recorded_file", names or [pytest.param(None, marks=skip)])


@pytest.fixture
def example_file() -> Callable[[str], Path]:
    """Find a file that NSFopen brings along."""

    def find(name: str) -> Path:
        for path in recorded_files():
            if path.name == name:
                return path
        pytest.skip(f"NSFopen, which brings {name} along, is not installed")

    return find


@pytest.fixture
def make_frame(smooth_frame: Callable[..., Frame]) -> Callable[..., Frame]:
    """Build a frame as a classic program has it."""
    return smooth_frame


@pytest.fixture
def swap() -> Callable[[bytes, str, str], bytes]:
    """Replace the first occurrence of a text in a file's header; the text must be there."""

    def replace(content: bytes, old: str, new: str) -> bytes:
        assert old.encode() in content, old
        return content.replace(old.encode(), new.encode(), 1)

    return replace
