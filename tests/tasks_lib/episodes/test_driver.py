"""The course of an episode: what is missing is done, what is done is not redone, what breaks is told."""

from __future__ import annotations

import asyncio
import errno
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import psutil
import pytest

from tasks_lib.episodes import (
    EpisodeVoidError,
    Event,
    Phases,
    Player,
    begin,
    drive,
    listening,
    load_work,
    missing,
    plain_phases,
    run_episode,
)
from tasks_lib.episodes.work import EpisodeWork
from tasks_lib.records import HandoffRecord, Outcome, Phase, Step, Verdict, VoidReason, VoidRecord
from tasks_lib.records.errors import (
    ActionError,
    EndpointError,
    EvaluatorError,
    InitialiseError,
    MachineLostError,
    ProvisionError,
    StoreError,
)
from tasks_lib.store import RunFolder, Store

from .conftest import ONE_STAGE, TWO_STAGES, MakeRun


def _work(store: Store, root: Path, position: int = 0) -> EpisodeWork:
    from tasks_lib.episodes import read_manifest

    return load_work(store, "r1", read_manifest(store, "r1").episodes[position].id, root)


def _drive(work: EpisodeWork, phases: Phases | None = None) -> tuple[Verdict, list[Event]]:
    heard: list[Event] = []
    with listening(heard.append):
        verdict = asyncio.run(drive(work, phases or plain_phases()))
    return verdict, heard


def _phases_of(events: list[Event]) -> list[tuple[str, Phase | None]]:
    return [(event.stage, event.phase) for event in events if event.kind == "phase-started"]


def _breaking(phase: str, error: BaseException, times: int = 1) -> Phases:
    """Real phases of which one raises, the first `times` times."""
    phases = plain_phases()
    real: Callable[..., Any] = getattr(phases, phase)
    left = [times]

    async def broken(*arguments: Any) -> Any:
        if left[0] > 0:
            left[0] -= 1
            raise error
        return await real(*arguments)

    return replace(phases, **{phase: broken})


def _documents(store: Store) -> dict[str, bytes]:
    return {path: store.read_bytes(path) for path in store.list("runs") if not path.endswith("lease.json")}


LIVE = [("main", Phase.PROVISION), ("main", Phase.INITIALISE), ("main", Phase.ACT), ("main", Phase.COLLECT)]


def test_an_episode_writes_every_document_of_its_attempt(store: Store, make_run: MakeRun) -> None:
    make_run(ONE_STAGE)
    work = _work(store, ONE_STAGE)
    verdict, events = _drive(work)
    assert verdict.outcome is Outcome.PASS
    assert _phases_of(events) == [*LIVE, ("main", Phase.EVALUATE)]
    assert [event.outcome for event in events if event.kind == "episode-ended"] == [Outcome.PASS]
    attempt = work.folder.attempt(1)
    names = {path.rsplit("/", 1)[1] for path in store.list(attempt.path)}
    assert names == {
        "lease.json", "provision.json", "initialise.json", "trajectory.jsonl", "evidence.json", "verdict.json",
    }  # fmt: skip
    steps = store.read_lines(attempt.stage().trajectory, Step)
    assert [step.index for step in steps] == list(range(1, len(steps) + 1))


def test_what_is_done_is_not_redone(store: Store, make_run: MakeRun) -> None:
    make_run(ONE_STAGE)
    work = _work(store, ONE_STAGE)
    first, _ = _drive(work)
    before = _documents(store)
    second, events = _drive(work)
    assert second == first
    assert events == []
    assert _documents(store) == before


@pytest.mark.parametrize(
    ("phase", "error", "reason"),
    [
        ("provision", ProvisionError("no room on the host"), VoidReason.PROVISION),
        ("initialise", InitialiseError("no window"), VoidReason.INITIALISE),
        ("act", MachineLostError("no answer"), VoidReason.MACHINE_LOST),
        ("act", EndpointError("401"), VoidReason.ENDPOINT),
        ("act", ActionError("a bug: never leaves the loop"), VoidReason.INTERNAL),
        ("collect", OSError(errno.ENOSPC, "No space left on device"), VoidReason.DISK_FULL),
        ("evaluate", EvaluatorError("bug"), VoidReason.EVALUATOR),
        ("evaluate", StoreError("away"), VoidReason.STORE),
        ("evaluate", ZeroDivisionError("bug"), VoidReason.INTERNAL),
    ],
)
def test_what_breaks_is_void_with_phase_and_reason_and_the_next_run_does_what_is_missing(
    store: Store, make_run: MakeRun, phase: str, error: BaseException, reason: VoidReason
) -> None:
    make_run(ONE_STAGE)
    work = _work(store, ONE_STAGE)
    with pytest.raises(EpisodeVoidError, match=f"VOID\\({reason}\\)") as caught:
        _drive(work, _breaking(phase, error))
    void = store.read_document(work.folder.attempt(1).void, VoidRecord)
    assert void == caught.value.record
    assert (void.reason, void.phase.value, void.exception) == (reason, phase, type(error).__name__)

    verdict, events = _drive(work)
    assert verdict.outcome is Outcome.PASS
    if phase == "evaluate":
        assert _phases_of(events) == [("main", Phase.EVALUATE)], "evidence is there: no machine is needed"
        assert work.folder.attempts() == [1]
    else:
        assert _phases_of(events)[:4] == LIVE
        assert work.folder.attempts() == [1, 2]


def test_an_error_that_may_pass_is_tried_once_more_in_a_new_attempt(store: Store, make_run: MakeRun) -> None:
    make_run(ONE_STAGE, retries=1)
    work = _work(store, ONE_STAGE)
    verdict, _ = _drive(work, _breaking("act", MachineLostError("no answer")))
    assert verdict.outcome is Outcome.PASS
    assert store.exists(work.folder.attempt(1).void)
    assert store.exists(work.folder.attempt(2).verdict)


def test_tries_end(store: Store, make_run: MakeRun) -> None:
    make_run(ONE_STAGE, retries=1)
    work = _work(store, ONE_STAGE)
    with pytest.raises(EpisodeVoidError):
        _drive(work, _breaking("act", MachineLostError("no answer"), times=9))
    assert work.folder.attempts() == [1, 2]


def test_what_the_agent_does_wrong_is_no_retry(store: Store, make_run: MakeRun) -> None:
    make_run(ONE_STAGE, Player("nop"), retries=1)
    work = _work(store, ONE_STAGE)
    verdict, _ = _drive(work)
    assert (verdict.outcome, verdict.earned) == (Outcome.FAIL, 0)
    assert work.folder.attempts() == [1]


def test_every_stage_hands_over_and_the_whole_is_judged(store: Store, make_run: MakeRun) -> None:
    make_run(TWO_STAGES)
    work = _work(store, TWO_STAGES)
    verdict, events = _drive(work)
    assert verdict.outcome is Outcome.PASS
    stages = [event.stage for event in events if event.kind == "phase-started" and event.phase is Phase.PROVISION]
    assert stages == ["double", "cube"], "a machine of its own for every stage"
    assert store.read_bytes(work.folder.handoff("double", "edge.json")) == b'{"a": 6.2}'
    check = store.read_document(work.folder.handoff_check("double", "edge.json"), HandoffRecord)
    assert (check.to_stage, [record.passed for record in check.checks]) == ("cube", [True])


def test_a_wrong_hand_off_and_a_wrong_result_are_told_apart(store: Store, make_run: MakeRun) -> None:
    make_run(TWO_STAGES, Player("oracle", variant="wrong-edge"), Player("oracle", variant="wrong-volume"))
    failed = []
    for position in range(2):
        verdict, _ = _drive(_work(store, TWO_STAGES, position))
        failed.append([(record.id, record.kind) for record in verdict.criteria if not record.passed])
    assert failed == [[("edge-handed-over", "hand-off")], [("volume", "result")]]


def test_without_a_hand_off_the_next_stage_does_not_begin(store: Store, make_run: MakeRun) -> None:
    make_run(TWO_STAGES, Player("oracle", variant="nothing-handed-over"))
    work = _work(store, TWO_STAGES)
    verdict, events = _drive(work)
    assert {event.stage for event in events if event.phase is Phase.PROVISION} == {"double"}
    assert verdict.outcome is Outcome.FAIL
    assert "never ran" in verdict.criteria[1].why
    check = store.read_document(work.folder.handoff_check("double", "edge.json"), HandoffRecord)
    assert check.blob is None


def test_a_stage_that_is_done_stays_done_when_a_later_one_breaks(store: Store, make_run: MakeRun) -> None:
    make_run(TWO_STAGES)
    work = _work(store, TWO_STAGES)
    phases = plain_phases()
    real = phases.act

    async def act(work: Any, attempt: Any, stage: Any, machine: Any) -> Any:
        if stage.id == "cube":
            msg = "no answer"
            raise MachineLostError(msg)
        return await real(work, attempt, stage, machine)

    with pytest.raises(EpisodeVoidError) as caught:
        _drive(work, replace(phases, act=act))
    assert (caught.value.record.stage, caught.value.record.phase) == ("cube", Phase.ACT)
    assert [stage.id for stage in missing(work).stages] == ["cube"]
    verdict, events = _drive(work)
    assert verdict.outcome is Outcome.PASS
    assert {event.stage for event in events if event.phase is Phase.PROVISION} == {"cube"}


def test_too_little_room_is_void_before_a_machine_is_opened(
    store: Store, make_run: MakeRun, monkeypatch: pytest.MonkeyPatch
) -> None:
    make_run(ONE_STAGE)
    work = _work(store, ONE_STAGE)
    monkeypatch.setenv("MATASSAY_MIN_FREE_MB", str(2**40))
    with pytest.raises(EpisodeVoidError, match=r"VOID\(disk full\).*make room") as caught:
        _drive(work)
    assert caught.value.record.phase is Phase.PROVISION
    assert not store.exists(work.folder.attempt(1).stage().provision)


def test_an_episode_that_another_holds_is_left_to_him(store: Store, make_run: MakeRun) -> None:
    make_run(ONE_STAGE)
    work = _work(store, ONE_STAGE)
    other = begin(work.folder, new=True)
    try:
        with pytest.raises(EpisodeVoidError, match="is held by"):
            _drive(work)
        assert work.folder.attempts() == [1]
        assert not store.exists(work.folder.attempt(1).void), "not ours to say"
    finally:
        other.end()
    verdict, _ = _drive(work)
    assert verdict.outcome is Outcome.PASS


def test_a_cancelled_episode_is_void_and_leaves_no_machine(store: Store, make_run: MakeRun) -> None:
    make_run(ONE_STAGE)
    work = _work(store, ONE_STAGE)
    phases = plain_phases()
    opened: list[Any] = []

    async def provision(*arguments: Any) -> Any:
        opened.append(await phases.provision(*arguments))
        return opened[0]

    async def main() -> None:
        acting = asyncio.Event()

        async def act(*_: Any) -> Any:
            acting.set()
            await asyncio.Event().wait()

        task = asyncio.create_task(drive(work, replace(phases, provision=provision, act=act)))
        await acting.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(main())
    void = store.read_document(work.folder.attempt(1).void, VoidRecord)
    assert (void.reason, void.phase) == (VoidReason.CANCELLED, Phase.ACT)
    assert not psutil.pid_exists(opened[0].pid)


def test_a_machine_that_comes_up_after_the_cancellation_is_closed(store: Store, make_run: MakeRun) -> None:
    make_run(ONE_STAGE)
    work = _work(store, ONE_STAGE)
    phases = plain_phases()
    opened: list[Any] = []

    async def main() -> None:
        opening = asyncio.Event()

        async def provision(*arguments: Any) -> Any:
            opening.set()
            opened.append(await phases.provision(*arguments))
            return opened[0]

        task = asyncio.create_task(drive(work, replace(phases, provision=provision)))
        await opening.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(main())
    assert not psutil.pid_exists(opened[0].pid)


def test_a_task_that_changed_is_void_not_another_task(store: Store, make_run: MakeRun, one_stage: Path) -> None:
    (spec,) = make_run(one_stage).episodes
    file = next(one_stage.glob("*/*/*/task.yaml"))
    file.write_text(file.read_text(encoding="utf-8").replace("29.791", "29.792"), encoding="utf-8")
    with pytest.raises(EpisodeVoidError, match=r"VOID\(task\).*start a new run"):
        asyncio.run(run_episode(store, "r1", spec.id, one_stage, plain_phases()))
    void = store.read_document(RunFolder(store, "r1").episode(spec.id).attempt(1).void, VoidRecord)
    assert void.reason is VoidReason.TASK


def test_an_unreadable_task_file_is_void_with_its_place(store: Store, make_run: MakeRun, one_stage: Path) -> None:
    (spec,) = make_run(one_stage).episodes
    next(one_stage.glob("*/*/*/task.yaml")).write_text("title: [", encoding="utf-8")
    with pytest.raises(EpisodeVoidError, match=r"VOID\(task\).*task\.yaml:"):
        asyncio.run(run_episode(store, "r1", spec.id, one_stage, plain_phases()))


def test_the_same_evidence_gives_the_same_verdict_bytes(store: Store, make_run: MakeRun) -> None:
    make_run(ONE_STAGE)
    work = _work(store, ONE_STAGE)
    _drive(work)
    path = work.folder.attempt(1).verdict
    first = store.read_bytes(path)
    store.delete(path)
    _, events = _drive(work)
    assert _phases_of(events) == [("main", Phase.EVALUATE)]
    assert store.read_bytes(path) == first
