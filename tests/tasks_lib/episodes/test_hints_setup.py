"""A shipped task in both variants: with hints the set-up opens the file, without them the oracle has to."""

from __future__ import annotations

import asyncio

import pytest

from tasks_lib.episodes import Player, episodes_for, make_manifest, open_run, plain_phases, run_episode
from tasks_lib.records import Initialise, MachineSettings, Outcome, Step
from tasks_lib.sandbox import provider
from tasks_lib.store import RunFolder, Store
from tasks_lib.taskdefs import find_root, load_task

pytestmark = [
    pytest.mark.desktop,
    pytest.mark.skipif(
        bool(provider("local").problems(desktop=True)), reason="; ".join(provider("local").problems(desktop=True))
    ),
]


@pytest.mark.parametrize("hints", [True, False], ids=["with-hints", "without-hints"])
def test_the_oracle_opens_the_file_where_the_set_up_does_not(store: Store, hints: bool) -> None:
    loaded = load_task(find_root() / "mattoolbench" / "xps" / "zoom-and-restore")
    (spec,) = episodes_for([loaded], [Player("oracle")], trials=1, seed=1)
    settings = {"hints": hints, "retries": 0}
    manifest = open_run(
        store,
        make_manifest(
            "variants", (spec,), seed=1, machine=MachineSettings(), task_set_digest="0" * 64, settings=settings
        ),
    )
    verdict = asyncio.run(run_episode(store, manifest.run_id, spec.id, find_root(), plain_phases()))
    assert verdict.outcome is Outcome.PASS, verdict.criteria
    stage = RunFolder(store, manifest.run_id).episode(spec.id).attempt(1).stage()
    ((launch,), steps) = (
        store.read_document(stage.initialise, Initialise).steps,
        store.read_lines(stage.trajectory, Step),
    )
    assert launch.step == "launch fityk"
    assert len(steps) == len(loaded.transcript("oracle", hints=hints))
    written = [action.arguments.get("text") for step in steps for action in step.actions]
    assert ("./c1s.xy" in written) is not hints
