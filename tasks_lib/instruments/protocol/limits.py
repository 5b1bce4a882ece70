"""What a back end allows: ranges, gains, modes, levers, and the envelopes of speed and force."""

from __future__ import annotations

import math
import numbers
from collections.abc import Mapping
from enum import StrEnum
from typing import Any, Literal, get_args

from pydantic import model_validator

from tasks_lib.instruments.protocol._shown import shown
from tasks_lib.instruments.protocol.errors import RefusedError
from tasks_lib.instruments.protocol.state import State, Value
from tasks_lib.records import Record

Parameter = Literal[
    "width_m", "height_m", "points", "lines", "time_per_line_s", "center_x_m", "center_y_m", "rotation_deg",
    "slope_x_deg", "slope_y_deg", "overscan_percent", "direction", "p", "i", "d", "setpoint",
]  # fmt: skip
_WHOLE = {"points", "lines", "p", "i", "d"}
# Problems that a refusal lists.
_SHOWN = 20


class Span(Record):
    """The lowest and the highest value that a parameter may take, both allowed."""

    low: float
    high: float

    @model_validator(mode="after")
    def _ordered(self) -> Span:
        if self.low > self.high:
            msg = f"a span goes from low to high, not from {self.low} to {self.high}"
            raise ValueError(msg)
        return self


class Lever(Record):
    """A cantilever: spring constant in N/m, resonance in Hz, deflection sensitivity in m/V where it is known."""

    name: str
    spring_constant_n_per_m: float
    resonance_hz: float
    sensitivity_m_per_v: float | None = None


class CriticalAction(StrEnum):
    """What can harm tip or sample, and may need a person's word."""

    APPROACH = "approach"
    LEVER = "lever"
    MODE = "mode"


class SafetyPolicy(Record):
    """Which critical actions need approval before they are carried out."""

    needs_approval: frozenset[CriticalAction] = frozenset()


class Limits(Record):
    """All that a back end accepts.

    Attributes
    ----------
    spans : mapping of parameter to Span
        A parameter without a span cannot be set on this back end, as the P gain of Nanosurf Studio.
    dynamic_modes : tuple of str
        The modes among `modes` whose setpoint is a percentage of the free amplitude.
    max_speed_m_s : float
        Highest speed of the tip along a line, overscan included.
    max_force_n : float
        Highest force of the setpoint, in contact modes and where the lever's sensitivity is known.
    free_deflection_v : float
        What the detector shows of a lever that touches nothing: the lever is bent by the setpoint less this.
    reports_lines : bool
        Whether lines are reported while a frame is scanned; else all of them when it is there.
    """

    spans: dict[Parameter, Span]
    modes: tuple[str, ...]
    dynamic_modes: tuple[str, ...] = ()
    levers: tuple[Lever, ...]
    max_speed_m_s: float
    max_force_n: float
    free_deflection_v: float = 0.0
    reports_lines: bool = True

    def lever(self, name: str) -> Lever:
        """Return a lever by name.

        Raises
        ------
        RefusedError
            If the instrument has no such lever.
        """
        found = next((one for one in self.levers if one.name == name), None)
        if found is None:
            msg = f"there is no lever {shown(name)}; take one of {', '.join(sorted(one.name for one in self.levers))}"
            raise RefusedError(msg)
        return found

    def checked(self, values: Mapping[str, Value]) -> dict[str, Value]:
        """Return parameters in order of name, whole numbers as such; refuse what is unknown, no number or out of range.

        Raises
        ------
        RefusedError
            Naming every parameter that is wrong, its value and the rule.
        """
        if not values:
            raise RefusedError(f"nothing was set: name a parameter, one of {', '.join(sorted(self.spans))}")
        problems = [problem for name, value in values.items() if (problem := self._problem(name, value))]
        if problems:
            raise RefusedError("nothing was set: " + "; ".join(problems[:_SHOWN]))
        return {name: _plain(name, value) for name, value in sorted(values.items())}

    def _problem(self, name: str, value: Value) -> str | None:
        if name not in get_args(Parameter):
            return f"there is no parameter {shown(name)} (there are {', '.join(sorted(self.spans))})"
        if name == "direction":
            good = isinstance(value, str) and value in ("up", "down")
            return None if good else f"direction is 'up' or 'down', not {shown(value)}"
        span = self.spans.get(name)  # type: ignore[call-overload]
        if span is None:
            return f"{name} cannot be set on this instrument"
        if not is_number(value):
            return f"{name} is a number, not {shown(value)}"
        number = _float(value)
        if name in _WHOLE and not number.is_integer():
            return f"{name} is a whole number, not {shown(value)}"
        if not span.low <= number <= span.high:
            return f"{name} lies between {span.low:g} and {span.high:g}, not at {shown(value)}"
        return None

    def check_state(self, wanted: State) -> None:
        """Refuse a state whose values are fine one by one and together beyond an envelope.

        Raises
        ------
        RefusedError
            If the tip would be faster along a line than `max_speed_m_s`, or pressed harder than `max_force_n`.
        """
        scan = wanted.scan
        speed = scan.width_m * (1 + 2 * scan.overscan_percent / 100) / scan.time_per_line_s
        if speed > self.max_speed_m_s:
            msg = (
                f"nothing was set: {scan.width_m:g} m in {scan.time_per_line_s:g} s is {speed:.3g} m/s of tip speed,"
                f" more than {self.max_speed_m_s:g} m/s: take a smaller width or a longer time per line"
            )
            raise RefusedError(msg)
        lever = self.lever(wanted.lever)
        if wanted.mode in self.dynamic_modes or lever.sensitivity_m_per_v is None:
            return
        force = (wanted.setpoint - self.free_deflection_v) * lever.sensitivity_m_per_v * lever.spring_constant_n_per_m
        if force > self.max_force_n:
            msg = (
                f"nothing was set: a setpoint of {wanted.setpoint:g} V presses {lever.name} with {force:.3g} N,"
                f" more than {self.max_force_n:g} N: take a lower setpoint or a softer lever"
            )
            raise RefusedError(msg)


def is_number(value: object) -> bool:
    """Whether a value is a real number, also one of numpy's; True and False are none."""
    return isinstance(value, numbers.Real) and not isinstance(value, bool)


def _float(value: Any) -> float:
    try:
        return float(value)
    except OverflowError:
        return math.inf


def _plain(name: str, value: Value) -> Value:
    if name == "direction":
        return value
    return int(value) if name in _WHOLE else float(value)
