"""The agent table: values worked out by hand, and laws that hold for any run."""

import math
import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tasks_lib.records import EpisodeResult, Modality, Outcome, VoidReason
from tasks_lib.statistics import agent_row, agent_rows, wilson_interval


def result(
    number: int,
    outcome: Outcome | None,
    *,
    agent: str = "a",
    points: int = 4,
    earned: int | None = None,
    steps: int | None = 10,
    self_ended: bool | None = True,
    modality: Modality | None = Modality.GUI,
    domain: str = "xps",
) -> EpisodeResult:
    gained = points if outcome is Outcome.PASS else 0
    return EpisodeResult(
        id=f"task-{number}--{agent}--t1",
        task_id=f"task-{number}",
        agent=agent,
        trial=1,
        modality=modality,
        domain=domain,
        outcome=outcome,
        void_reason=VoidReason.PROVISION if outcome is Outcome.VOID else None,
        points=points,
        earned=gained if earned is None else earned,
        steps=steps,
        self_ended=self_ended,
    )


@st.composite
def results(draw: st.DrawFn) -> list[EpisodeResult]:
    rows = []
    for number in range(draw(st.integers(0, 25))):
        outcome = draw(st.sampled_from([*Outcome, None]))
        points = draw(st.integers(1, 6))
        earned = draw(st.integers(0, points - 1)) if outcome is Outcome.FAIL else None
        rows.append(
            result(
                number,
                outcome,
                agent=draw(st.sampled_from(["a", "b"])),
                points=points,
                earned=earned,
                steps=draw(st.none() | st.integers(0, 50)),
                self_ended=draw(st.sampled_from([True, False, None])),
                modality=draw(st.sampled_from([*Modality, None])),
                domain=draw(st.sampled_from(["xps", "mixed", "all"])),
            )
        )
    return rows


def test_every_figure_has_its_own_denominator():
    row = agent_row(
        "a",
        "all",
        [
            result(1, Outcome.PASS, points=4, steps=6),
            result(2, Outcome.PASS, points=2, steps=10, self_ended=False),
            result(3, Outcome.FAIL, points=4, earned=1, steps=50, self_ended=False),
            result(4, Outcome.FAIL, points=4, earned=3, steps=4),
            result(5, Outcome.FAIL, points=4, earned=0, steps=2),
            result(6, Outcome.VOID, points=2, steps=None, self_ended=None),
            result(7, None, points=100, steps=None, self_ended=None),
        ],
    )
    assert (row.episodes, row.passed, row.void, row.pending) == (6, 2, 1, 1)
    assert row.strict_rate == pytest.approx(2 / 6)
    assert row.conditional_rate == pytest.approx(2 / 5)
    assert row.score == pytest.approx((4 + 2 + 1 + 3) / 20)
    assert row.steps == pytest.approx((6 + 10 + 50 + 4 + 2) / 5)
    assert row.steps_star == pytest.approx(8.0)
    assert row.false_termination_rate == pytest.approx(2 / 3)


def test_steps_star_is_undefined_without_success_and_not_zero():
    row = agent_row("a", "all", [result(1, Outcome.FAIL, earned=3), result(2, Outcome.FAIL, earned=0)])
    assert row.steps_star is None
    assert row.steps == 10
    assert row.strict_rate == 0
    assert row.false_termination_rate == 1


def test_ftr_is_undefined_where_no_agent_ended_an_episode():
    row = agent_row("a", "all", [result(1, Outcome.FAIL, self_ended=False), result(2, Outcome.PASS, self_ended=None)])
    assert row.false_termination_rate is None


def test_void_episode_that_the_agent_ended_is_no_false_termination():
    """An evaluator that broke after DONE leaves open whether the agent was right."""
    row = agent_row("a", "all", [result(1, Outcome.PASS), result(2, Outcome.VOID, self_ended=True, steps=40)])
    assert row.false_termination_rate == 0
    assert row.steps == 10


def test_points_of_a_void_episode_never_count_as_earned():
    row = agent_row("a", "all", [result(1, Outcome.PASS, points=3), result(2, Outcome.VOID, points=3, earned=3)])
    assert row.score == 0.5


def test_only_pending_episodes_give_no_figure_at_all():
    row = agent_row("a", "all", [result(1, None), result(2, None)])
    assert (row.episodes, row.pending) == (0, 2)
    figures = (row.score, row.strict_rate, row.strict_interval, row.conditional_rate, row.steps, row.steps_star)
    assert figures == (None,) * 6


def test_only_void_episodes_have_a_strict_rate_but_no_conditional_one():
    row = agent_row("a", "all", [result(1, Outcome.VOID), result(2, Outcome.VOID)])
    assert row.strict_rate == 0
    assert row.conditional_rate is None


def test_rows_are_sorted_and_a_domain_may_be_called_like_a_modality():
    rows = agent_rows(
        [
            result(1, Outcome.PASS, agent="z", modality=Modality.CODE, domain="pymatgen"),
            result(2, Outcome.PASS, agent="b", modality=Modality.MIXED, domain="mixed"),
            result(3, Outcome.FAIL, agent="b", modality=Modality.GUI, domain="mixed"),
        ]
    )
    assert [(row.agent, row.kind, row.group, row.episodes) for row in rows] == [
        ("b", "all", "all", 2),
        ("b", "modality", "gui", 1),
        ("b", "modality", "mixed", 1),
        ("b", "domain", "mixed", 2),
        ("z", "all", "all", 1),
        ("z", "modality", "code", 1),
        ("z", "domain", "pymatgen", 1),
    ]


def test_episode_of_an_unreadable_task_counts_in_all_and_in_no_modality():
    rows = agent_rows([result(1, Outcome.VOID, modality=None, points=0), result(2, Outcome.PASS)])
    assert [(row.kind, row.group, row.episodes) for row in rows] == [
        ("all", "all", 2),
        ("modality", "gui", 1),
        ("domain", "xps", 2),
    ]
    assert rows[0].strict_rate == 0.5


def test_no_results_give_no_rows():
    assert agent_rows([]) == ()


@pytest.mark.parametrize(
    ("passed", "episodes", "low", "high"),
    [
        # Worked from (p + z²/2n ± z√(p(1−p)/n + z²/4n²)) / (1 + z²/n) with z = 1.959964.
        (0, 20, 0.0, 0.161125),
        (20, 20, 0.838875, 1.0),
        (10, 20, 0.299298, 0.700702),
        (1, 1, 0.206549, 1.0),
    ],
)
def test_wilson_interval_against_the_closed_form(passed, episodes, low, high):
    assert wilson_interval(passed, episodes) == (pytest.approx(low, abs=1e-6), pytest.approx(high, abs=1e-6))


def test_wilson_interval_of_nothing_is_none():
    assert wilson_interval(0, 0) is None


@pytest.mark.parametrize(("passed", "episodes"), [(-1, 3), (4, 3), (1, 0)])
def test_wilson_interval_refuses_impossible_counts(passed, episodes):
    with pytest.raises(ValueError, match=f"got {passed} of {episodes}"):
        wilson_interval(passed, episodes)


@given(st.integers(1, 500).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n))))
def test_wilson_interval_holds_the_rate_and_mirrors(counts):
    passed, episodes = counts
    low, high = wilson_interval(passed, episodes)
    assert 0 <= low <= passed / episodes <= high <= 1
    mirrored = wilson_interval(episodes - passed, episodes)
    assert mirrored == (pytest.approx(1 - high, abs=1e-12), pytest.approx(1 - low, abs=1e-12))


@given(results())
def test_figures_stay_in_their_bounds(episodes):
    for row in agent_rows(episodes):
        for value in (row.score, row.strict_rate, row.conditional_rate, row.false_termination_rate):
            assert value is None or 0 <= value <= 1
        for value in (row.steps, row.steps_star):
            assert value is None or (0 <= value <= 50 and math.isfinite(value))
        assert row.passed + row.void <= row.episodes
        if row.strict_rate is not None and row.conditional_rate is not None:
            assert row.strict_rate <= row.conditional_rate
        if row.passed == 0:
            assert row.steps_star is None


@given(results(), st.randoms(use_true_random=False))
def test_order_of_results_does_not_matter(episodes, source: random.Random):
    shuffled = list(episodes)
    source.shuffle(shuffled)
    assert agent_rows(shuffled) == agent_rows(episodes)


@given(results())
def test_groups_partition_the_episodes(episodes):
    rows = agent_rows(episodes)
    for whole in (row for row in rows if row.kind == "all"):
        unreadable = sum(row.agent == whole.agent and row.modality is None for row in episodes)
        for kind, left_out in (("modality", unreadable), ("domain", 0)):
            parts = [row for row in rows if row.agent == whole.agent and row.kind == kind]
            counted = sum(part.episodes + part.pending for part in parts)
            assert counted == whole.episodes + whole.pending - left_out
            for figure in ("episodes", "passed", "void", "pending"):
                whole_value = getattr(whole, figure)
                assert sum(getattr(part, figure) for part in parts) <= whole_value
                if not left_out:
                    assert sum(getattr(part, figure) for part in parts) == whole_value


@given(results(), st.data())
def test_turning_a_judged_episode_into_a_void_never_raises_strict_figures(episodes, data):
    judged = [index for index, row in enumerate(episodes) if row.outcome in (Outcome.PASS, Outcome.FAIL)]
    if not judged:
        return
    index = data.draw(st.sampled_from(judged))
    before = agent_row("a", "all", episodes)
    changed = [*episodes]
    changed[index] = episodes[index].model_copy(
        update={"outcome": Outcome.VOID, "void_reason": VoidReason.ENDPOINT, "earned": 0}
    )
    after = agent_row("a", "all", changed)
    assert after.void == before.void + 1
    assert after.episodes == before.episodes
    assert after.strict_rate <= before.strict_rate
    assert after.score <= before.score
    if episodes[index].outcome is Outcome.FAIL and after.conditional_rate is not None:
        assert after.conditional_rate >= before.conditional_rate
