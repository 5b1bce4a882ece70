"""Mutual exclusion on an S3 server that ignores conditional writes, by claims that contenders put beside a path.

Everybody who wants to change a path puts a claim of his own under a name of its own, and then lists the claims. Only
who finds himself alone goes on. Two cannot: if A listed before B's claim was put, then B's listing came after A's
claim, which stands until A is done, and B sees it, or sees A's result. This needs what S3 promises anyway: a listing
shows every put that ended before it began.

A contender who finds an older claim withdraws and waits; the oldest waits until the others have withdrawn. A claim
whose owner was killed stops everybody, so claims older than `LIFE` are swept away; the owner of a claim older than
half of that does not write any more. This last part, and this part only, rests on clocks that agree within seconds
and on requests that do not land minutes late.
"""

from __future__ import annotations

import hashlib
import random
import time
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from tasks_lib.records.errors import StoreError
from tasks_lib.store._backend import PRIVATE

LIFE = 30.0  # seconds
_KEEPER = "keep"
PATIENCE = 45.0  # seconds, longer than LIFE so that a dead claim is outlived


class Claims:
    """The claims under one root of a file system."""

    def __init__(self, fs: Any, root: str, clock: Callable[[], float] = time.time, patience: float = PATIENCE) -> None:
        self._fs = fs
        self._root = root
        self._clock = clock
        self._patience = patience
        self._random = random.SystemRandom()

    @contextmanager
    def alone(self, path: str) -> Iterator[Callable[[], None]]:
        """Hold the only claim on `path`; yields a check to call right before writing.

        Raises
        ------
        StoreError
            If other claims stood in the way for longer than a dead one can, or if the check comes too late.
        """
        # 256 folders serve all paths, each kept alive by a file that stays: a server on top of folders, as rclone,
        # removes one with its last file, and may show a file that is gone when the folder was made anew meanwhile.
        folder = f"{self._root}/{PRIVATE}/claims/{hashlib.sha256(path.encode()).hexdigest()[:2]}"
        self._fs.pipe_file(f"{folder}/{_KEEPER}", b"keep")
        born, name = self._win(folder, path)

        def check() -> None:
            if self._clock() - born > LIFE / 2:
                msg = f"a write to {path!r} took more than {LIFE / 2:.0f} s to begin and was given up: run again"
                raise StoreError(msg)

        try:
            yield check
        finally:
            self._withdraw(f"{folder}/{name}")

    def _win(self, folder: str, path: str) -> tuple[float, str]:
        begun = time.monotonic()
        while time.monotonic() - begun < self._patience:
            if self._standing(folder):
                self._pause()
                continue
            born = self._clock()
            name = f"{int(born * 1000):015d}-{uuid.uuid4().hex}"
            self._fs.pipe_file(f"{folder}/{name}", b"claim")
            while (others := self._standing(folder) - {name}) and min(others) > name:
                self._pause()
            if not others:
                return born, name
            self._withdraw(f"{folder}/{name}")
            self._pause()
        waited = f"{self._patience:.0f} s"
        msg = f"other writers stood in the way of {path!r} for {waited}: look for a hung process, then run again"
        raise StoreError(msg)

    def _standing(self, folder: str) -> set[str]:
        """Return the names of the claims that count, and sweep away those whose owners must be dead."""
        found = {entry.rsplit("/", 1)[-1] for entry in self._fs.ls(folder, detail=False)} - {_KEEPER}
        dead = {name for name in found if self._clock() - int(name.split("-", 1)[0]) / 1000 > LIFE}
        for name in dead:
            self._withdraw(f"{folder}/{name}")
        return found - dead

    def _withdraw(self, claim: str) -> None:
        try:
            self._fs.rm_file(claim)
        except FileNotFoundError:
            return

    def _pause(self) -> None:
        time.sleep(self._random.uniform(0.002, 0.02))
