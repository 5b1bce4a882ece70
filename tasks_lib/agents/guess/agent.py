"""The agent: one script that writes what one would guess into every deliverable, then DONE."""

from __future__ import annotations

import csv
import io
import json
import random
from pathlib import PurePosixPath

from tasks_lib.agents.guess import structures
from tasks_lib.agents.guess.shapes import columns, how_many, json_shape
from tasks_lib.agents.guess.values import Knowledge, fill, guess
from tasks_lib.agents.protocol import Brief, Reply, View
from tasks_lib.records import Modality

_DONE = Reply("```decision\nDONE\n```")
_LONGEST_FILE = 20_000
_LONGEST_SCRIPT = 90_000
_TABLES = {".csv": ",", ".tsv": "\t", ".dat": " "}
_POSCARS = frozenset({".vasp", ".poscar"})


class GuessAgent:
    """Guesses in the first step and says DONE in the second; it reads nothing but the brief.

    Whatever it scores can be had without the tools and the data that a task is about, so a proof wants it to score
    nothing. Where it knows no script for a stage, in front of a desktop or a figure, it says DONE at once.

    Parameters
    ----------
    seed : int
        Of the choices where no textbook has the answer.
    """

    name = "guess"

    def __init__(self, seed: int = 0) -> None:
        self._seed = seed

    def reply(self, view: View) -> Reply:
        """Answer with the script, or with DONE."""
        if view.step > 1 or view.brief.modality is not Modality.CODE or not view.brief.deliverables:
            return _DONE
        return Reply(f"Typical values should do.\n\n```python\n{_script(view.brief, self._seed)}\n```")

    def close(self) -> None:
        """Nothing is held."""


def _script(brief: Brief, seed: int) -> str:
    """Write the script; it needs the standard library alone."""
    files: dict[str, str] = {}
    room = _LONGEST_SCRIPT
    for path, what in brief.deliverables:
        text = content(brief, path, what, seed)[:_LONGEST_FILE]
        # Where many long files are asked for, the later ones get a number: every one is written.
        files[path] = text if len(ascii(text)) < room // 2 else "1.0\n"
        room -= len(ascii(path)) + len(ascii(files[path]))
    lines = [f"    {path!a}: {text!a}," for path, text in files.items()]
    return "\n".join(
        [
            "from pathlib import Path",
            "",
            "for name, text in {",
            *lines,
            "}.items():",
            "    Path(name).parent.mkdir(parents=True, exist_ok=True)",
            '    Path(name).write_text(text, encoding="utf-8", newline="\\n")',
        ]
    )


def content(brief: Brief, path: str, what: str, seed: int) -> str:
    """Return what to write into one deliverable.

    Parameters
    ----------
    brief : Brief
        The stage.
    path, what : str
        The deliverable.
    seed : int
        Of the choices; the same seed gives the same text.
    """
    know = Knowledge(brief.instruction, random.Random(f"{seed}/{path}"))  # noqa: S311 - a guess, no secret
    name, suffix = PurePosixPath(path).name.casefold(), PurePosixPath(path).suffix.casefold()
    if suffix in {".json", ".jsonl"}:
        return _json(know, path, what)
    if suffix == ".cif":
        return structures.cif(know.subject(what))
    if suffix in _POSCARS or "poscar" in name or "contcar" in name:
        return structures.poscar(know.subject(what))
    names = columns(brief.instruction, path)
    if suffix in _TABLES or (names and suffix == ".txt"):
        return _table(know, names or ["x", "y"], _TABLES.get(suffix, "\t"))
    value = guess(what, know)
    return f"{value}\n" if not isinstance(value, list) else "\n".join(map(str, value)) + "\n"


def _json(know: Knowledge, path: str, what: str) -> str:
    shape = json_shape(know.text, path)
    return json.dumps(fill({"answer": what} if shape is None else shape, know), ensure_ascii=False) + "\n"


def _table(know: Knowledge, names: list[str], delimiter: str) -> str:
    sheet = io.StringIO()
    rows = csv.writer(sheet, delimiter=delimiter, lineterminator="\n")
    rows.writerow(names)
    for number in range(how_many(know.text)):
        rows.writerow([guess(name, know, number) for name in names])
    return sheet.getvalue()
