"""A program that stops for good in an episode: VOID with its reason, tried again, and nothing of it is left."""

from __future__ import annotations

import asyncio
import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tasks_lib.episodes import EpisodeVoidError, Player, plain_phases, run_episode
from tasks_lib.records import Outcome, Phase, Provision, Step, VoidReason
from tasks_lib.sandbox import computer, provider
from tasks_lib.store import RunFolder, Store

from .conftest import MakeRun

pytestmark = [
    pytest.mark.desktop,
    pytest.mark.skipif(
        bool(provider("local").problems(desktop=True)), reason="; ".join(provider("local").problems(desktop=True))
    ),
    pytest.mark.skipif(shutil.which("fityk") is None, reason="fityk is not installed: apt-get install fityk"),
]
STOP = "import os, signal\nos.kill({pid}, signal.SIGSTOP)\n"


@pytest.fixture
def desktop_task(one_stage: Path) -> Path:
    """The fixture's task, which starts Fityk."""
    file = next(one_stage.glob("*/*/*/task.yaml"))
    text = file.read_text(encoding="utf-8").replace("modality: code", "modality: gui").replace("medium", "easy")
    setup = "setup:\n  - {launch: fityk, window: Fityk}\ndeliverables:"
    file.write_text(text.replace("deliverables:", setup, 1), encoding="utf-8")
    return one_stage


class StopsIt:
    """The phase *act*, before which Fityk is stopped in the first attempts."""

    def __init__(self, attempts: int) -> None:
        self.phases = plain_phases()
        self.left = attempts

    async def __call__(self, work: Any, attempt: Any, stage: Any, machine: Any) -> Any:
        if self.left > 0:
            self.left -= 1
            (window,) = machine.computer.observe(screenshot=False).observation.windows
            machine.computer.run_script(STOP.format(pid=window.pid), name="stop", seconds=30)
        return await self.phases.act(work, attempt, stage, machine)


def _processes_of(machine_id: str) -> list[int]:
    found = []
    for folder in Path("/proc").iterdir():
        try:
            if folder.name.isdigit() and machine_id.encode() in (folder / "environ").read_bytes():
                found.append(int(folder.name))
        except OSError:
            continue  # ended meanwhile, or another user's
    return found


def test_an_episode_whose_program_stopped_is_void_and_leaves_nothing(
    store: Store, make_run: MakeRun, desktop_task: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(computer, "STUCK_SECONDS", 1.0)
    manifest = make_run(desktop_task, Player("oracle"))
    phases = replace(plain_phases(), act=StopsIt(1))
    with pytest.raises(EpisodeVoidError, match="Fityk") as caught:
        asyncio.run(run_episode(store, manifest.run_id, manifest.episodes[0].id, desktop_task, phases))
    record = caught.value.record
    assert (record.reason, record.phase) == (VoidReason.PROGRAM_STUCK, Phase.ACT)
    stage = RunFolder(store, manifest.run_id).episode(manifest.episodes[0].id).attempt(1).stage()
    assert len(store.read_lines(stage.trajectory, Step)) == 1  # the step after which it was found, for whoever looks
    assert not store.exists(stage.evidence)
    assert _processes_of(store.read_document(stage.provision, Provision).machine_id) == []


def test_it_is_tried_once_more_and_judged_then(
    store: Store, make_run: MakeRun, desktop_task: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(computer, "STUCK_SECONDS", 1.0)
    manifest = make_run(desktop_task, Player("oracle"), retries=1)
    phases = replace(plain_phases(), act=StopsIt(1))
    verdict = asyncio.run(run_episode(store, manifest.run_id, manifest.episodes[0].id, desktop_task, phases))
    assert verdict.outcome in {Outcome.PASS, Outcome.FAIL}
    assert RunFolder(store, manifest.run_id).episode(manifest.episodes[0].id).attempt(2).number == 2
