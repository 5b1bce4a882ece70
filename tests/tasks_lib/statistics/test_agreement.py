"""Precision, recall and F1: values worked out by hand, and laws that hold for any counts."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tasks_lib.statistics import Agreement, wilson_interval

PAIRS = st.lists(st.tuples(st.booleans(), st.booleans()), max_size=60)


def test_pairs_of_truth_and_verdict_are_counted() -> None:
    found = Agreement.of([(True, True)] * 8 + [(False, True)] * 2 + [(False, False)] * 5 + [(True, False)] * 4)
    assert found == Agreement(8, 2, 5, 4)
    assert found.decisions == 19
    assert found.precision == 0.8
    assert found.recall == pytest.approx(8 / 12)
    assert found.f1 == pytest.approx(2 * 0.8 * (2 / 3) / (0.8 + 2 / 3))


def test_figures_without_a_denominator_are_none() -> None:
    nothing = Agreement()
    assert [nothing.precision, nothing.recall, nothing.f1, nothing.f1_interval] == [None] * 4
    only_refused = Agreement(true_negatives=7)
    assert only_refused.precision is None
    assert only_refused.precision_interval is None


def test_the_interval_of_f1_follows_from_that_of_a_proportion() -> None:
    found = Agreement(true_positives=98, false_positives=1, false_negatives=1)
    low, high = wilson_interval(98, 100) or (0.0, 0.0)
    assert found.f1_interval == pytest.approx((2 * low / (1 + low), 2 * high / (1 + high)))


@given(PAIRS)
def test_every_figure_lies_in_its_interval(pairs: list[tuple[bool, bool]]) -> None:
    found = Agreement.of(pairs)
    assert found.decisions == len(pairs)
    for name in ("precision", "recall", "f1"):
        value, interval = getattr(found, name), getattr(found, f"{name}_interval")
        assert (value is None) == (interval is None)
        if value is not None:
            assert 0 <= interval[0] <= value + 1e-12
            assert value - 1e-12 <= interval[1] <= 1
    if found.precision and found.recall:
        assert found.f1 == pytest.approx(2 / (1 / found.precision + 1 / found.recall))


@given(PAIRS)
def test_no_disagreement_means_1(pairs: list[tuple[bool, bool]]) -> None:
    found = Agreement.of((truth, truth) for truth, _ in pairs)
    assert found.f1 in (None, 1.0)
