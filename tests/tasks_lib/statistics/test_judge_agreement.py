"""Agreement of judges in a report, with each other and with people."""

import pytest

from tasks_lib.evaluation.judges import Judgement, JudgeReport, Metric, MetricSummary, Opinion
from tasks_lib.statistics import JudgeAgreement, judge_agreement, krippendorff_alpha, spearman, williams_test

DONE = Metric.TASK_COMPLETION
A = [0.1, 0.4, 0.5, 0.9, 0.8, 0.3]
B = [0.2, 0.3, 0.6, 0.7, 1.0, 0.3]
C = [0.9, 0.4, 0.1, 0.5, 0.2, 0.6]
PEOPLE = [1, 2, 3, 5, 4, 2]


def report(*columns, gone=()):
    judgements = []
    for task, values in enumerate(zip(*columns, strict=True)):
        opinions = tuple(
            Opinion(judge="abc"[index], void="gone")
            if (task, index) in gone
            else Opinion(judge="abc"[index], value=value)
            for index, value in enumerate(values)
        )
        void = any(one.void for one in opinions)
        value = None if void else sum(values) / len(values)
        judgements.append(Judgement(task=str(task), family="0", metric=DONE, value=value, opinions=opinions))
    judgements.append(Judgement(task="x", family="0", metric=DONE, value=0.0, missing=True))
    summary = MetricSummary(
        metric=DONE,
        tasks=len(judgements),
        judged=0,
        void=0,
        missing=1,
        value=None,
        low=None,
        high=None,
        judged_mean=None,
    )
    return JudgeReport(
        references="r",
        predictions="p",
        longest_digest=1,
        trimmed=True,
        metrics=(summary,),
        judgements=tuple(judgements),
    )


def people(values=PEOPLE):
    return {DONE: {str(task): value for task, value in enumerate(values)} | {"other": 9}}


def test_agreement_has_the_figures_of_its_functions():
    (found,) = judge_agreement(report(A, B, C), people()).metrics
    assert found.alpha == krippendorff_alpha([A, B, C])
    assert found.tasks == 6
    assert [(one.first, one.second) for one in found.between] == [("a", "b"), ("a", "c"), ("b", "c")]
    assert found.between[0].value == spearman(A, B).value
    assert [(one.first, one.second, one.tasks) for one in found.with_people] == [
        ("a", "people", 6), ("b", "people", 6), ("c", "people", 6), ("panel", "people", 6),
    ]  # fmt: skip
    first = found.comparisons[1]
    assert (first.first, first.second) == ("a", "c")
    wanted = williams_test(spearman(A, PEOPLE).value, spearman(C, PEOPLE).value, spearman(A, C).value, 6)
    assert (first.t, first.degrees, first.p) == (wanted.t, 3, wanted.p)
    assert first.difference > 0


def test_void_opinions_are_missing_and_not_zero():
    (found,) = judge_agreement(report(A, B, C, gone={(0, 2), (3, 0)}), people()).metrics
    assert found.alpha == krippendorff_alpha([[*A[:3], None, *A[4:]], B, [None, *C[1:]]])
    assert [one.tasks for one in found.between] == [5, 4, 5]
    assert {one.first: one.tasks for one in found.with_people} == {"a": 5, "b": 6, "c": 5, "panel": 4}


@pytest.mark.parametrize("columns", [(), (A,), ([0.5] * 6, [0.5] * 6)])
def test_where_nothing_can_be_told_nothing_is(columns):
    (found,) = judge_agreement(report(*columns), people()).metrics
    assert (found.alpha, found.between, found.comparisons) == (None, (), ())


def test_the_document_comes_back():
    found = judge_agreement(report(A, B, C), people())
    assert JudgeAgreement.from_json(found.to_json()) == found
