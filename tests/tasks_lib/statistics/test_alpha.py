"""Krippendorff's alpha against the values of his own papers."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tasks_lib.statistics import alpha_interval, krippendorff_alpha

_ = None
# Four observers, twelve units, values missing: K. Krippendorff, Computing Krippendorff's Alpha-Reliability (2011).
FOUR = [
    [1, 2, 3, 3, 2, 1, 4, 1, 2, _, _, _],
    [1, 2, 3, 3, 2, 2, 4, 1, 2, 5, _, 3],
    [_, 3, 3, 3, 2, 3, 4, 2, 2, 5, 1, _],
    [1, 2, 3, 3, 2, 4, 4, 1, 2, 5, 1, _],
]


@pytest.mark.parametrize(
    ("scale", "published"), [("nominal", 0.743), ("ordinal", 0.815), ("interval", 0.849), ("ratio", 0.797)]
)
def test_the_published_example_on_each_scale(scale, published):
    assert krippendorff_alpha(FOUR, scale) == pytest.approx(published, abs=5e-4)


def test_the_published_examples_of_two_observers():
    # The same paper: two observers with two values, and with five.
    meg, owen = [0, 1, 0, 0, 0, 0, 0, 0, 1, 0], [1, 1, 1, 0, 0, 1, 0, 0, 0, 0]
    assert krippendorff_alpha([meg, owen], "nominal") == pytest.approx(0.095, abs=5e-4)
    ben, gerry = (["abcde".index(one) for one in text] for text in ("aabbdcccedda", "babbbccceddd"))
    assert krippendorff_alpha([ben, gerry], "nominal") == pytest.approx(0.692, abs=5e-4)


@pytest.mark.parametrize("ratings", [[], [[], []], [[1, 1], [1, 1]], [[1, None], [None, 2]], [[3, 4, 5]]])
def test_where_chance_cannot_be_told_there_is_no_alpha(ratings):
    assert krippendorff_alpha(ratings) is None
    assert alpha_interval(ratings).low is None


@pytest.mark.parametrize(
    ("ratings", "scale", "told"),
    [
        ([[1, 2], [1]], "interval", "different lengths"),
        ([[1, float("nan")], [1, 2]], "interval", "finite"),
        ([[-1, 2], [1, 2]], "ratio", "interval scale"),
    ],
)
def test_what_is_no_table_of_ratings_is_refused(ratings, scale, told):
    with pytest.raises(ValueError, match=told):
        krippendorff_alpha(ratings, scale)


@given(st.lists(st.lists(st.one_of(st.none(), st.integers(0, 10)), min_size=6, max_size=6), min_size=2, max_size=5))
def test_alpha_depends_neither_on_the_order_of_raters_nor_of_units(table):
    moved = [[row[place] for place in (3, 0, 5, 1, 4, 2)] for row in reversed(table)]
    found, again = krippendorff_alpha(table), krippendorff_alpha(moved)
    assert (found is None) == (again is None)
    if found is not None:
        assert again == pytest.approx(found)
        assert found <= 1.0 + 1e-12


@given(st.lists(st.integers(0, 10), min_size=2, max_size=20).filter(lambda row: len(set(row)) > 1))
def test_raters_who_say_the_same_agree_and_a_shift_changes_nothing(row):
    assert krippendorff_alpha([row, row, row]) == pytest.approx(1.0)
    other = list(reversed(row))
    moved = [[3.0 * value - 7.0 for value in one] for one in (row, other)]
    assert krippendorff_alpha(moved) == pytest.approx(krippendorff_alpha([row, other]))


def test_the_interval_holds_alpha_and_comes_again():
    found = alpha_interval(FOUR, seed=3)
    assert found == alpha_interval(FOUR, seed=3)
    assert found.low < found.alpha < found.high <= 1.0
    assert (found.units, found.ratings) == (11, 40)
