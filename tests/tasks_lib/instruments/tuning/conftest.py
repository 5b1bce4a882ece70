"""A twin that does wrong on demand, and tunings that are small enough to be run often."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

from tasks_lib.instruments.frame import Frame, Gains, ScanSettings
from tasks_lib.instruments.protocol import ApproachStatus, InstrumentError, InstrumentLostError, OnLine, Value
from tasks_lib.instruments.tuning.bench import Bench
from tasks_lib.instruments.tuning.folder import TuningFolder
from tasks_lib.instruments.tuning.session import TuningSession
from tasks_lib.instruments.tuning.session_records import ScanRecord, TuningOrder
from tasks_lib.instruments.twin import FLEX, Microscope, TwinBackEnd, samples
from tasks_lib.store import Store

BEFORE = Gains(p=50, i=1000, d=0)
PROBE = ScanSettings(width_m=5e-6, height_m=5e-7, points=64, lines=8, time_per_line_s=0.3)
PICTURE = PROBE.model_copy(update={"height_m": 5e-6, "lines": 64})


class Moody(TwinBackEnd):
    """A twin whose faults are named by the scan at which they come.

    ``lost``, ``error`` and ``lift`` as their names say; ``stop`` ends the frame early; ``slow`` scans with an I gain of
    200 whatever was set; ``stuck`` takes no gains from then on.
    """

    def __init__(self, *args: Any, **named: Any) -> None:
        super().__init__(*args, **named)
        self.faults: dict[str, str] = {}
        self.scanned: list[tuple[str, Gains]] = []
        self.stuck = False

    def fault(self, name: str) -> str | None:
        return next((kind for start, kind in self.faults.items() if name.startswith(start)), None)

    def write(self, values: Mapping[str, Value]) -> None:
        if self.stuck:
            raise InstrumentError(f"{self.name} takes no values")
        super().write(values)

    def scan(self, name: str, on_line: OnLine) -> Frame:
        kind, gains = self.fault(name), self.read().gains
        self.scanned.append((name, gains))
        if kind == "error":
            raise InstrumentError("the scanner is out of order")
        if kind == "lost":
            raise InstrumentLostError("nobody answers")
        if kind == "stuck":
            self.stuck = True
        if kind == "stop":
            return super().scan(name, lambda line: on_line(line) and line.index < 2)
        if kind == "slow":
            super().write({"i": 200})
            frame = super().scan(name, on_line)
            super().write({"i": gains.i})
            return frame
        if kind == "lift":
            frame = super().scan(name, on_line)
            self._change(approach=ApproachStatus.WITHDRAWN)
            return frame
        return super().scan(name, on_line)


MakeBench = Callable[..., Bench]


def _bench(name: str = "moody", gains: Gains = BEFORE, *, engaged: bool = True, seed: int = 0, **faults: str) -> Bench:
    microscope = Microscope(samples.nanoparticles(), FLEX, "ContAl-G", seed=seed)
    twin = Moody(microscope, PICTURE, gains, 0.3, name=name)
    twin.faults = {label.replace("_", "-"): kind for label, kind in faults.items()}
    if engaged:
        twin.approach(1.0)
    return Bench(twin, PROBE.model_dump())


@pytest.fixture
def bench() -> MakeBench:
    return _bench


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return Store.open(str(tmp_path / "store"))


@pytest.fixture
def begin(store: Store) -> Callable[..., TuningFolder]:
    """Begin a tuning; small, on random gains, unless said otherwise."""

    def make(name: str = "t1", **fields: Any) -> TuningFolder:
        plain = {"strategy": "random", "budget": 3, "fresh_frames": 2, "start": BEFORE}
        folder = TuningFolder(store, name)
        folder.begin(TuningOrder.model_validate(plain | fields))
        return folder

    return make


def _play(session: TuningSession, until: str = "") -> list[ScanRecord]:
    """Make scans until none is left, or the one whose label begins so is next."""
    made = []
    while (group := session.next_group()) is not None:
        for plan in group.plans:
            if until and plan.label.startswith(until):
                return made
            record = session.scan(plan)
            assert record is not None
            made.append(record)
    return made


@pytest.fixture
def play() -> Callable[..., list[ScanRecord]]:
    return _play
