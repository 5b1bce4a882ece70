"""The twin behind the guard and a desk: what stands where a laboratory has its microscope."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from types import SimpleNamespace

import pytest

from tasks_lib.instruments.frame import Frame, Gains, ScanSettings
from tasks_lib.instruments.nanosurf import Desk, DeskServer, NanosurfBackEnd
from tasks_lib.instruments.protocol import Instrument, LineReport, OnLine
from tasks_lib.instruments.twin import FLEX, Microscope, TwinBackEnd, samples

TOKEN = "a-token-of-the-tests-alone"
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
