"""Rank correlation and Williams' test against published values."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import spearmanr

from tasks_lib.statistics import spearman, williams_test


@pytest.mark.parametrize(
    ("first", "second", "between", "pairs", "t", "p"),
    [
        # J. H. Steiger, Psychol. Bull. 87 (1980) 245, as R's psych::r.test prints it.
        (0.4, 0.5, 0.1, 103, -0.89, 0.37),
        # D. C. Howell, Statistical Methods for Psychology, 6th ed., p. 262, with B. Weaver's SPSS program.
        (0.80, 0.72, 0.89, 26, 1.361, 0.187),
    ],
)
def test_williams_test_has_the_published_values(first, second, between, pairs, t, p):
    found = williams_test(first, second, between, pairs)
    assert found.t == pytest.approx(t, abs=0.005)
    assert found.p == pytest.approx(p, abs=0.005)
    assert found.degrees == pairs - 3


def test_williams_test_changes_its_sign_with_the_raters():
    one, other = williams_test(0.7, 0.4, 0.5, 40), williams_test(0.4, 0.7, 0.5, 40)
    assert (one.t, one.p) == (-other.t, other.p)


@pytest.mark.parametrize(("case", "told"), [((1.2, 0, 0, 9), r"\[-1, 1\]"), ((0.9, -0.9, 0.9, 9), "one set of data")])
def test_impossible_correlations_are_refused(case, told):
    with pytest.raises(ValueError, match=told):
        williams_test(*case)


def test_where_the_test_is_not_defined_there_is_none():
    assert williams_test(0.5, 0.4, 0.3, 3) is None
    assert williams_test(0.6, 0.6, 1.0, 30) is None


def test_spearman_of_the_textbook_example():
    # IQ and hours of television, ten people: rho = -29/165.
    iq = [106, 100, 86, 101, 99, 103, 97, 113, 112, 110]
    hours = [7, 27, 2, 50, 28, 29, 20, 12, 6, 17]
    found = spearman(iq, hours)
    assert found.value == pytest.approx(-29 / 165)
    assert found.low < found.value < found.high
    half = 1.959964 * math.sqrt((1 + (29 / 165) ** 2 / 2) / 7)
    assert found.high == pytest.approx(math.tanh(math.atanh(-29 / 165) + half), abs=1e-6)


@given(st.lists(st.tuples(st.integers(0, 5), st.integers(0, 5)), min_size=5, max_size=30))
def test_spearman_equals_scipy_with_ties_and_is_none_where_a_side_does_not_vary(pairs):
    first, second = map(list, zip(*pairs, strict=True))
    found = spearman(first, second)
    if len(set(first)) < 2 or len(set(second)) < 2:
        assert found is None
    else:
        assert found.value == pytest.approx(spearmanr(first, second).statistic)
        if found.low is None:
            assert abs(found.value) == 1
        else:
            assert -1 <= found.low <= found.value <= found.high <= 1


@pytest.mark.parametrize(("first", "second", "told"), [([1, 2], [1], "one length"), ([1, math.nan], [1, 2], "finite")])
def test_ratings_that_do_not_fit_are_refused(first, second, told):
    with pytest.raises(ValueError, match=told):
        spearman(first, second)
