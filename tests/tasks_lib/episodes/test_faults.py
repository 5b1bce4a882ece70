"""Real faults around the agent: each is VOID with its reason, and the next episode goes on."""

from __future__ import annotations

import asyncio
import errno
import os
import signal
import socket
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tasks_lib.episodes import EpisodeVoidError, Player, listening, plain_phases, run_episode
from tasks_lib.records import Lease, Outcome, Phase, Provision, RunManifest, VoidReason, VoidRecord
from tasks_lib.sandbox import provider
from tasks_lib.store import RunFolder, Store
from tasks_lib.taskdefs import load_all

from .conftest import ONE_STAGE, MakeRun

needs_desktop = pytest.mark.skipif(
    bool(provider("local").problems(desktop=True)), reason="; ".join(provider("local").problems(desktop=True))
)


def _void(
    store: Store, manifest: RunManifest, root: Path, phases: Any = None, models: Path | None = None
) -> VoidRecord:
    """Run the first episode, which is VOID, and return why."""
    with pytest.raises(EpisodeVoidError) as caught:
        asyncio.run(
            run_episode(
                store, manifest.run_id, manifest.episodes[0].id, root, phases or plain_phases(), models_file=models
            )
        )
    return caught.value.record


def _others_go_on(store: Store, manifest: RunManifest, root: Path) -> None:
    verdict = asyncio.run(run_episode(store, manifest.run_id, manifest.episodes[1].id, root, plain_phases()))
    assert verdict.outcome in {Outcome.PASS, Outcome.FAIL}


def _desktop_task(root: Path, setup: str) -> Path:
    """Turn the fixture into a desktop task with another set-up."""
    file = next(root.glob("*/*/*/task.yaml"))
    text = file.read_text(encoding="utf-8").replace("modality: code", "modality: gui").replace("medium", "easy")
    file.write_text(text.replace("deliverables:", f"setup:\n{setup}\ndeliverables:", 1), encoding="utf-8")
    assert not load_all(root).problems
    return root


def test_a_provider_that_cannot_start(
    store: Store, make_run: MakeRun, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    manifest = make_run(ONE_STAGE, Player("oracle"), Player("nop"))
    refusing = tmp_path / "bwrap"
    refusing.write_text("#!/bin/sh\necho 'bwrap: Creating new namespace failed' >&2\nexit 1\n", encoding="utf-8")
    refusing.chmod(0o755)
    with monkeypatch.context() as patched:
        patched.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
        record = _void(store, manifest, ONE_STAGE)
    assert (record.reason, record.phase) == (VoidReason.PROVISION, Phase.PROVISION)
    assert "did not start" in record.message
    _others_go_on(store, manifest, ONE_STAGE)


def test_a_control_server_that_hangs(store: Store, make_run: MakeRun, monkeypatch: pytest.MonkeyPatch) -> None:
    from tasks_lib.sandbox import computer

    monkeypatch.setattr(computer, "_QUICK", 1.0)
    manifest = make_run(ONE_STAGE, Player("oracle"), Player("nop"))
    phases = plain_phases()

    async def act(work: Any, attempt: Any, stage: Any, machine: Any) -> Any:
        os.kill(machine.pid, signal.SIGSTOP)
        try:
            return await asyncio.to_thread(machine.computer.probe, 1.0)
        finally:
            os.kill(machine.pid, signal.SIGCONT)

    record = _void(store, manifest, ONE_STAGE, replace(phases, act=act))
    assert (record.reason, record.phase) == (VoidReason.MACHINE_LOST, Phase.ACT)
    _others_go_on(store, manifest, ONE_STAGE)


def test_a_machine_that_dies_while_the_agent_works(store: Store, make_run: MakeRun) -> None:
    manifest = make_run(ONE_STAGE, Player("oracle"), Player("nop"))
    episode = RunFolder(store, manifest.run_id).episode(manifest.episodes[0].id)

    def kill(event: Any) -> None:
        if event.kind == "phase-started" and event.phase is Phase.ACT and event.attempt == 1:
            lease = store.read_document(episode.attempt(1).lease, Lease)
            assert lease.machine_pid is not None
            os.kill(lease.machine_pid, signal.SIGKILL)

    with listening(kill):
        record = _void(store, manifest, ONE_STAGE)
    assert (record.reason, record.phase) == (VoidReason.MACHINE_LOST, Phase.ACT)
    assert store.read_document(episode.attempt(1).stage().provision, Provision).machine_id
    _others_go_on(store, manifest, ONE_STAGE)


@needs_desktop
@pytest.mark.desktop
def test_a_program_that_never_opens_its_window(store: Store, make_run: MakeRun, one_stage: Path) -> None:
    root = _desktop_task(one_stage, "  - {launch: cat, window: Fityk, seconds: 1}")
    manifest = make_run(root, Player("oracle"))
    record = _void(store, manifest, root)
    assert (record.reason, record.phase) == (VoidReason.INITIALISE, Phase.INITIALISE)
    assert "Fityk" in record.message


@needs_desktop
@pytest.mark.desktop
def test_a_program_that_is_not_installed(store: Store, make_run: MakeRun, one_stage: Path) -> None:
    root = _desktop_task(one_stage, "  - {launch: no-such-program, window: Fityk, seconds: 1}")
    manifest = make_run(root, Player("oracle"))
    record = _void(store, manifest, root)
    assert record.reason in {VoidReason.INITIALISE, VoidReason.NO_DESKTOP}
    assert "no-such-program" in record.message


def test_a_host_without_a_desktop(
    store: Store, make_run: MakeRun, one_stage: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from tasks_lib.sandbox import local

    monkeypatch.setattr(local, "_PROGRAM_PATH", "/nowhere")
    root = _desktop_task(one_stage, "  - {launch: fityk, window: Fityk}")
    record = _void(store, make_run(root, Player("oracle")), root)
    assert (record.reason, record.phase) == (VoidReason.NO_DESKTOP, Phase.PROVISION)
    assert "apt-get install" in record.message


def test_a_model_endpoint_that_is_down(store: Store, make_run: MakeRun, tmp_path: Path) -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    models = tmp_path / "matassay.toml"
    models.write_text(
        f'[models.down]\nbase_url = "http://127.0.0.1:{port}/v1"\nmodel = "m"\nattempts = 1\n', encoding="utf-8"
    )
    manifest = make_run(ONE_STAGE, Player("llm", model="down"), Player("nop"))
    record = _void(store, manifest, ONE_STAGE, models=models)
    assert (record.reason, record.phase) == (VoidReason.ENDPOINT, Phase.ACT)
    assert str(port) in record.message
    _others_go_on(store, manifest, ONE_STAGE)


def test_a_disk_that_fills_while_the_agent_works(
    store: Store, make_run: MakeRun, monkeypatch: pytest.MonkeyPatch
) -> None:
    manifest = make_run(ONE_STAGE, Player("oracle"), Player("nop"))

    def full(self: Store, path: str, line: str) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), path)

    with monkeypatch.context() as patched:
        patched.setattr(Store, "append_line", full)
        record = _void(store, manifest, ONE_STAGE)
    assert (record.reason, record.phase) == (VoidReason.DISK_FULL, Phase.ACT)
    _others_go_on(store, manifest, ONE_STAGE)
