"""`matassay environments`: the Python environments of agents' scripts."""

from __future__ import annotations

import time
from typing import Annotated

import typer
from rich.table import Table

from tasks_lib.cli.console import explained, out, print_json, say
from tasks_lib.cli.options import JsonOption, TaskdefsOption, taskdefs_root
from tasks_lib.sandbox import environments

environments_app = typer.Typer(help="Build and list the Python environments of agents' scripts.", no_args_is_help=True)


@environments_app.command("build")
def build(
    name: Annotated[list[str] | None, typer.Argument(help="Only these, such as mp; default: all.")] = None,
    taskdefs: TaskdefsOption = None,
) -> None:
    """Build what is not there yet, from taskdefs/environments/; needs a package index.

    Example: matassay environments build mp optimade
    """
    with explained():
        root = taskdefs_root(taskdefs)
        for each in name or environments.known(root):
            environment = environments.find(each, root)
            if environment.is_built:
                say(f"{each}: there already")
                continue
            say(f"{each}: building")
            began = time.monotonic()
            environments.build(environment)
            say(f"{each}: {len(environment.packages)} packages in {time.monotonic() - began:.0f} s")


@environments_app.command("list")
def show(taskdefs: TaskdefsOption = None, json: JsonOption = False) -> None:
    """List the environments, whether they are built, and what is in them.

    Example: matassay environments list --json
    """
    with explained():
        found = environments.known(taskdefs_root(taskdefs))
    if json:
        print_json(
            [
                {
                    "name": each.name,
                    "built": each.is_built,
                    "folder": str(each.folder),
                    "digest": each.digest if each.is_built else None,
                    "packages": list(each.packages),
                }
                for each in found.values()
            ]
        )
        return
    table = Table("environment", "built", "packages", "folder")
    for each in found.values():
        table.add_row(each.name, "yes" if each.is_built else "no", str(len(each.packages)), str(each.folder))
    out.print(table)


__all__ = ["environments_app"]
