"""Kill -9 in every phase, then the same command again: nothing done is redone, nothing is lost, nobody survives."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest

from tasks_lib.records import Outcome, Provision, RunSummary, Step
from tasks_lib.store import RunFolder, Store

FIXTURES = Path(__file__).parents[2] / "fixtures" / "episodes"
PHASES = ("provision", "initialise", "act", "collect", "evaluate")


pytestmark = pytest.mark.usefixtures("machines")


@pytest.fixture(scope="module")
def state(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The state folder of all runs here: the orchestrator's database is made once, and outlives every kill."""
    return tmp_path_factory.mktemp("state")


class Runner:
    """`matassay run … --json` in a process of its own."""

    def __init__(self, folder: Path, state: Path, *words: str) -> None:
        environ = {**os.environ, "MATASSAY_STATE": str(state)}
        self.mark = str(folder)
        environ["MATASSAY_TEST_MARK"] = self.mark
        self.process = subprocess.Popen(
            [sys.executable, "-m", "tasks_lib.cli", "run", "--store", str(folder / "store"), "--json", *words],
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=folder, env=environ,
        )  # fmt: skip

    def events(self) -> Iterator[dict[str, object]]:
        """Yield what the command prints, line by line, as it comes."""
        assert self.process.stdout is not None
        for line in self.process.stdout:
            yield json.loads(line)

    def kill_in(self, phase: str) -> list[dict[str, object]]:
        """Kill the process as soon as it says that the phase has begun."""
        seen = []
        for event in self.events():
            seen.append(event)
            if event["event"] == "phase-started" and event["phase"] == phase:
                self.process.kill()
                break
        self.process.wait()
        self._close()
        return seen

    def finish(self) -> tuple[int, list[dict[str, object]], str]:
        """Let the command end by itself."""
        seen = list(self.events())
        errors = self.process.stderr.read() if self.process.stderr else ""
        code = self.process.wait()
        self._close()
        return code, seen, errors

    def _close(self) -> None:
        for stream in (self.process.stdout, self.process.stderr):
            if stream is not None:
                stream.close()

    def descendants(self) -> list[psutil.Process]:
        """Return every process on this host that inherited our environment's mark."""
        found = []
        for process in psutil.process_iter():
            try:
                if process.environ().get("MATASSAY_TEST_MARK") == self.mark:
                    found.append(process)
            except psutil.Error:
                continue
        return found


def _machine_processes(store: Store) -> list[psutil.Process]:
    """Return the processes that still carry the name of a machine that the store knows of."""
    machines = {
        store.read_document(path, Provision).machine_id
        for path in store.list("runs")
        if path.endswith("provision.json")
    }
    found = []
    for process in psutil.process_iter():
        try:
            words = " ".join(process.cmdline())
        except psutil.Error:
            continue
        if any(machine in words for machine in machines):
            found.append(process)
    return found


def _wait_until_gone(processes: list[psutil.Process]) -> list[psutil.Process]:
    _, alive = psutil.wait_procs(processes, timeout=30)
    return alive


@pytest.mark.timeout(900)
def test_kill_9_in_every_phase_then_the_same_command_again(tmp_path: Path, state: Path) -> None:
    words = ("--taskdefs", str(FIXTURES / "one_stage"), "--agent", "oracle", "--resume", "night")
    store = Store.open(str(tmp_path / "store"))
    for phase in PHASES:
        runner = Runner(tmp_path, state, *words)
        seen = runner.kill_in(phase)
        assert seen, "the command said nothing before it ended"
        assert _wait_until_gone(runner.descendants()) == []
        assert _wait_until_gone(_machine_processes(store)) == []

    last = Runner(tmp_path, state, *words)
    code, seen, errors = last.finish()
    assert code == 0, errors
    # Killed in `evaluate`: the evidence was there, so the last command needs no machine.
    assert [event["phase"] for event in seen if event["event"] == "phase-started"] == ["evaluate"]
    run = RunFolder(store, "night")
    summary = store.read_document(run.summary, RunSummary)
    assert [result.outcome for result in summary.episodes] == [Outcome.PASS]
    assert _wait_until_gone(last.descendants()) == []

    # One attempt a kill in a live phase; the one that was complete is the one that counts.
    episode = run.episode(summary.episodes[0].id)
    attempts = [episode.attempt(number) for number in episode.attempts()]
    assert [store.exists(attempt.stage().evidence) for attempt in attempts] == [False] * (len(attempts) - 1) + [True]
    for attempt in attempts:
        for step in store.read_lines(attempt.stage().trajectory, Step):
            assert step.index >= 1

    again = Runner(tmp_path, state, *words)
    before = {path: store.read_bytes(path) for path in store.list(run.episode(summary.episodes[0].id).path)}
    code, seen, errors = again.finish()
    assert code == 0, errors
    assert [event for event in seen if event["event"] != "run-ended"] == []
    assert {path: store.read_bytes(path) for path in before} == before


def test_kill_9_in_a_hand_off_redoes_no_stage_that_is_done(tmp_path: Path, state: Path) -> None:
    words = ("--taskdefs", str(FIXTURES / "two_stages"), "--agent", "oracle", "--resume", "night")
    runner = Runner(tmp_path, state, *words)
    runner.kill_in("hand-off")
    assert _wait_until_gone(runner.descendants()) == []

    last = Runner(tmp_path, state, *words)
    code, seen, errors = last.finish()
    assert code == 0, errors
    started = [(event["stage"], event["phase"]) for event in seen if event["event"] == "phase-started"]
    assert started[0] == ("double", "hand-off"), "the first stage's evidence was there"
    assert [stage for stage, phase in started if phase == "provision"] == ["cube"]
    assert _wait_until_gone(last.descendants()) == []


def test_an_interrupt_keeps_what_is_done_and_prints_how_to_go_on(tmp_path: Path, state: Path) -> None:
    words = ("--taskdefs", str(FIXTURES / "one_stage"), "--agent", "oracle", "--resume", "night")
    runner = Runner(tmp_path, state, *words)
    for event in runner.events():
        # Early: on a busy machine the signal must not come after the last phase.
        if event["event"] == "phase-started" and event["phase"] == "provision":
            runner.process.send_signal(signal.SIGINT)
            break
    code, _, errors = runner.finish()
    assert code == 130, errors
    assert "matassay run --resume night --store" in " ".join(errors.split())
    assert "Traceback" not in errors
    assert _wait_until_gone(runner.descendants()) == []

    resumed = Runner(tmp_path, state, "--resume", "night", "--taskdefs", str(FIXTURES / "one_stage"))
    code, seen, errors = resumed.finish()
    assert code == 0, errors
    assert seen[-1]["done"] == 1


def test_one_broken_task_does_not_stop_the_others(tmp_path: Path, state: Path) -> None:
    root = Path(shutil.copytree(FIXTURES / "one_stage", tmp_path / "tasks"))
    broken = root / "open" / "powder" / "unreadable"
    broken.mkdir()
    (broken / "task.yaml").write_text("task: [", encoding="utf-8")
    code, seen, errors = Runner(tmp_path, state, "--taskdefs", str(root), "--agent", "oracle").finish()
    assert code == 1, "VOID episodes end with 1"
    summary = seen[-1]
    assert (summary["done"], summary["void"]) == (1, 1)
    assert "VOID(task)" in errors
    assert "matassay retry" in errors
