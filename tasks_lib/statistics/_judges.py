"""How far the judges of a report agree with each other and with people."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping

from pydantic import Field

from tasks_lib.evaluation.judges import JudgeReport, Metric
from tasks_lib.records import Document, Record
from tasks_lib.statistics._alpha import alpha_interval
from tasks_lib.statistics._correlation import Correlation, spearman, williams_test

PANEL = "panel"
PEOPLE = "people"
Ratings = Mapping[str, float]


class RankAgreement(Record):
    """Spearman's correlation of two raters over the tasks that both rated."""

    first: str
    second: str
    value: float
    low: float | None
    high: float | None
    tasks: int = Field(ge=0)


class Comparison(Record):
    """Williams' test whether two judges follow people differently, over the tasks that all three rated."""

    first: str
    second: str
    difference: float = Field(description="correlation of the first with people minus that of the second")
    t: float
    degrees: int
    p: float


class MetricAgreement(Record):
    """Agreement of one metric."""

    metric: Metric
    alpha: float | None = Field(description="Krippendorff's, interval scale; None where it is not defined")
    alpha_low: float | None
    alpha_high: float | None
    tasks: int = Field(ge=0, description="tasks with at least two opinions")
    between: tuple[RankAgreement, ...]
    with_people: tuple[RankAgreement, ...] = ()
    comparisons: tuple[Comparison, ...] = ()


class JudgeAgreement(Document):
    """Agreement of a panel's judges."""

    metrics: tuple[MetricAgreement, ...]


def judge_agreement(report: JudgeReport, people: Mapping[Metric, Ratings] | None = None) -> JudgeAgreement:
    """Say how far the judges of a report agree.

    An opinion that is VOID is missing, and so are tasks without a prediction, of which nobody was asked.

    Parameters
    ----------
    report : JudgeReport
        Of a panel.
    people : mapping of Metric to mapping of str to float, optional
        Ratings by task, on whatever scale: ranks alone count.
    """
    return JudgeAgreement(
        metrics=tuple(_of_metric(report, one.metric, (people or {}).get(one.metric, {})) for one in report.metrics)
    )


def _of_metric(report: JudgeReport, metric: Metric, people: Ratings) -> MetricAgreement:
    mine = [one for one in report.judgements if one.metric is metric and not one.missing]
    judges = {
        name: {
            one.task: value
            for one in mine
            for own in one.opinions
            if own.judge == name and (value := own.value) is not None
        }
        for name in dict.fromkeys(own.judge for one in mine for own in one.opinions)
    }
    panel = {one.task: one.value for one in mine if one.value is not None}
    alpha = alpha_interval([[ratings.get(one.task) for one in mine] for ratings in judges.values()])
    with_people = [_ranked((name, ratings), (PEOPLE, people)) for name, ratings in {**judges, PANEL: panel}.items()]
    return MetricAgreement(
        metric=metric,
        alpha=alpha.alpha,
        alpha_low=alpha.low,
        alpha_high=alpha.high,
        tasks=alpha.units,
        between=tuple(one for pair in itertools.combinations(judges.items(), 2) if (one := _ranked(*pair))),
        with_people=tuple(one for one in with_people if one),
        comparisons=tuple(_compared(judges, people)),
    )


def _ranked(first: tuple[str, Ratings], second: tuple[str, Ratings]) -> RankAgreement | None:
    found = _correlated(first[1], second[1], first[1].keys() & second[1].keys())
    if found is None:
        return None
    return RankAgreement(
        first=first[0], second=second[0], value=found.value, low=found.low, high=found.high, tasks=found.pairs
    )


def _compared(judges: Mapping[str, Ratings], people: Ratings) -> Iterator[Comparison]:
    for (first, one), (second, other) in itertools.combinations(judges.items(), 2):
        # The test is for correlations over the same tasks.
        tasks = one.keys() & other.keys() & people.keys()
        found = [_correlated(a, b, tasks) for a, b in ((one, people), (other, people), (one, other))]
        values = [each.value for each in found if each is not None]
        if len(values) == len(found) and (test := williams_test(values[0], values[1], values[2], len(tasks))):
            yield Comparison(
                first=first, second=second, difference=values[0] - values[1], t=test.t, degrees=test.degrees, p=test.p
            )


def _correlated(first: Ratings, second: Ratings, tasks: set[str]) -> Correlation | None:
    ordered = sorted(tasks)
    return spearman([first[task] for task in ordered], [second[task] for task in ordered])
