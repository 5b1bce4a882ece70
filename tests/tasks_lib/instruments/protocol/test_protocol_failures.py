"""Broken back ends, broken listeners, interrupts and hostile values: the instrument is left safe and the log whole."""

from __future__ import annotations

import json
import math
import threading
from typing import Any

import numpy as np
import pytest

from tasks_lib.instruments.protocol import (
    CriticalAction,
    Event,
    EventKind,
    Instrument,
    InstrumentError,
    InstrumentLostError,
    LineReport,
    RefusedError,
    SafetyPolicy,
    open_instrument,
)
from tasks_lib.records.errors import LeaseHeldError
from tasks_lib.store import Store

from .conftest import Bench


@pytest.fixture
def afm(bench: Bench) -> Instrument:
    return Instrument(bench, client="test")


def breaking(bench: Bench, monkeypatch: pytest.MonkeyPatch, method: str, error: BaseException, times: int = 1) -> None:
    """Let a method do its work and then raise, the first times that it is called."""
    whole, left = getattr(bench, method), [times]

    def broken(*arguments: Any) -> Any:
        result = whole(*arguments)
        if left[0]:
            left[0] -= 1
            raise error
        return result

    monkeypatch.setattr(bench, method, broken)


@pytest.mark.parametrize("error", [KeyError("PlaneX"), AttributeError("None"), RecursionError()])
def test_a_back_end_that_breaks_while_it_sets_is_restored_and_said_to_be_broken(
    bench: Bench, afm: Instrument, monkeypatch: pytest.MonkeyPatch, error: Exception
) -> None:
    before = bench.state
    breaking(bench, monkeypatch, "write", error)
    with pytest.raises(InstrumentError, match=f"bench broke while it was set: {type(error).__name__}") as caught:
        afm.set(i=2000, setpoint=0.5)
    assert caught.value.__cause__ is error
    assert bench.state == before
    assert [event.kind for event in afm.events()] == [EventKind.FAILED]
    assert type(error).__name__ in afm.events()[0].details["why"]


def test_an_interrupt_while_it_sets_restores_and_stays_an_interrupt(
    bench: Bench, afm: Instrument, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = bench.state
    breaking(bench, monkeypatch, "write", KeyboardInterrupt())
    with pytest.raises(KeyboardInterrupt):
        afm.set(i=2000)
    assert bench.state == before
    assert afm.set(i=1500)[0].after == 1500


def test_an_interrupt_whose_restoring_fails_is_an_interrupt_with_a_note(
    bench: Bench, afm: Instrument, monkeypatch: pytest.MonkeyPatch
) -> None:
    breaking(bench, monkeypatch, "write", KeyboardInterrupt())
    breaking(bench, monkeypatch, "read", InstrumentError("deaf"), times=0)
    read, calls = bench.read, [0]

    def deaf_later() -> Any:
        calls[0] += 1
        if calls[0] > 1:
            raise InstrumentError("deaf")
        return read()

    monkeypatch.setattr(bench, "read", deaf_later)
    with pytest.raises(KeyboardInterrupt) as caught:
        afm.set(i=2000)
    assert "i could not be written back either" in caught.value.__notes__[0]


def test_a_lost_instrument_stays_lost_though_nothing_can_be_restored(
    bench: Bench, afm: Instrument, monkeypatch: pytest.MonkeyPatch
) -> None:
    state = bench.state

    def lost(*_: Any) -> None:
        monkeypatch.setattr(bench, "read", lost)
        raise InstrumentLostError("no answer")

    monkeypatch.setattr(bench, "write", lost)
    with pytest.raises(InstrumentLostError, match="no answer; i could not be written back either"):
        afm.set(i=2000)
    assert bench.state == state


def test_what_a_back_end_refuses_whole_is_not_written_again(
    bench: Bench, afm: Instrument, monkeypatch: pytest.MonkeyPatch
) -> None:
    written = []

    def refuse(values: dict) -> None:
        written.append(values)
        raise RefusedError("no recording has that")

    monkeypatch.setattr(bench, "write", refuse)
    with pytest.raises(RefusedError, match="no recording"):
        afm.set(i=2000)
    assert written == [{"i": 2000}]


def test_an_order_to_set_nothing_is_refused_with_what_there_is(afm: Instrument) -> None:
    with pytest.raises(RefusedError, match="name a parameter, one of direction, height_m"):
        afm.set()


@pytest.mark.parametrize("number", [np.int64(1500), np.float32(1500), np.float64(1500), 1500.0])
def test_numbers_of_numpy_are_numbers(bench: Bench, afm: Instrument, number: Any) -> None:
    afm.set(i=number, setpoint=np.float32(0.5))
    assert type(bench.state.gains.i) is int
    assert type(bench.state.setpoint) is float
    json.loads(afm.events()[0].model_dump_json())


HOSTILE = [
    10**5000, -(10**5000), math.nan, -math.inf, "x" * 10**6, "\udcff", b"\x00\xff", None, [1] * 10**4, {"a": object()},
    1j, np.bool_(True),
]  # fmt: skip


@pytest.mark.parametrize("value", [*HOSTILE, np.ones(3)], ids=lambda value: type(value).__name__)
@pytest.mark.parametrize("name", ["i", "setpoint", "direction", "nonsense" * 1000, "\udcff"])
def test_a_hostile_value_is_refused_in_few_words_and_the_log_can_be_written(name: str, value: Any) -> None:
    bench = Bench()
    afm, before = Instrument(bench, client="test"), bench.state
    with pytest.raises(RefusedError) as caught:
        afm.set(**{name: value})
    assert bench.state == before
    assert len(str(caught.value)) < 2000
    assert len(afm.events()[0].model_dump_json().encode("utf-8")) < 20_000


@pytest.mark.parametrize("value", HOSTILE, ids=lambda value: type(value).__name__)
def test_hostile_names_and_times_are_refused(bench: Bench, afm: Instrument, value: Any) -> None:
    for order in (afm.scan, afm.approach, afm.set_mode, afm.select_lever):
        with pytest.raises(RefusedError) as caught:
            order(value)
        assert len(str(caught.value)) < 2000
    assert not bench.state.engaged
    assert all(event.model_dump_json() for event in afm.events())


def test_a_listener_that_raises_changes_no_order_and_is_told_of(bench: Bench, caplog: pytest.LogCaptureFixture) -> None:
    def deaf(event: Event) -> None:
        raise OSError(28, "No space left on device")

    afm = Instrument(bench, client="test", on_event=deaf)
    assert afm.set(i=2000)[0].after == 2000
    with pytest.raises(RefusedError, match="i lies between"):
        afm.set(i=-1)
    assert [event.kind for event in afm.events()] == [EventKind.SET, EventKind.REFUSED]
    assert "No space left on device" in caplog.text


def test_a_listener_hears_entries_in_order_from_any_thread_and_may_read_the_log(bench: Bench) -> None:
    heard: list[int] = []
    known: list[int] = []

    def listen(event: Event) -> None:
        heard.append(event.number)
        known.append(len(afm.events()))

    afm = Instrument(bench, client="test", on_event=listen)
    threads = [threading.Thread(target=lambda: [afm.stop() for _ in range(50)]) for _ in range(4)]
    for one in threads:
        one.start()
    for one in threads:
        one.join(30)
    assert heard == known == list(range(1, 201))


def test_who_is_asked_and_breaks_has_not_approved(bench: Bench) -> None:
    def broken(action: CriticalAction, words: str) -> bool:
        raise ConnectionError("the person's page is gone")

    policy = SafetyPolicy(needs_approval=frozenset(CriticalAction))
    afm = Instrument(bench, client="test", policy=policy, approve=broken)
    with pytest.raises(ConnectionError):
        afm.approach()
    assert not bench.state.engaged
    assert afm.events()[-1].kind is EventKind.FAILED


@pytest.mark.parametrize("error", [InstrumentError("motor"), KeyError("Status"), KeyboardInterrupt()])
def test_an_approach_that_breaks_is_withdrawn(
    bench: Bench, afm: Instrument, monkeypatch: pytest.MonkeyPatch, error: BaseException
) -> None:
    breaking(bench, monkeypatch, "approach", error)
    with pytest.raises(type(error)):
        afm.approach()
    assert bench.state.approach == "withdrawn"
    assert afm.events()[-1].kind is EventKind.FAILED


def test_a_tip_that_cannot_be_withdrawn_after_an_approach_is_a_matter_for_hands(
    bench: Bench, afm: Instrument, monkeypatch: pytest.MonkeyPatch
) -> None:
    bench.engages = False
    breaking(bench, monkeypatch, "withdraw", OSError("cable"))
    with pytest.raises(InstrumentError, match=r"is not engaged.*\(cable\): withdraw the tip by hand"):
        afm.approach()


def test_an_approach_cannot_outlive_the_lease(afm: Instrument) -> None:
    with pytest.raises(RefusedError, match="between 0 and 300 s"):
        afm.approach(301)


@pytest.mark.parametrize("error", [ValueError("plot"), KeyboardInterrupt()])
def test_a_scan_whose_listener_breaks_is_stopped(bench: Bench, afm: Instrument, error: BaseException) -> None:
    afm.approach()

    def broken(line: LineReport) -> bool:
        raise error

    with pytest.raises(type(error)):
        afm.scan("a", broken)
    assert bench.stopped
    assert afm.events()[-1].details["order"] == "scan"
    assert afm.scan("b").complete


def test_a_stop_that_comes_before_the_first_line_is_not_lost(bench: Bench, afm: Instrument) -> None:
    afm.approach()
    read = bench.read

    def stopped_meanwhile() -> Any:
        afm.stop()
        return read()

    bench.read = stopped_meanwhile  # type: ignore[method-assign]
    assert afm.scan("a").lines_done <= 1
    bench.read = read  # type: ignore[method-assign]
    assert afm.scan("b").complete


def test_an_instrument_that_was_given_back_takes_no_order(bench: Bench, tmp_path) -> None:
    with open_instrument(bench, Store.open(str(tmp_path)), client="one") as afm:
        afm.set(i=2000)
    with pytest.raises(LeaseHeldError, match="was released"):
        afm.set(i=3000)
    assert bench.state.gains.i == 2000
