"""A back end in memory that can be told to misbehave."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType

import numpy as np
import pytest

from tasks_lib.instruments.frame import Z_AXIS, Channel, Direction, Frame, Gains, ScanSettings
from tasks_lib.instruments.protocol import (
    ApproachStatus,
    InstrumentError,
    Lever,
    Limits,
    LineReport,
    OnLine,
    Span,
    State,
    Value,
)

LIMITS = Limits(
    spans={
        "width_m": Span(low=1e-9, high=1e-4), "height_m": Span(low=1e-9, high=1e-4), "points": Span(low=2, high=1024),
        "lines": Span(low=1, high=1024), "time_per_line_s": Span(low=0.01, high=60),
        "rotation_deg": Span(low=-180, high=180),
        "p": Span(low=0, high=500), "i": Span(low=1, high=9000), "setpoint": Span(low=0.01, high=8),
        "direction": Span(low=0, high=0),
    },
    modes=("Lateral Force", "Phase Contrast"), dynamic_modes=("Phase Contrast",),
    levers=(
        Lever(name="ContAl-G", spring_constant_n_per_m=0.2, resonance_hz=13e3, sensitivity_m_per_v=4e-7),
        Lever(name="Multi75Al-G", spring_constant_n_per_m=3.0, resonance_hz=75e3, sensitivity_m_per_v=4e-7),
    ),
    max_speed_m_s=1e-3, max_force_n=1e-6,
)  # fmt: skip


class Bench:
    """What a test plays with: `forgets` are parameters that are not taken, `refuses` those that raise."""

    name = "bench"
    limits = LIMITS

    def __init__(self) -> None:
        self.state = State(
            scan=ScanSettings(width_m=1e-6, height_m=1e-6, points=16, lines=4, time_per_line_s=0.1),
            gains=Gains(p=100, i=1000), setpoint=0.3, mode="Lateral Force", lever="ContAl-G",
            approach=ApproachStatus.WITHDRAWN,
        )  # fmt: skip
        self.forgets: set[str] = set()
        self.refuses: set[str] = set()
        self.engages = True
        self.stopped = False
        self.before_line: Callable[[int], None] = lambda _: None

    def read(self) -> State:
        return self.state

    def write(self, values: Mapping[str, Value]) -> None:
        for name, value in values.items():
            if name in self.refuses:
                raise InstrumentError(f"no {name} today")
            if name in self.forgets:
                continue
            part = {"p": "gains", "i": "gains", "d": "gains", "setpoint": ""}.get(name, "scan")
            if part:
                changed = getattr(self.state, part).model_copy(update={name: value})
                self.state = self.state.model_copy(update={part: changed})
            else:
                self.state = self.state.model_copy(update={name: value})

    def set_mode(self, mode: str) -> None:
        if "mode" not in self.forgets:
            self.state = self.state.model_copy(update={"mode": mode})

    def select_lever(self, name: str) -> None:
        if "lever" not in self.forgets:
            self.state = self.state.model_copy(update={"lever": name})

    def approach(self, timeout_s: float) -> None:
        self._tip(ApproachStatus.ENGAGED if self.engages else ApproachStatus.FAILED)

    def withdraw(self) -> None:
        self._tip(ApproachStatus.WITHDRAWN)

    def retract(self) -> None:
        self._tip(ApproachStatus.WITHDRAWN)

    def _tip(self, status: ApproachStatus) -> None:
        self.state = self.state.model_copy(update={"approach": status})

    def scan(self, name: str, on_line: OnLine) -> Frame:
        self.stopped = False
        shape = self.state.scan.lines, self.state.scan.points
        z, done = np.full(shape, np.nan), 0
        for index in range(shape[0]):
            self.before_line(index)
            if self.stopped:
                break
            z[index], done = index, index + 1
            if not on_line(LineReport(index, z[index], z[index])):
                break
        ways = {(Z_AXIS, way): Channel(Z_AXIS, way, "m", z) for way in Direction}
        return Frame(
            MappingProxyType(ways), self.state.scan, self.state.gains, self.state.setpoint, self.state.mode,
            self.state.lever, done, source=name,
        )  # fmt: skip

    def stop(self) -> None:
        self.stopped = True


@pytest.fixture
def bench() -> Bench:
    return Bench()
