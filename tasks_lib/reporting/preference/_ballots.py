"""The results file of one person: read to go on, appended to with every answer."""

from __future__ import annotations

import fcntl
import os
import threading
from pathlib import Path
from typing import BinaryIO

from tasks_lib.records import Document, now
from tasks_lib.records.errors import ConfigurationError
from tasks_lib.reporting.preference._counting import parse_answers
from tasks_lib.reporting.preference._records import Ballot, Preferred
from tasks_lib.reporting.preference._study import Pair, Study


class BallotBox:
    """Keeps a person's answers; a context manager. Every answer is on the disk before the next pair is shown.

    Parameters
    ----------
    path : Path
        The results file; answers of the same study that it holds are gone on with. A line that was cut while it was
        written is taken away.
    study : Study

    Raises
    ------
    ConfigurationError
        If the file is of another study, broken, or in use.
    OSError
        If it cannot be written.
    """

    def __init__(self, path: Path, study: Study) -> None:
        self._study = study
        self._lock = threading.Lock()
        path.parent.mkdir(parents=True, exist_ok=True)
        self._file: BinaryIO = path.open("a+b", buffering=0)
        try:
            self._ballots = self._begin(path)
        except BaseException:
            self._file.close()
            raise

    def __enter__(self) -> BallotBox:
        return self

    def __exit__(self, *_: object) -> None:
        self._file.close()

    @property
    def answered(self) -> int:
        """How many pairs have an answer."""
        return len(self._ballots)

    @property
    def next(self) -> int | None:
        """The first pair without an answer, counted from 0; None when all have one."""
        missing = (index for index, pair in enumerate(self._study.pairs) if pair.task not in self._ballots)
        return next(missing, None)

    def answer(self, index: int, preferred: Preferred) -> bool:
        """Keep an answer about the next pair; False where `index` is another one, say of a key pressed twice.

        Raises
        ------
        OSError
            If the answer could not be kept; then nothing has changed.
        """
        with self._lock:
            if index != self.next:
                return False
            pair = self._study.pairs[index]
            self._ballots[pair.task] = self._append(pair, preferred)
            return True

    def take_back(self) -> bool:
        """Take the latest answer back, so that its pair is asked about next; False where there is none.

        Raises
        ------
        OSError
            If that could not be kept; then nothing has changed.
        """
        with self._lock:
            upcoming = self.next
            latest = (len(self._study.pairs) if upcoming is None else upcoming) - 1
            if latest < 0:
                return False
            pair = self._study.pairs[latest]
            self._append(pair, None)
            del self._ballots[pair.task]
            return True

    def _begin(self, path: Path) -> dict[str, Ballot]:
        try:
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            msg = f"{path} is in use: answer there, or end the other `matassay trajectories prefer`"
            raise ConfigurationError(msg) from error
        self._file.seek(0)
        data = self._file.read()
        whole = data[: data.rfind(b"\n") + 1]
        if len(whole) < len(data):
            self._file.truncate(len(whole))
        if not whole:
            self._write(self._study.record)
            return {}
        found = parse_answers(whole, str(path))
        if found.study != self._study.record:
            wrong = [
                f"{name} is {getattr(found.study, name)!r} there and {getattr(self._study.record, name)!r} here"
                for name in ("first", "second", "rater", "seed", "pairs", "digest")
                if getattr(found.study, name) != getattr(self._study.record, name)
            ]
            msg = f"{path} holds answers to other pairs ({'; '.join(wrong)}): give another file, or the same options"
            raise ConfigurationError(msg)
        return dict(found.ballots)

    def _append(self, pair: Pair, preferred: Preferred | None) -> Ballot:
        ballot = Ballot(task=pair.task, first_on=pair.first_on, preferred=preferred, at=now())
        self._write(ballot)
        return ballot

    def _write(self, document: Document) -> None:
        size = os.fstat(self._file.fileno()).st_size
        data = document.to_line().encode()
        try:
            while data:
                data = data[self._file.write(data) :]
            os.fsync(self._file.fileno())
        except OSError:
            self._file.truncate(size)
            raise
