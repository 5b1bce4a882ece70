"""`matassay new-task`: the folder of a task, whole but for what only its author knows."""

from __future__ import annotations

import shlex
from typing import Annotated

import typer

from tasks_lib.cli.console import Exit, explained, out, print_json
from tasks_lib.cli.options import JsonOption, TaskdefsOption, taskdefs_root
from tasks_lib.taskdefs import LIKES, new_task


def scaffold(
    name: Annotated[str, typer.Argument(metavar="SUITE/DOMAIN/ID", help="The new task, as its folders are named.")],
    like: Annotated[str, typer.Option("--like", metavar="KIND", help=f"One of {', '.join(LIKES)}.")],
    json: JsonOption = False,
    taskdefs: TaskdefsOption = None,
) -> None:
    """Write a new task with its oracle and near misses; what is left to fill is marked, and lint names it.

    Nothing is overwritten.

    Example: matassay new-task mattoolbench/xps/my-task --like xps
    """
    with explained():
        written = new_task(taskdefs_root(taskdefs), name, like)
    if json:
        print_json({"folder": str(written.folder), "files": written.files, "blanks": written.blanks})
    else:
        out.print(f"{written.folder}: {', '.join(written.files)}", markup=False, soft_wrap=True)
        out.print(f"{written.blanks} blanks to fill; then", markup=False, soft_wrap=True)
        out.print(f"  matassay lint {shlex.quote(str(written.folder))}", markup=False, soft_wrap=True)
        out.print(f"  matassay prove --task {written.folder.name} --repeat 5", markup=False, soft_wrap=True)
    raise typer.Exit(Exit.DONE)
