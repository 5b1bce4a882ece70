"""What goes over the wire between whoever drives a microscope and the process that holds it."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field, FiniteFloat, StrictFloat, StrictInt, StrictStr

from tasks_lib.instruments.protocol import Limits
from tasks_lib.records import Record

Text = Annotated[StrictStr, Field(max_length=200)]
Number = StrictInt | Annotated[StrictFloat, Field(allow_inf_nan=False)]


class SetOrder(Record):
    """Parameters by the names of the protocol."""

    values: dict[Text, Number | Text] = Field(max_length=32)


class NameOrder(Record):
    """A mode or a lever."""

    name: Text


class ApproachOrder(Record):
    """Time that the approach may take, s."""

    timeout_s: FiniteFloat = Field(default=120.0, gt=0, le=300)


class ScanOrder(Record):
    """A frame's name; `continuous` is there to be refused in words."""

    name: Text
    continuous: bool = False


class Facts(Record):
    """What never changes while the process runs."""

    name: str
    limits: Limits


class ScannedLine(Record):
    """Heights of a line in m, shape (points,), x rising; `index` counts in the order of scanning."""

    index: int = Field(ge=0)
    forward: list[float | None]
    backward: list[float | None]


FaultKind = Literal["refused", "failed", "lost", "invalid", "denied"]


class Fault(Record):
    """Why an order was not carried out."""

    kind: FaultKind
    message: str


class Progress(Record):
    """How the last scan stands; `serial` is 0 before the first one. `lines` are those from the number asked for."""

    serial: int
    running: bool
    lines_done: int = Field(ge=0)
    lines: tuple[ScannedLine, ...] = ()
    fault: Fault | None = None
