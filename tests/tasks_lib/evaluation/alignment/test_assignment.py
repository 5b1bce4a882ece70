"""Assignment against every possible pairing, and its rules one by one."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import permutations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from tasks_lib.evaluation.alignment import Match, assign

WEAK = 0.6


def of(matrix: NDArray[np.float64]):
    def similar(rows: Sequence[int], columns: Sequence[int]) -> NDArray[np.float64]:
        return matrix[np.ix_(rows, columns)]

    return similar


def best(matrix: NDArray[np.float64]) -> tuple[int, float]:
    """Try every pairing of rows with columns: most allowed pairs first, then most similarity."""
    wide = matrix if matrix.shape[0] <= matrix.shape[1] else matrix.T
    found = []
    for columns in permutations(range(wide.shape[1]), wide.shape[0]):
        kept = [wide[i, j] for i, j in enumerate(columns) if wide[i, j] >= WEAK]
        found.append((len(kept), sum(kept)))
    return max(found)


@given(st.integers(1, 5), st.integers(1, 5), st.integers(0, 2**32 - 1))
def test_most_pairs_then_most_similarity(n: int, m: int, seed: int) -> None:
    matrix = np.random.default_rng(seed).uniform(0.3, 1.0, size=(n, m))
    found = assign(["t"] * n, ["t"] * m, of(matrix), WEAK)
    number, total = best(matrix)
    assert len(found) == number
    assert abs(sum(match.similarity for match in found) - total) < 1e-9
    assert len({match.reference for match in found}) == len({match.prediction for match in found}) == number


@given(st.lists(st.sampled_from("abc"), max_size=6), st.lists(st.sampled_from("abc"), max_size=6))
def test_calls_of_different_tools_never_match(ours: list[str], theirs: list[str]) -> None:
    found = assign(ours, theirs, of(np.ones((len(ours), len(theirs)))), WEAK)
    assert all(ours[match.reference] == theirs[match.prediction] for match in found)
    assert len(found) == sum(min(ours.count(tool), theirs.count(tool)) for tool in "abc")


def test_two_weak_pairs_come_before_one_strong_pair() -> None:
    matrix = np.array([[0.99, 0.61], [0.62, 0.1]])
    assert assign("tt", "tt", of(matrix), WEAK) == (Match(0, 1, 0.61), Match(1, 0, 0.62))


def test_a_pair_at_the_threshold_counts_and_one_below_does_not() -> None:
    matrix = np.array([[WEAK, 0.0], [0.0, np.nextafter(WEAK, 0)]])
    assert assign("tt", "tt", of(matrix), WEAK) == (Match(0, 0, WEAK),)


def test_similarities_are_asked_for_within_a_tool_alone() -> None:
    asked = []

    def similar(rows: Sequence[int], columns: Sequence[int]) -> NDArray[np.float64]:
        asked.append((list(rows), list(columns)))
        return np.ones((len(rows), len(columns)))

    assign(["a", "b", "a", "c"], ["c", "a", "d"], similar, WEAK)
    assert asked == [([0, 2], [1]), ([3], [0])]
