"""A night against the one before: pairs of the same episode, an exact test, VOID in neither."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from flows.comparison import compare, last_comparable
from tasks_lib.agents.settings import AgentSettings
from tasks_lib.episodes import Player
from tasks_lib.records import EpisodeResult, Modality, Outcome, RunManifest, RunSummary, VoidReason, now
from tasks_lib.store import RunFolder, Store


def run(name: str, outcomes: dict[str, Outcome | None]) -> RunSummary:
    results = tuple(
        EpisodeResult(
            id=episode, task_id=episode, agent="oracle", trial=1, modality=Modality.CODE, domain="xps",
            outcome=outcome, void_reason=VoidReason.EVALUATOR if outcome is Outcome.VOID else None, points=1,
            earned=int(outcome is Outcome.PASS),
        )
        for episode, outcome in outcomes.items()
    )  # fmt: skip
    return RunSummary(run_id=name, benchmark="b", written=now(), episodes=results, rows=(), done=0, void=0, pending=0)


def many(outcome: Outcome, first: int, last: int) -> dict[str, Outcome | None]:
    return {f"e{n}": outcome for n in range(first, last)}


@pytest.mark.parametrize(
    ("before", "after", "verdict", "p_value"),
    [
        # 2 * 0.5^n for n episodes that all changed to one side
        (many(Outcome.FAIL, 0, 6), many(Outcome.PASS, 0, 6), "better", 0.03125),
        (many(Outcome.PASS, 0, 6), many(Outcome.FAIL, 0, 6), "worse", 0.03125),
        (many(Outcome.FAIL, 0, 5), many(Outcome.PASS, 0, 5), "same", 0.0625),
        (many(Outcome.PASS, 0, 9), many(Outcome.PASS, 0, 9), "same", 1.0),
    ],
)
def test_exact_mcnemar(before: dict, after: dict, verdict: str, p_value: float) -> None:
    found = compare(run("a", before), run("b", after))
    assert (found.verdict, found.p_value) == (verdict, pytest.approx(p_value))


def test_void_missing_and_new_episodes_are_no_pairs() -> None:
    found = compare(
        run("a", {"both": Outcome.FAIL, "void-before": Outcome.VOID, "gone": Outcome.PASS, "void-now": Outcome.PASS}),
        run("b", {"both": Outcome.PASS, "void-before": Outcome.PASS, "new": Outcome.PASS, "void-now": Outcome.VOID}),
    )
    assert (found.pairs, found.gained, found.lost) == (1, ("both",), ())
    assert found.text() == "the same as a: 1 episodes gained, 0 lost of 1 pairs (exact McNemar test, p = 1)"


def test_the_last_comparable_run_has_the_same_tasks_and_players(
    store: Store, plan: Callable[..., RunManifest], one_stage: Path, two_stages: Path
) -> None:
    runs = [
        ("old", one_stage, (Player("oracle"),)),
        ("newer", one_stage, (Player("oracle"),)),
        ("other-tasks", two_stages, (Player("oracle"),)),
        ("other-player", one_stage, (Player("nop"),)),
        ("unfinished", one_stage, (Player("oracle"),)),
    ]
    for name, root, players in runs:
        plan(store, root, *players, run_id=name)
        if name != "unfinished":
            store.write_document(RunFolder(store, name).summary, run(name, {}))
    latest = plan(store, one_stage, Player("oracle"), run_id="latest")
    found = last_comparable(store, latest)
    assert found is not None
    assert found.run_id == "newer"
    assert last_comparable(store, plan(store, two_stages, Player("nop"), run_id="first-of-its-kind")) is None


def test_runs_whose_models_were_asked_in_another_way_are_not_compared(
    store: Store, plan: Callable[..., RunManifest], one_stage: Path
) -> None:
    plain = AgentSettings().model_dump(mode="json")
    settings: dict[str, dict[str, Any]] = {
        "before-it-was-recorded": {},
        "asked-alike": {"agent": plain},
        "other-history": {"agent": {**plain, "history": 7}},
        "of-a-later-release": {"agent": {**plain, "mood": "good"}},
        "without-hints-before": {"hints": False},
    }
    for name, given in settings.items():
        plan(store, one_stage, Player("scripted-llm"), run_id=name, settings=given)
        store.write_document(RunFolder(store, name).summary, run(name, {}))

    def last(player: str, given: dict[str, Any]) -> str | None:
        number = len(store.children("runs"))
        found = last_comparable(
            store, plan(store, one_stage, Player(player), run_id=f"latest-{number}", settings=given)
        )
        return found.run_id if found else None

    assert last("scripted-llm", {"agent": plain}) == "asked-alike"
    assert last("scripted-llm", {"agent": {**plain, "history": 8}}) is None
    assert last("scripted-llm", {"hints": False, "agent": {**plain, "help": "bare"}}) == "without-hints-before"
    plan(store, one_stage, Player("nop"), run_id="nop-asks-nobody", settings={"agent": plain})
    store.write_document(RunFolder(store, "nop-asks-nobody").summary, run("nop-asks-nobody", {}))
    assert last("nop", {"agent": {**plain, "history": 9}}) == "nop-asks-nobody"


def test_runs_whose_models_decoded_in_another_way_are_not_compared(
    store: Store, plan: Callable[..., RunManifest], one_stage: Path
) -> None:
    players = (Player("llm", "small"),)
    warm = {"models": {"small": {"model": "m", "temperature": 1.0}}}
    cold = {"models": {"small": {"model": "m", "temperature": 0.0}}}
    for name, given in (("warm", warm), ("cold", cold)):
        plan(store, one_stage, *players, run_id=name, settings=given)
        store.write_document(RunFolder(store, name).summary, run(name, {}))
    found = last_comparable(store, plan(store, one_stage, *players, run_id="latest", settings=warm))
    assert found is not None
    assert found.run_id == "warm"
    other = {"models": {"small": {"model": "m2", "temperature": 1.0}}}
    assert last_comparable(store, plan(store, one_stage, *players, run_id="last", settings=other)) is None
