"""What drives the vendor's objects reads every value back, and takes nothing for done that is not."""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest

from tasks_lib.instruments.frame import Z_AXIS
from tasks_lib.instruments.nanosurf import Desk, fake
from tasks_lib.instruments.nanosurf.classic import ClassicBackEnd, Timing
from tasks_lib.instruments.nanosurf.fake.nanosurf import com_error
from tasks_lib.instruments.nanosurf.worker import EXAMPLE
from tasks_lib.instruments.protocol import (
    ApproachStatus,
    Instrument,
    InstrumentError,
    InstrumentLostError,
    RefusedError,
)
from tasks_lib.instruments.twin import twin_limits
from tasks_lib.instruments.twin.presets import FLEX
from tasks_lib.records.errors import ConfigurationError

from .conftest import GatedTwin

QUICK = Timing(poll=0.001, settle=0.0, motion=5.0, line=5.0, file=0.0)
LIMITS = twin_limits(FLEX, (1e-6, 1e-6))


@pytest.fixture
def spm(desk: Desk):
    return fake.connect(desk)


@pytest.fixture
def make(gallery: Path) -> Callable[..., ClassicBackEnd]:
    def make(spm, **options) -> ClassicBackEnd:
        limits = options.pop("limits", LIMITS)
        return ClassicBackEnd(spm, limits, gallery, com_error=com_error, **{"timing": QUICK, **options})

    return make


@pytest.fixture
def afm(spm, make) -> Instrument:
    return Instrument(make(spm, name="fake"), client="test")


def test_settings_scan_and_frame_go_through_the_vendors_objects(afm: Instrument, twin: GatedTwin) -> None:
    afm.set(width_m=4e-7, points=20, lines=6, i=1500, p=7, setpoint=0.25, rotation_deg=10, slope_x_deg=0.2)
    assert twin.read().scan.points == 20
    with pytest.raises(RefusedError, match="approach first"):
        afm.scan("a")
    assert afm.approach().engaged
    seen: list[np.ndarray] = []
    frame = afm.scan("a", lambda line: bool(seen.append(line.forward)) or True)
    assert (frame.complete, frame.engaged, frame.gains.i) == (True, True, 1500)
    np.testing.assert_allclose(seen, frame.data(Z_AXIS), rtol=1e-7, atol=1e-16)
    assert ("Friction force", "backward") in frame.channels
    afm.set(direction="down")
    down: list[np.ndarray] = []
    frame = afm.scan("b", lambda line: bool(down.append(line.forward)) or True)
    np.testing.assert_allclose(down[::-1], frame.data(Z_AXIS), rtol=1e-7, atol=1e-16)
    assert not afm.withdraw().engaged


def test_its_values_are_those_of_the_twin(afm: Instrument, twin: GatedTwin) -> None:
    here, there = afm.snapshot(), twin.read()
    assert here.values() == there.values()
    assert (here.mode, here.lever, here.approach) == (there.mode, there.lever, there.approach)


def test_lever_and_mode(afm: Instrument, twin: GatedTwin) -> None:
    afm.select_lever("Tap190Al-G")
    afm.set_mode("Dynamic Force")
    assert (twin.read().lever, twin.read().mode) == ("Tap190Al-G", "Dynamic Force")


def test_the_tip_is_withdrawn_at_the_start(desk: Desk, make, twin: GatedTwin) -> None:
    desk.approach(5)
    back_end = make(fake.connect(desk))
    assert not twin.read().engaged
    assert not back_end.read().engaged


def test_an_approach_by_another_hand_is_none_of_ours(desk: Desk, make) -> None:
    back_end = make(fake.connect(desk))
    desk.approach(5)
    with pytest.raises(RefusedError, match="approach first"):
        Instrument(back_end, client="test").scan("a")


def test_a_withdrawal_by_another_hand_shows(desk: Desk, afm: Instrument) -> None:
    afm.approach()
    desk.withdraw()
    with pytest.raises(RefusedError, match="the tip is failed: approach first"):
        afm.scan("a")


def test_a_tip_that_finds_nothing_is_withdrawn(afm: Instrument, twin: GatedTwin) -> None:
    afm.set(setpoint=-1.0)
    with pytest.raises(InstrumentError, match="not engaged after an approach"):
        afm.approach(5)
    assert not twin.read().engaged


@pytest.mark.parametrize("silent", [True, False])
def test_a_program_with_an_i_gain_alone_is_driven_without_the_others(desk: Desk, make, silent: bool) -> None:
    spm = fake.connect(desk, silent=silent, missing=("ZController.PGain", "ZController.DGain"))
    spans = {name: span for name, span in LIMITS.spans.items() if name not in ("p", "d")}
    back_end = make(spm, limits=LIMITS.model_copy(update={"spans": spans}))
    afm = Instrument(back_end, client="test")
    for name, attribute in (("p", "PGain"), ("d", "DGain")):
        with pytest.raises(InstrumentError, match=rf"cannot read ZController\.{attribute}"):
            back_end.write({name: 3})
        with pytest.raises(RefusedError, match=f"{name} cannot be set"):
            afm.set(**{name: 3})
    afm.set(i=1500)
    afm.approach()
    assert afm.scan("a").complete
    assert (back_end.read().gains.p, back_end.read().gains.i, back_end.read().gains.d) == (0, 1500, 0)


def test_a_value_that_the_program_refuses_or_changes_is_an_error(spm, make, twin: GatedTwin) -> None:
    back_end = make(spm, limits=EXAMPLE)
    with pytest.raises(InstrumentError, match=r"did not set Scan\.ImageWidth = 5e-05: .*width_m lies between"):
        back_end.write({"width_m": 5e-5})
    with pytest.raises(InstrumentError, match=r"was told ZController\.PGain = 7\.4 and reports 7"):
        back_end.write({"p": 7.4})


def test_comma_and_a_stop(desk: Desk, make, twin: GatedTwin) -> None:
    back_end = make(fake.connect(desk, comma=True))
    afm = Instrument(back_end, client="test")
    afm.approach()
    # The program is quicker than its reader: it waits until it was told to stop.
    twin.before_line = lambda index: index == 4 and twin._stopped.wait(30)
    frame = afm.scan("a", lambda line: line.index < 2)
    assert 3 <= frame.lines_done <= 5
    assert not frame.complete
    assert set(frame.channels) > {(Z_AXIS, "forward")}


def test_a_stopped_frame_that_was_not_saved_is_made_of_its_lines(desk: Desk, make, twin: GatedTwin) -> None:
    back_end = make(fake.connect(desk, save_stopped=False))
    afm = Instrument(back_end, client="test")
    afm.approach()
    twin.before_line = lambda index: index == 4 and twin._stopped.wait(30)
    frame = afm.scan("a", lambda line: line.index < 2)
    assert (frame.lines_done, frame.complete, len(frame.channels)) == (3, False, 2)
    assert np.isnan(frame.data(Z_AXIS)[3:]).all()
    assert frame.notes["source"].startswith("lines read while scanning")
    assert back_end.encode(frame).startswith(b"[DataSet]")


def test_a_whole_frame_without_a_file_is_an_error(afm: Instrument, spm, monkeypatch: pytest.MonkeyPatch) -> None:
    afm.approach()
    monkeypatch.setattr(type(spm.application._session), "_save", lambda _: None)
    with pytest.raises(InstrumentError, match="saved no file"):
        afm.scan("a")


def test_a_torn_file_and_a_second_one_are_errors(
    afm: Instrument, spm, gallery: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    afm.approach()
    session, number = type(spm.application._session), iter(range(9))

    def torn(_: object) -> None:
        (gallery / f"{next(number)}.nid").write_bytes(b"[DataSet]")

    monkeypatch.setattr(session, "_save", torn)
    with pytest.raises(InstrumentError, match="a file that cannot be read"):
        afm.scan("a")
    monkeypatch.setattr(session, "_save", lambda one: (torn(one), torn(one)))
    with pytest.raises(InstrumentError, match="2 files came into"):
        afm.scan("b")


def test_lines_that_are_none(afm: Instrument, spm, monkeypatch: pytest.MonkeyPatch) -> None:
    afm.approach()
    scan = type(spm.application.Scan)
    for text, rule in (
        ("1;2", "of 2 numbers, not 16"),
        ("a;b", "holds no numbers"),
        (";".join(16 * ["nan"]), "finite"),
    ):
        monkeypatch.setattr(scan, "GetLine", lambda *_, text=text: text)
        with pytest.raises(InstrumentError, match=rule):
            afm.scan("a")
        assert not spm.application.Scan.IsScanning


def test_a_scan_that_stands_still_is_stopped(spm, make, twin: GatedTwin, gate) -> None:
    afm = Instrument(make(spm, timing=Timing(poll=0.001, settle=0, motion=5, line=-0.5, file=0)), client="test")
    afm.approach()
    twin.before_line = lambda index: index == 1 and twin._stopped.wait(30)
    with pytest.raises(InstrumentError, match="has scanned no line for"):
        afm.scan("a")
    assert not twin.read().scanning


def test_a_program_that_is_gone_is_a_lost_instrument(desk: Desk, afm: Instrument) -> None:
    desk.close()
    with pytest.raises(InstrumentLostError, match="the program of fake is gone"):
        afm.set(i=5)


def test_what_a_program_must_have(desk: Desk, make, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("NANOSURF_URL", raising=False)
    from tasks_lib.instruments.nanosurf.fake.nanosurf import SPM

    with pytest.raises(ConfigurationError, match="no program of Nanosurf"):
        make(SPM())
    wrong = LIMITS.levers[0].model_copy(update={"name": "Feather"})
    with pytest.raises(ConfigurationError, match="knows no lever Feather"):
        make(fake.connect(desk), limits=LIMITS.model_copy(update={"levers": (wrong,)}))
    with pytest.raises(ConfigurationError, match="modes that the program does not have"):
        make(fake.connect(desk), limits=LIMITS.model_copy(update={"modes": ("Tapping",)}))


class SlowApproach:
    """An `Approach` as hardware has it: a motion lasts until a test lets it end, and *done* stays."""

    def __init__(self) -> None:
        self.status, self.orders, self.ends = 3, [], True
        self.shows = True
        self.moving = threading.Event()

    @property
    def Status(self) -> int:  # noqa: N802
        if self.status == 2:
            self.moving.set()
            if self.ends:
                self.status = 3
                return 2
        return self.status

    def _start(self, order: str) -> None:
        self.orders.append(order)
        self.status = 2 if self.shows else 3

    def StartApproach(self) -> None:  # noqa: N802
        self._start("approach")

    def StartWithdraw(self) -> None:  # noqa: N802
        self.ends = True
        self._start("withdraw")

    def StartRetract(self) -> None:  # noqa: N802
        self._start("retract")


@pytest.fixture
def slow(spm, make) -> tuple[SlowApproach, ClassicBackEnd]:
    slow = SlowApproach()
    spm.application._objects["Approach"] = slow
    return slow, make(spm, timing=Timing(poll=0.001, settle=0.0, motion=0.05, line=5.0, file=0.0))


def test_done_counts_as_engaged_only_after_an_approach_that_moved(slow) -> None:
    motor, back_end = slow
    assert motor.orders == ["withdraw"]
    assert not back_end.read().engaged  # the status says done: that of the withdrawal
    back_end.approach(5)
    assert back_end.read().engaged
    back_end.withdraw()
    assert not back_end.read().engaged
    motor.shows = False
    back_end.approach(5)
    assert back_end.read().approach is ApproachStatus.FAILED


def test_an_approach_can_be_stopped_from_another_thread_and_ends_away(slow) -> None:
    motor, back_end = slow
    motor.ends = False
    motor.moving.clear()
    afm = Instrument(back_end, client="test")
    with ThreadPoolExecutor(1) as pool:
        stop = pool.submit(lambda: motor.moving.wait(30) and afm.stop())
        with pytest.raises(InstrumentError, match="not engaged after an approach"):
            afm.approach(60)
        stop.result(30)
    assert motor.orders[:3] == ["withdraw", "approach", "withdraw"]


def test_an_approach_that_takes_too_long_is_withdrawn(slow) -> None:
    motor, back_end = slow
    motor.ends = False
    with pytest.raises(InstrumentError, match=r"not engaged after an approach of at most 0\.02 s"):
        Instrument(back_end, client="test").approach(0.02)
    assert motor.orders == ["withdraw", "approach", "withdraw"]


def test_a_tip_that_does_not_come_away_is_said(slow) -> None:
    motor, back_end = slow
    motor.ends = False
    with pytest.raises(InstrumentError, match="still moves"):
        back_end.retract()
    assert back_end.read().approach is ApproachStatus.FAILED
