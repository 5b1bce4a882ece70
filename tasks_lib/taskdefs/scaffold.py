"""A new task's folder: a whole task about a sample, or the same with blanks in its place."""

from __future__ import annotations

import re
import shutil
import tempfile
from dataclasses import dataclass
from importlib.resources import files as package_files
from importlib.resources.abc import Traversable
from pathlib import Path
from string import Template

from pydantic import TypeAdapter, ValidationError

from tasks_lib.records.errors import ConfigurationError
from tasks_lib.records.identifiers import Slug
from tasks_lib.taskdefs._folder import TASK_FILE, sha256
from tasks_lib.taskdefs.blanks import blanks, left_blank, sampled

LIKES = ("xps", "microscopy", "figure", "mixed", "pymatgen", "mp", "oqmd", "optimade", "code")
"""What a new task can be like.

A desktop task on Fityk or Gwyddion, one figure, two stages, a script with pymatgen, with a client of one of the
databases, or with the standard library alone.
"""
_OF_DOMAIN = {"figures": "figure"}
_WHOLE = "A whole task about a sample, which proves as it stands. Make it yours part by part, and prove it again."
_LEFT = "Fill every <<fill …>>; what stands in several places is filled alike. `matassay lint` names each that is left."

_SLUG: TypeAdapter[str] = TypeAdapter(Slug)


@dataclass(frozen=True, slots=True)
class Scaffold:
    """A folder that was written.

    Attributes
    ----------
    folder : Path
        The task's folder.
    files : tuple of str
        What lies in it, relative to it, sorted.
    blanks : int
        How many blanks there are to fill.
    """

    folder: Path
    files: tuple[str, ...]
    blanks: int


def new_task(root: Path, name: str, like: str | None = None, *, blank: bool = False) -> Scaffold:
    """Write the folder of a new task.

    Parameters
    ----------
    root : Path
        Root of the task definitions.
    name : str
        ``suite/domain/id``; suite and domain may be new.
    like : str, optional
        One of `LIKES`; by default the one that is called as the domain.
    blank : bool
        Leave what only the author knows to be filled; by default a sample stands there.

    Returns
    -------
    Scaffold
        It passes lint, but for the rule ``unfilled`` where blanks are left, and a sample proves as it stands.

    Raises
    ------
    ConfigurationError
        If the name is none, is taken, or there is no such kind of task; nothing is written then.
    OSError
        If the folder cannot be written; nothing is left of it then.
    """
    if like is not None and like not in LIKES:
        msg = f"there is no scaffold {like!r}: take one of {', '.join(LIKES)}"
        raise ConfigurationError(msg)
    parts = _parts(name)
    like = like or _OF_DOMAIN.get(parts[1], parts[1])
    if like not in LIKES:
        msg = f"the domain {parts[1]!r} has no scaffold of its own: say --like {'|'.join(LIKES)}"
        raise ConfigurationError(msg)
    folder = root.joinpath(*parts)
    taken = sorted(path.parent for path in root.glob(f"*/*/{folder.name}/{TASK_FILE}"))
    if folder.exists() or folder.is_symlink() or taken:
        there = taken[0] if taken else folder
        msg = f"{there} is there already and is not overwritten: choose another id; an id stands once in the whole set"
        raise ConfigurationError(msg)
    contents = _contents(like, name, blank)
    folder.parent.mkdir(parents=True, exist_ok=True)
    half = Path(tempfile.mkdtemp(prefix=".new-", dir=folder.parent))
    try:
        half.chmod(0o755)
        for relative, data in contents.items():
            path = half / relative
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(data)
        half.rename(folder)  # whole or not at all; a folder that came meanwhile and holds something is kept
    except BaseException:
        shutil.rmtree(half, ignore_errors=True)
        raise
    open_ = sum(1 for path, data in contents.items() if _is_text(path) for _ in blanks(data.decode("utf-8")))
    return Scaffold(folder, tuple(sorted(contents)), open_)


def _parts(name: str) -> list[str]:
    parts = name.split("/")
    try:
        if len(parts) != 3:
            msg = f"it has {len(parts)} parts"
            raise ValueError(msg)
        return [_SLUG.validate_python(part) for part in parts]
    except ValueError as error:
        what = error.errors()[0]["msg"] if isinstance(error, ValidationError) else str(error)
        msg = (
            f"{name!r} is no suite/domain/id ({what}): write lower case letters, digits, '-' and '.', such as "
            "`matassay new-task mattoolbench/xps/my-task`"
        )
        raise ConfigurationError(msg) from error


def _contents(like: str, name: str, blank: bool) -> dict[str, bytes]:
    raw = dict(_walk(package_files("tasks_lib.taskdefs").joinpath("scaffolds", like), ""))
    known = {
        "sha256_" + re.sub(r"\W", "_", path.removeprefix("inputs/")): sha256(data)
        for path, data in raw.items()
        if path.startswith("inputs/")
    }
    texts = {path: data.decode("utf-8") for path, data in raw.items() if _is_text(path)}
    texts[TASK_FILE] = Template(texts[TASK_FILE]).substitute(known, task=name, left=_LEFT if blank else _WHOLE)
    texts = left_blank(texts) if blank else sampled(texts)
    return {**raw, **{path: text.encode("utf-8") for path, text in texts.items()}}


def _walk(folder: Traversable, before: str) -> list[tuple[str, bytes]]:
    found: list[tuple[str, bytes]] = []
    for entry in folder.iterdir():
        path = f"{before}{entry.name}"
        found += _walk(entry, f"{path}/") if entry.is_dir() else [(path, entry.read_bytes())]
    return found


def _is_text(path: str) -> bool:
    return path == TASK_FILE or path.endswith(".md")
