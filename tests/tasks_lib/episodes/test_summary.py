"""The table of a run is read from the store: done, VOID and open episodes all stand in it."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from tasks_lib.episodes import (
    Player,
    conclude,
    load_work,
    missing,
    outcome_of,
    plain_phases,
    rescore_run,
    run_episode,
    summarise,
    unreadable_episodes,
)
from tasks_lib.episodes.grading import judged
from tasks_lib.records import (
    Decision,
    Ending,
    EpisodeSpec,
    Evidence,
    Initialise,
    MachineSettings,
    Observation,
    Outcome,
    Phase,
    Provision,
    RunSummary,
    Step,
    Verdict,
    VoidReason,
    VoidRecord,
    now,
)
from tasks_lib.store import RunFolder, Store
from tasks_lib.taskdefs import load_all

from .conftest import ONE_STAGE, TWO_STAGES, MakeRun


def _play(store: Store, root: Path, episode_id: str) -> Verdict:
    return asyncio.run(run_episode(store, "r1", episode_id, root, plain_phases()))


def test_done_open_and_void_episodes_all_count(store: Store, make_run: MakeRun) -> None:
    oracle, nop, scripted = make_run(ONE_STAGE, Player("oracle"), Player("nop"), Player("scripted-llm")).episodes
    tasks = {loaded.id: loaded.task for loaded in load_all(ONE_STAGE).tasks}
    _play(store, ONE_STAGE, oracle.id)
    _play(store, ONE_STAGE, nop.id)
    void = VoidRecord(reason=VoidReason.DISK_FULL, phase=Phase.PROVISION, exception="E", message="full", when=now())
    summary = summarise(store, "r1", tasks, {scripted.id: void})
    assert (summary.done, summary.void, summary.pending) == (2, 1, 0)
    assert [result.outcome for result in summary.episodes] == [Outcome.PASS, Outcome.FAIL, Outcome.VOID]
    assert summary.episodes[0].steps is not None
    assert summary.episodes[0].seconds is not None
    assert summarise(store, "r1", tasks).pending == 1, "a VOID that could not be written is known to its process only"


def test_steps_of_all_stages_are_summed(store: Store, make_run: MakeRun) -> None:
    (spec,) = make_run(TWO_STAGES).episodes
    _play(store, TWO_STAGES, spec.id)
    (result,) = summarise(store, "r1", {load.id: load.task for load in load_all(TWO_STAGES).tasks}).episodes
    assert result.steps == 4
    assert result.self_ended is True


def test_a_run_whose_task_cannot_be_read_any_more_is_still_shown(store: Store, make_run: MakeRun) -> None:
    (spec,) = make_run(ONE_STAGE).episodes
    _play(store, ONE_STAGE, spec.id)
    (result,) = summarise(store, "r1", {}).episodes
    assert (result.outcome, result.domain) == (Outcome.PASS, "unknown")


def test_the_end_writes_summary_and_report(store: Store, make_run: MakeRun) -> None:
    (spec,) = make_run(ONE_STAGE).episodes
    _play(store, ONE_STAGE, spec.id)
    summary = conclude(store, "r1", ONE_STAGE)
    run = RunFolder(store, "r1")
    assert store.read_document(run.summary, RunSummary) == summary
    page = store.read_bytes(f"{run.report}/index.html").decode()
    assert spec.task_id in page


def test_the_outcome_of_an_episode_is_what_the_store_says(store: Store, make_run: MakeRun) -> None:
    (spec,) = make_run(ONE_STAGE).episodes
    assert outcome_of(store, "r1", spec.id) is None
    verdict = _play(store, ONE_STAGE, spec.id)
    assert outcome_of(store, "r1", spec.id) == verdict


def test_rescoring_changes_no_byte_where_nothing_changed(store: Store, make_run: MakeRun) -> None:
    oracle, _ = make_run(ONE_STAGE, Player("oracle"), Player("nop")).episodes
    _play(store, ONE_STAGE, oracle.id)
    path = RunFolder(store, "r1").episode(oracle.id).attempt(1).verdict
    before = store.read_bytes(path)
    (result,) = rescore_run(store, "r1", ONE_STAGE)
    assert not result.changed
    assert store.read_bytes(path) == before


def test_rescoring_mends_a_verdict_that_evidence_does_not_bear_out(store: Store, make_run: MakeRun) -> None:
    (spec,) = make_run(ONE_STAGE).episodes
    verdict = _play(store, ONE_STAGE, spec.id)
    forged = verdict.model_copy(
        update={
            "outcome": Outcome.FAIL,
            "earned": 0,
            "criteria": tuple(record.model_copy(update={"passed": False}) for record in verdict.criteria),
        }
    )
    store.write_document(RunFolder(store, "r1").episode(spec.id).attempt(1).verdict, forged)
    (result,) = rescore_run(store, "r1", ONE_STAGE)
    assert result.changed
    assert outcome_of(store, "r1", spec.id) == verdict


def test_rescoring_leaves_verdicts_of_another_task_alone(store: Store, make_run: MakeRun, one_stage: Path) -> None:
    (spec,) = make_run(one_stage).episodes
    verdict = _play(store, one_stage, spec.id)
    file = next(one_stage.glob("*/*/*/task.yaml"))
    file.write_text(file.read_text(encoding="utf-8").replace("29.791", "30.791"), encoding="utf-8")
    (result,) = rescore_run(store, "r1", one_stage)
    assert not result.changed
    assert outcome_of(store, "r1", spec.id) == verdict


def test_unreadable_tasks_are_planned_once_per_player(tmp_path: Path) -> None:
    (tmp_path / "suite" / "domain" / "broken").mkdir(parents=True)
    problems = load_all(tmp_path).problems
    specs = unreadable_episodes(problems, [Player("oracle"), Player("nop")], trials=2, seed=0)
    assert len(specs) == 4
    assert {spec.modality for spec in specs} == {None}


def _damage(how: str, data: bytes) -> bytes:
    if how == "cut":
        return data[: len(data) // 2]
    if how == "flipped":
        return bytes(byte ^ 0x80 if number % 97 == 50 else byte for number, byte in enumerate(data))
    return {"emptied": b"", "of another kind": b'{"schema_version": 1}\n', "a heap of brackets": b"[" * 100_000}[how]


DAMAGES = ("cut", "flipped", "emptied", "of another kind", "a heap of brackets")


@pytest.mark.parametrize("how", DAMAGES)
@pytest.mark.parametrize(
    "name", ["verdict.json", "evidence.json", "provision.json", "initialise.json", "trajectory.jsonl"]
)
def test_one_damaged_document_harms_no_other_episode(store: Store, make_run: MakeRun, name: str, how: str) -> None:
    hurt, well = make_run(ONE_STAGE, Player("oracle"), Player("nop")).episodes
    place = RunFolder(store, "r1").episode(hurt.id).attempt(1)
    verdict = _stand_in(store, hurt, place.path)
    other = _stand_in(store, well, RunFolder(store, "r1").episode(well.id).attempt(1).path)
    store.write_bytes(f"{place.path}/{name}", _damage(how, store.read_bytes(f"{place.path}/{name}")))
    summary = conclude(store, "r1", ONE_STAGE)
    first, second = summary.episodes
    assert second.outcome == other.outcome
    if name == "verdict.json":
        assert (first.outcome, first.void_reason) == (Outcome.VOID, VoidReason.STORE)
        assert "verdict.json" in first.message
        assert "matassay rescore" in first.message
    else:
        assert first.outcome == verdict.outcome


@pytest.mark.parametrize("how", DAMAGES)
def test_rescoring_judges_a_damaged_verdict_anew(store: Store, make_run: MakeRun, how: str) -> None:
    (spec,) = make_run(ONE_STAGE).episodes
    place = RunFolder(store, "r1").episode(spec.id).attempt(1)
    verdict = _stand_in(store, spec, place.path)
    store.write_bytes(place.verdict, _damage(how, store.read_bytes(place.verdict)))
    (result,) = rescore_run(store, "r1", ONE_STAGE)
    assert (result.before, result.changed) == ("unreadable", True)
    assert outcome_of(store, "r1", spec.id) == verdict


def test_damaged_evidence_is_no_ground_for_another_verdict(store: Store, make_run: MakeRun) -> None:
    (spec,) = make_run(ONE_STAGE).episodes
    place = RunFolder(store, "r1").episode(spec.id).attempt(1)
    verdict = _stand_in(store, spec, place.path)
    store.write_bytes(f"{place.path}/evidence.json", b"{")
    (result,) = rescore_run(store, "r1", ONE_STAGE)
    assert "cannot be read" in result.kept
    assert outcome_of(store, "r1", spec.id) == verdict
    assert [stage.id for stage in missing(load_work(store, "r1", spec.id, ONE_STAGE)).stages] == []
    store.delete(place.verdict)
    assert [stage.id for stage in missing(load_work(store, "r1", spec.id, ONE_STAGE)).stages] == ["main"]


def test_a_lost_blob_keeps_the_verdict_and_says_why(store: Store, make_run: MakeRun) -> None:
    (spec,) = make_run(ONE_STAGE).episodes
    verdict = _play(store, ONE_STAGE, spec.id)
    for path in store.list("blobs"):
        store.delete(path)
    (result,) = rescore_run(store, "r1", ONE_STAGE)
    assert "missing in the store" in result.kept
    assert outcome_of(store, "r1", spec.id) == verdict


def _stand_in(store: Store, spec: EpisodeSpec, folder: str) -> Verdict:
    """Write what an episode without any file leaves, and its verdict; no machine is needed."""
    started = now()
    work = load_work(store, "r1", spec.id, ONE_STAGE)
    machine = MachineSettings()
    step = Step(index=1, started=started, observation=Observation(), reply="done", decision=Decision.DONE)
    store.write_document(f"{folder}/provision.json", Provision(
        machine_id="m", provider="local", settings=machine, desktop=False, started=started, seconds=1.0
    ))  # fmt: skip
    store.write_document(
        f"{folder}/initialise.json", Initialise(machine_id="m", placed=(), steps=(), finished=started, seconds=1.0)
    )
    store.append_line(f"{folder}/trajectory.jsonl", step.to_line())
    evidence = Evidence(stage="main", ending=Ending.DONE, steps=1, collected=started)
    store.write_document(f"{folder}/evidence.json", evidence)
    verdict = judged(work, {"main": evidence})
    store.write_document(f"{folder}/verdict.json", verdict)
    return verdict
