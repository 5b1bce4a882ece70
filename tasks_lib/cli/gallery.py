"""`matassay gallery`: a page with the end states of the desktop tasks."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer

from tasks_lib.cli.console import Exit, explained, out, say
from tasks_lib.cli.options import (
    DomainOption,
    StoreOption,
    TaskdefsOption,
    TaskOption,
    open_store,
    select,
    taskdefs_root,
)
from tasks_lib.cli.settings import load_settings
from tasks_lib.episodes import end_states
from tasks_lib.reporting import GALLERY_FOLDER, GALLERY_PAGE, EndState, gallery_page


def gallery(
    runs: Annotated[list[str], typer.Argument(metavar="RUN...", help="Runs in which oracles played; the last counts.")],
    folder: Annotated[
        Path,
        typer.Option("--out", metavar="FOLDER", help=f"Gets {GALLERY_PAGE} and the pictures in {GALLERY_FOLDER}/."),
    ],
    store: StoreOption = None,
    domain: DomainOption = None,
    task: TaskOption = None,
    taskdefs: TaskdefsOption = None,
) -> None:
    """Write a page of what the oracle of each desktop task leaves on the screen.

    The page and its pictures are written anew; the same evidence gives the same bytes. Exit code 1: a desktop task that
    is selected has no picture, because its oracle was not played, does not pass, or is of another version of the task.

    Example: matassay gallery 20261130-030000-prove --domain xps --domain microscopy --out docs
    """
    with explained():
        place = open_store(store, load_settings())
        chosen = select(taskdefs_root(taskdefs), None, domain, task)
        for problem in chosen.problems:
            say(f"matassay: {problem.error()}")
        states, unseen = end_states(place, runs, chosen.tasks)
        for entry in unseen:
            say(f"left out: {entry.task_id}: {entry.why}")
        if not states:
            say("matassay: there is no end state to show: name a run of `matassay prove` that played desktop tasks")
            raise typer.Exit(Exit.VOID_OR_UNPROVED)
        stale = set((folder / GALLERY_FOLDER).glob("*/*.webp")) - {folder / state.place for state in states}
        for state in states:
            path = folder / state.place
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(state.picture)
        (folder / GALLERY_PAGE).write_text(gallery_page(states, _commands(states)), encoding="utf-8", newline="\n")
        for path in stale:
            path.unlink()
    size = sum(len(state.picture) for state in states)
    out.print(f"{len(states)} pictures, {size / 1000:.0f} kB: {folder / GALLERY_PAGE}", soft_wrap=True, markup=False)
    raise typer.Exit(Exit.VOID_OR_UNPROVED if unseen or chosen.problems else Exit.DONE)


def _commands(states: Sequence[EndState]) -> str:
    """Return the commands that make the page, for its reader; the run has another name each time."""
    domains = "".join(f" --domain {domain}" for domain in sorted({state.task.domain for state in states}))
    return f"matassay prove{domains}\nmatassay gallery RUN{domains} --out docs"
