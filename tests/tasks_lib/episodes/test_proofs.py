"""A proof holds exactly where the oracle scores all, doing nothing scores none, and a near miss fails its criteria."""

from __future__ import annotations

from collections import Counter

import pytest

from tasks_lib.episodes import Player, Proof, check_proof, players_for, proof_manifest, proof_rows, unproved
from tasks_lib.records import (
    CriterionRecord,
    EpisodeSpec,
    MachineSettings,
    Modality,
    NearMiss,
    Outcome,
    Phase,
    Task,
    Verdict,
    VoidReason,
    VoidRecord,
    now,
)
from tasks_lib.taskdefs import load_all


@pytest.fixture(scope="module")
def task() -> Task:
    return next(loaded.task for loaded in load_all().tasks if len(loaded.task.criteria) > 1)


def _verdict(task: Task, failed: set[str]) -> Verdict:
    records = tuple(
        CriterionRecord(id=c.id, points=c.points, passed=c.id not in failed, why="as the test says")
        for c in task.criteria
    )
    return Verdict(
        task_id=task.id,
        task_digest="0" * 64,
        outcome=Outcome.FAIL if failed else Outcome.PASS,
        points=task.points,
        earned=sum(record.earned for record in records),
        criteria=records,
    )


def _spec(task: Task, player: Player) -> EpisodeSpec:
    return EpisodeSpec(
        id="e", task_id=task.id, task_digest="0" * 64, agent=player.agent, variant=player.variant, seed=0,
        modality=task.modality,
    )  # fmt: skip


def test_everybody_who_has_to_play_does(task: Task) -> None:
    players = players_for(task)
    assert players[:2] == (Player("oracle"), Player("nop"))
    assert (Player("guess") in players) == (task.modality is Modality.CODE)
    near = [player.variant for player in players if player.variant is not None]
    assert near == [near_miss.id for near_miss in task.near_misses]


def test_code_is_played_by_somebody_who_guesses(task: Task) -> None:
    code = task.model_copy(update={"modality": Modality.CODE})
    assert players_for(code)[:3] == (Player("oracle"), Player("nop"), Player("guess"))
    assert Player("guess") not in players_for(task.model_copy(update={"modality": Modality.GUI}))
    spec = _spec(code, Player("guess"))
    ids = {criterion.id for criterion in code.criteria}
    assert check_proof(code, spec, _verdict(code, ids)).holds
    proof = check_proof(code, spec, _verdict(code, ids - {code.criteria[0].id}))
    assert not proof.holds
    assert proof.why.endswith("points for guessing: make the answer one that only the data can give")


def test_a_desktop_is_played_by_somebody_without_an_aim(task: Task) -> None:
    gui = task.model_copy(update={"modality": Modality.GUI})
    assert players_for(gui)[:3] == (Player("oracle"), Player("nop"), Player("random"))
    for other in (Modality.CODE, Modality.FIGURE, Modality.MIXED):
        assert Player("random") not in players_for(task.model_copy(update={"modality": other}))
    spec = _spec(gui, Player("random"))
    ids = {criterion.id for criterion in gui.criteria}
    assert check_proof(gui, spec, _verdict(gui, ids)).holds
    assert check_proof(gui, spec, _verdict(gui, ids - {gui.criteria[0].id})).holds  # by accident
    proof = check_proof(gui, spec, _verdict(gui, set()))
    assert not proof.holds
    assert proof.why.startswith(f"{gui.points} of {gui.points} points for doing anything")


def test_the_oracle_may_play_more_often_than_the_others() -> None:
    tasks = load_all().tasks[:2]
    manifest = proof_manifest(
        tasks, "0" * 64, repeat=2, repeat_oracle=5, seed=3, machine=MachineSettings(), run_id="r1"
    )
    trials = Counter((spec.task_id, Player.of(spec).label) for spec in manifest.episodes)
    for loaded in tasks:
        for player in players_for(loaded.task):
            assert trials.pop((loaded.id, player.label)) == (5 if player == Player("oracle") else 2)
    assert not trials


def test_the_oracle_has_to_score_everything(task: Task) -> None:
    oracle = _spec(task, Player("oracle"))
    assert check_proof(task, oracle, _verdict(task, set())).holds
    proof = check_proof(task, oracle, _verdict(task, {task.criteria[0].id}))
    assert not proof.holds
    assert task.criteria[0].id in proof.why


def test_doing_nothing_has_to_score_nothing(task: Task) -> None:
    nop = _spec(task, Player("nop"))
    ids = {criterion.id for criterion in task.criteria}
    assert check_proof(task, nop, _verdict(task, ids)).holds
    assert not check_proof(task, nop, _verdict(task, ids - {task.criteria[0].id})).holds


def test_a_near_miss_has_to_fail_its_criteria_and_no_other(task: Task) -> None:
    first, second = task.criteria[0].id, task.criteria[1].id
    near_miss = NearMiss(id="close", what="nearly right", replace={"a": "b"}, fails=(first,))
    edited = task.model_copy(update={"near_misses": (near_miss,)})
    spec = _spec(edited, Player("oracle", variant="close"))
    assert check_proof(edited, spec, _verdict(edited, {first})).holds
    passes = check_proof(edited, spec, _verdict(edited, set()))
    assert not passes.holds
    assert f"passes {first}" in passes.why
    more = check_proof(edited, spec, _verdict(edited, {first, second}))
    assert not more.holds
    assert f"fails {second} too" in more.why


@pytest.mark.parametrize("agent", ["oracle", "nop"])
def test_what_was_not_played_proves_nothing(task: Task, agent: str) -> None:
    void = VoidRecord(reason=VoidReason.NO_DESKTOP, phase=Phase.PROVISION, exception="E", message="no X", when=now())
    spec = _spec(task, Player(agent))
    assert not check_proof(task, spec, None).holds
    assert "VOID(no desktop)" in check_proof(task, spec, void).why


def test_proofs_are_shown_by_task_and_the_failed_ones_found() -> None:
    good, bad = Proof("b", "nop", 1, True, ""), Proof("a", "oracle", 1, False, "")
    assert unproved([good, bad]) == (bad,)
    assert list(proof_rows([good, bad])) == ["a", "b"]


@pytest.mark.parametrize("hints", [True, False])
def test_a_proof_records_the_variant_that_it_is_of(hints: bool) -> None:
    loaded = load_all().tasks[:1]
    planned = proof_manifest(loaded, "0" * 64, repeat=1, seed=0, machine=MachineSettings(), hints=hints)
    assert planned.settings["hints"] is hints
