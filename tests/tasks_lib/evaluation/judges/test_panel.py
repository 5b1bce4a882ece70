"""Panels over files: trimmed means, VOIDs that stay in sight, tasks that nobody did."""

import json

import pytest

from tasks_lib.evaluation.alignment import parse_trajectories
from tasks_lib.evaluation.judges import JudgeReport, Kinship, Metric, Panel, judge_files, make_digest
from tasks_lib.models import Fault, FaultKind, Redactor
from tasks_lib.records.errors import ConfigurationError

DONE, KNOWN = Metric.TASK_COMPLETION, Metric.INFORMATION_GROUNDING
GONE = Fault(FaultKind.STATUS, status=401, body="{}")


def file(*tasks):
    return parse_trajectories(json.dumps(tasks).encode(), "file.json")


def task(key, reply="Newark.", **more):
    call = {"name": "wiki/summary", "arguments": {"title": "Newark"}, "result": "A city."}
    return {"id": key, "question": "Where?", "steps": [{"calls": [call]}], "final_reply": reply, **more}


REFERENCES = file(task("00010000"), task("00010001"), task("00020000"))
PREDICTIONS = file(task("00010000"), task("00010001", "Nowhere."), task("00090000"))


@pytest.fixture
def panel_of(judge_of, reply):
    """Make a panel whose judges give these planning points by task: `panel_of({task: [points or fault, …]})`."""

    def make(points, names=("a", "b", "c", "d"), **more):
        judges = []
        for index, name in enumerate(names):
            replies = {}
            for key, given in points.items():
                ticket = make_digest(PREDICTIONS.trajectories[key], question="Where?").ticket
                one = given[index]
                replies[key, DONE] = [
                    one if isinstance(one, Fault) else reply(ticket, planning=one, process=0, result=0)
                ]
            judges.append(judge_of(name, replies, model=f"{name}-model"))
        return Panel(tuple(judges), **more)

    return make


def test_four_judges_are_trimmed_to_the_middle_two(panel_of):
    told = []
    panel = panel_of({"00010000": [3, 1, 0, 2], "00010001": [1, 1, 1, 3]})
    report = judge_files(REFERENCES, PREDICTIONS, panel, [DONE], told.append)
    assert [one.value for one in report.judgements] == pytest.approx([0.15, 0.1, 0.0])
    assert told == list(report.judgements)
    (summary,) = report.metrics
    assert (summary.tasks, summary.judged, summary.void, summary.missing) == (3, 3, 0, 1)
    assert summary.value == summary.low == summary.high == pytest.approx(0.25 / 3)
    assert [one.mean for one in summary.judges] == pytest.approx([0.2, 0.1, 0.05, 0.25])
    assert any("00090000" in oddity for oddity in report.oddities)
    assert JudgeReport.from_json(report.to_json()) == report


def test_a_judge_that_fails_makes_a_void_that_is_neither_zero_nor_gone(panel_of):
    panel = panel_of({"00010000": [3, 3, 3, GONE], "00010001": [2, 2, 2, 2]})
    report = judge_files(REFERENCES, PREDICTIONS, panel, [DONE])
    first, second, missing = report.judgements
    assert (first.value, second.value, missing.value) == (None, pytest.approx(0.2), 0.0)
    assert first.void.startswith("d: ")
    assert [one.value for one in first.opinions] == pytest.approx([0.3, 0.3, 0.3, None])
    assert (missing.missing, missing.opinions, missing.digest) == (True, (), None)
    (summary,) = report.metrics
    assert (summary.tasks, summary.judged, summary.void) == (3, 2, 1)
    assert summary.value is None
    assert (summary.low, summary.high) == pytest.approx((0.2 / 3, 1.2 / 3))
    assert summary.judged_mean == pytest.approx(0.1)
    assert [one.failed for one in summary.judges] == [0, 0, 0, 1]


@pytest.mark.parametrize(("names", "mean"), [(("a",), 0.3), (("a", "b"), 0.2), (("a", "b", "c"), 0.1)])
def test_few_judges(panel_of, names, mean):
    panel = panel_of({"00010000": [3, 1, 0], "00010001": [3, 1, 0]}, names)
    report = judge_files(REFERENCES, PREDICTIONS, panel, [DONE])
    assert report.judgements[0].value == pytest.approx(mean)
    assert report.trimmed is (len(names) > 2)


def test_how_many_are_asked_at_a_time_changes_nothing(panel_of):
    points = {"00010000": [3, 1, 0, 2], "00010001": [1, 2, 1, 3]}
    reports = [
        judge_files(REFERENCES, PREDICTIONS, panel_of(points, at_once=number), [DONE]).to_json() for number in (1, 8)
    ]
    assert reports[0] == reports[1]


def test_grounding_is_judged_against_the_reference(judge_of, reply):
    prediction = PREDICTIONS.trajectories["00010000"]
    reference = REFERENCES.trajectories["00010000"]
    ticket = make_digest(prediction, question="Where?", reference=reference).ticket
    judge = judge_of("a", {("00010000", KNOWN): [reply(ticket, coverage=0.75)]})
    one = file(task("00010000"))
    report = judge_files(one, one, Panel((judge,)), [KNOWN])
    assert report.judgements[0].value == 0.75
    sent = json.dumps(judge.sessions["00010000", KNOWN].requests[0])
    assert "reference_calls" in sent


def test_a_task_that_nobody_tells_is_told(judge_of, reply):
    one = file({key: value for key, value in task("1").items() if key != "question"})
    ticket = make_digest(one.trajectories["1"], question="").ticket
    judge = judge_of("a", {("1", DONE): [reply(ticket, planning=1, process=1, result=1)]})
    (told,) = judge_files(one, one, Panel((judge,)), [DONE]).oddities
    assert "'1' has no question" in told


def test_a_contestant_among_the_judges_is_told(panel_of):
    points = {"00010000": [1, 1], "00010001": [1, 1]}
    report = judge_files(REFERENCES, PREDICTIONS, panel_of(points, ("a", "b"), contestant="vendor/a-model"), [DONE])
    assert [one.kinship for one in report.metrics[0].judges] == [Kinship.SAME, Kinship.NONE]


def test_secrets_reach_no_judge(judge_of, reply):
    secret = "sk-0123456789abcdef01234567"
    hide = Redactor([secret])
    one = file(task("1", reply=f"the key is {secret}"))
    ticket = make_digest(one.trajectories["1"], question="Where?", hide=hide).ticket
    judge = judge_of("a", {("1", DONE): [reply(ticket, planning=1, process=1, result=1)]})
    report = judge_files(one, one, Panel((judge,), hide=hide), [DONE])
    assert report.judgements[0].value == pytest.approx(0.3)
    assert secret not in json.dumps(judge.sessions["1", DONE].requests[0])


def test_repeated_ids_and_panels_of_nobody_are_refused(panel_of, judge_of):
    judge = judge_of("a", {})
    for judges in ((), (judge, judge)):
        with pytest.raises(ConfigurationError, match="name each judge once"):
            Panel(judges)
    twice = file(task("1"), task("1"))
    with pytest.raises(ConfigurationError, match="1 comes twice"):
        judge_files(twice, twice, Panel((judge,)))


def test_a_bug_while_judging_ends_it(judge_of):
    judge = judge_of("a", {})  # no session for any task: KeyError
    with pytest.raises(KeyError):
        judge_files(REFERENCES, PREDICTIONS, Panel((judge,)), [DONE])
