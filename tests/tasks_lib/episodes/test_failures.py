"""The kind of a failure is read from what a played episode left in the store."""

from __future__ import annotations

import asyncio

from tasks_lib.episodes import Player, explain_episode, plain_phases, run_episode, summarise
from tasks_lib.episodes.failures import failure_of
from tasks_lib.episodes.stored import find_verdict, newest_first
from tasks_lib.records import FailureClass
from tasks_lib.reporting import explanation_json, explanation_lines
from tasks_lib.store import RunFolder, Store
from tasks_lib.taskdefs import load_all

from .conftest import ONE_STAGE, MakeRun


def test_a_failure_is_told_in_the_summary_and_explained_alike(store: Store, make_run: MakeRun) -> None:
    oracle, nop = make_run(ONE_STAGE, Player("oracle"), Player("nop")).episodes
    for spec in (oracle, nop):
        asyncio.run(run_episode(store, "r1", spec.id, ONE_STAGE, plain_phases()))
    tasks = {loaded.id: loaded.task for loaded in load_all(ONE_STAGE).tasks}
    summary = summarise(store, "r1", tasks)
    passed, failed = summary.episodes
    assert passed.failure is None
    assert failed.failure is not None
    assert failed.failure.kind is FailureClass.PREMATURE_TERMINATION
    rows = {row.agent: row.failures for row in summary.rows if row.kind == "all"}
    assert rows == {"oracle": {}, "nop": {FailureClass.PREMATURE_TERMINATION: 1}}
    # Offline, from the store alone, it is the same again, and so it is in the explanation.
    attempts = newest_first(RunFolder(store, "r1").episode(nop.id))
    found = find_verdict(store, attempts)
    assert found is not None
    assert failure_of(store, attempts, found[1]) == failed.failure
    explained = explain_episode(store, nop.id, ONE_STAGE, run_id="r1")
    assert explained.failure == failed.failure
    assert explanation_json(explained, str)["failure"]["kind"] == "premature termination"
    lines = list(explanation_lines(explained, str))
    assert any(line.split()[:3] == ["class", "premature", "termination:"] for line in lines)


def test_a_trajectory_that_cannot_be_read_leaves_the_class_open(store: Store, make_run: MakeRun) -> None:
    (nop,) = make_run(ONE_STAGE, Player("nop")).episodes
    asyncio.run(run_episode(store, "r1", nop.id, ONE_STAGE, plain_phases()))
    attempts = newest_first(RunFolder(store, "r1").episode(nop.id))
    store.write_bytes(attempts[0].stage("main").trajectory, b'{"index": "no step"}\n')
    found = find_verdict(store, attempts)
    assert found is not None
    assert failure_of(store, attempts, found[1]) is None
