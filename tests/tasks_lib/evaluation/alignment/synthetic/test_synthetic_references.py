"""Synthetic references: the shape that was asked for, tools that are there, the same bytes for the same seed."""

from __future__ import annotations

import jsonschema
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tasks_lib.evaluation.alignment import TrajectoryFile
from tasks_lib.evaluation.alignment.strict import dependencies
from tasks_lib.evaluation.alignment.synthetic import PUBLISHED_SHAPE, Shape, synthetic_references, synthetic_tools
from tasks_lib.records.errors import ConfigurationError


def _counts(file: TrajectoryFile) -> tuple[int, int, int, int]:
    found = file.trajectories.values()
    return (
        len({one.family for one in found}),
        len(found),
        sum(len(one.steps) for one in found),
        sum(len(one.calls) for one in found),
    )


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_the_published_shape_is_met_exactly(seed: int) -> None:
    file = synthetic_references(seed)
    assert _counts(file) == (28, 211, 644, 1337)
    assert all(step for one in file.trajectories.values() for step in one.steps)
    lengths = sorted({len(one.steps) for one in file.trajectories.values()})
    assert lengths == [1, 2, 3, 4, 5]


@settings(max_examples=15, deadline=None)
@given(tasks=st.integers(28, 300), steps=st.floats(0, 1), calls=st.integers(0, 900), seed=st.integers(0, 99))
def test_every_shape_that_can_be_is_met(tasks: int, steps: float, calls: int, seed: int) -> None:
    shape = Shape(tasks, tasks + int(steps * tasks), 0)
    shape = Shape(tasks, shape.steps, shape.steps + calls)
    assert _counts(synthetic_references(seed, shape))[1:] == (shape.trajectories, shape.steps, shape.calls)


@pytest.mark.parametrize(
    "shape", [Shape(27, 27, 27), Shape(211, 210, 1337), Shape(211, 644, 643), Shape(28, 999, 2000)]
)
def test_a_shape_that_cannot_be_is_refused(shape: Shape) -> None:
    with pytest.raises(ConfigurationError, match="no synthetic references of this shape"):
        synthetic_references(0, shape)


def test_a_seed_decides_everything() -> None:
    assert synthetic_references(7) == synthetic_references(7)
    one, other = synthetic_references(7), synthetic_references(8)
    assert one.trajectories.keys() == other.trajectories.keys() or _counts(one) == _counts(other)
    assert one != other


def test_calls_fit_the_schemas_of_their_tools() -> None:
    tools = synthetic_tools()
    for one in synthetic_references().trajectories.values():
        for call in one.calls:
            tool = tools.tool(call.tool)
            assert tool is not None, call.tool
            strict = {**tool.input_schema, "additionalProperties": False}
            jsonschema.validate(call.arguments, strict, jsonschema.Draft202012Validator)


def test_every_tool_of_the_snapshot_is_called_and_in_several_tasks() -> None:
    tasks: dict[str, set[str]] = {}
    for one in synthetic_references().trajectories.values():
        for call in one.calls:
            tasks.setdefault(call.tool, set()).add(one.id)
    assert sorted(tasks) == [tool.name for tool in synthetic_tools().tools]
    assert min(map(len, tasks.values())) > 1


def test_results_carry_what_the_next_step_takes() -> None:
    shape = Shape(PUBLISHED_SHAPE.trajectories, PUBLISHED_SHAPE.steps, PUBLISHED_SHAPE.calls)
    several = [one for one in synthetic_references(0, shape, results=True).trajectories.values() if len(one.steps) > 1]
    found = [dependencies(one) for one in several]
    assert {one.source for one in found} == {"data"}
    assert sum(one.count > 0 for one in found) > 0.9 * len(found)
    steps = [dependencies(one) for one in synthetic_references(0, shape).trajectories.values()]
    assert {one.source for one in steps} == {"steps"}
