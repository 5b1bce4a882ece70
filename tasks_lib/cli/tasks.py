"""`matassay tasks` and `matassay lint`: what is in the box, and whether it is well-formed."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer
from rich.box import SIMPLE_HEAD
from rich.table import Table
from rich.text import Text

from tasks_lib.cli.console import Exit, explained, out, print_json, say
from tasks_lib.cli.options import DomainOption, JsonOption, SuiteOption, TaskdefsOption, select, taskdefs_root
from tasks_lib.reporting import scrub

tasks_app = typer.Typer(help="Look at the tasks.", no_args_is_help=True)


@tasks_app.command("list")
def list_tasks(
    suite: SuiteOption = None,
    domain: DomainOption = None,
    json: JsonOption = False,
    taskdefs: TaskdefsOption = None,
) -> None:
    """List tasks with domain, modality, difficulty and points.

    Example: matassay tasks list --domain xps
    """
    with explained():
        chosen = select(taskdefs_root(taskdefs), suite, domain, None)
    for problem in chosen.problems:
        say(f"matassay: {problem.error()}")
    if json:
        print_json(
            {"digest": chosen.digest, "tasks": [
                {"digest": loaded.digest, **loaded.task.model_dump(mode="json", include={
                    "id", "title", "suite", "domain", "modality", "difficulty"}), "points": loaded.task.points}
                for loaded in chosen.tasks
            ]}
        )  # fmt: skip
    else:
        table = Table(box=SIMPLE_HEAD, pad_edge=False, collapse_padding=True)
        for name in ("task", "domain", "modality", "difficulty", "points"):
            table.add_column(name, no_wrap=True)
        # The title gives way first: a name that is cut cannot be typed.
        table.add_column("title", no_wrap=True, overflow="ellipsis", max_width=max(8, out.width - 68))
        for loaded in chosen.tasks:
            task = loaded.task
            table.add_row(
                task.id, task.domain, task.modality, task.difficulty, str(task.points), Text(scrub(task.title))
            )
        out.print(table)
        out.print(f"{len(chosen.tasks)} tasks, digest {chosen.digest[:12]}")
    raise typer.Exit(Exit.WRONG_USE if chosen.problems else Exit.DONE)


@tasks_app.command("show")
def show_tasks(
    task: Annotated[list[str], typer.Argument(metavar="ID", help="Tasks to show.")],
    json: JsonOption = False,
    taskdefs: TaskdefsOption = None,
) -> None:
    """Show a task: what the agent is told, what it starts with, and how it is judged.

    Example: matassay tasks show xps-c1s-components
    """
    with explained():
        chosen = select(taskdefs_root(taskdefs), None, None, task)
    if json:
        print_json([{"digest": loaded.digest, **loaded.task.model_dump(mode="json")} for loaded in chosen.tasks])
        return
    for loaded in chosen.tasks:
        out.print(scrub((loaded.folder / "task.yaml").read_text(encoding="utf-8")), markup=False)


def lint_tasks(
    path: Annotated[Path | None, typer.Argument(help="A task, a folder of tasks, or nothing for all.")] = None,
    json: JsonOption = False,
    taskdefs: TaskdefsOption = None,
) -> None:
    """Check task files without running them; every finding names file, line, rule, value and the fix.

    Example: matassay lint taskdefs/mattoolbench/xps
    """
    from tasks_lib.agents import reply_problems
    from tasks_lib.databases.servers import Dialect
    from tasks_lib.evaluation import GETTERS, METRICS
    from tasks_lib.taskdefs import lint

    with explained():
        target = path if path is not None else taskdefs_root(taskdefs)
        if not target.exists():
            say(f"matassay: nothing to check at {target}: give a folder that holds task.yaml files")
            raise typer.Exit(Exit.WRONG_USE)
        findings = lint(target, getters=GETTERS, metrics=METRICS, parse=reply_problems, endpoints=tuple(Dialect))
    if json:
        print_json([asdict(finding) for finding in findings])
    else:
        for finding in findings:
            out.print(scrub(str(finding)), markup=False, soft_wrap=True)
        out.print(f"{len(findings)} findings")
    raise typer.Exit(Exit.WRONG_USE if findings else Exit.DONE)
