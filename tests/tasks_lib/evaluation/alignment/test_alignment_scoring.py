"""Scoring of whole files: sums, groups, budgets, the list of matches, and bits that do not move."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import ValidationError

from tasks_lib.evaluation.alignment import (
    AlignmentReport,
    Budget,
    EmbeddingCache,
    Encoder,
    Rules,
    TrajectoryFile,
    average_score,
    parse_trajectories,
    score_files,
)

Reader = Callable[..., TrajectoryFile]
Tasks = Callable[..., dict[str, Any]]

CALLS = st.tuples(st.sampled_from(["a/x", "a/y", "b/z"]), st.integers(0, 9))
FILES = st.dictionaries(
    st.sampled_from(["00010000", "00010001", "00020000"]), st.lists(st.lists(CALLS, max_size=3), max_size=3)
)


@pytest.fixture
def two(task: Tasks, trajectories: Reader) -> tuple[TrajectoryFile, TrajectoryFile]:
    """Two families; of four references one has no prediction, and one prediction has no reference."""
    references = [
        task([("a/x", 1)], [("a/y", 2)], key="00010000", kind="first"),
        task([("a/x", 1), ("a/x", 2)], key="00010001", kind="second"),
        task([("b/z", 1)], key="00020000", kind="first"),
        task([("b/z", 1)], key="00030000", kind="first"),
    ]
    predictions = [
        task([("a/x", 1)], [("a/y", 2)], key="00010000"),
        task([("a/x", 1)], key="00010001"),
        task([("a/x", 1)], [], [("b/z", 1)], key="00020000"),
        task([("a/x", 1)], key="00090000"),
    ]
    return trajectories(references, "references.json"), trajectories(predictions, "predictions.json")


def _score(two: tuple[TrajectoryFile, TrajectoryFile], encoder: Encoder, **how: Any) -> AlignmentReport:
    (report,) = score_files(two[0], [two[1]], encoder, **how)
    return report


def test_sums_are_over_calls_and_weighted_by_calls(two: tuple[Any, Any], stub: Encoder) -> None:
    report = _score(two, stub)
    assert (report.total.tasks, report.total.matched) == (3, 4)
    assert (report.total.reference_calls, report.total.prediction_calls) == (5, 5)
    assert (report.total.scores.recall, report.total.scores.precision) == (4 / 5, 4 / 5)
    assert report.total.scores.merge_purity == pytest.approx((2 * 1 + 2 * 0.5 + 1 * 1) / 5)
    assert report.total.scores.order_consistency == pytest.approx(2 / 5)
    assert (report.total.steps_per_task, report.total.calls_per_task) == (2.0, 5 / 3)


def test_a_walk_has_the_numbers_that_were_worked_out_by_hand(
    task: Tasks, trajectories: Reader, compass: Encoder
) -> None:
    reference = trajectories([task([("map/turn", 0), ("map/turn", 90)], [("map/look", 0), ("map/stop", 0)])])
    prediction = trajectories([task([("map/turn", 30)], [("map/turn", 90), ("map/look", 45), ("map/look", 80)])])
    (scored,) = _score((reference, prediction), compass).tasks
    # Turns are paired 30 degrees and 0 degrees apart, looks 45 degrees apart: less than strong, more than weak.
    turned, looked = 3**0.5 / 2, 0.5**0.5
    assert [(match.reference_call, match.prediction_call, match.strong) for match in scored.matches] == [
        (0, 0, True),
        (1, 1, True),
        (2, 2, False),
    ]
    assert [match.similarity for match in scored.matches] == pytest.approx([turned, 1, looked], abs=1e-6)
    assert [(call.call, call.tool) for call in scored.unmatched_reference] == [(3, "map/stop")]
    assert [(call.call, call.tool) for call in scored.unmatched_prediction] == [(3, "map/look")]
    assert np.array(scored.weights) == pytest.approx(np.array([[turned, 1], [0, looked]]), abs=1e-6)
    # The second step of the prediction draws on both steps of the reference, as 1 to looked.
    share = looked / (1 + looked)
    entropy = -(share * math.log2(share) + (1 - share) * math.log2(1 - share))
    purity = 1 - entropy * (1 + looked) / (turned + 1 + looked)
    assert scored.scores.model_dump() == pytest.approx(
        {
            "recall": 3 / 4,
            "precision": 3 / 4,
            "argument_similarity": (turned + 1 + looked) / 4,
            "strong_similarity": (turned + 1) / 4,
            "step_coherence": (2 / 2 + 1) / 4,
            "order_consistency": (2 * 1) / (2 * 2),
            "merge_purity": 3 / 4 * purity,
        },
        abs=1e-5,
    )


def test_groups_are_by_the_references_type_and_by_family(two: tuple[Any, Any], stub: Encoder) -> None:
    report = _score(two, stub)
    assert [(group.name, group.tasks, group.matched) for group in report.by_kind] == [("first", 2, 3), ("second", 1, 1)]
    assert [(group.name, group.tasks, group.matched) for group in report.by_family] == [("0001", 2, 3), ("0002", 1, 1)]


def test_what_is_on_one_side_alone_is_named(two: tuple[Any, Any], stub: Encoder) -> None:
    report = _score(two, stub)
    assert report.without_prediction == ("00030000",)
    assert report.without_reference == ("00090000",)


def test_the_list_of_matches_accounts_for_every_call(two: tuple[Any, Any], stub: Encoder) -> None:
    for task in _score(two, stub).tasks:
        assert len(task.matches) + len(task.unmatched_reference) == task.reference.calls
        assert len(task.matches) + len(task.unmatched_prediction) == task.prediction.calls
    (match,) = _score(two, stub).tasks[2].matches
    assert (match.tool, match.strong, match.reference_step, match.prediction_step) == ("b/z", True, 0, 2)
    assert (match.reference_arguments, match.prediction_arguments) == ("1", "1")


def test_long_arguments_are_cut_in_the_list_alone(task: Tasks, trajectories: Reader, stub: Encoder) -> None:
    file = trajectories([task([("a/x", "w" * 1000)])])
    ((score,),) = [report.tasks for report in score_files(file, [file], stub)]
    assert score.scores.recall == 1
    assert len(score.matches[0].reference_arguments) == 400


def test_a_budget_is_told_and_changes_no_score(two: tuple[Any, Any], stub: Encoder) -> None:
    plain, limited = _score(two, stub), _score(two, stub, rules=Rules(budget=Budget(steps=2, calls=1)))
    assert [task.over_budget for task in limited.tasks] == [True, False, True]
    assert limited.total.over_budget == 2
    assert not any(task.over_budget for task in plain.tasks)
    assert limited.total.scores == plain.total.scores


def test_only_texts_whose_tool_both_sides_call_are_encoded(two: tuple[Any, Any], stub: Any) -> None:
    _score(two, stub)
    assert sorted(text for batch in stub.asked for text in batch) == ["1", "2"]


@given(FILES, FILES)
@settings(max_examples=40)
def test_one_file_or_several_with_or_without_cache_give_the_same_bytes(
    task: Tasks,
    new_stub: Callable[[], Encoder],
    tmp_path_factory: pytest.TempPathFactory,
    ours: dict[str, Any],
    theirs: dict[str, Any],
) -> None:
    files = [
        parse_trajectories(json.dumps([task(*steps, key=key) for key, steps in found.items()]).encode(), "file.json")
        for found in (ours, theirs)
    ]
    cache, stub = EmbeddingCache(tmp_path_factory.mktemp("cache") / "embeddings.sqlite"), new_stub()
    together = score_files(files[0], files, stub, cache=cache)
    alone = [score_files(files[0], [file], stub)[0] for file in files]
    again = score_files(files[0], files, stub, cache=cache)
    assert (
        [report.to_json() for report in together]
        == [report.to_json() for report in alone]
        == [report.to_json() for report in again]
    )
    assert AlignmentReport.from_json(together[1].to_json()) == together[1]


def test_a_copy_is_perfect(two: tuple[Any, Any], stub: Encoder) -> None:
    (report,) = score_files(two[0], [two[0]], stub)
    scores = report.total.scores
    assert {scores.recall, scores.precision, scores.argument_similarity, scores.strong_similarity} == {1.0}
    assert (scores.step_coherence, scores.merge_purity) == (1.0, 1.0)


def test_nothing_in_common_has_no_average(task: Tasks, trajectories: Reader, stub: Encoder) -> None:
    report = _score((trajectories([task()]), trajectories([])), stub)
    assert (report.average, report.total.tasks, report.by_family) == (None, 0, ())


def test_the_average_takes_the_judges_numbers_that_there_are(two: tuple[Any, Any], stub: Encoder) -> None:
    report = _score(two, stub)
    scores = report.total.scores
    six = [scores.recall, scores.precision, scores.argument_similarity]
    six += [scores.step_coherence, scores.order_consistency, scores.merge_purity]
    assert report.average == pytest.approx(sum(six) / 6)
    assert average_score(scores, information_grounding=0.5) == pytest.approx((sum(six) + 0.5) / 7)
    assert average_score(scores, information_grounding=0.5, task_completion=0.0) == pytest.approx((sum(six) + 0.5) / 8)


@pytest.mark.parametrize("bad", [{"tau_weak": -0.1}, {"tau_strong": 1.1}, {"tau_weak": float("nan")}])
def test_thresholds_are_shares(bad: dict[str, float]) -> None:
    with pytest.raises(ValidationError):
        Rules(**bad)


def test_a_report_is_written_as_it_was(two: tuple[Any, Any], stub: Encoder, tmp_path: Path) -> None:
    report = _score(two, stub)
    (tmp_path / "report.json").write_text(report.to_json(), encoding="utf-8")
    assert AlignmentReport.from_json((tmp_path / "report.json").read_bytes()) == report
