"""Charts of trajectory scores are pictures of a sensible size, whatever models and files are called."""

from __future__ import annotations

import io
import warnings

import pytest
from PIL import Image

from tasks_lib.evaluation.alignment.threshold import CurvePoint, PairSimilarity, ThresholdSweep
from tasks_lib.reporting.alignment_charts import MOST_FILES, family_chart, score_chart, sweep_chart

HOSTILE = ["$\\frac{1}{0}$", "_hidden", "line\nfeed" * 40, "\u202egnp", "ordinary", "$"]


def _size(png: bytes) -> tuple[int, int]:
    with Image.open(io.BytesIO(png)) as image:
        image.load()
        return image.size


@pytest.fixture(autouse=True)
def _no_warnings() -> None:
    warnings.simplefilter("error")


def test_files_stand_side_by_side() -> None:
    scores = {name: {"recall": 0.5, "order_consistency": None, "merge_purity": 0.9} for name in HOSTILE}
    width, height = _size(score_chart(scores, HOSTILE[0]))
    assert 300 < height < 1500
    assert 300 < width < 1500
    many = {f"model-{n}": {"recall": n / 20} for n in range(20)}
    assert score_chart(many, "t") == score_chart(dict(list(many.items())[:MOST_FILES]), "t")
    assert score_chart(many, "t") != score_chart(dict(list(many.items())[1:]), "t")


def test_families_are_a_table_of_colours() -> None:
    scores = {name: {f"{family:04d}": family / 28 for family in range(28)} for name in HOSTILE}
    del scores["ordinary"]["0003"]
    assert _size(family_chart(scores, "t"))[0] < 2000
    assert _size(family_chart({"one": {"0000": 0.5}}, "t"))[0] > 300


def test_a_sweep_shows_optimum_and_pairs() -> None:
    sweep = ThresholdSweep(
        encoder="e", pairs=2, same=1, tau=0.7, low=0.6, high=0.8, agreement=1, held_out=None, interval=(0.5, 0.8),
        resamples=1, seed=0, published=(CurvePoint(tau=0.6, agreement=0.5, accepted=1),),
        curve=tuple(CurvePoint(tau=step / 10, agreement=0.5, accepted=0.5) for step in range(11)),
        similarities=(PairSimilarity(tool="t", similarity=0.9, same=True),
                      PairSimilarity(tool="t", similarity=0.4, same=False)),
    )  # fmt: skip
    assert _size(sweep_chart(sweep))[0] == 640
