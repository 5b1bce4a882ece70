"""Options that several commands share, and how a selection of tasks is made from them."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer

from tasks_lib.cli.settings import Settings, store_url
from tasks_lib.store import RunFolder, Store
from tasks_lib.taskdefs import Select, TaskSet, choose, find_root, load_all

StoreOption = Annotated[
    str | None, typer.Option("--store", metavar="URL", help="Where runs are kept: a folder or s3://bucket/prefix.")
]
SuiteOption = Annotated[list[str] | None, typer.Option("--suite", help="Only tasks of this suite; may be repeated.")]
DomainOption = Annotated[list[str] | None, typer.Option("--domain", help="Only of this domain; may be repeated.")]
TaskOption = Annotated[list[str] | None, typer.Option("--task", metavar="ID", help="Only this task; may be repeated.")]
JsonOption = Annotated[bool, typer.Option("--json", help="Print JSON for a machine to read.")]
TaskdefsOption = Annotated[
    Path | None, typer.Option("--taskdefs", help="Root of the task definitions.", envvar="MATASSAY_TASKDEFS")
]


def open_store(given: str | None, settings: Settings) -> Store:
    """Open the store that the options and settings name."""
    return Store.open(store_url(given, settings))


def report_place(place: Store, run_id: str) -> str:
    """Return where a person finds the report: a path on this machine, else its address in the store."""
    page = f"{RunFolder(place, run_id).report}/index.html"
    return str(place.local_path(page) or f"{place.url}/{page}")


def taskdefs_root(given: Path | None) -> Path:
    """Return the root of the task definitions.

    Raises
    ------
    ConfigurationError
        If the folder does not exist.
    """
    return find_root(given).resolve()


def select(
    root: Path, suite: Sequence[str] | None, domain: Sequence[str] | None, task: Sequence[str] | None
) -> TaskSet:
    """Load the tasks that the options name.

    Raises
    ------
    ConfigurationError
        If an option names something that does not exist.
    """
    wanted = Select.of(suite or (), domain or (), task or ())
    return choose(load_all(root), wanted, what="the command line")
