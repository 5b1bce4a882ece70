"""Machines that nobody holds any more are ended by what their lease says."""

from __future__ import annotations

import subprocess
import sys
import textwrap
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import Any

import psutil
import pytest

from flows.reaper import Reaper, reap_flow_run, record_crash
from tasks_lib.records import Lease, RunManifest, VoidRecord, now
from tasks_lib.sandbox import provider
from tasks_lib.store import RunFolder, Store, new_attempt

pytestmark = pytest.mark.usefixtures("machines")
MakeRun = Callable[..., RunManifest]
EPISODE = "lattice-parameter--oracle--t1"


@pytest.fixture
def manifest(store: Store, plan: MakeRun, one_stage: Path) -> RunManifest:
    return plan(store, one_stage)


@pytest.fixture
def machine(manifest: RunManifest):
    opened = provider("local").open(manifest.machine, desktop=False, endpoints={}, python=Path(sys.executable))
    yield opened
    opened.close()


def _hold(store: Store, machine: Any, seconds: float, flow_run_id: str = "f1"):
    attempt, held = new_attempt(RunFolder(store, "r1").episode(EPISODE), seconds=seconds, flow_run_id=flow_run_id)
    held.renew(machine_id=machine.id, machine_pid=machine.pid, machine_start=machine.start_time)
    return attempt, held


def _lives(machine: Any) -> bool:
    return psutil.pid_exists(machine.pid) and psutil.Process(machine.pid).status() != psutil.STATUS_ZOMBIE


def test_a_lease_that_ran_out_loses_its_machine(store: Store, machine: Any, until) -> None:
    attempt, held = _hold(store, machine, seconds=60)
    reaper = Reaper(store)
    assert reaper.sweep() == []
    assert _lives(machine)
    held.renew(seconds=-1)
    assert [lease.machine_id for lease in reaper.sweep()] == [machine.id]
    until(lambda: not _lives(machine), 10, "the machine has ended")
    assert store.read_document(attempt.lease, Lease).released is not None
    assert reaper.sweep() == []


def test_a_holder_that_died_loses_its_machine_before_the_lease_runs_out(store: Store, machine: Any, until) -> None:
    program = textwrap.dedent(
        f"""
        from tasks_lib.store import RunFolder, Store, new_attempt
        store = Store.open({store.url!r})
        _, held = new_attempt(RunFolder(store, "r1").episode({EPISODE!r}), seconds=3600, flow_run_id="f1")
        held.renew(machine_id={machine.id!r}, machine_pid={machine.pid}, machine_start={machine.start_time!r})
        """
    )
    subprocess.run([sys.executable, "-c", program], check=True)
    assert [lease.flow_run_id for lease in Reaper(store).sweep()] == ["f1"]
    until(lambda: not _lives(machine), 10, "the machine has ended")


def test_a_hook_ends_the_machines_of_its_own_flow_run_alone(store: Store, machine: Any, until) -> None:
    _hold(store, machine, seconds=60, flow_run_id="mine")
    assert reap_flow_run(store, "r1", EPISODE, "another") == []
    assert _lives(machine)
    assert reap_flow_run(store, "r1", EPISODE, "mine") == [machine.id]
    until(lambda: not _lives(machine), 10, "the machine has ended")


def test_a_process_that_took_over_the_number_is_left_alone(store: Store, manifest: RunManifest) -> None:
    stranger = subprocess.Popen(["sleep", "600"])
    try:
        _, held = new_attempt(RunFolder(store, "r1").episode(EPISODE), seconds=60)
        held.renew(seconds=-1, machine_id="m1", machine_pid=stranger.pid, machine_start=1.0)
        Reaper(store).sweep()
        assert stranger.poll() is None
    finally:
        stranger.kill()
        stranger.wait()


def test_an_attempt_that_was_cut_off_is_void_once(store: Store, machine: Any) -> None:
    attempt, _ = _hold(store, machine, seconds=60)
    assert not record_crash(store, "r1", EPISODE, "another", "Crashed: SIGKILL")
    assert record_crash(store, "r1", EPISODE, "f1", "Crashed: SIGKILL")
    void = store.read_document(attempt.void, VoidRecord)
    assert (void.reason, void.message) == ("cancelled", "the flow run was cut off: Crashed: SIGKILL")
    assert not record_crash(store, "r1", EPISODE, "f1", "again")
    assert now() - void.when < timedelta(minutes=5)
