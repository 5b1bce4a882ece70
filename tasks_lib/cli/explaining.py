"""`matassay explain`: why an episode passed, failed or is VOID, with crops of the evidence."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from tasks_lib.cli.console import Exit, explained, out, print_json
from tasks_lib.cli.options import JsonOption, StoreOption, TaskdefsOption, open_store, taskdefs_root
from tasks_lib.cli.settings import load_settings
from tasks_lib.episodes import explain_episode
from tasks_lib.models import Redactor
from tasks_lib.reporting import explanation_json, explanation_lines


def explain(
    episode: Annotated[str, typer.Argument(metavar="EPISODE", help="As the run's report names it.")],
    run: Annotated[str | None, typer.Option("--run", metavar="RUN", help="By default the newest that has it.")] = None,
    folder: Annotated[
        Path | None,
        typer.Option("--out", metavar="FOLDER", help="Where crops of the evidence go; by default beside the run."),
    ] = None,
    store: StoreOption = None,
    taskdefs: TaskdefsOption = None,
    json: JsonOption = False,
) -> None:
    """Say of each criterion what was seen, what was wanted, why it passed or failed, and show the evidence.

    Ends with 0 where the episode has a verdict and with 1 where it is VOID or not done yet.

    Example: matassay explain active-range--oracle--t1 --run 20261130-030000-smoke
    """
    with explained():
        place = open_store(store, load_settings())
        found = explain_episode(place, episode, taskdefs_root(taskdefs), run_id=run, out=folder)
    redact = Redactor.from_environment()
    if json:
        print_json(explanation_json(found, redact))
    else:
        for line in explanation_lines(found, redact):
            out.print(line, markup=False, soft_wrap=True)
    done = found.outcome is not None and found.void is None
    raise typer.Exit(Exit.DONE if done else Exit.VOID_OR_UNPROVED)
