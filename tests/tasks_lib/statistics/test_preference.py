"""Preference shares and their intervals."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tasks_lib.statistics import Choice, preference_share, wilson_interval


def choices(scores, units=None):
    return [Choice(unit, score) for unit, score in zip(units or range(len(scores)), scores, strict=True)]


def test_without_ties_the_interval_is_wilsons():
    found = preference_share(choices([1] * 14 + [0] * 6))
    assert found.share == 0.7
    assert (found.low, found.high) == pytest.approx(wilson_interval(14, 20))
    assert found.p == pytest.approx(0.1153183, abs=1e-6)  # binomial test of 14 of 20
    assert (found.answers, found.ties, found.units, found.method) == (20, 0, 20, "wilson")


def test_ties_count_half_and_tell_nothing_to_the_sign_test():
    found = preference_share(choices([1, 1, 1, 0.5, 0.5, 0]))
    assert found.share == pytest.approx(4 / 6)
    assert found.ties == 2
    assert found.p == pytest.approx(0.625)  # 3 of 4
    assert preference_share(choices([0.5] * 4)).p == 1.0


def test_many_people_about_few_tasks_are_no_many_tasks():
    few = preference_share(choices([1] * 30 + [0] * 10, [number % 4 for number in range(40)]))
    many = preference_share(choices([1] * 30 + [0] * 10))
    assert few.method == "cluster bootstrap"
    assert few.high - few.low > many.high - many.low


@given(st.lists(st.tuples(st.integers(0, 4), st.sampled_from([0.0, 0.5, 1.0])), min_size=1, max_size=40))
def test_the_interval_holds_the_share_and_mirrors_with_the_pair(answers):
    units, scores = map(list, zip(*answers, strict=True))
    found = preference_share(choices(scores, units), redraws=200)
    assert preference_share([Choice(*one) for one in reversed(answers)], redraws=200) == found
    assert 0 <= found.low <= found.share <= found.high <= 1
    turned = preference_share(choices([1 - score for score in scores], units), redraws=200)
    assert turned.share == pytest.approx(1 - found.share)
    assert turned.p == pytest.approx(found.p)


def test_no_answer_has_no_share_and_an_odd_one_is_refused():
    assert preference_share([]) is None
    with pytest.raises(ValueError, match=r"0\.5 for a tie, got 0\.7"):
        preference_share([Choice("a", 0.7)])
