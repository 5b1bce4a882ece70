"""The metrics of one trajectory: bounds, symmetries and the cases that formulas leave open."""

from __future__ import annotations

from dataclasses import fields

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tasks_lib.evaluation.alignment import Match, Measures, measure

NUMBERS = [field.name for field in fields(Measures) if field.type == "float"]
STEPS = st.lists(st.integers(0, 4), max_size=8).map(sorted)


@st.composite
def aligned(draw: st.DrawFn) -> tuple[list[int], list[int], list[Match]]:
    ours, theirs = draw(STEPS), draw(STEPS)
    number = draw(st.integers(0, min(len(ours), len(theirs))))
    rows = draw(st.permutations(range(len(ours))))[:number]
    columns = draw(st.permutations(range(len(theirs))))[:number]
    similar = draw(st.lists(st.floats(0.6, 1.0), min_size=number, max_size=number))
    return ours, theirs, [Match(*found) for found in zip(rows, columns, similar, strict=True)]


def whole(steps: list[int]) -> list[Match]:
    return [Match(index, index, 1.0) for index in range(len(steps))]


@given(aligned())
def test_every_number_is_a_share(case: tuple[list[int], list[int], list[Match]]) -> None:
    ours, theirs, matches = case
    found = measure(ours, theirs, matches, 0.8, (5, 5))
    assert all(-1e-9 <= getattr(found, name) <= 1 + 1e-9 for name in NUMBERS)
    assert found.strong_similarity <= found.argument_similarity + 1e-9 <= found.recall + 2e-9
    assert found.step_coherence <= found.recall + 1e-9
    assert found.merge_purity <= found.recall + 1e-9


@given(aligned())
def test_the_order_of_the_list_of_matches_does_not_matter(case: tuple[list[int], list[int], list[Match]]) -> None:
    ours, theirs, matches = case
    one, other = (measure(ours, theirs, found, 0.8, (5, 5)) for found in (matches, matches[::-1]))
    assert [getattr(one, name) for name in NUMBERS] == pytest.approx([getattr(other, name) for name in NUMBERS])


@given(STEPS.filter(lambda steps: len(set(steps)) > 1))
def test_a_copy_is_perfect_where_there_are_two_steps(steps: list[int]) -> None:
    found = measure(steps, steps, whole(steps), 0.8, (5, 5))
    assert [getattr(found, name) for name in NUMBERS] == [1.0] * len(NUMBERS)


def test_a_copy_of_one_step_has_no_order_as_published() -> None:
    found = measure([0, 0], [0, 0], whole([0, 0]), 0.8, (1, 1))
    assert (found.order_consistency, found.step_coherence, found.merge_purity) == (0.0, 1.0, 1.0)


@pytest.mark.parametrize(
    ("theirs", "coherence", "order", "purity"),
    [
        ([0, 1, 2], 1.0, 1.0, 1.0),
        ([2, 1, 0], 1.0, 0.0, 1.0),
        ([0, 0, 0], 1.0, 1.0, 0.0),
        ([1, 0, 2], 1.0, 2 / 3, 1.0),
    ],
)
def test_three_steps_of_one_call(theirs: list[int], coherence: float, order: float, purity: float) -> None:
    found = measure([0, 1, 2], theirs, whole(theirs), 0.8, (3, 3))
    assert (found.step_coherence, found.order_consistency, found.merge_purity) == pytest.approx(
        (coherence, order, purity), abs=1e-9
    )


def test_a_step_spread_over_k_steps_counts_one_kth() -> None:
    found = measure([0, 0, 0], [0, 1, 2], whole([0, 1, 2]), 0.8, (1, 3))
    assert found.step_coherence == pytest.approx(1 / 3)
    assert found.fragmentation == pytest.approx((2 / 3,))
    assert found.weights.tolist() == [[1.0, 1.0, 1.0]]


@pytest.mark.parametrize(("ours", "theirs", "number"), [([], [], 1.0), ([0], [], 0.0), ([], [0], 0.0), ([0], [0], 0.0)])
def test_without_a_match(ours: list[int], theirs: list[int], number: float) -> None:
    found = measure(ours, theirs, [], 0.8, (1, 1))
    assert {found.recall, found.precision, found.step_coherence, found.order_consistency, found.merge_purity} == {
        number
    }
    assert found.argument_similarity == found.strong_similarity == 0.0


def test_a_similarity_at_the_threshold_is_strong() -> None:
    found = measure([0, 1], [0, 1], [Match(0, 0, 0.8), Match(1, 1, 0.79)], 0.8, (2, 2))
    assert found.strong_similarity == pytest.approx(0.4)
    assert found.argument_similarity == pytest.approx(0.795)
