"""Strict scores: what loses, what does not, and what can never be won."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tasks_lib.evaluation.alignment import Encoder, TrajectoryFile, parse_trajectories
from tasks_lib.evaluation.alignment.strict import StrictReport, StrictTask, Tool, ToolSnapshot, score_strictly
from tasks_lib.records import dump_json
from tasks_lib.records.errors import ConfigurationError

New = Callable[[], Encoder]
Call = tuple[str, Any]

TOOLS = ToolSnapshot(
    source="test",
    tools=(
        Tool(
            name="a/look",
            input_schema={
                "type": "object",
                "properties": {
                    "query": {"type": "string"},
                    "limit": {"type": "integer", "default": 5},
                    "deep": {"type": "boolean", "default": False},
                },
            },
        ),
        Tool(name="b/place", input_schema={"type": "object", "properties": {"lat": {"type": "number"}}}),
    ),
)
NAMES = ["eagle", "falcon", "heron", "osprey", "kestrel", "harrier", "buzzard", "kite", "merlin", "hobby"]
CALLS = st.one_of(
    st.tuples(st.just("a/look"), st.fixed_dictionaries({"query": st.sampled_from(NAMES)})),
    st.tuples(st.just("b/place"), st.fixed_dictionaries({"lat": st.integers(-60, 60)})),
    st.tuples(st.just("c/unknown"), st.dictionaries(st.sampled_from("xyz"), st.integers(0, 3) | st.none(), max_size=2)),
)
STEPS = st.lists(st.lists(CALLS, max_size=3), max_size=4)


def _task(steps: Sequence[Sequence[Call]], **more: Any) -> dict[str, Any]:
    listed = [{"calls": [{"name": name, "arguments": arguments} for name, arguments in step]} for step in steps]
    return {"id": "00010000", "type": "kind", "steps": listed, **more}


def _file(*tasks: Any, name: str = "file.json") -> TrajectoryFile:
    return parse_trajectories(dump_json(list(tasks)).encode(), name)


def _report(references: TrajectoryFile, predictions: TrajectoryFile, encoder: Encoder, **how: Any) -> StrictReport:
    (report,) = score_strictly(references, [predictions], encoder, tools=TOOLS, **how)
    return report


@pytest.fixture
def scored(new_stub: New) -> Callable[..., StrictTask]:
    def score(reference: Any, prediction: Any) -> StrictTask:
        return _report(_file(reference), _file(prediction), new_stub()).tasks[0]

    return score


@settings(max_examples=40, deadline=None)
@given(reference=STEPS, prediction=STEPS)
def test_scores_are_shares_and_a_copy_is_perfect(reference: Any, prediction: Any, new_stub: New) -> None:
    report = _report(_file(_task(reference)), _file(_task(prediction)), new_stub())
    for value in report.total.scores.model_dump().values():
        assert value is None or 0 <= value <= 1
    assert report.baselines.copy_ceiling.score == 1.0
    assert report.baselines.empty.score == 0.0
    assert StrictReport.from_json(report.to_json()) == report


@settings(max_examples=40, deadline=None)
@given(data=st.data(), names=st.lists(st.sampled_from(NAMES), min_size=2, max_size=8, unique=True))
def test_every_order_that_dependencies_allow_loses_nothing(data: Any, names: list[str], new_stub: New) -> None:
    pairs = [[i, j] for j in range(len(names)) for i in range(j) if data.draw(st.booleans(), label=f"{i} before {j}")]
    reference = _task([[("a/look", {"query": name})] for name in names], dependencies=pairs)
    draw = random.Random(data.draw(st.integers(0, 999), label="seed"))  # noqa: S311 - a test's order
    left, steps = list(range(len(names))), []
    while left:
        ready = [one for one in left if not any(i in left for i, j in pairs if j == one)]
        now = draw.sample(ready, draw.randint(1, len(ready)))
        steps.append([("a/look", {"query": names[one]}) for one in now])
        left = [one for one in left if one not in now]
    task = _report(_file(reference), _file(_task(steps)), new_stub()).tasks[0]
    assert task.scores.score == 1.0
    assert task.scores.order == (1.0 if pairs else None)


@settings(max_examples=40, deadline=None)
@given(names=st.lists(st.sampled_from(NAMES), min_size=2, max_size=8, unique=True), data=st.data())
def test_merging_two_steps_of_which_one_waits_loses(names: list[str], data: Any, new_stub: New) -> None:
    steps = [[("a/look", {"query": name})] for name in names]
    at = data.draw(st.integers(0, len(names) - 2))
    merged = [*steps[:at], steps[at] + steps[at + 1], *steps[at + 2 :]]
    task = _report(_file(_task(steps)), _file(_task(merged)), new_stub()).tasks[0]
    number = len(names) * (len(names) - 1) // 2
    assert task.scores.order == pytest.approx(1 - 1 / number)
    assert (task.scores.calls, task.dependencies, task.order_from) == (1.0, number, "steps")


@settings(max_examples=40, deadline=None)
@given(reference=STEPS, prediction=STEPS, wrong=STEPS, data=st.data())
def test_wrong_calls_never_raise_a_score(reference: Any, prediction: Any, wrong: Any, data: Any, new_stub: New) -> None:
    names = {"a/look": {"query": "penguin"}, "b/place": {"lat": 80}, "c/unknown": {"w": 9}}
    more = [[(tool, names[tool]) for tool, _ in step] + [("d/other", {})] for step in wrong]
    worse = list(prediction)
    for step in more:
        place = data.draw(st.integers(0, len(worse)))
        if data.draw(st.booleans()) and place < len(worse):
            worse[place] = [*step, *worse[place]]
        else:
            worse.insert(place, step)
    one, other = (
        _report(_file(_task(reference)), _file(_task(steps)), new_stub()).total.scores for steps in (prediction, worse)
    )
    assert other.score <= one.score
    assert other.recall == one.recall or not any(reference)


NOISE = [
    {"query": "eagle"},
    {"query": "Eagle ", "limit": 5},
    {"limit": None, "query": "eagle"},
    {"deep": False, "limit": "5", "query": "eagle"},
    {"deep": "false", "query": "eagle", "limit": 5.0},
    '{"query": "eagle"}',
]


@pytest.mark.parametrize("one", NOISE)
@pytest.mark.parametrize("other", NOISE)
def test_order_of_keys_spelling_and_defaults_do_not_matter(one: Any, other: Any, scored: Any) -> None:
    assert scored(_task([[("a/look", one)]]), _task([[("a/look", other)]])).scores.score == 1.0


def test_a_single_step_is_perfect_and_has_no_order(scored: Any) -> None:
    task = scored(*[_task([[("a/look", {"query": "eagle"}), ("b/place", {"lat": 1})]])] * 2)
    assert (task.scores.score, task.scores.order) == (1.0, None)


def test_the_right_tool_with_wrong_arguments_earns_nothing(scored: Any) -> None:
    task = scored(_task([[("a/look", {"query": "eagle"})]]), _task([[("a/look", {"query": "osprey"})]]))
    assert (task.scores.score, task.scores.tools, len(task.matches)) == (0.0, 1.0, 0)
    spelt = {"query": "osprey", "limit": 5, "deep": False}
    assert scored(_task([[("a/look", {"query": "eagle"})]]), _task([[("a/look", spelt)]])).scores.score == 0.0
    assert [one.arguments for one in task.unmatched_reference] == ['{"query":"eagle"}']


def test_the_reverse_order_keeps_nothing(scored: Any) -> None:
    steps = [[("a/look", {"query": name})] for name in NAMES[:4]]
    task = scored(_task(steps), _task(steps[::-1]))
    assert (task.scores.calls, task.scores.order, task.scores.score) == (1.0, 0.0, 0.5)


def test_equal_calls_are_paired_for_the_steps(scored: Any) -> None:
    """Two equal calls around another one: whichever pairing an assignment takes, nothing is lost."""
    look, place = ("a/look", {"query": "eagle"}), ("b/place", {"lat": 3})
    task = scored(_task([[look], [place], [look]]), _task([[look], [place], [look], [look]]))
    assert task.scores.order == 1.0
    assert [(one.reference_step, one.prediction_step) for one in task.matches] == [(0, 0), (1, 1), (2, 2)]


def test_data_flow_decides_where_calls_have_results(scored: Any) -> None:
    def call(name: str, arguments: Any, result: Any = None) -> dict[str, Any]:
        return {"name": name, "arguments": arguments, "result": result}

    scan = call("a/look", {"query": "bird of the lake"}, '{"species": "Fulica atra", "count": 4711}')
    other = call("b/place", {"lat": 9}, "nothing of use")
    read = call("c/read", {"title": "Fulica atra"}, {"page": "https://host.example/4711"})
    reference = {
        "id": "00010000",
        "question": "Which bird of the lake?",
        "steps": [{"calls": [scan]}, {"calls": [other]}, {"calls": [read]}],
    }
    free = {"id": "00010000", "steps": [{"calls": [other, scan]}, {"calls": [read]}]}
    merged = {"id": "00010000", "steps": [{"calls": [other]}, {"calls": [scan, read]}]}
    task = scored(reference, free)
    assert (task.order_from, task.dependencies, task.scores.score) == ("data", 1, 1.0)
    assert scored(reference, merged).scores.order == 0.0
    assert scored({**reference, "dependencies": []}, merged).scores.score == 1.0


def test_the_best_of_several_ways_counts(scored: Any) -> None:
    ways = [[[("a/look", {"query": name})]] for name in NAMES[:3]]
    reference = _task(ways[0], alternatives=[_task(way) for way in ways[1:]])
    assert [(scored(reference, _task(way)).way, scored(reference, _task(way)).scores.score) for way in ways] == [
        (0, 1.0),
        (1, 1.0),
        (2, 1.0),
    ]


def _many(*names: str) -> list[dict[str, Any]]:
    return [{**_task([[("a/look", {"query": name})]]), "id": f"0001{index:04}"} for index, name in enumerate(names)]


def test_what_is_missing_counts_nought(new_stub: New) -> None:
    references, found = _many(*NAMES), _many(*NAMES)[:3]
    report = _report(_file(*references), _file(*found, {**found[0], "id": "9"}), new_stub())
    assert report.total.scores.score == pytest.approx(3 / 10)
    assert report.total.scores.precision == pytest.approx(3 / 10)
    assert (report.total.missing, len(report.tasks)) == (7, 10)
    assert report.without_prediction == tuple(one["id"] for one in references[3:])
    assert report.without_reference == ("9",)
    assert {task.missing for task in report.tasks} == {"", "no prediction"}


@pytest.mark.parametrize("side", [0, 1])
def test_ids_that_stand_twice_are_refused_with_both_places(side: int, new_stub: New) -> None:
    files = [_many("eagle"), _many("eagle")]
    files[side] *= 2
    with pytest.raises(ConfigurationError, match=r"stands once in a file: \[1\]: id '00010000' stands at \[0\] too"):
        _report(_file(*files[0]), _file(*files[1]), new_stub())


@pytest.mark.parametrize("predicted", [[], [{**_task([]), "id": "00010000"}]])
def test_nothing_keeps_no_order(predicted: Any, new_stub: New) -> None:
    steps = [[("a/look", {"query": name})] for name in NAMES[:3]]
    report = _report(_file(_task(steps)), _file(*predicted), new_stub())
    assert (report.total.scores.order, report.total.scores.score, report.tasks[0].dependencies) == (0.0, 0.0, 3)


def test_sizes_are_bounded(new_stub: New) -> None:
    many = _task([[("a/look", {"query": "eagle"})] * 1001])
    with pytest.raises(ConfigurationError, match="reference '00010000' has 1001 calls, at most 1000"):
        _report(_file(many), _file(many), new_stub())
    report = _report(_file(_task([[("a/look", {"query": "eagle"})]])), _file(many), new_stub())
    assert (report.tasks[0].missing, report.total.scores.score) == ("1001 calls, at most 1000 are scored", 0.0)


def test_a_task_without_calls_is_perfect_without_calls_alone(scored: Any) -> None:
    assert scored(_task([]), _task([[]])).scores.score == 1.0
    assert scored(_task([]), _task([[("a/look", {})]])).scores.score == 0.0


def test_no_batch_moves_a_bit_and_no_order_of_files(new_stub: New, encoder_of: Any) -> None:
    words = [f"{one} {other} in the river at noon" for one in NAMES for other in NAMES[:3]]
    references = _file(*_many(*words))
    predictions = _file(*_many(*reversed(words)))
    together = score_strictly(references, [predictions, references], new_stub())
    alone = [score_strictly(references, [one], new_stub())[0] for one in (predictions, references)]
    assert [one.to_json() for one in together] == [one.to_json() for one in alone]
