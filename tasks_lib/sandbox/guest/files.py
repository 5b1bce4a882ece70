"""The work folder: the only place that files are put into, taken from and listed in.

A path is walked part by part from an open descriptor of the folder, and no link is followed, so a link that the agent
puts in place between the check and the use leads nowhere.
"""

from __future__ import annotations

import os
import secrets
import stat
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from .faults import RefusedError

MAX_FILE_BYTES = 256 * 1024 * 1024
MAX_ENTRIES = 5_000
_MAX_DEPTH = 32
_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_KINDS = {
    stat.S_IFREG: "file",
    stat.S_IFDIR: "folder",
    stat.S_IFLNK: "link",
    stat.S_IFIFO: "pipe",
    stat.S_IFSOCK: "socket",
    stat.S_IFCHR: "device",
    stat.S_IFBLK: "device",
}


@dataclass(frozen=True, slots=True)
class Entry:
    """Something in the work folder; `path` has ``/`` as separator."""

    path: str
    size: int
    kind: str


class WorkFolder:
    """Files below one folder.

    Parameters
    ----------
    root : Path
        The work folder.
    """

    def __init__(self, root: Path) -> None:
        self.root = root
        self._descriptor = os.open(root, _FOLDER)

    def write(self, path: str, data: bytes) -> None:
        """Write a file whole, through a temporary name beside it; folders on the way are made.

        Raises
        ------
        RefusedError
            If the path leaves the folder, goes through a link, or names something that is no file.
        """
        *folders, name = split(path)
        with self._folder(folders, path, make=True) as folder:
            _refuse_other_kinds(name, folder, path)
            part = f".{secrets.token_hex(8)}.part"
            try:
                descriptor = os.open(part, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o644, dir_fd=folder)
                with os.fdopen(descriptor, "wb") as stream:
                    stream.write(data)
                os.replace(part, name, src_dir_fd=folder, dst_dir_fd=folder)
            except OSError as problem:
                try:
                    os.unlink(part, dir_fd=folder)
                except OSError:
                    pass
                msg = f"{path!r} cannot be written in the work folder: {problem.strerror}"
                raise RefusedError(msg) from problem

    def read(self, path: str, limit: int = MAX_FILE_BYTES) -> bytes:
        """Read a regular file of at most `limit` bytes.

        Raises
        ------
        RefusedError
            ``missing``, ``too-big``, or ``action`` where the path leaves the folder or is no regular file.
        """
        *folders, name = split(path)
        with self._folder(folders, path) as folder:
            try:
                # Without O_NONBLOCK, opening a pipe would wait for a writer.
                descriptor = os.open(name, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC, dir_fd=folder)
            except FileNotFoundError as problem:
                msg = f"there is no file {path!r} in the work folder"
                raise RefusedError(msg, "missing") from problem
            except OSError as problem:
                msg = f"{path!r} is a link or cannot be opened ({problem.strerror}): only regular files are read"
                raise RefusedError(msg) from problem
        status = os.fstat(descriptor)
        if not stat.S_ISREG(status.st_mode):
            os.close(descriptor)
            kind = _KINDS.get(stat.S_IFMT(status.st_mode), "special file")
            msg = f"{path!r} is a {kind}: only regular files are read"
            raise RefusedError(msg)
        with os.fdopen(descriptor, "rb") as stream:
            data = stream.read(limit + 1) if status.st_size <= limit else b""
            if status.st_size > limit or len(data) > limit:
                msg = f"{path!r} has {status.st_size} bytes, at most {limit} are read"
                raise RefusedError(msg, "too-big")
            return data

    def remove(self, path: str) -> None:
        """Remove a file or a link; nothing happens where there is none."""
        *folders, name = split(path)
        with self._folder(folders, path) as folder:
            try:
                os.unlink(name, dir_fd=folder)
            except FileNotFoundError:
                return
            except OSError as problem:
                msg = f"{path!r} cannot be removed: {problem.strerror}"
                raise RefusedError(msg) from problem

    def entries(self) -> tuple[list[Entry], bool]:
        """List everything below the folder, links as links; and whether entries were left out for their number.

        What lies higher is listed first, so that a heap of files deep down hides nothing above it.
        """
        found: list[Entry] = []
        waiting: deque[list[str]] = deque([[]])
        cut = False
        while waiting and not cut:
            parts = waiting.popleft()
            try:
                with self._folder(parts, "/".join(parts)) as folder:
                    below, cut = _scan(folder, "".join(f"{part}/" for part in parts), found)
            except RefusedError:
                continue  # gone, or replaced by a link, meanwhile
            if below and len(parts) >= _MAX_DEPTH:
                cut = True
            else:
                waiting.extend([*parts, name] for name in below)
        found.sort(key=lambda entry: entry.path)
        return found, cut

    @contextmanager
    def _folder(self, parts: list[str], path: str, *, make: bool = False) -> Iterator[int]:
        current = os.dup(self._descriptor)
        try:
            for part in parts:
                if make:
                    try:
                        os.mkdir(part, 0o755, dir_fd=current)
                    except FileExistsError:
                        pass
                below = os.open(part, _FOLDER, dir_fd=current)
                os.close(current)
                current = below
        except FileNotFoundError as problem:
            os.close(current)
            msg = f"there is no file {path!r} in the work folder: the folder {part!r} does not exist"
            raise RefusedError(msg, "missing") from problem
        except OSError as problem:
            os.close(current)
            msg = f"{path!r} goes through {part!r}, which is a link or no folder: name a real folder"
            raise RefusedError(msg) from problem
        try:
            yield current
        finally:
            os.close(current)


def _scan(folder: int, prefix: str, found: list[Entry]) -> tuple[list[str], bool]:
    """Add a folder's entries to `found`; return the folders among them, sorted, and whether the cap was met."""
    folders: list[str] = []
    with os.scandir(folder) as scan:
        for item in scan:
            if len(found) >= MAX_ENTRIES:
                return sorted(folders), True
            try:
                status = item.stat(follow_symlinks=False)
            except OSError:
                continue
            kind = _KINDS.get(stat.S_IFMT(status.st_mode), "other")
            name = item.name.encode("utf-8", "surrogateescape").decode("utf-8", "replace")
            found.append(Entry(prefix + name, status.st_size if kind == "file" else 0, kind))
            if kind == "folder":
                folders.append(item.name)
    return sorted(folders), False


def split(path: str) -> list[str]:
    """Split a path of the work folder into its parts.

    Raises
    ------
    RefusedError
        If it is absolute, empty, too long, or has ``..``, ``.``, empty parts or control characters.
    """
    parts = path.split("/")
    bad = (
        not path
        or len(path) > 400
        or len(parts) > _MAX_DEPTH
        or "\\" in path
        or any(part in ("", ".", "..") or len(part.encode("utf-8", "replace")) > 255 for part in parts)
        or any(ord(c) < 0x20 or c == "\x7f" or 0xD800 <= ord(c) <= 0xDFFF for c in path)
    )
    if bad:
        msg = f"a path is relative to the work folder, without '..', empty parts or back-slashes: got {path[:200]!r}"
        raise RefusedError(msg)
    return parts


def _refuse_other_kinds(name: str, folder: int, path: str) -> None:
    try:
        mode = os.stat(name, dir_fd=folder, follow_symlinks=False).st_mode
    except FileNotFoundError:
        return
    if not stat.S_ISREG(mode):
        msg = f"{path!r} is a {_KINDS.get(stat.S_IFMT(mode), 'special file')} already: choose another name"
        raise RefusedError(msg)
