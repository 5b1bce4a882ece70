"""The twin behind the guard: scans only in contact, stops at a line, and is the same microscope after every order."""

from __future__ import annotations

import numpy as np
import pytest

from tasks_lib.instruments.frame import Z_AXIS, Gains, ScanSettings
from tasks_lib.instruments.protocol import Instrument, InstrumentError, RefusedError
from tasks_lib.instruments.twin import DRIVE, DYNAMIC, FLEX, Lever, Microscope, TwinBackEnd, samples

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


@pytest.mark.parametrize(
    ("values", "rule"),
    [
        ({"center_x_m": 0.55e-6}, "the scan reaches"),
        ({"points": 4096, "time_per_line_s": 0.02}, "is too short for 4096 points"),
        ({"setpoint": 99}, "the setpoint in volts"),
    ],
)
def test_settings_that_make_no_scan_together_are_refused_before_a_line(
    afm: Instrument, values: dict, rule: str
) -> None:
    afm.set(**values)
    afm.approach()
    with pytest.raises(RefusedError, match=rf"twin-flex cannot scan a: .*{rule}"):
        afm.scan("a")
    assert not afm.snapshot().scanning
    afm.set(center_x_m=0, points=32, time_per_line_s=0.05, setpoint=0.3)
    assert afm.scan("b").source.endswith("scan 0")


def ends() -> list[tuple[str, float]]:
    spans = back_end().limits.spans
    return [(name, end) for name, span in spans.items() if name != "direction" for end in (span.low, span.high)]


@pytest.mark.parametrize(("name", "value"), ends())
def test_a_setting_at_the_end_of_its_range_is_scanned_or_refused(afm: Instrument, name: str, value: float) -> None:
    lowest_setpoint = name == "setpoint" and value < 0
    try:
        afm.set(**{name: value})
        if lowest_setpoint:
            with pytest.raises(InstrumentError, match="not engaged"):
                afm.approach()
        else:
            afm.approach()
            assert afm.scan("a", lambda _: False).lines_done == 1
    except RefusedError:
        assert afm.events()[-1].kind == "refused"
    assert not afm.snapshot().scanning


def test_a_lever_of_ones_own_is_one_that_the_limits_know() -> None:
    own = Lever("µ-lever ☃", 0.4, 2e4, 60.0)
    twin = TwinBackEnd(Microscope(samples.hopg_steps(), FLEX, own, seed=4), SCAN, Gains(p=50, i=2000), 0.3)
    afm = Instrument(twin, client="test")
    afm.set(p=40)
    afm.select_lever("ContAl-G")
    afm.select_lever(own.name)
    assert twin.microscope.lever is own


def test_a_force_counts_from_the_free_lever() -> None:
    afm = Instrument(back_end(DRIVE, setpoint=-0.35), client="test")
    afm.select_lever("Tap190Al-G")
    # 48 N/m, 382 nm/V and a free lever that shows -0.394 V: 0 V already presses with 7.2 µN.
    with pytest.raises(RefusedError, match=r"a setpoint of 0 V presses Tap190Al-G with 7.2"):
        afm.set(setpoint=0.0)


def test_limits_hold_speed_and_force(afm: Instrument) -> None:
    with pytest.raises(RefusedError, match="width_m lies between"):
        afm.set(width_m=1e-3)
    afm.select_lever("Tap190Al-G")
    with pytest.raises(RefusedError, match="presses Tap190Al-G"):
        afm.set(setpoint=2.0)
