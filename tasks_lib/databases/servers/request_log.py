"""Every request that a database server answered, as evidence of what an agent asked."""

from __future__ import annotations

import threading
from collections import deque
from pathlib import Path
from typing import TextIO

from pydantic import Field

from tasks_lib.databases._keys import without_keys
from tasks_lib.records import Record, UtcTime

_KEPT = 10_000
_KEPT_CHARACTERS = 8_000_000
_METHOD_CHARACTERS = 20
_PATH_CHARACTERS = 1_000
_QUERY_CHARACTERS = 4_000


class RequestRecord(Record):
    """One request and what became of it. Headers, and with them keys, are never kept."""

    number: int = Field(ge=1, description="counted from the start of the server")
    time: UtcTime
    method: str
    path: str
    query: str = Field(description="as sent, percent-encoded; keys removed; cut at 4 000 characters")
    status: int
    body_bytes: int = Field(ge=0, description="of the reply as sent")
    seconds: float = Field(ge=0)
    fault: str | None = Field(default=None, description="the fault that was played, if any")


class RequestLog:
    """The last 10 000 requests in memory, or fewer long ones, and all of them in a ``.jsonl`` file where one is given.

    What is in memory has at most 8 million characters: a client decides how long a request is.

    Parameters
    ----------
    path : Path or None
        File that lines are appended to.
    """

    def __init__(self, path: Path | None = None) -> None:
        self._records: deque[RequestRecord] = deque()
        self._lock = threading.Lock()
        self._count = 0
        self._characters = 0
        self._file: TextIO | None = path.open("a", encoding="utf-8", newline="\n") if path else None

    def add(self, **fields: object) -> None:
        """Keep one request; the fields are those of `RequestRecord` without `number`."""
        with self._lock:
            self._count += 1
            record = RequestRecord.model_validate({"number": self._count, **fields})
            record = record.model_copy(
                update={"method": record.method[:_METHOD_CHARACTERS], "path": record.path[:_PATH_CHARACTERS]}
            )
            if len(self._records) == _KEPT:
                self._characters -= _length(self._records.popleft())
            self._records.append(record)
            self._characters += _length(record)
            while self._characters > _KEPT_CHARACTERS:
                self._characters -= _length(self._records.popleft())
            if self._file:
                self._file.write(record.model_dump_json() + "\n")
                self._file.flush()

    def records(self) -> list[RequestRecord]:
        """Return what is in memory, oldest first."""
        with self._lock:
            return list(self._records)

    def close(self) -> None:
        """Close the file; later requests stay in memory only."""
        with self._lock:
            if self._file:
                self._file.close()
                self._file = None


def _length(record: RequestRecord) -> int:
    return len(record.method) + len(record.path) + len(record.query) + 200


def clean_query(raw: bytes) -> str:
    """Return a query string that is safe to keep: keys removed, length bounded."""
    return without_keys(raw.decode("latin-1"))[:_QUERY_CHARACTERS]
