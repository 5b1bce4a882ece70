"""What Prefect's UI shows of a scoring: a table, a page, and charts. Keys are stable; reports lie in the store."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Any

from prefect.artifacts import acreate_image_artifact, acreate_markdown_artifact, acreate_table_artifact

from flows.artifacts import cell, clipped, key, table
from flows.links import link
from tasks_lib.evaluation.alignment import AlignmentReport, average_score
from tasks_lib.evaluation.alignment.scorings import AnyReport, ScoringFolder, ScoringPlan
from tasks_lib.reporting import scrub
from tasks_lib.reporting.alignment_charts import MOST_FILES, family_chart, score_chart

Numbers = Mapping[str, float | None]


async def publish_scores(folder: ScoringFolder, plan: ScoringPlan, reports: Mapping[str, AnyReport]) -> str:
    """Draw the charts into the store and show everything; return the scoring in one sentence."""
    name = folder.scoring_id
    text = summary(plan, reports)
    pictures = await asyncio.to_thread(_draw, folder, text, reports)
    await acreate_table_artifact(score_rows(reports), key=key("scoring", name, "table"), description=text)
    page = clipped(_page(folder, plan, reports, pictures))
    await acreate_markdown_artifact(page, key=key("scoring", name), description=text)
    for kind, path in pictures.items():
        await acreate_image_artifact(link(path), key=key("scoring", name, kind), description=text)
    return text


def summary(plan: ScoringPlan, reports: Mapping[str, AnyReport]) -> str:
    """Return a scoring as one sentence."""
    tasks = max((report.total.tasks for report in reports.values()), default=0)
    number = f"{len(reports)} file{'' if len(reports) == 1 else 's'}"
    return scrub(f"{number} against {plan.references.name}, up to {tasks} tasks, mode {plan.order.mode}")


def score_rows(reports: Mapping[str, AnyReport]) -> list[dict[str, Any]]:
    """Return a row a file; in strict mode the baselines of the references stand below."""
    rows = [
        {"file": scrub(name), "tasks": report.total.tasks, **_rounded(numbers(report))}
        for name, report in reports.items()
    ]
    return rows + [{"file": name, "tasks": None, **_rounded(values)} for name, values in _baselines(reports).items()]


def numbers(report: AnyReport) -> dict[str, float | None]:
    """Return the numbers of a report over all its tasks, by name."""
    scores: dict[str, float | None] = report.total.scores.model_dump()
    return {**scores, "average": report.average} if isinstance(report, AlignmentReport) else scores


def _baselines(reports: Mapping[str, AnyReport]) -> dict[str, Numbers]:
    # They are the references', so one file's are all files'.
    first = next((report for report in reports.values() if not isinstance(report, AlignmentReport)), None)
    if first is None:
        return {}
    return {
        f"({what})": getattr(first.baselines, field).model_dump()
        for field, what in (
            ("copy_ceiling", "copy of the references"),
            ("argument_swap", "right tools, arguments of other tasks"),
            ("family_template", "another task of the family"),
            ("empty", "nothing"),
        )
    }


def _rounded(values: Numbers) -> dict[str, float | None]:
    return {name: None if value is None else round(value, 4) for name, value in values.items()}


def _draw(folder: ScoringFolder, text: str, reports: Mapping[str, AnyReport]) -> dict[str, str]:
    made = {"scores": score_chart({name: numbers(report) for name, report in reports.items()}, text)}
    by_family = {name: _by_family(report) for name, report in list(reports.items())[: 5 * MOST_FILES]}
    if any(by_family.values()):
        mode = next(iter(reports.values())).mode
        made["families"] = family_chart(by_family, f"{'average' if mode == 'compat' else 'score'} by family")
    paths = {name: folder.picture(name) for name in made}
    for name, data in made.items():
        folder.store.write_bytes(paths[name], data)
    return paths


def _by_family(report: AnyReport) -> dict[str, float]:
    if isinstance(report, AlignmentReport):
        return {group.name: average_score(group.scores) for group in report.by_family}
    return {group.name: group.scores.score for group in report.by_family}


def _page(
    folder: ScoringFolder, plan: ScoringPlan, reports: Mapping[str, AnyReport], pictures: Mapping[str, str]
) -> str:
    first = next(iter(reports.values()))
    lines = [
        f"# Scoring {cell(folder.scoring_id)}",
        cell(summary(plan, reports)) + f". Encoder {cell(first.encoder)}.",
        _table(folder, plan, reports),
    ]
    if len(reports) > MOST_FILES:
        lines.append(f"The chart has the first {MOST_FILES} files.")
    lines += [f"![{name}]({link(path)})" for name, path in pictures.items()]
    for name, report in reports.items():
        remarks = [
            f"no prediction of {len(report.without_prediction)} references" if report.without_prediction else "",
            f"no reference of {len(report.without_reference)} predictions" if report.without_reference else "",
            *report.oddities[:20],
        ]
        if any(remarks):
            lines.append(f"**{cell(name)}**\n\n" + "\n".join(f"* {cell(remark)}" for remark in remarks if remark))
    return "\n\n".join(lines) + "\n"


def _table(folder: ScoringFolder, plan: ScoringPlan, reports: Mapping[str, AnyReport]) -> str:
    columns = list(numbers(next(iter(reports.values()))))
    rows: list[list[object]] = []
    for file in plan.predictions:
        report = reports[file.name]
        shown = f"[{cell(file.name)}]({link(folder.report(file), media_type='application/json')})"
        rows.append([shown, report.total.tasks, *(_number(numbers(report)[column]) for column in columns)])
    for name, values in _baselines(reports).items():
        rows.append([name, "", *(_number(values[column]) for column in columns)])
    return table(("file", "tasks", *(column.replace("_", " ") for column in columns)), rows)


def _number(value: float | None) -> str:
    return "-" if value is None else f"{value:.3f}"
