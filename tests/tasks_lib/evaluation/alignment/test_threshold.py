"""The threshold that agrees best with people: found exactly, and how sure it is."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tasks_lib.evaluation.alignment.threshold import (
    LabelledPair,
    ThresholdSweep,
    read_labelled_pairs,
    sweep_threshold,
)
from tasks_lib.records.errors import ConfigurationError

Labelled = list[tuple[float, bool]]


@pytest.fixture(scope="session")
def swept(encoder_of: Callable[..., Any]) -> Callable[..., ThresholdSweep]:
    """Sweep over pairs whose cosines are given: a pair is 0 and its angle."""
    encoder = encoder_of(lambda text: [math.cos(json.loads(text)), math.sin(json.loads(text))])

    def sweep(labelled: Labelled, **options: Any) -> ThresholdSweep:
        pairs = [LabelledPair(reference=0, prediction=math.acos(cosine), same=same) for cosine, same in labelled]
        return sweep_threshold(pairs, encoder, **options)

    return sweep


def test_what_can_be_parted_is_parted_in_the_middle(swept: Callable[..., ThresholdSweep]) -> None:
    found = swept([(0.2, False), (0.5, False), (0.9, True), (0.95, True)])
    assert (found.low, found.high) == (pytest.approx(0.5, abs=2e-6), pytest.approx(0.9, abs=2e-6))
    assert found.tau == pytest.approx(0.7, abs=2e-6)
    assert found.agreement == 1
    assert found.interval[0] <= found.tau <= found.interval[1]
    assert [point.agreement for point in found.published] == [1, 1]
    assert (found.pairs, found.same) == (4, 2)


def test_the_widest_of_equal_ranges_counts(swept: Callable[..., ThresholdSweep]) -> None:
    # Two mistakes at least, at thresholds in (.1, .2], (.3, .7] and (.8, .9].
    found = swept([(0.1, False), (0.2, True), (0.3, False), (0.7, True), (0.8, False), (0.9, True)])
    assert found.tau == pytest.approx(0.5, abs=2e-6)
    assert found.agreement == pytest.approx(4 / 6)


def test_people_who_never_agree_with_the_encoder_lead_to_an_end_of_the_scale(
    swept: Callable[..., ThresholdSweep],
) -> None:
    found = swept([(0.3, True), (0.4, True), (0.8, False), (0.9, False)])
    assert found.agreement == 0.5
    assert (found.low, found.high) == (0, pytest.approx(0.3, abs=2e-6))


def test_no_threshold_refuses_a_cosine_of_one_or_accepts_one_below_zero(swept: Callable[..., ThresholdSweep]) -> None:
    found = swept([(1.0, False), (1.0, False), (0.5, True), (-0.5, True)])
    assert found.agreement == 0.25
    assert 0 <= found.low < found.high <= 1


@given(st.lists(st.tuples(st.integers(-5, 20), st.booleans()), min_size=2, max_size=12))
def test_no_other_threshold_agrees_better(
    swept: Callable[..., ThresholdSweep], labelled: list[tuple[int, bool]]
) -> None:
    if len({same for _, same in labelled}) == 1:
        return
    found = swept([(step / 20, same) for step, same in labelled], resamples=3)
    similarities = np.array([pair.similarity for pair in found.similarities])
    labels = np.array([same for _, same in labelled])
    grid = np.concatenate([np.linspace(0, 1, 2001), similarities[similarities >= 0], [found.tau]])
    agreements = [float(np.mean((similarities >= tau) == labels)) for tau in grid]
    assert found.agreement == agreements[-1] == max(agreements)
    assert all(
        np.mean((similarities >= tau) == labels) == found.agreement for tau in np.linspace(found.low, found.high, 7)[1:]
    )


def test_the_bootstrap_covers_the_threshold_that_labels_were_made_with(
    swept: Callable[..., ThresholdSweep],
) -> None:
    draw = np.random.default_rng(5)
    covered = 0
    for seed in range(10):
        cosines = draw.uniform(0, 1, 80)
        # One label in ten is wrong.
        labels = (cosines >= 0.65) ^ (draw.uniform(size=80) < 0.1)
        found = swept(list(zip(cosines.tolist(), labels.tolist(), strict=True)), resamples=200, seed=seed)
        covered += found.interval[0] <= 0.65 <= found.interval[1]
        assert found.held_out is not None
        assert 0.7 < found.held_out <= 1
    # Of ten 95 % intervals seven are covered with a probability of more than 0.999.
    assert covered >= 7


def test_on_noise_agreement_out_of_the_resample_is_that_of_a_coin(swept: Callable[..., ThresholdSweep]) -> None:
    draw = np.random.default_rng(1)
    labelled = list(zip(draw.uniform(0, 1, 400).tolist(), (draw.uniform(size=400) < 0.5).tolist(), strict=True))
    found = swept(labelled, resamples=100)
    assert found.held_out == pytest.approx(0.5, abs=0.06)
    assert found.agreement > found.held_out
    assert found.interval[1] - found.interval[0] > 0.2


def test_the_same_seed_gives_the_same_document(swept: Callable[..., ThresholdSweep]) -> None:
    labelled = [(0.1 * step, step % 3 > 0) for step in range(10)]
    first = swept(labelled, resamples=50, seed=1)
    assert first.to_json() == swept(labelled, resamples=50, seed=1).to_json()
    assert first.held_out != swept(labelled, resamples=50, seed=2).held_out
    assert ThresholdSweep.from_json(first.to_json()) == first


@pytest.mark.parametrize(
    ("labelled", "options", "match"),
    [
        ([(0.5, True)], {}, "2 to 10000 labelled pairs, got 1"),
        ([(0.5, True), (0.6, True)], {}, "all 2 pairs are labelled same"),
        ([(0.5, False), (0.6, False)], {}, "all 2 pairs are labelled not the same"),
        ([(0.5, False), (0.6, True)], {"resamples": 0}, "1 to 100000 resamples, got 0"),
    ],
)
def test_what_cannot_be_swept_is_refused(
    swept: Callable[..., ThresholdSweep], labelled: Labelled, options: dict[str, Any], match: str
) -> None:
    with pytest.raises(ConfigurationError, match=match):
        swept(labelled, **options)


def test_pairs_are_read_and_faults_are_told_with_their_place(tmp_path: Path) -> None:
    path = tmp_path / "pairs.json"
    path.write_text('[{"reference": {"q": 1}, "prediction": null, "same": false, "tool": "t"}]', encoding="utf-8")
    assert read_labelled_pairs(path) == (LabelledPair(tool="t", reference={"q": 1}, prediction=None, same=False),)
    for text, match in (
        ('[{"reference": 1, "prediction": 2}]', r"\[0.same\]: a labelled pair has reference, prediction and same"),
        ('[{"reference": 1, "prediction": 2, "same": 0.5}]', r"\[0.same\]"),
        ('{"a": 1}', "a labelled pair has"),
        ("[", "labelled pairs are a JSON list"),
        ("\udcff", "labelled pairs are a JSON list"),
    ):
        path.write_text(text, encoding="utf-8", errors="surrogateescape")
        with pytest.raises(ConfigurationError, match=match):
            read_labelled_pairs(path)
