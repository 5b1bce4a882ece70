"""`matassay new-task`: the folder of a new task, which proves as it stands."""

from __future__ import annotations

import shlex
from typing import Annotated

import typer

from tasks_lib.cli.console import Exit, explained, out, print_json
from tasks_lib.cli.options import JsonOption, TaskdefsOption, taskdefs_root
from tasks_lib.taskdefs import LIKES, new_task


def scaffold(
    name: Annotated[str, typer.Argument(metavar="SUITE/DOMAIN/ID", help="The new task, as its folders are named.")],
    like: Annotated[
        str | None,
        typer.Option("--like", metavar="KIND", help=f"One of {', '.join(LIKES)}; by default as the domain is called."),
    ] = None,
    blank: Annotated[
        bool, typer.Option("--blank", help="Leave blanks where only you know what to write; lint names each.")
    ] = False,
    json: JsonOption = False,
    taskdefs: TaskdefsOption = None,
) -> None:
    """Write a new task with its oracle and near misses: a sample that proves as it stands, to be made your own.

    Nothing is overwritten.

    Example: matassay new-task mattoolbench/xps/my-task
    """
    with explained():
        written = new_task(taskdefs_root(taskdefs), name, like, blank=blank)
    if json:
        print_json({"folder": str(written.folder), "files": written.files, "blanks": written.blanks})
    else:
        out.print(f"{written.folder}: {', '.join(written.files)}", markup=False, soft_wrap=True)
        todo = f"{written.blanks} blanks to fill; then" if blank else "a whole task about a sample: make it yours, then"
        out.print(todo, markup=False, soft_wrap=True)
        out.print(f"  matassay lint {shlex.quote(str(written.folder))}", markup=False, soft_wrap=True)
        out.print(f"  matassay prove --task {written.folder.name} --repeat 5", markup=False, soft_wrap=True)
    raise typer.Exit(Exit.DONE)
