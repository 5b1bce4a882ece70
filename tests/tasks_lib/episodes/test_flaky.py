"""Proofs flicker where trials end in different verdicts, and only there."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tasks_lib.episodes import (
    Difference,
    Player,
    Repeats,
    check_proof,
    check_proofs,
    count_repeats,
    flaky_proofs,
    stuck_in,
)
from tasks_lib.records import (
    CriterionRecord,
    Decision,
    EpisodeSpec,
    Modality,
    Observation,
    Outcome,
    Phase,
    Step,
    Verdict,
    VoidReason,
    VoidRecord,
    now,
)
from tasks_lib.store import RunFolder, Store
from tasks_lib.taskdefs import load_all

from .conftest import FIXTURES, TWO_STAGES


def spec(trial, player=None, task="t"):
    player = player or Player("oracle")
    return EpisodeSpec(
        id=f"{task}-{player.label}-{trial}", task_id=task, task_digest="0" * 64, agent=player.agent,
        variant=player.variant, trial=trial, seed=0, modality=Modality.GUI,
    )  # fmt: skip


def verdict(*passed, seen=1.0, why="as wanted", evidence="a" * 64):
    records = tuple(
        CriterionRecord(id=f"c{n}", points=1, passed=p, seen=seen, why=why, evidence=(evidence,))
        for n, p in enumerate(passed)
    )
    earned = sum(passed)
    return Verdict(
        task_id="t", task_digest="0" * 64, outcome=Outcome.PASS if earned == len(passed) else Outcome.FAIL,
        points=len(passed), earned=earned, criteria=records, evidence_digests={"main": evidence},
    )  # fmt: skip


def void(message="no X", reason=VoidReason.NO_DESKTOP):
    return VoidRecord(reason=reason, phase=Phase.PROVISION, exception="E", message=message, when=now())


def test_trials_that_agree_are_not_flaky_whenever_their_files_were_written():
    played = [(spec(n), verdict(True, False, evidence=str(n) * 64)) for n in (1, 2, 3)]
    played += [(spec(1, Player("nop")), verdict(False, False))]
    played += [(spec(n, Player("oracle", variant="near")), void(f"message {n}")) for n in (1, 2)]
    assert flaky_proofs(played) == ()


def test_it_says_which_trials_differ_and_in_what():
    played = [(spec(1), verdict(True, True)), (spec(2), verdict(True, False)), (spec(3), verdict(True, True))]
    (entry,) = flaky_proofs(played)
    assert (entry.task_id, entry.player, entry.trials) == ("t", "oracle", 3)
    assert entry.differences == (
        Difference("outcome", (("PASS", (1, 3)), ("FAIL", (2,)))),
        Difference("c1: passed", (("true", (1, 3)), ("false", (2,)))),
    )


def test_a_verdict_that_is_the_same_for_another_reason_flickers_too():
    (entry,) = flaky_proofs([(spec(1), verdict(True)), (spec(2), verdict(True, seen=1.0000001))])
    assert entry.differences == (Difference("c0: seen", (("1.0", (1,)), ("1.0000001", (2,)))),)
    (entry,) = flaky_proofs([(spec(1), verdict(False)), (spec(2), verdict(False, why="not there"))])
    assert [difference.what for difference in entry.differences] == ["c0: why"]


def test_void_and_unplayed_trials_flicker_by_their_outcome_alone():
    (entry,) = flaky_proofs([(spec(1), verdict(True)), (spec(2), void()), (spec(3), None), (spec(4), void("y"))])
    assert entry.differences == (
        Difference("outcome", (("VOID(no desktop) in provision", (2, 4)), ("PASS", (1,)), ("not played", (3,)))),
    )


@pytest.mark.parametrize(
    ("agent", "told"), [("guess", ["outcome", "c0: passed", "c1: passed"]), ("random", ["outcome"])]
)
def test_what_a_seed_decides_does_not_flicker_but_how_it_is_judged_does(agent, told):
    drawing = Player(agent)
    assert flaky_proofs([(spec(n, drawing), verdict(False, seen=n)) for n in (1, 2)]) == ()
    (entry,) = flaky_proofs([(spec(1, drawing), verdict(True, True)), (spec(2, drawing), verdict(False, False))])
    assert [difference.what for difference in entry.differences] == told


def test_points_by_accident_in_one_trial_alone_are_no_flicker():
    played = [(spec(1, Player("random")), verdict(True, False)), (spec(2, Player("random")), verdict(False, True))]
    assert flaky_proofs(played) == ()
    (entry,) = flaky_proofs([(spec(n, Player("guess")), outcome) for n, (_, outcome) in enumerate(played, 1)])
    assert [difference.what for difference in entry.differences] == ["c0: passed", "c1: passed"]


def test_passes_and_different_verdicts_are_counted_for_each_proof():
    played = [(spec(n), verdict(True, evidence=str(n) * 64)) for n in (1, 2, 3)]
    played += [(spec(n, Player("nop")), verdict(False)) for n in (1, 2)]
    played += [(spec(1, task="s"), verdict(True)), (spec(2, task="s"), verdict(True, why="another reason"))]
    played += [(spec(3, task="s"), void()), (spec(4, task="s"), None)]
    assert count_repeats(played) == (
        Repeats("s", "oracle", trials=4, passes=2, verdicts=4),
        Repeats("t", "nop", trials=2, passes=0, verdicts=1),
        Repeats("t", "oracle", trials=3, passes=3, verdicts=1),
    )


def test_players_and_tasks_are_told_apart():
    near = Player("oracle", variant="near")
    played = [(spec(1), verdict(True)), (spec(2), verdict(True)), (spec(1, near), verdict(False))]
    played += [(spec(2, near), verdict(True)), (spec(1, task="s"), verdict(False)), (spec(2, task="s"), verdict(True))]
    assert [(entry.task_id, entry.player) for entry in flaky_proofs(played)] == [("s", "oracle"), ("t", "oracle-near")]


@given(st.lists(st.tuples(st.booleans(), st.integers(0, 2)), min_size=1, max_size=6), st.randoms())
@settings(max_examples=60, deadline=None)
def test_flaky_means_that_not_all_are_alike_in_any_order(trials, shuffle):
    played = [(spec(n), verdict(passed, seen=seen)) for n, (passed, seen) in enumerate(trials, 1)]
    found = flaky_proofs(played)
    assert bool(found) == (len(set(trials)) > 1)
    shuffle.shuffle(played)
    assert flaky_proofs(played) == found
    for difference in (difference for entry in found for difference in entry.differences):
        assert sorted(trial for _, which in difference.values for trial in which) == list(range(1, len(trials) + 1))


@pytest.fixture
def played(tmp_path):
    """A store, and a task of two stages."""
    return Store.open(str(tmp_path / "store")), next(loaded.task for loaded in load_all(TWO_STAGES).tasks)


def answer(store, episode, stage, *replies, attempt=1):
    place = RunFolder(store, "r1").episode(episode.id).attempt(attempt).stage(stage)
    for index, reply in enumerate(replies, 1):
        step = Step(index=index, started=now(), observation=Observation(), reply=reply, decision=Decision.FAIL)
        store.append_line(place.trajectory, step.to_line())


STUCK = "The transcript cannot go on: target fityk/ok is not on the screen (best score 0.41)\n\n```decision\nFAIL\n```"


def test_where_a_transcript_was_stuck_is_told(played):
    store, task = played
    first, second = (stage.id for stage in task.stages)
    assert stuck_in(store, "r1", spec(1), task) == ""
    answer(store, spec(1), first, "One.", "Two.")
    assert stuck_in(store, "r1", spec(1), task) == ""
    answer(store, spec(1), second, "One.", "Two.", STUCK)
    said = f"stage {second}, step 3: target fityk/ok is not on the screen (best score 0.41)"
    assert stuck_in(store, "r1", spec(1), task) == said


@pytest.mark.parametrize("variant", [None, "near"])
def test_a_transcript_that_was_stuck_proves_nothing_whatever_its_verdict(variant):
    task = next(loaded.task for loaded in load_all(FIXTURES / "episodes" / "database").tasks)
    miss = task.near_misses[0].id
    outcome = verdict(*([False] * len(task.criteria)))
    proof = check_proof(task, spec(1, Player("oracle", variant=variant and miss)), outcome, "stage main, step 3: why")
    assert not proof.holds
    assert proof.why == "could not be played to its end: stage main, step 3: why"


def test_of_a_run_the_proofs_that_do_not_hold_come_first_a_stuck_one_among_them(store, make_run):
    manifest = make_run(TWO_STAGES, Player("nop"), Player("oracle"))
    tasks = load_all(TWO_STAGES).tasks
    assert {proof.why for proof in check_proofs(store, "r1", tasks)} == {"not played"}
    nop, oracle = manifest.episodes
    for episode, outcome in ((nop, verdict(False, False)), (oracle, verdict(True, True))):
        store.write_document(RunFolder(store, "r1").episode(episode.id).attempt(1).verdict, outcome)
    assert all(proof.holds for proof in check_proofs(store, "r1", tasks))
    answer(store, oracle, tasks[0].task.stages[0].id, "One.", STUCK)
    found = check_proofs(store, "r1", tasks)
    assert [(proof.player, proof.holds) for proof in found] == [("oracle", False), ("nop", True)]
    assert check_proofs(store, "r1", ()) == ()
