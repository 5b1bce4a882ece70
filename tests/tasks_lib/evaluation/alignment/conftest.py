"""The published program's own results, and encoders that need no weights."""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from tasks_lib.evaluation.alignment import TrajectoryFile, parse_trajectories, text_digest


class FunctionEncoder:
    """Encodes by a function, and keeps what it was asked for."""

    def __init__(self, vector: Callable[[str], Sequence[float]], name: str = "function") -> None:
        self.name = name
        self.digest = hashlib.sha256(name.encode()).hexdigest()
        self.asked: list[list[str]] = []
        self._vector = vector

    def encode(self, texts: Sequence[str]) -> NDArray[np.float64]:
        self.asked.append(list(texts))
        return np.array([self._vector(text) for text in texts])


def _stub(text: str) -> list[float]:
    """Return the two numbers that the recorded random cases were scored with."""
    angle = int.from_bytes(hashlib.sha256(text.encode()).digest()[:4], "big") / 2**32 * math.pi / 2
    return [float(np.float32(math.cos(angle))), float(np.float32(math.sin(angle)))]


@pytest.fixture(scope="session")
def m3(shared_json: Callable[[str], Any]) -> Callable[[str], Any]:
    """Read a file of what the published program gave; the test is skipped where the shared data is not."""
    return lambda name: shared_json(f"m3_golden/{name}")


@pytest.fixture(scope="session")
def encoder_of() -> Callable[..., FunctionEncoder]:
    return FunctionEncoder


@pytest.fixture(scope="session")
def new_stub() -> Callable[[], FunctionEncoder]:
    return lambda: FunctionEncoder(_stub, "stub")


@pytest.fixture
def stub(new_stub: Callable[[], FunctionEncoder]) -> FunctionEncoder:
    return new_stub()


@pytest.fixture(scope="session")
def _recorded(m3: Callable[[str], Any]) -> dict[str, Sequence[float]]:
    return {digest: vector["embedding"] for digest, vector in m3("embeddings.json").items()}


@pytest.fixture
def recorded(_recorded: dict[str, Sequence[float]]) -> FunctionEncoder:
    """Answers with the vectors that the published program was given."""
    return FunctionEncoder(lambda text: _recorded[text_digest(text)], "recorded")


@pytest.fixture
def compass() -> FunctionEncoder:
    """Take an argument of so many degrees for a direction: two calls are as like as the cosine between them."""
    return FunctionEncoder(lambda text: [math.cos(math.radians(int(text))), math.sin(math.radians(int(text)))])


@pytest.fixture(scope="session")
def trajectories() -> Callable[[Any], TrajectoryFile]:
    def read(root: Any, name: str = "file.json") -> TrajectoryFile:
        return parse_trajectories(json.dumps(root).encode(), name)

    return read


@pytest.fixture(scope="session")
def task() -> Callable[..., dict[str, Any]]:
    """Build a task from its steps, each a list of calls ``(tool, arguments)``."""

    def build(*steps: Sequence[tuple[str, Any]], key: str = "00010000", kind: str = "kind") -> dict[str, Any]:
        listed = [{"calls": [{"name": name, "arguments": arguments} for name, arguments in step]} for step in steps]
        return {"id": key, "type": kind, "steps": listed}

    return build
