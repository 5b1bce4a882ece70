"""The cantilever that a recorded file names, and what its constants make of a setpoint."""

from __future__ import annotations

import math

from tasks_lib.records import Record


class Lever(Record):
    """The cantilever, with the constants that the file gives for it; None where it gives none.

    `deflection_m_per_v` is the sensitivity that was set; where nobody calibrated it, it is the type's nominal one.
    """

    name: str = ""
    manufacturer: str = ""
    spring_constant_n_per_m: float | None = None
    resonance_hz: float | None = None
    deflection_m_per_v: float | None = None

    def native_setpoint(self, setpoint: float | None, unit: str) -> float | None:
        """Turn a setpoint into volts of deflection; percent of the free amplitude stay what they are.

        Forces and deflections are turned back into volts with the lever's constants (F/k and d/s).

        Parameters
        ----------
        setpoint : float or None
        unit : str
            V, N, m or %.

        Returns
        -------
        float or None
            None where there is no setpoint, or a constant that it takes is missing.
        """
        if setpoint is None or unit in ("V", "%"):
            return setpoint
        constants = {
            "m": (self.deflection_m_per_v,),
            "N": (self.spring_constant_n_per_m, self.deflection_m_per_v),
        }
        value: float | None = setpoint
        for constant in constants.get(unit, (None,)):
            value = quotient(value, constant)
        return value


def quotient(above: float | None, below: float | None) -> float | None:
    """Divide; None where a part is missing, or the result is no finite number."""
    if above is None or not below or not math.isfinite(above / below):
        return None
    return above / below
