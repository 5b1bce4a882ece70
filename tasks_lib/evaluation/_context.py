"""What a getter may touch: the evidence of one stage, and the blobs that it names."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping

from tasks_lib.evaluation._registry import Unreadable
from tasks_lib.records import BlobRef, Evidence, WindowState
from tasks_lib.records.errors import EvaluatorError

LARGEST_FILE = 64 * 1024 * 1024
"""A larger file of the agent is not read at all, bytes."""


class Context:
    """The evidence of one stage, as the getters see it; it remembers which blobs were read."""

    def __init__(self, evidence: Evidence, blob: Callable[[BlobRef], bytes]) -> None:
        self.evidence = evidence
        self._blob = blob
        self._read: list[str] = []

    @property
    def blobs_read(self) -> tuple[str, ...]:
        """Digests of the blobs that were read, sorted."""
        return tuple(sorted(set(self._read)))

    @property
    def windows(self) -> tuple[WindowState, ...]:
        """The windows that were open when the agent had ended."""
        return self.evidence.final.windows

    def find(self, path: str) -> BlobRef | None:
        """Return the reference of a collected file, or None where the agent left no such file."""
        reference = self.evidence.file(path)
        if reference is not None:
            self._read.append(reference.sha256)
        return reference

    def absent(self, path: str) -> str:
        """Say in words why `path` is not among the collected files."""
        for line in self.evidence.refused:
            if path in line:
                return f"{path} was left behind: {line}"
        return f"there is no file {path}"

    def read(self, path: str) -> bytes:
        """Return the bytes of a collected file.

        Raises
        ------
        Unreadable
            Where the file is missing, empty or too large.
        """
        reference = self.find(path)
        if reference is None:
            raise Unreadable(self.absent(path))
        if reference.size == 0:
            msg = f"{path} is empty"
            raise Unreadable(msg)
        if reference.size > LARGEST_FILE:
            msg = f"{path} has {reference.size} bytes, more than the {LARGEST_FILE} that are read"
            raise Unreadable(msg)
        return self._blob(reference)

    def screenshot(self) -> tuple[BlobRef, bytes]:
        """Return the final frame.

        Raises
        ------
        EvaluatorError
            Where the evidence holds none: the machine takes it, so the agent is not at fault.
        """
        reference = self.evidence.final.screenshot
        if reference is None:
            msg = f"stage {self.evidence.stage} has no final screenshot: it has no desktop, or collecting it went wrong"
            raise EvaluatorError(msg)
        self._read.append(reference.sha256)
        return reference, self._blob(reference)


class GoldContext(Context):
    """The gold files of a task behind the same interface, so that getters read them as they read the agent's files."""

    def __init__(self, gold: Mapping[str, bytes]) -> None:
        self._gold = gold

    def find(self, path: str) -> BlobRef | None:
        """Return the reference of a gold file, or None."""
        data = self._gold.get(path)
        return None if data is None else BlobRef(sha256=hashlib.sha256(data).hexdigest(), size=len(data))

    def read(self, path: str) -> bytes:
        """Return the bytes of a gold file."""
        return self._gold[path]
