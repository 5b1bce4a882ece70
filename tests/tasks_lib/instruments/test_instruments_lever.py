"""What a lever's constants make of a setpoint, whichever kind of file it comes from."""

from __future__ import annotations

import pytest

from tasks_lib.instruments.lever import Lever
from tasks_lib.instruments.nhf import NhfSettings
from tasks_lib.instruments.nid import Acquisition

LEVER = Lever(spring_constant_n_per_m=4.0, deflection_m_per_v=5e-8)
CASES = [
    (0.3, "V", LEVER, 0.3), (70.0, "%", LEVER, 70.0), (1e-8, "m", LEVER, 0.2), (2e-8, "N", LEVER, 0.1),
    (1.0, "Pa", LEVER, None), (None, "N", LEVER, None), (2e-8, "N", Lever(deflection_m_per_v=5e-8), None),
    (1e-8, "m", Lever(), None), (1e-8, "m", Lever(deflection_m_per_v=0.0), None),
    (1e300, "N", Lever(spring_constant_n_per_m=1e-300, deflection_m_per_v=1.0), None),
]  # fmt: skip


@pytest.mark.parametrize(("value", "unit", "lever", "volts"), CASES)
@pytest.mark.parametrize("settings", [Acquisition, NhfSettings])
def test_a_setpoint_in_the_units_of_the_loop(settings, value, unit, lever, volts) -> None:
    read = settings(setpoint=value, setpoint_unit=unit, lever=lever)
    assert read.setpoint_native == (None if volts is None else pytest.approx(volts))
