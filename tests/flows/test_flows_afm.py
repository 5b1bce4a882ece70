"""The tuning of a microscope as a flow, against a real Prefect server: whole, killed, cancelled, refused."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import httpx
import pytest

from flows import afm_pid_tuning as module
from tasks_lib.instruments.frame import Gains
from tasks_lib.instruments.protocol import ApproachStatus
from tasks_lib.instruments.tuning.bench import Bench, open_bench
from tasks_lib.instruments.tuning.folder import TuningFolder
from tasks_lib.instruments.tuning.progress import ScanEvent, listening
from tasks_lib.instruments.tuning.session import TuningFailedError, open_session
from tasks_lib.instruments.tuning.session_records import ScanPlan, TuningOrder
from tasks_lib.records.errors import LeaseHeldError
from tasks_lib.store import Store, acquire

ORDER = {"strategy": "ga-plus", "budget": 6, "fresh_frames": 2}
BEFORE = TuningOrder().start
Made = tuple[ScanPlan, float | None, bytes | None]
LABELS = [
    "before/frame-1", "before/frame-2", "gen-01/scan-001", "gen-01/scan-002", "gen-01/scan-003", "gen-02/scan-004",
    "gen-02/scan-005", "gen-02/scan-006", "verify-1/frame-1", "verify-1/frame-2",
]  # fmt: skip


@pytest.fixture
def benches(monkeypatch: pytest.MonkeyPatch) -> list[Bench]:
    """The microscopes that the flow opens: what a person would find in the laboratory afterwards."""
    made: list[Bench] = []

    def keep(*arguments: Any) -> Bench:
        made.append(open_bench(*arguments))
        return made[-1]

    monkeypatch.setattr(module, "open_bench", keep)
    return made


@pytest.fixture(scope="module")
def unbroken(tmp_path_factory: pytest.TempPathFactory) -> list[Made]:
    """What a tuning makes that nobody disturbs, without Prefect."""
    folder = TuningFolder(Store.open(str(tmp_path_factory.mktemp("unbroken"))), "t")
    folder.begin(TuningOrder.model_validate(ORDER))
    with open_session(folder, open_bench(folder.order(), "t")) as session:
        while (group := session.next_group()) is not None:
            for plan in group.plans:
                session.scan(plan)
        session.finish()
    return made(folder.store, "t")


def tune(store: Store, name: str, order: dict[str, Any] | None = None) -> Any:
    """Run the flow and return its state."""
    return asyncio.run(module.afm_pid_tuning(store.url, name, order, return_state=True))


def result_of(state: Any) -> Any:
    return asyncio.run(state.aresult())


def made(store: Store, name: str) -> list[Made]:
    """Return plan, score and the bytes of the frame of every scan."""
    return [
        (one.plan, one.score, store.read_bytes(one.nid) if one.nid else None)
        for one in TuningFolder(store, name).scans()
    ]


def test_a_tuning_is_one_flow_with_a_task_for_each_scan_and_a_live_page(
    store: Store, inline_server: str, benches: list[Bench], unbroken: list[Made], until: Callable[..., Any]
) -> None:
    state = tune(store, "whole", ORDER)
    assert state.name == "Completed"
    assert made(store, "whole") == unbroken
    result = TuningFolder(store, "whole").read_result()
    assert result is not None
    assert state.message == result.message
    assert benches[0].back_end.read().gains == result.gains != BEFORE

    def post(path: str, **body: Any) -> Any:
        answer = httpx.post(f"{inline_server}{path}", json=body, timeout=60, trust_env=False)
        answer.raise_for_status()
        return answer.json()

    (run,) = post(
        "/flow_runs/filter", flows={"name": {"any_": ["afm-pid-tuning"]}}, flow_runs={"name": {"any_": ["whole"]}}
    )

    def tasks() -> list[str]:
        found = post("/task_runs/filter", task_runs={"flow_run_id": {"any_": [run["id"]]}})
        return sorted(one["name"] for one in found if one["state_name"] == "Completed")

    until(lambda: tasks() == sorted(LABELS), 90, "a task for each scan")
    pages = post("/artifacts/latest/filter", artifacts={"key": {"like_": "tuning-whole"}})
    shown = {page["key"]: page for page in pages}
    assert set(shown) == {
        "tuning-whole", "tuning-whole-history", "tuning-whole-before-after", "tuning-whole-result",
    }  # fmt: skip
    page = shown["tuning-whole"]["data"]
    assert all(label in page for label in LABELS)
    pictures = [f"tunings/whole/pictures/result-{name}.png" for name in ("history", "best", "before-after")]
    assert all(f"(/files/{path})" in page and store.exists(path) for path in pictures)
    versions = post("/artifacts/filter", artifacts={"key": {"any_": ["tuning-whole"]}})
    assert len(versions) == 5, "before, two generations, verified, done"

    # What is done stays as it is: no microscope is opened for it.
    assert tune(store, "whole").message == state.message
    assert len(benches) == 1


def test_kill_9_in_a_scan_then_the_same_command_repeats_none(
    store: Store, tmp_path: Path, unbroken: list[Made]
) -> None:
    folder = TuningFolder(store, "killed")
    folder.begin(TuningOrder.model_validate(ORDER))
    words = ["afm", "tune", "--resume", "killed", "--store", store.url, "--json"]
    command = [sys.executable, "-m", "tasks_lib.cli", *words]
    environ = {name: value for name, value in os.environ.items() if not name.startswith("PREFECT_")}
    environ["MATASSAY_STATE"] = str(tmp_path / "state")
    ended = []
    for stop in ("gen-02/scan-005", None):
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environ, cwd=tmp_path) as process:
            assert process.stdout is not None
            for line in process.stdout:
                event = json.loads(line)
                if event["event"] == "scan-ended":
                    ended.append(event["plan"]["label"])
                if event["event"] == "scan-started" and event["plan"]["label"] == stop:
                    process.kill()
                    break
        assert process.returncode == (0 if stop is None else -9)
        assert (folder.read_result() is not None) == (stop is None)
    assert ended == LABELS
    assert made(store, "killed") == unbroken
    start = folder.start()
    assert start is not None
    assert start.state.gains == BEFORE
    assert [one.finished for one in folder.read_attempts()] == [True], "a killed process leaves no word"


def test_cancelled_in_a_scan_it_stops_restores_and_can_go_on(
    store: Store, inline_server: str, benches: list[Bench], unbroken: list[Made]
) -> None:
    async def cancelled() -> None:
        loop = asyncio.get_running_loop()
        work = asyncio.ensure_future(module.afm_pid_tuning(store.url, "cut", ORDER))

        def listener(event: ScanEvent) -> None:
            if event.kind == "scan-started" and event.plan.label == "gen-01/scan-002":
                loop.call_soon_threadsafe(work.cancel)

        with listening(listener):
            await work

    with pytest.raises(asyncio.CancelledError):
        asyncio.run(cancelled())
    at = benches[0].back_end.read()
    assert (at.gains, at.scanning, at.approach) == (BEFORE, False, ApproachStatus.WITHDRAWN)
    known = len(made(store, "cut"))
    # A scan that was over before the word came is kept; one that was not leaves nothing.
    assert known in {3, 4}
    state = tune(store, "cut")
    assert state.name == "Completed"
    assert made(store, "cut") == unbroken
    assert benches[1].back_end.read().gains == result_gains(store, "cut")


def result_gains(store: Store, name: str) -> Gains:
    result = TuningFolder(store, name).read_result()
    assert result is not None
    return result.gains


def test_frames_that_cannot_be_judged_end_it_red_and_a_retry_goes_on(
    store: Store, inline_server: str, benches: list[Bench], unbroken: list[Made]
) -> None:
    def lift(event: ScanEvent) -> None:
        # Somebody lifts the tip from the second generation on.
        if event.kind == "scan-started" and event.plan.label.startswith("gen-02"):
            benches[-1].back_end.withdraw()

    with listening(lift):
        state = tune(store, "lifted", ORDER)
    assert state.name == "Failed"
    assert state.message.startswith("3 scans in a row could not be judged, the last, gen-02/scan-006, because: no scan")
    with pytest.raises(TuningFailedError):
        result_of(state)
    assert benches[0].back_end.read().gains == BEFORE
    state = tune(store, "lifted")
    assert state.name == "Completed"
    assert [one[0] for one in made(store, "lifted")][-5:] == [one[0] for one in unbroken][-5:]


def test_a_held_instrument_is_named_with_its_holder(store: Store, inline_server: str, benches: list[Bench]) -> None:
    with acquire(store, "instruments/twin-held", seconds=60):
        state = tune(store, "held", ORDER)
    assert state.name == "Failed"
    with pytest.raises(LeaseHeldError, match=r"'instruments/twin-held' is held by .* until"):
        result_of(state)
    assert benches[0].back_end.read().gains == BEFORE
    assert made(store, "held") == []
