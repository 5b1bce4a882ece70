"""Where a report is written: a local folder, or a place in the store."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path
from typing import Protocol

from tasks_lib.records.errors import StoreError
from tasks_lib.store import Store


class Sink(Protocol):
    """Takes the files of a report."""

    def write(self, path: str, data: bytes, same: Path | None = None) -> None:
        """Write a file, whole or not at all; `same` is a local file that holds the same bytes and never changes."""

    def existing(self, folder: str) -> set[str]:
        """Return the names in a folder of the report."""

    def where(self, path: str) -> str:
        """Return what a person opens to see a file of the report."""


class FolderSink:
    """A report in a local folder."""

    def __init__(self, root: Path) -> None:
        self._root = root
        self._made: set[Path] = set()

    def write(self, path: str, data: bytes, same: Path | None = None) -> None:
        """Write a file through a temporary one beside it, or link it to `same`: a night's screenshots are gigabytes.

        Raises
        ------
        StoreError
            If the folder cannot be written; the message names it.
        """
        target = self._root / path
        try:
            self._make(target.parent)
            if same is not None and _linked(same, target):
                return
            handle, name = tempfile.mkstemp(dir=target.parent, prefix=".report-")
            temporary = Path(name)
            try:
                with os.fdopen(handle, "wb") as file:
                    file.write(data)
                # mkstemp makes files that the owner alone may read; a report is there to be shown.
                temporary.chmod(0o644)
                temporary.replace(target)
            except BaseException:
                temporary.unlink(missing_ok=True)
                raise
        except OSError as error:
            msg = f"cannot write the report to {target}: {error.strerror}: choose another folder or free some room"
            raise StoreError(msg) from error

    def existing(self, folder: str) -> set[str]:
        """Return the names in a folder of the report; none where it is not there yet."""
        try:
            return set(os.listdir(self._root / folder))  # noqa: PTH208  names alone, thousands of them
        except OSError:
            return set()

    def where(self, path: str) -> str:
        """Return the local path."""
        return str(self._root / path)

    def _make(self, folder: Path) -> None:
        if folder not in self._made:
            folder.mkdir(parents=True, exist_ok=True)
            self._made.add(folder)


def _linked(source: Path, target: Path) -> bool:
    """Link `target` to `source`; False where the file system cannot (another disk, no hard links)."""
    try:
        target.hardlink_to(source)
    except FileExistsError:
        return True
    except OSError:
        return False
    return True


class StoreSink:
    """A report in the store, for instance in a bucket that serves web pages."""

    def __init__(self, store: Store, prefix: str) -> None:
        self._store = store
        self._prefix = prefix.rstrip("/")

    def write(self, path: str, data: bytes, same: Path | None = None) -> None:
        """Write a file."""
        self._store.write_bytes(f"{self._prefix}/{path}", data)

    def existing(self, folder: str) -> set[str]:
        """Return the names in a folder of the report."""
        return set(self._store.children(f"{self._prefix}/{folder}"))

    def where(self, path: str) -> str:
        """Return the file's URL."""
        return f"{self._store.url.rstrip('/')}/{self._prefix}/{path}"
