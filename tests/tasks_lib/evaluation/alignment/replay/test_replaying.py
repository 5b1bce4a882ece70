"""Files replayed against a snapshot: labels, counts, and the five published classes."""

import json

import pytest

from tasks_lib.evaluation.alignment import parse_trajectories
from tasks_lib.evaluation.alignment.published_parsing import illegal_samples
from tasks_lib.evaluation.alignment.replay import CallClass, ReplayReport, replay
from tasks_lib.evaluation.alignment.strict import Tool, ToolSnapshot

TITLE = {"type": "object", "properties": {"title": {"type": "string"}}, "required": ["title"]}
SNAPSHOT = ToolSnapshot(
    source="tools.json",
    tools=(
        Tool(name="ocr/perform_ocr", input_schema={"type": "object", "properties": {"path": {"type": "string"}}}),
        Tool(name="wiki/search", input_schema=TITLE),
        Tool(name="wiki/summary", input_schema=TITLE),
    ),
)


def call(name="wiki/summary", arguments={"title": "Newark"}, result="A city."):  # noqa: B006  # read only
    return {"name": name, "arguments": arguments, "result": result}


def task(key="00010000", *steps, **more):
    return {"id": key, "type": "attraction", "steps": [{"calls": list(calls)} for calls in steps], **more}


def replayed(*tasks):
    return replay(parse_trajectories(json.dumps(tasks).encode(), "gpt.json"), SNAPSHOT)


@pytest.mark.parametrize(
    ("made", "kind", "rule"),
    [
        (call(), "SUCCESS", "no sign of a failure"),
        (call(name=""), "ILLEGAL_FORMAT", "no name"),
        (call(name="wiki/look_up"), "UNKNOWN_TOOL", "snapshot"),
        (call(name="Wiki/summary"), "UNKNOWN_TOOL", "snapshot"),
        (call(arguments={"page": "Newark"}), "INVALID_ARGUMENTS", "schema"),
        (call(arguments='{"title": "a"}{"title": "b"}'), "INVALID_ARGUMENTS", "schema"),
        (call(result=None), "NO_RESULT", "no result"),
        (call(result="[Tool error] Read timed out"), "TIMEOUT", "phrase of an error"),
        (call(result='{"error": {"code": 404}}'), "NOT_FOUND", "HTTP 404"),
    ],
)
def test_a_call_has_the_first_class_that_fits(made, kind, rule):
    (label,) = replayed(task("00010000", [], [made])).labels
    assert (label.kind, label.rule) == (CallClass[kind], rule)
    assert (label.task, label.step, label.call) == ("00010000", 1, 0)


def test_an_unknown_tool_is_told_what_its_server_has():
    unknown = replayed(task("1", [call(name="wiki/look"), call(name="web/look")])).labels
    assert [label.why for label in unknown] == [
        "the server has wiki/search, wiki/summary",
        "no tool and no server of the snapshot has this name; it has 3 tools",
    ]


def test_a_server_that_put_up_with_arguments_is_counted_and_does_not_make_them_valid():
    report = replayed(task("1", [call(arguments={"title": 5}), call(arguments={}, result="[Tool error] x")]))
    assert [label.tolerated for label in report.labels] == [True, False]
    assert report.tolerated == 1
    assert report.total.counts == {CallClass.INVALID_ARGUMENTS: 2}


def test_what_is_no_call_is_counted_and_not_dropped():
    steps = [{"calls": [call(), "wiki/summary", None]}, "done", {"calls": [7]}]
    report = replayed({"id": "1", "steps": steps})
    illegal = [label for label in report.labels if label.kind is CallClass.ILLEGAL_FORMAT]
    assert [label.why.split()[0] for label in illegal] == [
        "steps[0].calls[1]",
        "steps[0].calls[2]",
        "steps[1]",
        "steps[2].calls[0]",
    ]
    assert report.calls == 1
    assert report.total.total == 5


def test_the_five_published_classes_follow_from_the_labels():
    empty = {"work": {"tool_calls": []}}
    calls = [
        call(),
        call(name="x"),
        call(arguments={}),
        call(result="[Tool error] 404 not found"),
        call(result="[Tool error] timeout"),
    ]
    report = replayed(
        task("00010000", calls, dialogue=[empty, empty, {"work": {"tool_calls": [call()]}}]),
        task("00020000", [call()], dialogue=[empty]),
        task("00030000", [call()], dialogue="none"),
    )
    assert report.published.model_dump() == {
        "illegal_calling": 2, "unknown_tool": 1, "invalid_arguments": 1, "resource_not_found": 1, "success": 3,
        "without_class": 1,
    }  # fmt: skip
    assert report.total.counts[CallClass.ILLEGAL_FORMAT] == 3
    assert [(group.name, group.total) for group in report.by_family] == [("0001", 7), ("0002", 2), ("0003", 1)]
    assert dict.fromkeys(group.name for group in report.by_tool) == dict.fromkeys(["", "wiki/summary", "x"])


def test_illegal_samples_are_counted_as_the_published_program_does(m3):
    recorded = m3("parsers.json")["count_illegal_calling"]
    samples = [{"id": str(number), "steps": [], **sample} for number, sample in enumerate(recorded["samples"])]
    assert replayed(*samples).published.illegal_calling == recorded["count"] == illegal_samples(samples)


def test_the_same_file_gives_the_same_bytes_and_comes_back():
    tasks = [task("2", [call()]), task("1", [call(result="Error: quota")])]
    report = replayed(*tasks)
    assert report.to_json() == replayed(*tasks).to_json()
    assert [label.task for label in report.labels] == ["1", "2"]
    assert ReplayReport.from_json(report.to_json()) == report
    assert report.snapshot_digest == SNAPSHOT.digest


def test_oddities_of_the_file_and_unusable_schemas_are_told():
    broken = ToolSnapshot(source="t", tools=(Tool(name="wiki/summary", input_schema={"type": "thing"}),))
    report = replay(parse_trajectories(json.dumps([task("1", [call()]), 5]).encode(), "gpt.json"), broken)
    assert any("a task is an object" in oddity for oddity in report.oddities)
    assert any("the schema is unusable" in oddity for oddity in report.oddities)
