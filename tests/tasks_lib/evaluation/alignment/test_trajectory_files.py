"""Files of trajectories: what is read, what is told, what is refused."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tasks_lib.evaluation.alignment import (
    Limits,
    TrajectoryFile,
    canonical_text,
    parse_trajectories,
    read_trajectories,
)
from tasks_lib.records.errors import ConfigurationError

Reader = Callable[..., TrajectoryFile]
Tasks = Callable[..., dict[str, Any]]

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=12,
)
ODD_CALLS = st.fixed_dictionaries({}, optional={"name": JSON, "arguments": JSON, "result": JSON}) | JSON
ODD_STEPS = st.fixed_dictionaries({}, optional={"calls": st.lists(ODD_CALLS, max_size=3) | JSON}) | JSON
ODD_TASKS = st.fixed_dictionaries({}, optional={"id": JSON, "type": JSON, "steps": st.lists(ODD_STEPS) | JSON}) | JSON


@given(st.lists(ODD_TASKS, max_size=4) | st.dictionaries(st.text(max_size=4), ODD_TASKS, max_size=4))
@settings(max_examples=40)
def test_no_list_or_object_stops_the_reader(root: Any) -> None:
    read = parse_trajectories(json.dumps(root).encode(), "any.json")
    for key, trajectory in read.trajectories.items():
        assert key == trajectory.id
        assert key.encode()
        assert len(trajectory.step_of) == len(trajectory.calls)
        assert all(call.tool == call.tool.strip() and call.text.encode() for call in trajectory.calls)


@given(st.binary(max_size=40))
def test_bytes_are_read_or_refused(data: bytes) -> None:
    try:
        json.loads(data.decode("utf-8-sig"))
    except ValueError:
        with pytest.raises(ConfigurationError, match=r"any\.json"):
            parse_trajectories(data, "any.json")


def test_canonical_text_is_compact_sorted_and_keeps_types() -> None:
    assert (
        canonical_text({"b": [1, 1.0, None], "a": {"d": True, "c": "é"}}) == '{"a":{"c":"é","d":true},"b":[1,1.0,null]}'
    )
    assert canonical_text("{}") == '"{}"' != canonical_text({})


@given(JSON)
def test_canonical_text_is_a_fixed_point(value: Any) -> None:
    text = canonical_text(value)
    assert canonical_text(json.loads(text)) == text


def test_empty_steps_keep_their_place(trajectories: Reader, task: Tasks) -> None:
    read = trajectories([task([("a/x", 1)], [], [("a/y", 2), ("a/z", 3)])])
    assert read.trajectories["00010000"].step_of == (0, 2, 2)
    assert [call.tool for call in read.trajectories["00010000"].calls] == ["a/x", "a/y", "a/z"]


@pytest.mark.parametrize(("key", "family"), [("00270003", "0027"), ("0007", "0007"), ("7", "7"), ("copy_1", "copy_1")])
def test_a_family_is_the_first_four_digits(key: str, family: str, trajectories: Reader, task: Tasks) -> None:
    assert trajectories([task(key=key)]).trajectories[key].family == family


def test_the_later_of_two_tasks_counts_and_both_places_are_told(trajectories: Reader, task: Tasks) -> None:
    read = trajectories([task([("a/x", 1)]), task(key="00020000"), task([("a/y", 1)])])
    assert read.trajectories["00010000"].calls[0].tool == "a/y"
    assert read.repeated == ("00010000",)
    assert [str(oddity) for oddity in read.oddities] == ["[2]: id '00010000' stands at [0] too; the later one counts"]


@pytest.mark.parametrize(
    ("limits", "what"),
    [(Limits(calls=1), "2 calls, at most 1"), (Limits(characters=5), "arguments of 13 characters, at most 5")],
)
def test_a_trajectory_beyond_the_limits_is_left_out(limits: Limits, what: str, task: Tasks) -> None:
    data = json.dumps([task([("a/x", "long enough"), ("a/x", 1)]), task([("a/x", 1)], key="2")]).encode()
    read = parse_trajectories(data, "any.json", limits)
    assert list(read.trajectories) == ["2"]
    assert what in read.oddities[0].what


def test_a_later_task_beyond_the_limits_leaves_no_earlier_one(task: Tasks) -> None:
    data = json.dumps([task([("a/x", 1)]), task([("a/x", 1), ("a/x", 1)])]).encode()
    assert parse_trajectories(data, "any.json", Limits(calls=1)).trajectories == {}


def test_a_byte_order_mark_is_put_up_with(task: Tasks) -> None:
    assert parse_trajectories(b"\xef\xbb\xbf" + json.dumps([task()]).encode(), "any.json").trajectories


@pytest.mark.parametrize(
    ("data", "match"),
    [
        (b"[", "line 1 column 2"),
        (b"", "line 1 column 1"),
        (b'["\xff"]', "byte 2"),
        (b"[" + b"1" * 5000 + b"]", "4300 digits"),
        (b'"text"', "got str"),
        (b"NaN", "got float"),
    ],
)
def test_what_is_no_file_of_trajectories_is_refused_with_the_place(data: bytes, match: str) -> None:
    with pytest.raises(ConfigurationError, match=match):
        parse_trajectories(data, "any.json")


def test_a_file_beyond_the_limit_is_not_read(tmp_path: Path) -> None:
    path = tmp_path / "large.json"
    path.write_bytes(b"[" + b" " * 100 + b"]")
    with pytest.raises(ConfigurationError, match="at most 50 bytes, this one has 102"):
        read_trajectories(path, Limits(file_bytes=50))
    assert read_trajectories(path).trajectories == {}


def test_the_deepest_place_is_found_outside_of_strings() -> None:
    data = b'["[[[[", ' + b"[" * 100_000 + b"]" * 100_000 + b"]"
    with pytest.raises(ConfigurationError, match="100001 levels at character 100008"):
        parse_trajectories(data, "any.json")


def test_a_reference_says_its_order_and_other_ways(trajectories: Reader, task: Any) -> None:
    one = task([("a/x", 1), ("a/y", 2)], [("b/z", 3)])
    other = {"steps": task([("b/z", 3)])["steps"], "dependencies": [], "alternatives": [one]}
    root = [{**one, "question": "Why?", "dependencies": [[0, 2], [0, 2]], "alternatives": [other]}]
    (found,) = trajectories(root).trajectories.values()
    assert (found.question, found.dependencies) == ("Why?", ((0, 2),))
    (way,) = found.alternatives
    assert (way.id, way.question, way.dependencies, way.alternatives) == (found.id, "Why?", (), ())
    assert trajectories([one]).trajectories[one["id"]].dependencies is None


@pytest.mark.parametrize("pair", [[0, 3], [-1, 0], [True, 0], [0], "01", None, {"0": 1}])
def test_a_dependency_of_no_call_is_told(pair: Any, trajectories: Reader, task: Any) -> None:
    file = trajectories([{**task([("a/x", 1), ("a/y", 2)], [("b/z", 3)]), "dependencies": [[0, 1], pair]}])
    assert file.trajectories["00010000"].dependencies == ((0, 1),)
    assert str(file.oddities[0]).startswith(
        "[0].dependencies[1]: a dependency is a pair of numbers of calls from 0 to 2"
    )


def test_odd_alternatives_are_told_and_the_others_read(trajectories: Reader, task: Any) -> None:
    root = [{**task([("a/x", 1)]), "alternatives": [3, {"steps": "no"}, *([{"steps": []}] * 60)]}]
    file = trajectories(root)
    assert len(file.trajectories["00010000"].alternatives) == 49
    told = [str(oddity) for oddity in file.oddities]
    assert any("62 alternatives, the first 50 are read" in line for line in told)
    assert any(line.startswith("[0].alternatives[0]: an alternative is an object") for line in told)
