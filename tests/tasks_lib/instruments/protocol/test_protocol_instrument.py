"""Whatever is ordered: the instrument stays within its limits, and the log says what was asked and what came of it."""

from __future__ import annotations

import math
import threading
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tasks_lib.instruments.protocol import (
    CriticalAction,
    EventKind,
    Instrument,
    InstrumentError,
    RefusedError,
    SafetyPolicy,
    open_instrument,
)
from tasks_lib.records.errors import LeaseHeldError, policy_for
from tasks_lib.store import Store, acquire

from .conftest import Bench


@pytest.fixture
def afm(bench: Bench) -> Instrument:
    return Instrument(bench, client="test")


def kinds(afm: Instrument) -> list[EventKind]:
    return [event.kind for event in afm.events()]


def test_an_order_reports_before_and_after_in_order_of_name(afm: Instrument) -> None:
    changes = afm.set(width_m=2e-6, i=1500, p=7.0)
    assert [(one.name, one.before, one.after) for one in changes] == [
        ("i", 1000, 1500), ("p", 100, 7), ("width_m", 1e-6, 2e-6),
    ]  # fmt: skip
    assert afm.snapshot().gains.p == 7
    assert [event.number for event in afm.events()] == [1]
    assert afm.events()[0].details["changes"][1] == {"name": "p", "before": 100, "after": 7}


@pytest.mark.parametrize(
    ("values", "rule"),
    [
        ({"i": 9001}, "i lies between 1 and 9000, not at 9001"),
        ({"i": 10.5}, "i is a whole number, not 10.5"),
        ({"i": True}, "i is a number, not True"),
        ({"i": "12"}, "i is a number, not '12'"),
        ({"points": math.inf}, "points is a whole number"),
        ({"setpoint": math.nan}, "setpoint lies between"),
        ({"d": 3}, "d cannot be set on this instrument"),
        ({"laser": 1}, "there is no parameter 'laser'"),
        ({"direction": "sideways"}, "direction is 'up' or 'down'"),
        ({"width_m": 5e-5, "time_per_line_s": 0.02}, "of tip speed, more than 0.001 m/s"),
        ({"setpoint": 8.0, "i": 9001}, "i lies between"),
    ],
)
def test_what_is_out_of_range_is_refused_and_nothing_is_set(afm: Instrument, values: dict, rule: str) -> None:
    before = afm.snapshot()
    with pytest.raises(RefusedError, match=rule.replace("(", r"\(")):
        afm.set(width_m=3e-6) if not values else afm.set(**{"p": 1, **values})
    assert afm.snapshot() == before
    assert kinds(afm) == [EventKind.REFUSED]


def test_a_refused_order_is_feedback_and_no_outage() -> None:
    assert policy_for(RefusedError("x")).verb == "fail"


def test_every_wrong_value_is_named_at_once(afm: Instrument) -> None:
    with pytest.raises(RefusedError, match=r"i lies.*; p lies.*|p lies.*; i lies.*"):
        afm.set(p=-1, i=0)


def test_a_hard_lever_bounds_the_setpoint_by_force(afm: Instrument) -> None:
    afm.select_lever("Multi75Al-G")
    with pytest.raises(RefusedError, match=r"presses Multi75Al-G with 1.2e-06 N, more than 1e-06 N"):
        afm.set(setpoint=1.0)
    afm.set(setpoint=0.8)


def test_a_lever_that_would_press_too_hard_is_not_selected(afm: Instrument) -> None:
    afm.set(setpoint=3.0)
    with pytest.raises(RefusedError, match="presses Multi75Al-G"):
        afm.select_lever("Multi75Al-G")
    assert afm.snapshot().lever == "ContAl-G"


def test_a_percentage_of_amplitude_is_no_force(afm: Instrument) -> None:
    afm.set_mode("Phase Contrast")
    afm.set(setpoint=8.0)


@given(st.dictionaries(st.sampled_from(["p", "i", "width_m", "points", "setpoint", "x"]), st.one_of(
    st.floats(), st.integers(), st.text(max_size=3), st.booleans())))  # fmt: skip
def test_any_order_is_carried_out_whole_or_not_at_all(values: dict) -> None:
    bench = Bench()
    afm, before = Instrument(bench, client="test"), bench.state
    try:
        changes = afm.set(**values)
    except RefusedError:
        assert bench.state == before
    else:
        now = bench.state.values()
        assert {one.name: one.after for one in changes} == {name: now[name] for name in values}
        assert all(bench.limits.spans[name].low <= now[name] <= bench.limits.spans[name].high for name in values)


@pytest.mark.parametrize("fault", ["refuses", "forgets"])
def test_an_instrument_that_takes_half_gets_the_old_values_back(bench: Bench, afm: Instrument, fault: str) -> None:
    before = bench.state
    getattr(bench, fault).add("setpoint")
    with pytest.raises(InstrumentError, match="setpoint"):
        afm.set(i=2000, p=3, setpoint=0.5, width_m=2e-6)
    assert bench.state == before
    assert kinds(afm) == [EventKind.FAILED]


def test_that_the_old_values_could_not_be_written_back_is_said(
    bench: Bench, afm: Instrument, monkeypatch: pytest.MonkeyPatch
) -> None:
    write = bench.write

    def once(values: dict) -> None:
        write(values)
        bench.refuses.add("i")

    monkeypatch.setattr(bench, "write", once)
    bench.forgets.add("setpoint")
    with pytest.raises(InstrumentError, match=r"reports 0.3; i could not be written back either"):
        afm.set(i=2000, p=3, setpoint=0.5)
    assert (bench.state.gains.p, bench.state.gains.i) == (100, 2000)


def test_a_rounded_value_is_taken(bench: Bench, afm: Instrument, monkeypatch: pytest.MonkeyPatch) -> None:
    write = bench.write
    monkeypatch.setattr(bench, "write", lambda values: write({name: value * 1.0005 for name, value in values.items()}))
    assert afm.set(width_m=2e-6)[0].after == pytest.approx(2.001e-6)


def test_no_scan_without_contact(afm: Instrument) -> None:
    with pytest.raises(RefusedError, match="the tip is withdrawn: approach first"):
        afm.scan("a")
    afm.approach()
    frame = afm.scan("a")
    assert frame.complete
    assert frame.lines_done == 4
    afm.withdraw()
    with pytest.raises(RefusedError, match="approach first"):
        afm.scan("b")
    assert kinds(afm) == [EventKind.REFUSED, EventKind.APPROACH, EventKind.SCAN, EventKind.WITHDRAW, EventKind.REFUSED]


def test_an_approach_that_ends_in_the_air_is_withdrawn(bench: Bench, afm: Instrument) -> None:
    bench.engages = False
    with pytest.raises(InstrumentError, match="not engaged after an approach"):
        afm.approach(timeout_s=5)
    assert bench.state.approach == "withdrawn"


@pytest.mark.parametrize("time", [0, -1, math.nan, math.inf, 1e9])
def test_an_approach_has_a_time(afm: Instrument, time: float) -> None:
    with pytest.raises(RefusedError, match="the time of an approach"):
        afm.approach(timeout_s=time)


@pytest.mark.parametrize("name", ["", "../a", "a/b", "a b", "-a", "x" * 101, "a\n"])
def test_a_name_that_is_a_path_is_refused(afm: Instrument, name: str) -> None:
    afm.approach()
    with pytest.raises(RefusedError, match="a frame's name"):
        afm.scan(name)


def test_mode_and_lever_change_only_away_from_the_sample(afm: Instrument) -> None:
    afm.approach()
    for order in (lambda: afm.set_mode("Phase Contrast"), lambda: afm.select_lever("Multi75Al-G")):
        with pytest.raises(RefusedError, match="the tip is engaged"):
            order()
    afm.retract()
    afm.set_mode("Phase Contrast")
    assert afm.snapshot().mode == "Phase Contrast"


def test_what_is_unknown_is_refused_with_what_there_is(afm: Instrument) -> None:
    with pytest.raises(RefusedError, match="take one of Lateral Force, Phase Contrast"):
        afm.set_mode("Tapping")
    with pytest.raises(RefusedError, match="take one of ContAl-G, Multi75Al-G"):
        afm.select_lever("NCLR")


@pytest.mark.parametrize("what", ["mode", "lever"])
def test_a_change_that_was_not_made_is_an_error(bench: Bench, afm: Instrument, what: str) -> None:
    bench.forgets.add(what)
    with pytest.raises(InstrumentError, match="and reports"):
        afm.set_mode("Phase Contrast") if what == "mode" else afm.select_lever("Multi75Al-G")


def test_critical_actions_ask_where_the_policy_says_so(bench: Bench) -> None:
    asked: list[str] = []
    policy = SafetyPolicy(needs_approval=frozenset(CriticalAction))

    def approve(action: CriticalAction, words: str) -> bool:
        asked.append(words)
        return action is CriticalAction.APPROACH

    afm = Instrument(bench, client="test", policy=policy, approve=approve)
    afm.approach()
    afm.withdraw()
    for order in (lambda: afm.set_mode("Phase Contrast"), lambda: afm.select_lever("Multi75Al-G")):
        with pytest.raises(RefusedError, match="not approved"):
            order()
    assert len(asked) == 3
    silent = Instrument(bench, client="test", policy=policy)
    with pytest.raises(RefusedError, match="not approved"):
        silent.approach()
    assert not bench.state.engaged


def test_a_listener_ends_a_scan(afm: Instrument) -> None:
    afm.approach()
    frame = afm.scan("a", lambda line: line.index < 1)
    assert (frame.lines_done, frame.complete) == (2, False)
    assert afm.events()[-1].details["complete"] is False


def test_another_thread_is_told_to_wait_and_may_stop(bench: Bench, afm: Instrument) -> None:
    afm.approach()
    begun, go_on = threading.Event(), threading.Event()

    def before(index: int) -> None:
        if index == 1:
            begun.set()
            assert go_on.wait(30)

    bench.before_line = before
    frames = []
    scanning = threading.Thread(target=lambda: frames.append(afm.scan("a")))
    scanning.start()
    assert begun.wait(30)
    with pytest.raises(RefusedError, match="is busy"):
        afm.set(i=1)
    afm.stop()
    go_on.set()
    scanning.join(30)
    assert frames[0].lines_done == 1


class Clock:
    def __init__(self) -> None:
        self.at = datetime(2026, 1, 1, tzinfo=UTC)

    def __call__(self) -> datetime:
        return self.at


def test_one_client_at_a_time(bench: Bench, tmp_path) -> None:
    store = Store.open(str(tmp_path))
    with open_instrument(bench, store, client="one") as afm:
        afm.set(p=1)
        with pytest.raises(LeaseHeldError, match="is held by"), open_instrument(Bench(), store, client="two"):
            pass
    with open_instrument(bench, store, client="two") as afm:
        afm.set(p=2)


def test_a_client_who_lost_the_instrument_stops_at_the_next_line(bench: Bench, tmp_path) -> None:
    store, clock = Store.open(str(tmp_path)), Clock()
    lease = acquire(store, "instruments/bench", seconds=600, clock=clock)
    afm = Instrument(bench, client="one", lease=lease, clock=clock)
    afm.approach()

    def before(index: int) -> None:
        if index == 2:
            clock.at += timedelta(seconds=700)
            acquire(store, "instruments/bench", seconds=600, owner="two", clock=clock)

    bench.before_line = before
    with pytest.raises(LeaseHeldError, match="taken over"):
        afm.scan("a")
    assert bench.state.engaged
    with pytest.raises(LeaseHeldError):
        afm.set(p=1)
    assert bench.state.gains.p == 100
    assert [event.kind for event in afm.events()][-2:] == [EventKind.FAILED, EventKind.FAILED]


def test_the_log_can_be_kept_elsewhere(bench: Bench) -> None:
    kept: list = []
    afm = Instrument(bench, client="ann", on_event=kept.append)
    afm.set(p=1)
    afm.stop()
    assert tuple(kept) == afm.events()
    assert {event.client for event in kept} == {"ann"}
