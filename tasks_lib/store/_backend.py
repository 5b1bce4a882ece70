"""What a place to store files must be able to do; reading and listing are the same fsspec calls everywhere."""

from __future__ import annotations

import errno
from abc import ABC, abstractmethod
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from tasks_lib.records.errors import StoreError

# The store's own book-keeping (locks, claims, probes) lives in one folder of the root that no listing shows.
PRIVATE = ".store"
# A file that is still being written; a killed writer leaves it behind, and no listing shows it.
UNFINISHED = ".tmp-"


# The classes below have a method of the name `list`, which hides the type.
Paths = list[str]


class Backend(ABC):
    """Files under one root of an fsspec file system; all paths are relative to the root and already checked."""

    # What the file system raises when it fails; S3 adds the exceptions of botocore.
    failures: tuple[type[Exception], ...] = (OSError,)

    def __init__(self, fs: Any, root: str, url: str) -> None:
        self.fs = fs
        self.root = root
        self.url = url

    def absolute(self, path: str) -> str:
        return f"{self.root}/{path}" if path else self.root

    @contextmanager
    def guard(self, verb: str, path: str, *, reading: bool = False) -> Iterator[None]:
        """Turn what the file system raises into `StoreError`, with the original as its cause."""
        try:
            yield
        except FileNotFoundError as error:
            if reading:
                raise FileNotFoundError(errno.ENOENT, f"nothing of that name in the store {self.url}", path) from error
            raise StoreError(self._message(verb, path, error)) from error
        except self.failures as error:
            raise StoreError(self._message(verb, path, error)) from error

    def _message(self, verb: str, path: str, error: Exception) -> str:
        full = isinstance(error, OSError) and error.errno in {errno.ENOSPC, errno.EDQUOT}
        advice = "free some room there" if full else "check that the store is there and may be written, then run again"
        return f"cannot {verb} {path!r} in the store {self.url}: {type(error).__name__}: {error}; {advice}"

    def read(self, path: str) -> bytes:
        with self.guard("read", path, reading=True):
            return bytes(self.fs.cat_file(self.absolute(path)))

    def size(self, path: str) -> int | None:
        """Return the size of a file in bytes, or None where there is none."""
        try:
            with self.guard("look up", path, reading=True):
                facts = self.fs.info(self.absolute(path))
        except FileNotFoundError:
            return None
        return int(facts["size"]) if facts["type"] == "file" else None

    def exists(self, path: str) -> bool:
        with self.guard("look up", path):
            try:
                self.fs.info(self.absolute(path))
            except (FileNotFoundError, NotADirectoryError):
                return False
            return True

    def list(self, prefix: str) -> Paths:
        with self.guard("list", prefix):
            found = self.fs.find(self.absolute(prefix))
        relative = (name[len(self.root) + 1 :] for name in found)
        return sorted(path for path in relative if _shown(path))

    def children(self, prefix: str) -> Paths:
        with self.guard("list", prefix):
            try:
                found = self.fs.ls(self.absolute(prefix), detail=False)
            except (FileNotFoundError, NotADirectoryError):
                return []
        names = {name.rstrip("/")[len(self.absolute(prefix)) + 1 :] for name in found}
        return sorted(name for name in names if name and _shown(f"{prefix}/{name}" if prefix else name))

    def delete(self, path: str) -> None:
        with self.guard("delete", path):
            try:
                self.fs.rm_file(self.absolute(path))
            except FileNotFoundError:
                return

    @abstractmethod
    def write(self, path: str, data: bytes) -> None:
        """Write a whole file; readers see the old content or the new one, never a part."""

    @abstractmethod
    def create(self, path: str, data: bytes) -> bool:
        """Write a file that does not exist yet; of many who try, one gets True."""

    @abstractmethod
    def swap(self, path: str, old: bytes, new: bytes) -> bool:
        """Replace `old` by `new`; False where the file holds something else by now."""

    @abstractmethod
    def append(self, path: str, line: bytes) -> None:
        """Add a whole line; after a torn one, the torn part is cut off first."""

    @abstractmethod
    def free_bytes(self) -> int | None:
        """Return the room that is left, in bytes; None where the notion does not exist."""


def _shown(path: str) -> bool:
    return path.split("/", 1)[0] != PRIVATE and not path.rsplit("/", 1)[-1].startswith(UNFINISHED)
