"""The same file on two machines: the task's picture, and what lies beside it."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Callable, Iterable, Mapping

from tasks_lib.evaluation.alignment.strict.texts import texts_of
from tasks_lib.evaluation.alignment.trajectories import Call
from tasks_lib.records import Json

# Stands for the task's own picture, wherever it lies and however often it was copied.
PICTURE = "the task's picture"
# Published runs copy the picture for each run and put a number behind its name.
_COPY = r"(?:_\d{1,4})?\.(?:png|jpe?g|gif|webp|bmp|tiff?)"
_SCHEME = re.compile(r"^file://(?:localhost)?(?=/)")


def mapping(task: str, calls: Iterable[Call], workspaces: Iterable[str] = ()) -> Callable[[Json], Json]:
    """Make the function that takes a side's workspace off its arguments.

    Parameters
    ----------
    task : str
        Id of the task; its picture has this name.
    calls : iterable of Call
        Calls of one side. The folder in which they find the picture is this side's workspace.
    workspaces : iterable of str, optional
        More folders of this side.

    Returns
    -------
    callable
        Maps the texts within a value: the picture to `PICTURE`, paths below a workspace to what is left of them.
    """
    picture = re.compile(rf"(?:.*/)?{re.escape(task)}{_COPY}", re.DOTALL | re.IGNORECASE)
    found = {posixpath.normpath(folder) for folder in workspaces if folder}
    for call in calls:
        for text in texts_of(call.arguments):
            path = _plain(text)
            if picture.fullmatch(path) and "/" in path:
                found.add(posixpath.dirname(path))
    folders = sorted((folder.rstrip("/") + "/" for folder in found), key=lambda folder: (-len(folder), folder))

    def mapped(value: Json) -> Json:
        if isinstance(value, str):
            path = _plain(value)
            if picture.fullmatch(path):
                return PICTURE
            return next((path[len(folder) :] for folder in folders if path.startswith(folder)), value)
        if isinstance(value, list):
            return [mapped(item) for item in value]
        if isinstance(value, Mapping):
            return {key: mapped(item) for key, item in value.items()}
        return value

    return mapped


def _plain(text: str) -> str:
    """Write a path in its shortest form; what is no path stays as it is."""
    path = _SCHEME.sub("", text.strip())
    if "/" not in path or "://" in path or "\n" in path:
        return path
    return posixpath.normpath(path)
