"""The small protocol that a back end implements; everything about safety stands before it, in `Instrument`."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Protocol

from tasks_lib.instruments.frame import Frame, Samples
from tasks_lib.instruments.protocol.limits import Limits
from tasks_lib.instruments.protocol.state import State, Value


@dataclass(frozen=True, eq=False)
class LineReport:
    """A scanned line: `index` from 0 in the order of scanning, and `z` forward and backward, shape (points,), m."""

    index: int
    forward: Samples
    backward: Samples


# Returns whether the scan goes on.
OnLine = Callable[[LineReport], bool]


class BackEnd(Protocol):
    """A microscope as its makers let it be driven. Values arrive checked, one caller at a time.

    Every method raises `InstrumentError` where the instrument refuses or fails, and `InstrumentLostError` where it
    does not answer.
    """

    @property
    def name(self) -> str:
        """Name of the instrument, the same for everybody who could drive it."""
        ...

    @property
    def limits(self) -> Limits:
        """What it accepts."""
        ...

    def read(self) -> State:
        """Return what the instrument reports now."""
        ...

    def write(self, values: Mapping[str, Value]) -> None:
        """Set parameters in the order given."""
        ...

    def set_mode(self, mode: str) -> None:
        """Change the operating mode."""
        ...

    def select_lever(self, name: str) -> None:
        """Tell the instrument which cantilever is mounted."""
        ...

    def approach(self, timeout_s: float) -> None:
        """Bring the tip to the sample; returns when engaged, when it failed, or when the time is over."""
        ...

    def withdraw(self) -> None:
        """Lift the tip by the z actuator."""
        ...

    def retract(self) -> None:
        """Move the tip away by the motor."""
        ...

    def scan(self, name: str, on_line: OnLine) -> Frame:
        """Scan a frame and return it; it is incomplete where `on_line` returned False or `stop` was called."""
        ...

    def stop(self) -> None:
        """End a scan at the next line; may be called from another thread."""
        ...
