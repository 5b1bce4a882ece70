"""What a microscope says of itself, and the log of what was done to it."""

from __future__ import annotations

import math
from enum import StrEnum

from pydantic import AwareDatetime

from tasks_lib.instruments.frame import Gains, ScanSettings
from tasks_lib.records import Json, Record

Value = float | int | str

# An instrument stores what it is told in its own steps; what differs by more was not taken.
_SAME_WITHIN = 1e-3


class ApproachStatus(StrEnum):
    """Where the tip is; only `ENGAGED` lets a scan begin."""

    WITHDRAWN = "withdrawn"
    APPROACHING = "approaching"
    ENGAGED = "engaged"
    FAILED = "failed"


class State(Record):
    """Everything that can be set or seen, at one instant.

    `setpoint` is in volts of deflection in contact modes and in percent of the free amplitude in dynamic ones.
    """

    scan: ScanSettings
    gains: Gains
    setpoint: float
    mode: str
    lever: str
    approach: ApproachStatus
    scanning: bool = False
    z_saturated: bool = False
    last_frame: str | None = None

    @property
    def engaged(self) -> bool:
        """Whether the tip is at the sample and the loop holds the setpoint."""
        return self.approach is ApproachStatus.ENGAGED

    def values(self) -> dict[str, Value]:
        """Return the parameters that `Instrument.set` takes, by name."""
        return {**self.scan.model_dump(), **self.gains.model_dump(), "setpoint": self.setpoint}


class Change(Record):
    """One parameter before and after an order, both as the instrument reported them."""

    name: str
    before: Value
    after: Value


class EventKind(StrEnum):
    """What an entry of the log is about."""

    SET = "set"
    MODE = "mode"
    LEVER = "lever"
    APPROACH = "approach"
    WITHDRAW = "withdraw"
    RETRACT = "retract"
    SCAN = "scan"
    STOP = "stop"
    REFUSED = "refused"
    FAILED = "failed"


class Event(Record):
    """An entry of the append-only log; numbers start at 1 and have no gap."""

    number: int
    at: AwareDatetime
    client: str
    kind: EventKind
    details: dict[str, Json]


def same_value(wanted: Value, reported: Value) -> bool:
    """Whether a parameter stands where it was wanted, to the steps in which instruments store numbers."""
    if isinstance(wanted, str) or isinstance(reported, str):
        return wanted == reported
    return math.isclose(wanted, reported, rel_tol=_SAME_WITHIN, abs_tol=1e-12)
