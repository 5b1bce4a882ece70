"""Evidence made by hand: bytes by path, one stage or several."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from tasks_lib.evaluation import GETTERS, Context, Seen
from tasks_lib.records import BlobRef, CollectedFile, Ending, Evidence, Observation, WindowState

FIXTURES = Path(__file__).parents[2] / "fixtures" / "evaluation"
MOMENT = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)


class Left:
    """What an agent left behind."""

    def __init__(self) -> None:
        self.blobs: dict[str, bytes] = {}

    def put(self, data: bytes) -> BlobRef:
        digest = hashlib.sha256(data).hexdigest()
        self.blobs[digest] = data
        return BlobRef(sha256=digest, size=len(data))

    def blob(self, reference: BlobRef) -> bytes:
        return self.blobs[reference.sha256]

    def evidence(
        self,
        files: Mapping[str, bytes] | None = None,
        *,
        stage: str = "main",
        windows: tuple[WindowState, ...] = (),
        screen: bytes | None = None,
        refused: tuple[str, ...] = (),
    ) -> Evidence:
        collected = [CollectedFile(path=path, blob=self.put(data)) for path, data in sorted((files or {}).items())]
        shot = None if screen is None else self.put(screen)
        return Evidence(
            stage=stage,
            ending=Ending.DONE,
            steps=3,
            files=tuple(collected),
            refused=refused,
            final=Observation(screenshot=shot, width=1440, height=900, windows=windows),
            collected=MOMENT,
        )

    def context(self, files: Mapping[str, bytes] | None = None, **rest: Any) -> Context:
        return Context(self.evidence(files, **rest), self.blob)


@pytest.fixture
def left() -> Left:
    return Left()


@pytest.fixture
def see(left: Left) -> Callable[..., Seen]:
    """Call a getter on one file: see("json", "a.json", b"{}", pointer="/x")."""

    def call(getter: str, path: str, data: bytes, **arguments: Any) -> Seen:
        found = GETTERS[getter].function(left.context({path: data}), path, **arguments)
        assert isinstance(found, Seen)
        return found

    return call


@pytest.fixture
def good() -> Callable[[str], bytes]:
    return lambda name: (FIXTURES / "good" / name).read_bytes()


@pytest.fixture
def bad() -> Callable[[str], bytes]:
    return lambda name: (FIXTURES / "bad" / name).read_bytes()
