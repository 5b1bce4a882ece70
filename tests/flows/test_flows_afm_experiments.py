"""An experiment at the microscope as a flow, against a real Prefect server."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import httpx
import pytest

from flows.afm_experiments import afm_experiment
from tasks_lib.instruments.experiments import ExperimentError, Verdict
from tasks_lib.instruments.experiments import session as module
from tasks_lib.instruments.experiments.folder import ExperimentFolder, ExperimentOrder
from tasks_lib.instruments.nid import read_nid
from tasks_lib.instruments.protocol import Instrument
from tasks_lib.records.errors import ConfigurationError, LeaseHeldError
from tasks_lib.store import Store, acquire

ORDER = {"experiment": "friction-load", "points": 48}


def do(store: Store, name: str, order: dict[str, Any] | None = ORDER) -> Any:
    return asyncio.run(afm_experiment(store.url, name, order, return_state=True))


def test_an_experiment_is_one_flow_with_a_task_for_each_frame_and_a_page(
    store: Store, inline_server: str, until: Callable[..., Any]
) -> None:
    state = do(store, "sweep")
    assert state.name == "Completed"
    folder = ExperimentFolder(store, "sweep")
    report = folder.read_report()
    assert report is not None
    assert report.quantity("slope").verdict is not Verdict.NO_TRUTH
    assert state.message.startswith("friction-load: ")
    assert state.message.endswith("of 6 values and findings agree with the truth")
    for used in report.frames:
        frame = read_nid(store.read_bytes(folder.frame(used.name))).frame()
        assert frame.complete
        assert frame.setpoint == pytest.approx(used.setpoint)
    assert store.read_bytes(folder.picture).startswith(b"\x89PNG")

    def post(path: str, **body: Any) -> Any:
        answer = httpx.post(f"{inline_server}{path}", json=body, timeout=60, trust_env=False)
        answer.raise_for_status()
        return answer.json()

    (run,) = post(
        "/flow_runs/filter", flows={"name": {"any_": ["afm-experiment"]}}, flow_runs={"name": {"any_": ["sweep"]}}
    )

    def tasks() -> list[str]:
        found = post("/task_runs/filter", task_runs={"flow_run_id": {"any_": [run["id"]]}})
        return sorted(one["name"] for one in found if one["state_name"] == "Completed")

    until(lambda: tasks() == [f"load-{number}" for number in range(1, 6)], 90, "a task for each frame")
    pages = post("/artifacts/latest/filter", artifacts={"key": {"like_": "experiment-sweep"}})
    shown = {page["key"]: page for page in pages}
    assert set(shown) == {"experiment-sweep", "experiment-sweep-frames"}
    page = shown["experiment-sweep"]["data"]
    assert all(one.name in page for one in report.quantities)
    assert all(f"(/files/{folder.frame(one.name)})" in page for one in report.frames)
    assert f"(/files/{folder.picture})" in page

    # What is done is not done again.
    before = store.read_bytes(folder.frame("load-1"))
    assert do(store, "sweep", None).message == state.message
    assert store.read_bytes(folder.frame("load-1")) == before


def test_a_frame_that_is_not_valid_fails_the_flow_and_restores_the_instrument(
    store: Store, inline_server: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    scan_for = module.scan_for
    instruments: list[Instrument] = []

    def cut(instrument: Instrument, order: Any, *rest: Any) -> Any:
        instruments.append(instrument)
        frame = scan_for(instrument, order, *rest)
        return replace(frame, lines_done=20) if order.name == "load-3" else frame

    monkeypatch.setattr(module, "scan_for", cut)
    state = do(store, "cut")
    assert state.name == "Failed"
    assert "frame load-3" in state.message
    assert "28 of 48 lines are not scanned" in state.message
    with pytest.raises(ExperimentError):
        asyncio.run(state.aresult())
    assert ExperimentFolder(store, "cut").read_report() is None
    after = instruments[-1].snapshot()
    assert after.setpoint == 0.2
    assert not after.engaged
    # Nobody holds it.
    acquire(store, "instruments/twin-cut", seconds=5).release()


def test_kill_9_between_two_frames_then_the_same_command_scans_the_rest(
    store: Store, tmp_path: Path, until: Callable[..., Any]
) -> None:
    folder, whole = ExperimentFolder(store, "killed"), ExperimentFolder(store, "whole")
    for one in (folder, whole):
        one.begin(ExperimentOrder.model_validate(ORDER))
    with module.open_experiment(whole) as session:
        while (order := session.next_order()) is not None:
            session.scan(order)
        undisturbed = session.finish()
    command = [sys.executable, "-m", "tasks_lib.cli", "afm", "experiment", "--resume", "killed", "--store", store.url]
    environ = {name: value for name, value in os.environ.items() if not name.startswith("PREFECT_")}
    environ["MATASSAY_STATE"] = str(tmp_path / "state")
    with subprocess.Popen(command, env=environ, cwd=tmp_path, stdout=subprocess.DEVNULL) as process:
        until(lambda: len(folder.frames()) >= 1 or process.poll() is not None, 120, "the first frame")
        process.kill()
    kept = folder.frames()
    assert process.returncode == -9
    assert 1 <= len(kept) < 5
    assert folder.read_report() is None
    subprocess.run(command, env=environ, cwd=tmp_path, check=True, stdout=subprocess.DEVNULL)
    report = folder.read_report()
    assert report is not None
    assert report.quantities == undisturbed.quantities
    assert folder.frames()[: len(kept)] == kept
    assert [one.order.name for one in folder.frames()] == [f"load-{number}" for number in range(1, 6)]


def test_two_at_one_microscope_are_refused(store: Store, inline_server: str) -> None:
    ExperimentFolder(store, "held").begin(ExperimentOrder.model_validate(ORDER))
    with acquire(store, "instruments/twin-held", seconds=60), pytest.raises(LeaseHeldError):
        asyncio.run(do(store, "held").aresult())


def test_an_order_that_is_none_is_refused_before_anything_is_written(store: Store) -> None:
    folder = ExperimentFolder(store, "none")
    with pytest.raises(ConfigurationError, match="no experiment 'nothing'"):
        folder.begin(ExperimentOrder(experiment="nothing"))
    with pytest.raises(ConfigurationError, match="no experiment 'none'"):
        folder.order()
    folder.begin(ExperimentOrder.model_validate(ORDER))
    with pytest.raises(ConfigurationError, match="another order"):
        folder.begin(ExperimentOrder.model_validate(ORDER | {"seed": 1}))
    with pytest.raises(ConfigurationError, match="no name of a folder"):
        ExperimentFolder(store, "../x")
