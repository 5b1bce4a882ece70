"""Options that several commands share, and how a selection of tasks is made from them."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated

import typer

from tasks_lib.cli.settings import Settings, store_url
from tasks_lib.records.errors import ConfigurationError
from tasks_lib.store import Store
from tasks_lib.taskdefs import TaskSet, default_root, load_all

StoreOption = Annotated[
    str | None, typer.Option("--store", metavar="URL", help="Where runs are kept: a folder or s3://bucket/prefix.")
]
SuiteOption = Annotated[str | None, typer.Option("--suite", help="Only tasks of this suite.")]
DomainOption = Annotated[str | None, typer.Option("--domain", help="Only tasks of this domain.")]
TaskOption = Annotated[list[str] | None, typer.Option("--task", metavar="ID", help="Only this task; may be repeated.")]
JsonOption = Annotated[bool, typer.Option("--json", help="Print JSON for a machine to read.")]
TaskdefsOption = Annotated[
    Path | None, typer.Option("--taskdefs", help="Root of the task definitions.", envvar="MATASSAY_TASKDEFS")
]


def open_store(given: str | None, settings: Settings) -> Store:
    """Open the store that the options and settings name."""
    return Store.open(store_url(given, settings))


def taskdefs_root(given: Path | None) -> Path:
    """Return the root of the task definitions.

    Raises
    ------
    ConfigurationError
        If the folder does not exist.
    """
    root = (given or default_root()).resolve()
    if not root.is_dir():
        msg = f"no task definitions at {root}: give --taskdefs or set MATASSAY_TASKDEFS to the taskdefs/ of a clone"
        raise ConfigurationError(msg)
    return root


def select(root: Path, suite: str | None, domain: str | None, task: list[str] | None) -> TaskSet:
    """Load the tasks that the options name.

    Raises
    ------
    ConfigurationError
        If an option names something that does not exist.
    """
    whole = load_all(root)
    chosen = whole.select(suite=suite, domain=domain, ids=tuple(task or ()))
    unknown = sorted(set(task or ()) - set(chosen.ids))
    if unknown or not chosen.ids:
        wanted = ", ".join(unknown) or f"suite {suite!r}, domain {domain!r}"
        msg = f"no such task: {wanted}; `matassay tasks list` shows the {len(whole.ids)} that there are"
        raise ConfigurationError(msg)
    return chosen


def concurrency_limit() -> int:
    """Return how many episodes this machine can run at once by its processors; each keeps about one busy."""
    return max(1, os.cpu_count() or 1)
