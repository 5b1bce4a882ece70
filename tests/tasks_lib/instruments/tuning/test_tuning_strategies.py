"""Every strategy: the same search for the same seed, within box and budget, better than luck, and able to go on."""

from __future__ import annotations

import os
import random as python_random
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tasks_lib.instruments.frame import Gains
from tasks_lib.instruments.tuning.box import GainBox
from tasks_lib.instruments.tuning.search import WORST, Search, Trial
from tasks_lib.instruments.tuning.strategies import STRATEGIES
from tasks_lib.records.errors import ConfigurationError

BOX = GainBox()
ONLY_I = GainBox(p=(0, 0), d=(0, 0))
NAMES = sorted(STRATEGIES)


def hill(gains: Gains) -> float:
    """A smooth score with its top of 1 at P 100, I 4000, D 60, of about the width that real ones have."""
    unit = BOX.unit(gains)
    return float(np.exp(-np.sum(((unit - BOX.unit(Gains(p=100, i=4000, d=60))) / [1.0, 0.25, 1.0]) ** 2)))


def run(name: str, box: GainBox = BOX, *, seed: int = 1, budget: int = 30, score=hill) -> list[Trial]:
    search = Search(STRATEGIES[name], box, seed=seed, budget=budget)
    while search.generation:
        search.tell([score(one) for one in search.generation])
    return search.trials


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("box", [ONLY_I, GainBox(p=(3, 3), i=(10, 11), d=(0, 1))], ids=["one", "tiny"])
def test_a_search_stays_in_its_box_and_its_budget(name: str, box: GainBox) -> None:
    trials = run(name, box, budget=13)
    assert 1 <= len(trials) <= 13
    assert [one.number for one in trials] == list(range(len(trials)))
    for trial in trials:
        for term in ("p", "i", "d"):
            low, high = getattr(box, term)
            assert low <= getattr(trial.gains, term) <= high


@pytest.mark.parametrize("name", NAMES)
def test_the_same_seed_is_the_same_search_whoever_else_draws(name: str) -> None:
    first = run(name, budget=14)
    python_random.seed(5)
    np.random.seed(5)
    assert run(name, budget=14) == first
    assert python_random.getrandbits(64) == python_random.Random(5).getrandbits(64)  # noqa: S311
    assert np.random.random() == np.random.RandomState(5).random_sample()


@pytest.mark.parametrize("name", [one for one in NAMES if one != "integral-ramp"])
def test_another_seed_is_another_search(name: str) -> None:
    # The ramp's first steps are those of every seed.
    assert run(name, seed=2, budget=9) != run(name, budget=9)


@pytest.mark.parametrize("name", ["cma-es", "ga-plus", "gp-ei", "integral-ramp", "tpe"])
def test_what_learns_is_better_than_luck(name: str) -> None:
    def found(which: str) -> float:
        return float(np.mean([max(one.score or 0 for one in run(which, seed=seed)) for seed in range(2)]))

    assert found(name) > found("random") - 0.01
    assert found(name) > 0.9


def test_the_model_finds_the_top() -> None:
    best = max(run("gp-ei", budget=30), key=lambda one: one.score or 0)
    assert hill(best.gains) > 0.97


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("cut", [1, 11])
def test_a_search_that_was_cut_goes_on_where_it_was(name: str, cut: int) -> None:
    whole = run(name, budget=14)
    search = Search(STRATEGIES[name], BOX, seed=1, budget=14)
    known = search.replay(whole[:cut])
    assert len(search.trials) + known == min(cut, len(whole))
    while search.generation:
        search.tell([hill(one) for one in search.generation])
    assert search.trials == whole


def test_a_search_goes_on_only_as_it_began() -> None:
    with pytest.raises(ConfigurationError, match="the seed and the budget that it began with"):
        Search(STRATEGIES["random"], BOX, seed=2, budget=14).replay(run("random", budget=14))


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("void", [None, float("-inf")])
def test_frames_that_could_not_be_judged_do_not_stop_a_search(name: str, void: float | None) -> None:
    search = Search(STRATEGIES[name], BOX, seed=3, budget=13)
    while search.generation:
        search.tell([void if one.i > 4000 else hill(one) for one in search.generation])
    assert any(one.score is None for one in search.trials)
    assert search.best is None or search.best.gains.i <= 4000


@pytest.mark.parametrize("name", NAMES)
def test_a_flat_score_is_searched_to_the_end(name: str) -> None:
    assert len(run(name, budget=12, score=lambda _: 0.5)) >= 3


def test_the_published_search_scans_only_what_changed() -> None:
    counts = [len(run("ga-published", seed=seed, budget=60)) for seed in range(10)]
    assert all(3 <= count <= 48 for count in counts)
    assert min(counts) < 45


def test_no_gains_twice_in_the_plus_search() -> None:
    tried = [one.gains for one in run("ga-plus", budget=45)]
    assert len(set(tried)) == len(tried)


def test_the_best_is_the_earliest_of_equals() -> None:
    search = Search(STRATEGIES["random"], BOX, seed=1, budget=3)
    for score in (0.4, 0.9, 0.9):
        search.tell([score])
    assert search.best == search.trials[1]


def test_scores_come_one_for_each() -> None:
    search = Search(STRATEGIES["ga-plus"], BOX, seed=1, budget=9)
    for scores in ([0.5], [0.5] * 4):
        with pytest.raises(ValueError, match="tell one for each"):
            search.tell(scores)
    assert search.trials == []


def test_no_judged_frame_counts_for_less_than_a_void_one() -> None:
    """A loop whose error is many times its setpoint has a score far below any that a void frame is told as."""
    told: list[float] = []

    def listening(box: GainBox, *, seed: int, budget: int):
        told.extend((yield [Gains(p=1, i=1), Gains(p=1, i=2), Gains(p=1, i=3)]))

    search = Search(listening, BOX, seed=1, budget=4)
    search.tell([-1e300, None, 0.5])
    assert told == [WORST, WORST, 0.5]
    assert [one.score for one in search.trials] == [-1e300, None, 0.5]


@pytest.mark.parametrize("seed", [-1, 2**32, 2**200])
def test_a_seed_that_a_generator_does_not_take_is_refused_for_all_strategies(seed: int) -> None:
    for name in NAMES:
        with pytest.raises(ConfigurationError, match="the seed of a search lies between 0 and 4294967295"):
            Search(STRATEGIES[name], BOX, seed=seed, budget=3)


def test_searches_in_several_threads_do_not_disturb_each_other() -> None:
    alone = [run("ga-plus", seed=seed, budget=200) for seed in range(4)]
    with ThreadPoolExecutor(4) as pool:
        assert list(pool.map(lambda seed: run("ga-plus", seed=seed, budget=200), range(4))) == alone


@pytest.mark.parametrize("name", NAMES)
def test_one_scan_and_a_box_of_two_points_are_enough(name: str) -> None:
    smallest = GainBox(p=(3, 3), i=(10, 11), d=(0, 0))
    assert len(run(name, smallest, budget=1)) == 1
    assert len(run(name, smallest, budget=7, score=lambda _: None)) >= 2


def test_a_search_is_silent_and_the_same_in_a_process_with_other_threads() -> None:
    code = (
        "from tasks_lib.instruments.tuning.box import GainBox\n"
        "from tasks_lib.instruments.tuning.search import Search\n"
        "from tasks_lib.instruments.tuning.strategies import STRATEGIES\n"
        "for name in ('gp-ei', 'tpe'):\n"
        "    search = Search(STRATEGIES[name], GainBox(), seed=3, budget=13)\n"
        "    while search.generation:\n"
        "        search.tell([1 - abs(one.i - 4000) / 1e4 for one in search.generation])\n"
        "    print([one.gains for one in search.trials])\n"
    )
    other = {"OPENBLAS_NUM_THREADS": "4", "OMP_NUM_THREADS": "4", "PYTHONOPTIMIZE": "2", "TZ": "Asia/Kathmandu"}
    done = subprocess.run(
        [sys.executable, "-c", code], env=os.environ | other, capture_output=True, text=True, timeout=300, check=True
    )
    assert done.stderr == ""
    here = [
        [one.gains for one in run(name, seed=3, budget=13, score=lambda gains: 1 - abs(gains.i - 4000) / 1e4)]
        for name in ("gp-ei", "tpe")
    ]
    assert done.stdout.splitlines() == [str(one) for one in here]


def test_a_search_needs_a_scan_and_a_box() -> None:
    with pytest.raises(ConfigurationError, match="one scan at least"):
        Search(STRATEGIES["random"], BOX, seed=1, budget=0)
    for wrong in ({"p": (5, 1)}, {"i": (-1, 9)}, {"d": (0, 2**31)}, {"p": (1, 1), "i": (2, 2), "d": (0, 0)}):
        with pytest.raises(ValueError, match=r"a box needs|gains of a box"):
            GainBox(**wrong)


@given(st.lists(st.floats(-1, 2), min_size=3, max_size=3))
def test_any_point_stands_for_gains_of_the_box_and_back(unit: list[float]) -> None:
    gains = BOX.gains(unit)
    assert BOX.gains(BOX.unit(gains)) == gains
