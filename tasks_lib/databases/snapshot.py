"""A snapshot on disk and in memory: compressed JSON lines with canonical content, so that its digest means something.

The file is XZ-compressed text in UTF-8. Its first line is the header, each further line one entry, sorted by number.
Every line is strict JSON with sorted keys and no blanks, so equal content has equal bytes. The digest is the SHA-256
of the text, not of the compressed bytes: another compressor cannot change it.
"""

from __future__ import annotations

import hashlib
import json
import lzma
from collections.abc import Iterable, Iterator
from functools import cached_property
from pathlib import Path
from typing import Any, Literal

from pydantic import Field, ValidationError

from tasks_lib.databases.entry import Entry
from tasks_lib.databases.identifiers import mp_number
from tasks_lib.records import Record
from tasks_lib.records.errors import ConfigurationError

DATA = Path(__file__).with_name("data")
DEFAULT = DATA / "matassay-snapshot-1.jsonl.xz"
_XZ = b"\xfd7zXZ\x00"
_LARGEST_TEXT = 256 * 1024 * 1024


class Header(Record):
    """The first line of a snapshot."""

    format: Literal["matassay-snapshot"] = "matassay-snapshot"
    schema_version: Literal[1] = 1
    name: str = Field(pattern=r"^[a-z0-9-]+$", description="e.g. matassay-snapshot-1")
    version: str = Field(description="version of the content")
    statement: str = Field(description="what the data are and are not, for people")
    methods: dict[str, str] = Field(description="how each kind of value was computed, with settings and versions")


class Snapshot:
    """The entries of a snapshot, in memory and read-only.

    Parameters
    ----------
    header : Header
        What the snapshot says about itself.
    entries : iterable of Entry
        In any order; kept sorted by number.

    Raises
    ------
    ConfigurationError
        If two entries have one number.
    """

    def __init__(self, header: Header, entries: Iterable[Entry]) -> None:
        self.header = header
        self.entries: tuple[Entry, ...] = tuple(sorted(entries, key=lambda entry: entry.number))
        self.by_number: dict[int, Entry] = {entry.number: entry for entry in self.entries}
        if len(self.by_number) != len(self.entries):
            numbers = [entry.number for entry in self.entries]
            twice = sorted({number for number in numbers if numbers.count(number) > 1})
            msg = f"an entry's number is its own, {twice} stand twice in {header.name}: number the entries anew"
            raise ConfigurationError(msg)
        self.by_id: dict[str, Entry] = {entry.id: entry for entry in self.entries}

    @property
    def name(self) -> str:
        """Name of the snapshot, e.g. ``matassay-snapshot-1``."""
        return self.header.name

    @property
    def version(self) -> str:
        """Version of the content."""
        return self.header.version

    @cached_property
    def digest(self) -> str:
        """SHA-256 of the canonical text, 64 hexadecimal digits."""
        return hashlib.sha256(self.text()).hexdigest()

    def __len__(self) -> int:
        return len(self.entries)

    def __iter__(self) -> Iterator[Entry]:
        return iter(self.entries)

    def by_mp(self, spelling: str) -> Entry:
        """Return the entry of a Materials Project id in either spelling.

        Raises
        ------
        KeyError
            If no entry has the id.
        ValueError
            If the text is not an id.
        """
        return self.by_number[mp_number(spelling)]

    def text(self) -> bytes:
        """Return the canonical text."""
        lines = [_line(self.header.model_dump(mode="json"))]
        lines += [_line(entry.model_dump(mode="json")) for entry in self.entries]
        return "".join(lines).encode("utf-8")

    def save(self, path: Path) -> None:
        """Write the snapshot, compressed with fixed settings."""
        path.write_bytes(lzma.compress(self.text(), format=lzma.FORMAT_XZ, check=lzma.CHECK_CRC64, preset=9))


def load(path: Path | None = None) -> Snapshot:
    """Read a snapshot.

    Parameters
    ----------
    path : Path or None
        A file written by `Snapshot.save`; None for the one that ships with the package.

    Raises
    ------
    ConfigurationError
        If the file is absent, is not a snapshot or holds a broken entry; the message names the line.
    """
    path = DEFAULT if path is None else path
    lines = _text(path).split(b"\n")
    if len(lines) < 2 or lines.pop():
        msg = f"a snapshot ends with a line feed, {path} does not: the file is cut short; build it anew"
        raise ConfigurationError(msg)
    number = 1
    try:
        header = Header.model_validate_json(lines[0])
        entries = []
        for line in lines[1:]:
            number += 1
            entries.append(Entry.model_validate_json(line))
    except ValidationError as error:
        msg = (
            f"{path}, line {number} is no {'header' if number == 1 else 'entry'} of a snapshot: {error}; build it anew"
        )
        raise ConfigurationError(msg) from error
    return Snapshot(header, entries)


def _text(path: Path) -> bytes:
    try:
        data = path.read_bytes()
    except OSError as error:
        msg = f"no snapshot can be read at {path} ({error}): build it with 'python -m infra.databases build'"
        raise ConfigurationError(msg) from error
    decompressor = lzma.LZMADecompressor(format=lzma.FORMAT_XZ)
    try:
        if not data.startswith(_XZ):
            msg = "the first bytes are others"
            raise lzma.LZMAError(msg)
        text = decompressor.decompress(data, max_length=_LARGEST_TEXT)
    except lzma.LZMAError as error:
        msg = f"a snapshot is XZ-compressed, {path} is not ({error}): build it with 'python -m infra.databases build'"
        raise ConfigurationError(msg) from error
    if not decompressor.eof:
        msg = f"{path} is cut short, or its text is above {_LARGEST_TEXT} bytes: build it anew"
        raise ConfigurationError(msg)
    return text


def _line(tree: dict[str, Any]) -> str:
    return json.dumps(tree, sort_keys=True, ensure_ascii=False, allow_nan=False, separators=(",", ":")) + "\n"
