"""The twin behind the guard and a desk: what stands where a laboratory has its microscope."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from types import SimpleNamespace

import pytest

from tasks_lib.instruments.frame import Frame, Gains, ScanSettings
from tasks_lib.instruments.nanosurf import Desk, DeskServer, NanosurfBackEnd, fake
from tasks_lib.instruments.nanosurf.worker import TOKEN_VARIABLE
from tasks_lib.instruments.protocol import Instrument, LineReport, OnLine
from tasks_lib.instruments.twin import FLEX, Microscope, TwinBackEnd, samples

ROOT = Path(__file__).resolve().parents[4]
TOKEN = "a-token-of-the-tests-alone"
WORKER_TOKEN = "the-token-of-the-worker"
COMMAND = [sys.executable, "-m", "tasks_lib.instruments.nanosurf.worker"]
Start = Callable[..., tuple[subprocess.Popen, str]]
SCAN = ScanSettings(width_m=5e-7, height_m=5e-7, points=16, lines=8, time_per_line_s=0.05)


_SAMPLE = cache(samples.hopg_steps)


class GatedTwin(TwinBackEnd):
    """A twin whose lines and orders a test can hold up."""

    def __init__(self) -> None:
        microscope = Microscope(_SAMPLE(), FLEX, "ContAl-G", seed=4)
        super().__init__(microscope, SCAN, Gains(p=50, i=2000), 0.3)
        self.before_line: Callable[[int], None] = lambda _: None
        self.before_write: Callable[[], None] = lambda: None
        self.threads: set[int] = set()

    def write(self, values) -> None:
        self.threads.add(threading.get_ident())
        self.before_write()
        super().write(values)

    def scan(self, name: str, on_line: OnLine) -> Frame:
        def each(line: LineReport) -> bool:
            self.before_line(line.index)
            return on_line(line)

        return super().scan(name, each)


@pytest.fixture
def twin() -> GatedTwin:
    return GatedTwin()


@pytest.fixture
def desk(twin: GatedTwin) -> Iterator[Desk]:
    desk = Desk(Instrument(twin, client="desk"), call_seconds=20)
    yield desk
    desk.close()


@pytest.fixture
def server(desk: Desk) -> Iterator[DeskServer]:
    with DeskServer(desk, TOKEN) as server:
        yield server


@pytest.fixture
def far(server: DeskServer) -> Iterator[Instrument]:
    """The twin over HTTP, behind a guard on this side as well."""
    back_end = NanosurfBackEnd(server.url, TOKEN, seconds=30)
    yield Instrument(back_end, client="test")
    back_end.close()


@pytest.fixture
def gate() -> Iterator[SimpleNamespace]:
    """`hold` blocks whoever calls it until `open` is set; `reached` tells that somebody does."""
    gate = SimpleNamespace(reached=threading.Event(), open=threading.Event())

    def hold(*_: object) -> None:
        gate.reached.set()
        gate.open.wait(60)

    gate.hold = hold
    yield gate
    gate.open.set()


@pytest.fixture
def gallery(tmp_path: Path) -> Path:
    return tmp_path / "gallery"


@pytest.fixture
def start(server: DeskServer, limits: Path, gallery: Path, worker_options: list[str]) -> Iterator[Start]:
    """Start a worker whose `nanosurf` drives the twin of this process; returns the process and its address."""
    started: list[subprocess.Popen] = []

    def start(*options: str, **variables: str) -> tuple[subprocess.Popen, str]:
        path = os.pathsep.join([str(ROOT), str(fake.FOLDER)])
        environment = {
            "PATH": os.environ["PATH"], "PYTHONPATH": path, "NANOSURF_URL": server.url, "NANOSURF_TOKEN": TOKEN,
            TOKEN_VARIABLE: WORKER_TOKEN, **variables,
        }  # fmt: skip
        command = [*COMMAND, "--limits", str(limits), "--gallery", str(gallery), "--port", "0", *worker_options]
        process = subprocess.Popen([*command, *options], env=environment, stdout=subprocess.PIPE, text=True)
        started.append(process)
        assert process.stdout is not None
        lines = iter(process.stdout.readline, "")
        return process, next(json.loads(line)["url"] for line in lines if line.startswith("{"))

    yield start
    for process in started:
        process.kill()
        process.wait(10)
        assert process.stdout is not None
        process.stdout.close()
