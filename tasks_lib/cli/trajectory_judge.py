"""`matassay trajectories judge`: a panel of models judges what was done."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated

import typer
from rich.box import SIMPLE_HEAD
from rich.progress import MofNCompleteColumn, Progress, TextColumn
from rich.table import Table
from rich.text import Text

from tasks_lib.cli.console import Exit, err, explained, out, print_json, say
from tasks_lib.cli.options import JsonOption, StoreOption, open_store
from tasks_lib.cli.settings import load_settings, settings_file
from tasks_lib.cli.trajectory_files import tell_some, write_csv
from tasks_lib.episodes import check_prices, read_manifest
from tasks_lib.episodes.budgets import purses_of
from tasks_lib.episodes.judge_models import JudgeModels
from tasks_lib.evaluation.alignment import TrajectoryFile, read_trajectories
from tasks_lib.evaluation.judges import (
    LONGEST_DIGEST,
    SHORTEST_DIGEST,
    TRIES,
    JudgeReport,
    Kinship,
    Metric,
    Panel,
    judge_files,
)
from tasks_lib.models import load_models
from tasks_lib.models.purse import SharedPurse
from tasks_lib.records import Json, SpendingLimit, load_json
from tasks_lib.records.errors import ConfigurationError
from tasks_lib.reporting import scrub
from tasks_lib.statistics import JudgeAgreement, MetricAgreement, judge_agreement
from tasks_lib.store import Store

_PURSE = "purse.json"
_KIN = {Kinship.SAME: "the contestant itself", Kinship.FAMILY: "of the contestant's family"}
_LABELS = {Metric.TASK_COMPLETION: "completion", Metric.INFORMATION_GROUNDING: "grounding"}


def judge(
    references: Annotated[Path, typer.Argument(metavar="REFERENCES", help="JSON of reference trajectories.")],
    predictions: Annotated[Path, typer.Argument(metavar="PREDICTIONS", help="JSON of a model's trajectories.")],
    judges: Annotated[
        list[str], typer.Option("--judge", metavar="NAME", help="A [models.NAME] of matassay.toml; may be repeated.")
    ],
    folder: Annotated[
        Path, typer.Option("--out", metavar="FOLDER", help="Gets the report and all requests; go on by the same name.")
    ],
    contestant: Annotated[
        str, typer.Option("--contestant", metavar="MODEL", help="Who made the predictions; told apart from judges.")
    ] = "",
    metrics: Annotated[list[Metric] | None, typer.Option("--metric", help="What to judge; by default both.")] = None,
    people: Annotated[
        Path | None, typer.Option("--people", metavar="FILE", help="Ratings of people: JSON, metric to id to number.")
    ] = None,
    longest: Annotated[
        int, typer.Option("--longest", min=SHORTEST_DIGEST, help="Characters of a trajectory that a judge is shown.")
    ] = LONGEST_DIGEST,
    tries: Annotated[int, typer.Option("--tries", min=1, max=10, help="Replies before a judge has failed.")] = TRIES,
    at_once: Annotated[int, typer.Option("--at-once", min=1, max=64, help="Judges asked at a time.")] = 4,
    usd: Annotated[float | None, typer.Option("--budget-usd", metavar="N", help="US dollars to spend at most.")] = None,
    tokens: Annotated[
        int | None, typer.Option("--budget-tokens", metavar="N", min=1, help="Tokens to spend at most.")
    ] = None,
    run: Annotated[
        str | None, typer.Option("--run", metavar="RUN", help="Pay from the budget of this run and of its night.")
    ] = None,
    store: StoreOption = None,
    cached: Annotated[bool, typer.Option("--cache/--no-cache", help="Use replies again that are in FOLDER.")] = True,
    json: JsonOption = False,
) -> None:
    """Have models judge trajectories: task completion, and grounding in what the reference found out.

    Of three judges and more the highest and the lowest opinion are left out. Where a judge fails, the task is VOID for
    that metric. Exit code 1: something is VOID, or there was nothing to judge.

    Example: matassay trajectories judge references.json gpt.json --judge a --judge b --judge c --judge d --out judged
    """
    with explained():
        models = load_models(settings_file())
        limit = SpendingLimit(usd=usd, tokens=tokens)
        check_prices(judges, settings_file(), limit)
        place = Store.open(str(folder))
        purses = [*_own_purse(place, limit), *_run_purses(run, store)]
        made = JudgeModels(place, models, purses, cached)
        panel = Panel(
            tuple(made.judge(name) for name in judges),
            contestant=models[contestant].model if contestant in models else contestant,
            longest_digest=longest,
            tries=tries,
            at_once=at_once,
            hide=made.hide,
        )
        wanted = tuple(dict.fromkeys(metrics or Metric))
        ratings = _read_people(people) if people else {}
        report = _judged(read_trajectories(references), read_trajectories(predictions), panel, wanted)
        agreement = judge_agreement(report, ratings)
        _write(report, agreement, place, folder)
    _tell(report)
    if json:
        print_json({"report": report.model_dump(mode="json"), "agreement": agreement.model_dump(mode="json")})
    else:
        _show(report, agreement)
    whole = bool(report.judgements) and not any(one.void for one in report.metrics)
    raise typer.Exit(Exit.DONE if whole else Exit.VOID_OR_UNPROVED)


def _own_purse(place: Store, limit: SpendingLimit) -> list[SharedPurse]:
    if not (limit or place.exists(_PURSE)):
        return []
    remedy = "raise it with a larger --budget-usd or --budget-tokens"
    purse = SharedPurse(place, _PURSE, "judging", limit, remedy=remedy)
    if limit and place.exists(_PURSE):
        purse.raise_limit(limit)
    return [purse]


def _run_purses(run: str | None, store: str | None) -> Sequence[SharedPurse]:
    if run is None:
        return ()
    place = open_store(store, load_settings())
    return purses_of(place, read_manifest(place, run))


def _read_people(path: Path) -> dict[Metric, Mapping[str, float]]:
    try:
        root = load_json(path.read_bytes())
    except ValueError as error:
        msg = f"{path}: ratings of people are JSON: {error}: write it anew"
        raise ConfigurationError(msg) from error
    known = [metric.value for metric in Metric]
    if not isinstance(root, dict) or not root.keys() <= set(known) or not all(map(_is_object, root.values())):
        msg = f"{path}: ratings of people are an object by metric ({', '.join(known)}) of objects by id: write it so"
        raise ConfigurationError(msg)
    found: dict[Metric, Mapping[str, float]] = {}
    for name, ratings in root.items():
        for key, value in ratings.items():
            if isinstance(value, bool) or not isinstance(value, int | float):
                msg = f"{path}: {name}[{key!r}]: a rating is a number, got {str(value)[:40]!r}: correct it"
                raise ConfigurationError(msg)
        found[Metric(name)] = ratings
    return found


def _is_object(value: Json) -> bool:
    return isinstance(value, dict)


def _judged(
    references: TrajectoryFile, predictions: TrajectoryFile, panel: Panel, metrics: Sequence[Metric]
) -> JudgeReport:
    columns = (TextColumn("judged"), MofNCompleteColumn())
    with Progress(*columns, console=err, transient=True, disable=not err.is_terminal) as progress:
        bar = progress.add_task("judged", total=len(references.trajectories) * len(metrics))
        return judge_files(references, predictions, panel, metrics, lambda _: progress.advance(bar))


def _tell(report: JudgeReport) -> None:
    tell_some("", report.oddities)
    tell_some("VOID: ", [f"{one.task}, {one.metric.value}: {one.void}" for one in report.judgements if one.void])
    tell_some("no prediction of ", list(dict.fromkeys(one.task for one in report.judgements if one.missing)))
    for one in report.metrics[0].judges if report.metrics else ():
        if one.kinship in _KIN:
            say(f"matassay: judge {one.judge!r} ({one.model}) is {_KIN[one.kinship]}: compare its mean")
    if not report.trimmed:
        say("matassay: of fewer than three judges no opinion is left out; the published panel has four")


def _show(report: JudgeReport, agreement: JudgeAgreement) -> None:
    table = _table("metric", "tasks", "judged", "VOID", "missing", "value", "between", "of judged")
    for one in report.metrics:
        counts = map(str, (one.tasks, one.judged, one.void, one.missing))
        value = "VOID" if one.value is None else _number(one.value)
        between = _interval(one.low, one.high) if one.void else ""
        table.add_row(_LABELS[one.metric], *counts, value, between, _number(one.judged_mean))
    out.print(table)
    opinions = _table("judge", "model", "by its name", *(_LABELS[one.metric] for one in report.metrics), "failed")
    for judges in zip(*(one.judges for one in report.metrics), strict=True):
        first = judges[0]
        named = [Text(scrub(text)) for text in (first.judge, first.model, first.kinship.value)]
        failed = sum(one.failed for one in judges)
        opinions.add_row(*named, *(_number(one.mean) for one in judges), str(failed))
    out.print(opinions)
    for found in agreement.metrics:
        _show_agreement(found)


def _show_agreement(found: MetricAgreement) -> None:
    label = _LABELS[found.metric]
    if found.alpha is None:
        out.print(f"{label}: the judges' agreement cannot be told from these opinions", markup=False)
    else:
        interval = _interval(found.alpha_low, found.alpha_high)
        out.print(f"{label}: Krippendorff's alpha {found.alpha:.3f} ({interval}), {found.tasks} tasks", markup=False)
    if ranked := (*found.between, *found.with_people):
        table = _table(label, "and", "Spearman", "95 %", "tasks")
        for one in ranked:
            interval = _interval(one.low, one.high)
            table.add_row(Text(one.first), Text(one.second), f"{one.value:.3f}", interval, str(one.tasks))
        out.print(table)
    for test in found.comparisons:
        which = f"{test.first} against {test.second}, with people: {test.difference:+.3f}"
        out.print(f"{which} (Williams' t({test.degrees}) = {test.t:.2f}, p = {test.p:.3f})", markup=False)


def _table(*columns: str) -> Table:
    return Table(*columns, box=SIMPLE_HEAD, pad_edge=False)


def _interval(low: float | None, high: float | None) -> str:
    return "" if low is None or high is None else f"{low:.3f} to {high:.3f}"


def _number(value: float | None) -> str:
    return "" if value is None else f"{value:.3f}"


def _write(report: JudgeReport, agreement: JudgeAgreement, place: Store, folder: Path) -> None:
    place.write_document("report.json", report)
    place.write_document("agreement.json", agreement)
    names = [one.judge for one in report.metrics[0].judges] if report.metrics else []
    head = ["task", "family", "metric", "value", "missing", "cut", *names, *(f"{name}: why" for name in names)]
    rows = []
    for one in report.judgements:
        own = {opinion.judge: opinion for opinion in one.opinions}
        values = [own[name].value if name in own else None for name in names]
        reasons = [own[name].why or own[name].void if name in own else "" for name in names]
        rows.append([one.task, one.family, one.metric.value, one.value, one.missing, one.cut, *values, *reasons])
    write_csv(folder / "judgements.csv", head, rows)
