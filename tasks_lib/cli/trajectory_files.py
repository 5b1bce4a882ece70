"""What the commands about files of trajectories share: names, remarks, and tables that a spreadsheet may open."""

from __future__ import annotations

import csv
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Annotated

import typer

from tasks_lib.cli.console import say
from tasks_lib.evaluation.alignment import EmbeddingCache
from tasks_lib.records.errors import ConfigurationError
from tasks_lib.store import state_folder

EncoderOption = Annotated[
    str, typer.Option("--encoder", metavar="NAME|FOLDER", help="Sentence encoder of the arguments.")
]
VectorsOption = Annotated[bool, typer.Option("--cache/--no-cache", help="Keep vectors of arguments on disk.")]

# Of remarks on standard error; the report has them all.
_TOLD = 10


def kept_vectors(cached: bool) -> EmbeddingCache | None:
    """Return where vectors of texts are kept; None where they are not to be."""
    return EmbeddingCache(state_folder() / "embeddings.sqlite") if cached else None


def names_of(predictions: Sequence[Path]) -> list[str]:
    """Return the names by which files of predictions are told apart.

    Raises
    ------
    ConfigurationError
        If two have one name.
    """
    names = [path.stem for path in predictions]
    if twice := sorted({name for name in names if names.count(name) > 1}):
        msg = f"files of predictions are told by their names, {', '.join(twice)} comes twice: rename one"
        raise ConfigurationError(msg)
    return names


def tell_some(head: str, lines: Sequence[str]) -> None:
    """Print the first few of many remarks, each behind `head`, and how many there are more."""
    for line in lines[:_TOLD]:
        say(f"matassay: {head}{line}")
    if len(lines) > _TOLD:
        say(f"matassay: {head}{len(lines) - _TOLD} more; --json and --out have them all")


def write_csv(path: Path, head: Sequence[str], rows: Iterable[Sequence[object]]) -> None:
    """Write a table; a text that a model wrote is kept from being a formula of a spreadsheet."""
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(head)
        writer.writerows([[_plain(cell) for cell in row] for row in rows])


def _plain(cell: object) -> object:
    return f"'{cell}" if isinstance(cell, str) and cell.startswith(("=", "+", "-", "@", "\t", "\r")) else cell
