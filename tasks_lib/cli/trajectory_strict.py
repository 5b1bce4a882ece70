"""How `matassay trajectories score` shows and writes what strict mode says."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

from rich.table import Table
from rich.text import Text

from tasks_lib.cli.console import out
from tasks_lib.cli.trajectory_files import tell_some, write_csv
from tasks_lib.evaluation.alignment import Budget
from tasks_lib.evaluation.alignment.strict import (
    ArgumentScore,
    StrictGroup,
    StrictMatch,
    StrictReport,
    StrictScores,
    StrictTask,
)
from tasks_lib.reporting import scrub

COLUMNS = ("score", "calls", "order", "recall", "precision", "tools")
_HEADS = ("score", "calls", "order", "R", "P", "tools")


def tell_strict(report: StrictReport) -> None:
    """Print on standard error what is missing or odd."""
    tell_some("", report.oddities)
    missing = [f"{task.id}: {task.missing}" for task in report.tasks if task.missing]
    tell_some(f"{report.predictions}: counts 0, ", missing)
    tell_some(f"{report.predictions}: not scored, no reference of ", report.without_reference)
    if report.inferred:
        tell_some("schema inferred from the references, give it by --tools: ", report.inferred)


def show_strict(names: Sequence[str], reports: Sequence[StrictReport], by: str) -> None:
    """Print the table of files with the baselines below, and a table of groups for each file."""
    totals = _table("file")
    for name, report in zip(names, reports, strict=True):
        totals.add_row(*_group(name, report.total))
    below = reports[0].baselines
    for name, scores in (
        ("(copy)", below.copy_ceiling),
        ("(argument swap)", below.argument_swap),
        ("(family template)", below.family_template),
        ("(empty)", below.empty),
    ):
        totals.add_row(Text(name, style="dim"), "", "", *numbers(scores))
    out.print(totals)
    for name, report in zip(names, reports, strict=True):
        table = _table(by)
        for group in report.by_family if by == "family" else report.by_kind:
            table.add_row(*_group(group.name, group))
        total = report.total
        beyond = f", {total.over_budget} beyond the budget" if report.budget != Budget() else ""
        out.print(f"\n{scrub(name)}: {total.missing} of {total.tasks} tasks missing{beyond}", markup=False)
        out.print(table)


def write_strict(report: StrictReport, folder: Path) -> None:
    """Write the report, a table of tasks and one of arguments."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "report.json").write_text(report.to_json(), encoding="utf-8", newline="\n")
    write_csv(folder / "tasks.csv", [*_TASK, *COLUMNS], [_task_row(task) for task in report.tasks])
    write_csv(
        folder / "arguments.csv",
        _ARGUMENT,
        [_argument_row(task, match, one) for task in report.tasks for match in task.matches for one in match.arguments],
    )


_TASK = ("id", "type", "family", "reference_calls", "prediction_calls", "matched", "missing", "way")
_ARGUMENT = (
    "id", "tool", "reference_call", "prediction_call", "call_score", "pointer", "kind", "score", "weight", "reference",
    "prediction",
)  # fmt: skip


def _task_row(task: StrictTask) -> list[object]:
    spent = (task.reference.calls, task.prediction.calls, len(task.matches))
    scores = (getattr(task.scores, name) for name in COLUMNS)
    return [task.id, task.kind, task.family, *spent, task.missing, task.way, *scores]


def _argument_row(task: StrictTask, match: StrictMatch, one: ArgumentScore) -> list[object]:
    call = (task.id, match.tool, match.reference_call, match.prediction_call, match.score)
    sides = (json.dumps(side, ensure_ascii=False) for side in (one.reference, one.prediction))
    return [*call, one.pointer, one.kind.value, one.score, one.weight, *sides]


def numbers(scores: StrictScores) -> list[str]:
    """Return the cells of a row of scores."""
    values = [getattr(scores, name) for name in COLUMNS]
    return ["-" if value is None else f"{value:.3f}" for value in values]


def _table(first: str) -> Table:
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0))
    table.add_column(first, overflow="fold", min_width=6)
    for head in ("tasks", "matched", *_HEADS):
        table.add_column(head, justify="right", no_wrap=True)
    return table


def _group(name: str, group: StrictGroup) -> list[Text | str]:
    return [Text(scrub(name)), str(group.tasks), f"{group.matched}/{group.reference_calls}", *numbers(group.scores)]
