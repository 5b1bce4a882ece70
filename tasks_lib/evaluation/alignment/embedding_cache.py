"""Keeps rounded vectors on disk, by encoder and text.

One SQLite file serves all encoders and several processes at once: a transaction is whole or absent whoever is killed.
A cache may be lost at any time, so nothing here fails a scoring: an entry whose check does not fit is ignored and
written anew, a file that is no database is put aside, and where nothing can be written nothing is kept.
"""

from __future__ import annotations

import contextlib
import sqlite3
import zlib
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

# The table's number is raised when vectors of an older form must not be read any more.
_CREATE = (
    "CREATE TABLE IF NOT EXISTS vectors_1 "
    "(encoder TEXT, text TEXT, vector BLOB, crc INTEGER, PRIMARY KEY (encoder, text)) WITHOUT ROWID"
)
_SELECT = "SELECT text, vector, crc FROM vectors_1 WHERE encoder = ? AND text IN ({})"
_INSERT = "INSERT OR REPLACE INTO vectors_1 VALUES (?, ?, ?, ?)"
_DTYPE = np.dtype("<i4")
# Below SQLite's limit of variables in one statement.
_AT_ONCE = 500
# How long another process may write, s.
_PATIENCE = 30.0
_BROKEN = (sqlite3.SQLITE_NOTADB, sqlite3.SQLITE_CORRUPT)


class EmbeddingCache:
    """Rounded unit vectors by encoder and text, both as sha256 in hexadecimal digits.

    Parameters
    ----------
    path : Path
        The file; it and its folder are made when first written to.
    """

    def __init__(self, path: Path) -> None:
        self.path = path

    def read(self, encoder: str, texts: Sequence[str]) -> dict[str, NDArray[np.int32]]:
        """Return the vectors that are kept, by digest of the text; what is missing or broken is left out."""
        found: dict[str, NDArray[np.int32]] = {}
        if not self.path.is_file():
            return found
        with self._or_not(), self._open() as database:
            for start in range(0, len(texts), _AT_ONCE):
                part = texts[start : start + _AT_ONCE]
                query = _SELECT.format(",".join("?" * len(part)))
                for text, vector, check in database.execute(query, (encoder, *part)):
                    if isinstance(vector, bytes) and len(vector) % _DTYPE.itemsize == 0 and _crc(text, vector) == check:
                        found[text] = np.frombuffer(vector, _DTYPE).astype(np.int32)
        return found

    def write(self, encoder: str, vectors: Mapping[str, NDArray[np.int32]]) -> None:
        """Keep vectors by digest of the text; without room or right to write, nothing is kept."""
        packed = {text: vector.astype(_DTYPE).tobytes() for text, vector in vectors.items()}
        with contextlib.suppress(OSError):
            self.path.parent.mkdir(parents=True, exist_ok=True)
        with self._or_not(), self._open() as database:
            database.executemany(_INSERT, [(encoder, text, data, _crc(text, data)) for text, data in packed.items()])

    @contextlib.contextmanager
    def _open(self) -> Iterator[sqlite3.Connection]:
        """Give one transaction, closed at its end."""
        with contextlib.closing(sqlite3.connect(self.path, timeout=_PATIENCE)) as database, database:
            # Not forced to the disk: what a power cut takes is made again, and what it garbles fails its check.
            database.execute("PRAGMA synchronous = OFF")
            database.execute(_CREATE)
            yield database

    @contextlib.contextmanager
    def _or_not(self) -> Iterator[None]:
        """Leave undone what SQLite cannot do, and put a broken file aside."""
        try:
            yield
        except sqlite3.Error as error:
            # An error that the module itself raises has no code.
            if getattr(error, "sqlite_errorcode", None) in _BROKEN:
                with contextlib.suppress(OSError):
                    self.path.replace(self.path.with_name(f"{self.path.name}.broken"))


def _crc(text: str, vector: bytes) -> int:
    return zlib.crc32(vector, zlib.crc32(str(text).encode()))
