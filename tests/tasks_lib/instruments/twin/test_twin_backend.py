"""The twin behind the guard: scans only in contact, stops at a line, and is the same microscope after every order."""

from __future__ import annotations

import numpy as np
import pytest

from tasks_lib.instruments.frame import Z_AXIS, Gains, ScanSettings
from tasks_lib.instruments.protocol import Instrument, InstrumentError, RefusedError
from tasks_lib.instruments.twin import DRIVE, DYNAMIC, FLEX, Microscope, TwinBackEnd, samples

SCAN = ScanSettings(width_m=1e-6, height_m=1e-6, points=32, lines=8, time_per_line_s=0.05)


def back_end(preset=FLEX, setpoint: float = 0.3) -> TwinBackEnd:
    microscope = Microscope(samples.hopg_steps(), preset, "ContAl-G", seed=4)
    return TwinBackEnd(microscope, SCAN, Gains(p=50, i=2000), setpoint)


@pytest.fixture
def afm() -> Instrument:
    return Instrument(back_end(), client="test")


def test_a_scan_needs_contact_and_is_that_of_the_microscope(afm: Instrument) -> None:
    with pytest.raises(RefusedError, match="approach first"):
        afm.scan("a")
    afm.approach()
    seen: list[int] = []
    frame = afm.scan("a", lambda line: bool(seen.append(line.index)) or True)
    assert seen == list(range(8))
    assert (frame.complete, frame.engaged, afm.snapshot().last_frame) == (True, True, "a")
    bare = back_end().microscope.scan(SCAN, Gains(p=50, i=2000), 0.3)
    np.testing.assert_array_equal(frame.data(Z_AXIS), bare.data(Z_AXIS))


def test_two_scans_differ_by_noise_and_a_stopped_one_is_marked(afm: Instrument) -> None:
    afm.approach()
    whole = afm.scan("a")
    part = afm.scan("b", lambda line: line.index < 2)
    assert (part.lines_done, part.complete) == (3, False)
    assert np.isnan(part.data(Z_AXIS)[3:]).all()
    assert not np.array_equal(whole.data(Z_AXIS)[:3], part.data(Z_AXIS)[:3])
    assert not afm.snapshot().scanning


def test_stop_from_the_listener_ends_the_scan(afm: Instrument) -> None:
    afm.approach()
    frame = afm.scan("a", lambda line: afm.stop() is None)
    assert frame.lines_done == 1
    assert afm.scan("b").complete


def test_a_setpoint_below_the_free_lever_never_engages() -> None:
    afm = Instrument(back_end(DRIVE, setpoint=-1.0), client="test")
    with pytest.raises(InstrumentError, match="not engaged"):
        afm.approach()
    afm.set(setpoint=0.1)
    assert afm.approach().engaged


def test_modes_and_levers_are_those_of_the_twin(afm: Instrument) -> None:
    afm.select_lever("Tap190Al-G")
    afm.set_mode(DYNAMIC)
    afm.set(setpoint=60)
    afm.approach()
    assert ("Amplitude", "forward") in afm.scan("a").channels
    assert afm.snapshot().lever == "Tap190Al-G"


def test_a_scan_beyond_the_sample_is_an_error_that_names_the_scan(afm: Instrument) -> None:
    afm.set(center_x_m=0.55e-6)
    afm.approach()
    with pytest.raises(InstrumentError, match=r"twin-flex cannot scan a: "):
        afm.scan("a")
    assert not afm.snapshot().scanning


def test_limits_hold_speed_and_force(afm: Instrument) -> None:
    with pytest.raises(RefusedError, match="width_m lies between"):
        afm.set(width_m=1e-3)
    afm.select_lever("Tap190Al-G")
    with pytest.raises(RefusedError, match="presses Tap190Al-G"):
        afm.set(setpoint=2.0)
