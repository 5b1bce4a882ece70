"""`matassay trajectories score`: how well tool calls follow those of references."""

from __future__ import annotations

from collections.abc import Sequence
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer
from rich.table import Table
from rich.text import Text

from tasks_lib.cli.console import Exit, explained, out, print_json, say
from tasks_lib.cli.options import JsonOption
from tasks_lib.cli.trajectory_files import EncoderOption, VectorsOption, kept_vectors, names_of, tell_some, write_csv
from tasks_lib.cli.trajectory_strict import show_strict, tell_strict, write_strict
from tasks_lib.evaluation.alignment import (
    DEFAULT_ENCODER,
    TAU_STRONG,
    TAU_WEAK,
    AlignmentReport,
    Budget,
    GroupScore,
    Rules,
    Scores,
    TrajectoryFile,
    find_encoder,
    read_trajectories,
    score_files,
)
from tasks_lib.evaluation.alignment.strict import StrictReport, read_rules, read_snapshot, score_strictly
from tasks_lib.records.errors import ConfigurationError
from tasks_lib.reporting import scrub


class Mode(StrEnum):
    """What is measured."""

    STRICT = "strict"
    COMPAT = "compat"


class By(StrEnum):
    """What the second table sums up."""

    FAMILY = "family"
    TYPE = "type"


def score(
    references: Annotated[Path, typer.Argument(metavar="REFERENCES", help="JSON of reference trajectories.")],
    predictions: Annotated[list[Path], typer.Argument(metavar="PREDICTIONS…", help="JSON of a model's trajectories.")],
    mode: Annotated[
        Mode, typer.Option("--mode", help="strict: arguments by their meaning; compat: the published metrics.")
    ] = Mode.STRICT,
    tools: Annotated[
        Path | None,
        typer.Option("--tools", metavar="FILE", help="strict: answer to tools/list, the arguments' schemas."),
    ] = None,
    rules: Annotated[
        Path | None,
        typer.Option(
            "--rules", metavar="FILE", help="strict: Tolerances, units and kinds of arguments, stated as JSON."
        ),
    ] = None,
    workspaces: Annotated[
        list[str] | None,
        typer.Option("--workspace", metavar="FOLDER", help="strict: taken off paths of either side; may be repeated."),
    ] = None,
    seed: Annotated[int, typer.Option(min=0, help="strict: of the baselines.")] = 0,
    encoder: EncoderOption = DEFAULT_ENCODER,
    tau_strong: Annotated[
        float | None, typer.Option(min=0, max=1, help=f"compat: least similarity of a strong match. [{TAU_STRONG}]")
    ] = None,
    tau_weak: Annotated[
        float | None, typer.Option(min=0, max=1, help=f"compat: least similarity of a match. [{TAU_WEAK}]")
    ] = None,
    max_steps: Annotated[int | None, typer.Option(min=0, help="Budget: who spends more steps is told.")] = None,
    max_calls: Annotated[int | None, typer.Option(min=0, help="Budget: who spends more calls is told.")] = None,
    by: Annotated[By, typer.Option("--by", help="What the tables sum up.")] = By.FAMILY,
    folder: Annotated[
        Path | None, typer.Option("--out", metavar="FOLDER", help="Gets a report, tasks and matches of each file.")
    ] = None,
    cached: VectorsOption = True,
    json: JsonOption = False,
) -> None:
    """Score trajectories of tool calls: by what their arguments mean, or by the published metrics of M3-Bench.

    strict: a task without a prediction counts 0, and what a copy and guesses earn stands below the scores. compat:
    tasks in one of the two files alone are not scored, as published. Exit code 1: nothing was scored.

    Example: matassay trajectories score references.json gpt.json claude.json --tools tools.json --out scores
    """
    with explained():
        _refuse_mixed(mode, tools, rules, workspaces, tau_strong, tau_weak)
        budget = Budget(steps=max_steps, calls=max_calls)
        files = [read_trajectories(path) for path in predictions]
        names = names_of(predictions)
        wanted = read_trajectories(references)
        snapshot = read_snapshot(tools) if tools else None
        stated = read_rules(rules) if rules else None
        _refuse_nothing(wanted, files)
        cache = kept_vectors(cached)
        reports: list[AlignmentReport | StrictReport]
        if mode is Mode.STRICT:
            strict = score_strictly(
                wanted,
                files,
                find_encoder(encoder),
                tools=snapshot,
                rules=stated,
                cache=cache,
                budget=budget,
                workspaces=workspaces or (),
                seed=seed,
            )
            reports = [*strict]
        else:
            strong, weak = (
                (TAU_STRONG if tau_strong is None else tau_strong),
                (TAU_WEAK if tau_weak is None else tau_weak),
            )
            taus = Rules(tau_strong=strong, tau_weak=weak, budget=budget)
            published = score_files(wanted, files, find_encoder(encoder), cache=cache, rules=taus)
            reports = [*published]
        if folder:
            for place, report in enumerate(reports):
                _write_any(report, folder / names[place])
    for report in reports:
        _tell_any(report)
    if json:
        print_json([report.model_dump(mode="json") for report in reports])
    elif mode is Mode.STRICT:
        show_strict(names, [report for report in reports if isinstance(report, StrictReport)], by)
    else:
        _show(names, [report for report in reports if isinstance(report, AlignmentReport)], by)
    raise typer.Exit(Exit.DONE if any(map(_scored, reports)) else Exit.VOID_OR_UNPROVED)


def _refuse_nothing(references: TrajectoryFile, predictions: Sequence[TrajectoryFile]) -> None:
    """End the command where no task stands in both files, before an encoder is looked for and loaded."""
    if any(file.trajectories.keys() & references.trajectories.keys() for file in predictions):
        return
    # A repeated id is told by the scoring itself, with both places.
    if any(file.repeated for file in (references, *predictions)):
        return
    for file in (references, *predictions):
        tell_some(f"{file.name}: ", [str(oddity) for oddity in file.oddities])
    counts = ", ".join(f"{file.name} {len(file.trajectories)}" for file in (references, *predictions))
    say(
        f"matassay: nothing to score: no task of the predictions is a task of the references (tasks read: {counts}): "
        "give files whose tasks have the same ids"
    )
    raise typer.Exit(Exit.VOID_OR_UNPROVED)


def _refuse_mixed(
    mode: Mode,
    tools: Path | None,
    rules: Path | None,
    workspaces: list[str] | None,
    strong: float | None,
    weak: float | None,
) -> None:
    """Refuse an option of the other mode: left alone, it would be taken for heard."""
    given = {"--tools": tools, "--rules": rules, "--workspace": workspaces} if mode is Mode.COMPAT else {
        "--tau-strong": strong, "--tau-weak": weak
    }  # fmt: skip
    if wrong := [name for name, value in given.items() if value is not None and value != []]:
        other = Mode.STRICT if mode is Mode.COMPAT else Mode.COMPAT
        msg = (
            f"{', '.join(wrong)} belongs to --mode {other}, this is --mode {mode}: leave it out or give the other mode"
        )
        raise ConfigurationError(msg)


def _scored(report: AlignmentReport | StrictReport) -> bool:
    if isinstance(report, StrictReport):
        return any(not task.missing for task in report.tasks)
    return bool(report.tasks)


def _tell_any(report: AlignmentReport | StrictReport) -> None:
    if isinstance(report, StrictReport):
        tell_strict(report)
    else:
        _tell(report)


def _write_any(report: AlignmentReport | StrictReport, folder: Path) -> None:
    if isinstance(report, StrictReport):
        write_strict(report, folder)
    else:
        _write(report, folder)


def _tell(report: AlignmentReport) -> None:
    tell_some("", report.oddities)
    tell_some(f"{report.predictions}: not scored, no prediction of ", report.without_prediction)
    tell_some(f"{report.predictions}: not scored, no reference of ", report.without_reference)


_COLUMNS = {
    "recall": "R",
    "precision": "P",
    "argument_similarity": "args",
    "strong_similarity": "str.",
    "step_coherence": "coh.",
    "order_consistency": "order",
    "merge_purity": "pur.",
}


def _show(names: Sequence[str], reports: Sequence[AlignmentReport], by: By) -> None:
    totals = _table("file", "mean")
    for name, report in zip(names, reports, strict=True):
        totals.add_row(*_cells(name, report.total), "" if report.average is None else f"{report.average:.3f}")
    out.print(totals)
    for name, report in zip(names, reports, strict=True):
        table = _table(by)
        for group in report.by_family if by is By.FAMILY else report.by_kind:
            table.add_row(*_cells(group.name, group))
        total = report.total
        spent = f"{total.steps_per_task:.2f} steps and {total.calls_per_task:.2f} calls a task"
        beyond = f", {total.over_budget} of {total.tasks} beyond the budget" if report.budget != Budget() else ""
        out.print(f"\n{scrub(name)}: {spent}{beyond}", markup=False)
        out.print(table)


def _table(first: str, *more: str) -> Table:
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0))
    table.add_column(first, overflow="fold", min_width=6)
    for head in ("tasks", "calls", *_COLUMNS.values(), *more):
        table.add_column(head, justify="right", no_wrap=True)
    return table


def _cells(name: str, group: GroupScore) -> list[Text | str]:
    scores = [f"{getattr(group.scores, field):.3f}" for field in _COLUMNS]
    return [Text(scrub(name)), str(group.tasks), f"{group.matched}/{group.reference_calls}", *scores]


def _write(report: AlignmentReport, folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "report.json").write_text(report.to_json(), encoding="utf-8", newline="\n")
    numbers = list(Scores.model_fields)
    write_csv(
        folder / "tasks.csv",
        ["id", "type", "family", "reference_calls", "prediction_calls", "matched", *numbers],
        [
            [task.id, task.kind, task.family, task.reference.calls, task.prediction.calls, task.matched]
            + [getattr(task.scores, name) for name in numbers]
            for task in report.tasks
        ],
    )
    write_csv(folder / "matches.csv", ["id", *_MATCH], [
        [task.id, *(getattr(match, name) for name in _MATCH)] for task in report.tasks for match in task.matches
    ])  # fmt: skip


_MATCH = (
    "tool", "similarity", "strong", "reference_step", "prediction_step", "reference_call", "prediction_call",
    "reference_arguments", "prediction_arguments",
)  # fmt: skip
