"""`matassay report` and `matassay rescore`: what a stored run says, now and by the present evaluators."""

from __future__ import annotations

from typing import Annotated

import typer

from tasks_lib.cli.console import Exit, explained, out, print_json, say
from tasks_lib.cli.options import JsonOption, StoreOption, TaskdefsOption, open_store, report_place, taskdefs_root
from tasks_lib.cli.settings import load_settings
from tasks_lib.episodes import conclude, rescore_run
from tasks_lib.reporting import console_table

RunArgument = Annotated[str, typer.Argument(metavar="RUN", help="The run.")]


def report(
    run_id: RunArgument, store: StoreOption = None, taskdefs: TaskdefsOption = None, json: JsonOption = False
) -> None:
    """Aggregate a run anew and write its static report.

    Example: matassay report 20261130-030000-smoke
    """
    with explained():
        place = open_store(store, load_settings())
        summary = conclude(place, run_id, taskdefs_root(taskdefs))
    path = report_place(place, run_id)
    if json:
        print_json({"report": path, **summary.model_dump(mode="json")})
    else:
        out.print(console_table(summary))
        out.print(f"report: {path}", soft_wrap=True, markup=False)
    raise typer.Exit(Exit.VOID_OR_UNPROVED if summary.void or summary.pending else Exit.DONE)


def rescore(
    run_id: RunArgument, store: StoreOption = None, taskdefs: TaskdefsOption = None, json: JsonOption = False
) -> None:
    """Judge the stored evidence of a run again; no machine is started. Says which verdicts changed.

    Example: matassay rescore 20261130-030000-smoke
    """
    with explained():
        place = open_store(store, load_settings())
        changes = rescore_run(place, run_id, taskdefs_root(taskdefs))
        conclude(place, run_id, taskdefs_root(taskdefs))
    changed = [change for change in changes if change.changed]
    if json:
        print_json(
            {
                "run": run_id,
                "judged": len(changes),
                "changed": [vars(change) for change in changed],
                "kept": [vars(change) for change in changes if change.kept],
            }
        )
        return
    for change in changes:
        if change.kept:
            say(f"{change.episode_id}: {change.before}, kept: {change.kept}")
    for change in changed:
        say(f"{change.episode_id}: {change.before} -> {change.after}")
    out.print(f"{len(changes)} verdicts judged again, {len(changed)} changed")
