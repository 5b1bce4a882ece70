"""Names that become folder names: what they may look like, and how an episode's is derived."""

from __future__ import annotations

import re
from pathlib import PurePosixPath
from typing import Annotated

from pydantic import AfterValidator, StringConstraints

Slug = Annotated[str, StringConstraints(pattern=r"^[a-z0-9][a-z0-9.-]*$", max_length=100)]
RunId = Annotated[str, StringConstraints(pattern=r"^[a-z0-9][a-z0-9.-]*$", max_length=100)]
EpisodeId = Annotated[str, StringConstraints(pattern=r"^[a-z0-9][a-z0-9.-]*$", max_length=300)]
Sha256 = Annotated[str, StringConstraints(pattern=r"^[0-9a-f]{64}$")]


def check_relative_path(value: str) -> str:
    """Refuse a path that could leave the folder it is relative to.

    Parameters
    ----------
    value : str
        A path with ``/`` as separator.

    Returns
    -------
    str
        The path, unchanged.

    Raises
    ------
    ValueError
        If the path is absolute, empty, has a ``..`` part, a back-slash, a drive or a control character.
    """
    path = PurePosixPath(value)
    bad = (
        not value
        or path.is_absolute()
        or str(path) != value
        or value == "."
        or ".." in path.parts
        or "\\" in value
        or re.match(r"^[A-Za-z]:", value) is not None
        or any(ord(c) < 0x20 or 0xD800 <= ord(c) <= 0xDFFF or c == "\x7f" for c in value)
    )
    if bad:
        msg = f"a path is relative to its folder, without '..' or back-slashes, got {value!r}: write e.g. 'out/c1s.fit'"
        raise ValueError(msg)
    return value


RelativePath = Annotated[str, StringConstraints(max_length=400), AfterValidator(check_relative_path)]


def slug(text: str) -> str:
    """Return `text` as a name that folders, artifact keys and URLs can carry.

    Lower case; every run of other characters than letters, digits and dots becomes one dash.
    """
    return re.sub(r"[^a-z0-9.]+", "-", text.lower()).strip("-.") or "x"


def episode_id(task_id: str, agent: str, trial: int) -> str:
    """Derive an episode's name from what it is: task, agent (with its model) and trial, counted from 1."""
    return f"{slug(task_id)}--{slug(agent)}--t{trial}"
