"""A tuning at a twin that does wrong: what is kept, what is done again, and what gains the instrument is left with."""

from __future__ import annotations

import io

import pytest
from PIL import Image

from tasks_lib.instruments.frame import Gains
from tasks_lib.instruments.nid import read_nid
from tasks_lib.instruments.protocol import CriticalAction, InstrumentLostError, RefusedError, SafetyPolicy
from tasks_lib.instruments.tuning.session import TuningFailedError, open_session
from tasks_lib.records.errors import ConfigurationError, LeaseHeldError, StoreError
from tasks_lib.store import acquire

BEFORE = Gains(p=50, i=1000, d=0)


def gains_of(bench) -> Gains:
    return bench.back_end.read().gains


def test_the_best_gains_are_verified_and_applied_and_the_rest_is_as_it_was(begin, bench, play) -> None:
    folder, place = begin(), bench(engaged=False)
    found = place.back_end.read()
    with open_session(folder, place) as session:
        made = play(session)
        result = session.finish()
    assert [one.plan.label for one in made] == [
        "before/frame-1", "before/frame-2", "gen-01/scan-001", "gen-02/scan-002", "gen-03/scan-003",
        "verify-1/frame-1", "verify-1/frame-2",
    ]  # fmt: skip
    best = max(made[2:5], key=lambda one: one.score)
    assert result.outcome == "applied"
    assert (result.gains, result.best) == (best.plan.gains, best.plan.label)
    assert result.after.score == pytest.approx((made[5].score + made[6].score) / 2)
    assert result.before.score == pytest.approx((made[0].score + made[1].score) / 2)
    # The tip is up again, and the settings of probe frames are gone.
    assert place.back_end.read() == found.model_copy(update={"gains": result.gains, "last_frame": "verify-1-frame-2"})
    assert folder.read_result() == result
    (attempt,) = folder.read_attempts()
    assert (attempt.finished, attempt.gains) == (True, result.gains)


def test_a_scan_is_kept_whole(begin, bench, play) -> None:
    folder = begin(budget=1)
    with open_session(folder, bench()) as session:
        play(session, until="verify")
    record = folder.scans()[-1]
    frame = read_nid(folder.store.read_bytes(record.nid)).frame()
    assert (frame.gains, frame.complete) == (record.plan.gains, True)
    with Image.open(io.BytesIO(folder.store.read_bytes(record.picture))) as picture:
        assert picture.format == "PNG"
        # More than axes: both colour scales and lines of two colours.
        assert len(picture.convert("RGB").getcolors(100_000)) > 200
    events = folder.store.read_bytes(f"{folder.path}/events-001.jsonl").decode().splitlines()
    assert sum('"kind":"scan"' in line for line in events) == 3


def test_cut_off_anywhere_it_goes_on_without_repeating_a_scan(begin, bench, play) -> None:
    whole, cut = begin("whole"), begin("cut")
    with open_session(whole, bench(seed=1)) as session:
        play(session)
        session.finish()
    labels = [one.plan.label for one in whole.scans()]
    made = []
    for stop in [*labels[1:], ""]:
        # Noise goes on with the number of the scan, as it does at a twin that was not stopped.
        place = bench(seed=1)
        microscope = place.back_end.microscope
        for _ in range(len(made)):
            microscope.scan(place.back_end.read().scan.model_copy(update=place.probe), BEFORE, 0.3)
        with open_session(cut, place) as session:
            made += [one.plan.label for one in play(session, until=stop)]
            if not stop:
                session.finish()
        assert stop or gains_of(place) == cut.read_result().gains
    assert made == labels
    assert [one.plan for one in cut.scans()] == [one.plan for one in whole.scans()]
    assert [one.score for one in cut.scans()] == pytest.approx([one.score for one in whole.scans()])
    assert cut.read_result().gains == whole.read_result().gains


def test_left_before_its_end_the_previous_gains_are_restored(begin, bench, play) -> None:
    place = bench()
    found = place.back_end.read()
    with open_session(begin(), place) as session:
        play(session, until="gen-03")
        assert gains_of(place) != BEFORE
    assert place.back_end.read() == found.model_copy(update={"last_frame": "gen-02-scan-002"})


def test_after_a_kill_the_previous_gains_are_those_that_the_first_session_found(begin, bench, play) -> None:
    folder, place = begin(), bench()
    with open_session(folder, place) as session:
        play(session, until="gen-02")
    # As a kill leaves it: the instrument has what was tried last.
    killed = bench(gains=Gains(p=400, i=8000, d=3), gen_02="lost")
    with pytest.raises(InstrumentLostError), open_session(folder, killed) as session:
        play(session)
    assert gains_of(killed) == BEFORE
    assert [one.finished for one in folder.read_attempts()] == [False, False]


@pytest.mark.parametrize(
    ("fault", "why"), [("stop", "incomplete|lines"), ("error", "out of order"), ("lift", "approach first")]
)
def test_a_bad_frame_is_a_void_scan_and_the_search_goes_on(begin, bench, play, fault: str, why: str) -> None:
    folder = begin()
    # A tip that was lifted shows at the next scan; it is put down again by hand.
    place = bench(**{"gen_01" if fault == "lift" else "gen_02": fault})
    with open_session(folder, place) as session:
        play(session, until="gen-03")
        place.back_end.approach(1.0)
        play(session)
        result = session.finish()
    void = next(one for one in folder.scans() if one.plan.label == "gen-02/scan-002")
    assert void.void
    with pytest.raises(AssertionError, match=why):
        raise AssertionError("; ".join(void.tracking.problems))
    assert (result.scans, result.voids) == (3, 1)


def test_three_void_scans_in_a_row_end_it_and_are_made_again(begin, bench, play) -> None:
    folder, place = begin(budget=4), bench(gen_02="stop", gen_03="error", gen_04="stop")
    why = "3 scans in a row could not be judged, the last, gen-04/scan-004"
    with pytest.raises(TuningFailedError, match=why), open_session(folder, place) as session:
        play(session)
    assert gains_of(place) == BEFORE
    tried = [gains for name, gains in place.back_end.scanned if name.startswith("gen-0")]

    mended = bench()
    with open_session(folder, mended) as session:
        made = play(session)
        assert session.finish().voids == 0
    assert [one.plan.label for one in made][:3] == ["gen-02/scan-002", "gen-03/scan-003", "gen-04/scan-004"]
    assert made[0].plan.gains == tried[1]
    # The void ones stay where they are.
    assert made[0].folder.endswith("gen-02/scan-002.2")
    assert sum(one.void for one in folder.scans()) == 3


def test_where_fresh_frames_fall_below_the_next_candidates_are_measured(begin, bench, play) -> None:
    folder, place = begin(strategy="integral-ramp", budget=4), bench(verify_1="slow")
    with open_session(folder, place) as session:
        play(session)
        result = session.finish()
    first, second = result.candidates[:2]
    assert second.score > first.score
    assert (result.gains, result.after) == (second.gains, second)
    assert gains_of(place) == second.gains


def test_gains_that_are_no_better_than_before_are_not_applied(begin, bench, play) -> None:
    folder, place = begin(strategy="integral-ramp", budget=4, candidates=1), bench(verify_1="slow")
    with open_session(folder, place) as session:
        play(session)
        result = session.finish()
    assert (result.outcome, result.gains) == ("kept", BEFORE)
    assert result.after.score < result.before.score
    assert gains_of(place) == BEFORE
    assert "P 50, I 1000, D 0 kept" in result.message


def test_candidates_that_cannot_be_verified_are_not_applied_and_are_measured_again_later(begin, bench, play) -> None:
    folder, place = begin(candidates=2), bench(verify="stop")
    with open_session(folder, place) as session:
        play(session)
        with pytest.raises(TuningFailedError, match="of 2 candidates could not be judged"):
            session.finish()
    assert gains_of(place) == BEFORE
    with open_session(folder, bench()) as session:
        assert [one.plan.label for one in play(session)] == ["verify-1/frame-1", "verify-1/frame-2"]
        assert session.finish().outcome == "applied"


def test_a_scan_that_is_called_off_is_not_kept(begin, bench, play) -> None:
    folder, place = begin(), bench()
    with open_session(folder, place) as session:
        play(session, until="gen-02")
        plan = session.next_group().plans[0]
        left = iter([True, True])
        assert session.scan(plan, lambda: next(left, False)) is None
        assert session.next_group().plans[0] == plan
    assert [one.plan.label for one in folder.scans()][-1] == "gen-01/scan-001"


def test_a_held_lease_keeps_hands_off(begin, bench) -> None:
    folder, place = begin(), bench()
    why = r"'instruments/moody' is held by .* until"
    with (
        acquire(folder.store, "instruments/moody", seconds=60),
        pytest.raises(LeaseHeldError, match=why),
        open_session(folder, place),
    ):
        pass
    assert gains_of(place) == BEFORE
    assert folder.start() is None


def test_gains_that_cannot_be_restored_are_named(begin, bench, play) -> None:
    place = bench(gen_02="stuck")
    why = "the previous gains, P 50, I 1000, D 0, could not be restored"
    with pytest.raises(TuningFailedError, match=why), open_session(begin(), place) as session:
        play(session)


def test_a_store_that_takes_nothing_more_does_not_keep_gains_from_being_restored(
    begin, bench, play, monkeypatch
) -> None:
    folder, place = begin(), bench()

    def full(*_: object) -> None:
        raise StoreError("no space left")

    with open_session(folder, place) as session:
        play(session, until="gen-02")
        monkeypatch.setattr(folder.store, "append_line", full)
        monkeypatch.setattr(folder.store, "write_bytes", full)
        with pytest.raises(StoreError, match="no space left"):
            play(session)
        assert gains_of(place) != BEFORE
    assert gains_of(place) == BEFORE


def test_another_instrument_is_left_alone(begin, bench, play) -> None:
    folder = begin()
    with open_session(folder, bench()) as session:
        play(session, until="gen-01")
    other = bench(name="other", gains=Gains(p=1, i=2000, d=3))
    with pytest.raises(ConfigurationError, match="was begun on moody, not on other"), open_session(folder, other):
        pass
    assert gains_of(other) == Gains(p=1, i=2000, d=3)


def test_a_tip_is_not_engaged_where_a_person_has_to_be_asked(begin, bench) -> None:
    place = bench(engaged=False)
    policy = SafetyPolicy(needs_approval=frozenset({CriticalAction.APPROACH}))
    with pytest.raises(RefusedError, match="not approved"), open_session(begin(), place, policy=policy):
        pass
    assert gains_of(place) == BEFORE
    assert place.back_end.read().scan.lines == 64


@pytest.mark.parametrize(
    ("fields", "why"),
    [
        ({"strategy": "luck"}, "there is no strategy 'luck'; take one of cma-es"),
        ({"box": {"i": (500, 10**6)}}, "the box has i from 500 to 1000000, and on moody i lies between 0 and"),
    ],
)
def test_an_order_that_cannot_be_done_changes_nothing(begin, bench, fields: dict, why: str) -> None:
    place = bench()
    with pytest.raises(ConfigurationError, match=why), open_session(begin(**fields), place):
        pass
    assert place.back_end.read().scan.lines == 64


def test_an_order_stands(begin) -> None:
    folder = begin(budget=4)
    folder.begin(folder.order())
    with pytest.raises(ConfigurationError, match=r"begun with budget 4, not 5: go on with these"):
        folder.begin(folder.order().model_copy(update={"budget": 5}))
    with pytest.raises(ConfigurationError, match=r"no tuning 'none'; it has: t1"):
        type(folder)(folder.store, "none").order()
    with pytest.raises(ConfigurationError, match=r"no name of a folder"):
        type(folder)(folder.store, "../x")
