"""The command line: ``matassay …``."""

from __future__ import annotations

import sys

import typer

from tasks_lib import __version__
from tasks_lib.cli.afm import afm_app
from tasks_lib.cli.afm_experiments import experiment
from tasks_lib.cli.auditing import evaluator_audit
from tasks_lib.cli.console import Exit, lenient_streams, say
from tasks_lib.cli.databases import databases_app
from tasks_lib.cli.desk import run_desk
from tasks_lib.cli.doctor import doctor
from tasks_lib.cli.environments import environments_app
from tasks_lib.cli.explaining import explain
from tasks_lib.cli.gallery import gallery
from tasks_lib.cli.models import models_app
from tasks_lib.cli.new_task import scaffold
from tasks_lib.cli.proving import prove
from tasks_lib.cli.recording import record
from tasks_lib.cli.results import report, rescore
from tasks_lib.cli.run import retry, run
from tasks_lib.cli.serving import serve
from tasks_lib.cli.targets import targets_app
from tasks_lib.cli.tasks import lint_tasks, tasks_app
from tasks_lib.cli.toolserver import mcp_app
from tasks_lib.cli.trajectories import trajectories_app
from tasks_lib.episodes.human import seated

app = typer.Typer(
    name="matassay",
    help="Run and judge AI agents on materials-science work. Exit codes: 0 done, 1 VOID episodes or failed proofs, "
    "2 wrong use, 130 interrupted.",
    no_args_is_help=True,
    rich_markup_mode="markdown",
    add_completion=False,
    pretty_exceptions_enable=False,
)


def _version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"matassay {__version__}")
        raise typer.Exit


@app.callback()
def _root(
    context: typer.Context,
    version: bool = typer.Option(False, "--version", callback=_version, is_eager=True, help="Print the version."),
) -> None:
    """Run and judge AI agents on materials-science work."""
    context.with_resource(seated(run_desk))


app.command()(run)
app.command()(retry)
app.command()(prove)
app.command("lint")(lint_tasks)
app.command("new-task")(scaffold)
app.command()(record)
app.add_typer(tasks_app, name="tasks")
app.add_typer(targets_app, name="targets")
app.command()(report)
app.command()(rescore)
app.command()(evaluator_audit)
app.command()(explain)
app.command()(gallery)
app.command()(serve)
app.add_typer(trajectories_app, name="trajectories")
app.add_typer(models_app, name="models")
app.add_typer(databases_app, name="databases")
afm_app.command("experiment")(experiment)
app.add_typer(afm_app, name="afm")
app.add_typer(environments_app, name="environments")
app.add_typer(mcp_app, name="mcp")
app.command()(doctor)


def main() -> None:
    """Entry point of the console script."""
    lenient_streams()
    try:
        app()
    except OSError as error:
        # What a command does is explained where it is done; this is the printing of its result.
        say(f"matassay: standard output cannot be written: {error}: send it elsewhere; what was done is kept")
        sys.exit(Exit.WRONG_USE)


__all__ = ["app", "main"]
