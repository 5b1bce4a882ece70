"""`matassay trajectories replay`: what became of each recorded tool call."""

from __future__ import annotations

from collections.abc import Sequence
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer
from rich.box import SIMPLE_HEAD
from rich.markup import escape
from rich.table import Table
from rich.text import Text

from tasks_lib.cli.console import Exit, explained, out, print_json
from tasks_lib.cli.options import JsonOption
from tasks_lib.cli.trajectory_files import names_of, tell_some, write_csv
from tasks_lib.evaluation.alignment import read_trajectories
from tasks_lib.evaluation.alignment.replay import CallClass, CallLabel, ClassCounts, ReplayReport, replay
from tasks_lib.evaluation.alignment.strict import read_snapshot
from tasks_lib.reporting import scrub
from tasks_lib.statistics import wilson_interval

_HEADS = {
    CallClass.ILLEGAL_FORMAT: "illegal",
    CallClass.UNKNOWN_TOOL: "unknown",
    CallClass.INVALID_ARGUMENTS: "invalid",
    CallClass.NO_RESULT: "none",
    CallClass.TIMEOUT: "time-out",
    CallClass.TRANSPORT: "transp.",
    CallClass.AUTH_OR_QUOTA: "auth",
    CallClass.NOT_FOUND: "not found",
    CallClass.SERVER_ERROR: "server",
    CallClass.SUCCESS: "success",
}


class By(StrEnum):
    """What the second table sums up."""

    FAMILY = "family"
    TOOL = "tool"


def replay_calls(
    predictions: Annotated[list[Path], typer.Argument(metavar="PREDICTIONS…", help="JSON of a model's trajectories.")],
    tools: Annotated[
        Path, typer.Option("--tools", metavar="FILE", help="Snapshot of the tools: the answer to tools/list, as JSON.")
    ],
    by: Annotated[By, typer.Option("--by", help="What the tables sum up.")] = By.FAMILY,
    folder: Annotated[
        Path | None, typer.Option("--out", metavar="FOLDER", help="Gets a report and all labels of each file.")
    ] = None,
    json: JsonOption = False,
) -> None:
    """Say of each recorded tool call what became of it, from a snapshot of the tools and the recorded result.

    Nothing is executed and no model is asked. Exit code 1: no file holds a task.

    Example: matassay trajectories replay gpt.json claude.json --tools tools.json --out replayed
    """
    with explained():
        names = names_of(predictions)
        snapshot = read_snapshot(tools)
        reports = [replay(read_trajectories(path), snapshot) for path in predictions]
        if folder:
            for name, report in zip(names, reports, strict=True):
                _write(report, folder / name)
    for report in reports:
        tell_some("", report.oddities)
    if json:
        print_json([report.model_dump(mode="json") for report in reports])
    else:
        _show(names, reports, by)
    raise typer.Exit(Exit.DONE if any(report.tasks for report in reports) else Exit.VOID_OR_UNPROVED)


def _show(names: Sequence[str], reports: Sequence[ReplayReport], by: By) -> None:
    table = Table("class", *(escape(scrub(name)) for name in names))
    met = [kind for kind in CallClass if any(kind in report.total.counts for report in reports)]
    for kind in met:
        table.add_row(kind.value, *(_share(report.total.counts.get(kind, 0), report.total.total) for report in reports))
    table.add_section()
    table.add_row("all", *(str(report.total.total) for report in reports))
    out.print(table)
    published = Table("published class", *(escape(scrub(name)) for name in names))
    for field in type(reports[0].published).model_fields:
        published.add_row(field.replace("_", " "), *(str(getattr(report.published, field)) for report in reports))
    out.print(published)
    for name, report in zip(names, reports, strict=True):
        _show_groups(name, report.by_family if by is By.FAMILY else report.by_tool, by)
        if report.tolerated:
            what = "calls with invalid arguments that the server answered all the same"
            out.print(f"{name}: {report.tolerated} {what}", markup=False)


def _show_groups(name: str, groups: Sequence[ClassCounts], by: By) -> None:
    met = [kind for kind in CallClass if any(kind in group.counts for group in groups)]
    table = Table(by.value, *(_HEADS[kind] for kind in met), title=Text(scrub(name)), box=SIMPLE_HEAD, pad_edge=False)
    for group in groups:
        table.add_row(Text(scrub(group.name or "no call")), *(str(group.counts.get(kind, 0)) for kind in met))
    out.print(table)


def _share(count: int, total: int) -> str:
    bounds = wilson_interval(count, total)
    return str(count) if bounds is None else f"{count} ({count / total:.1%}; {bounds[0]:.1%} to {bounds[1]:.1%})"


def _write(report: ReplayReport, folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "report.json").write_text(report.to_json(), encoding="utf-8", newline="\n")
    fields = list(CallLabel.model_fields)
    rows = [[getattr(label, name) for name in fields] for label in report.labels]
    write_csv(folder / "calls.csv", fields, rows)
