"""The text in front of the binary blocks.

Python's configparser is not used: it takes ``:`` for ``=``, lower-cases keys, joins indented lines, gives ``[DEFAULT]``
a meaning, knows no byte offsets, and takes longer than everything else here together.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import NoReturn

from tasks_lib.instruments.nid._errors import NidError
from tasks_lib.instruments.nid._values import HeaderValue, integer, number, parse_value

MARKER = b"\n#!"
# The largest header at hand, of a hundred force curves, has 147 kB and 6,816 lines.
MAX_HEADER_BYTES = 4 * 2**20
MAX_HEADER_LINES = 100_000


class NidHeader(Mapping[str, "HeaderSection"]):
    r"""Sections of the header by name, for example ``DataSet\Parameters\Imaging``."""

    def __init__(self, text: str, sections: Mapping[str, Mapping[str, str]], source: str) -> None:
        self.source = source
        self._text = text
        self._sections = sections

    def __getitem__(self, name: str) -> HeaderSection:
        return HeaderSection(self, name, self._sections[name])

    def __iter__(self) -> Iterator[str]:
        return iter(self._sections)

    def __len__(self) -> int:
        return len(self._sections)

    def value(self, section: str, key: str) -> HeaderValue | None:
        """Return a typed value, or None where the section or the key is not there."""
        found = self._sections.get(section)
        return self[section][key] if found is not None and key in found else None

    def text(self, section: str, key: str) -> str:
        """Return a value as the file has it, without the spaces around it; empty where there is none."""
        return self._sections.get(section, {}).get(key, "").strip()

    def byte_of(self, section: str, key: str = "") -> int:
        """Return the offset of a key's line, or of the section's where the key is not there."""
        offset, inside, found = 0, False, 0
        for line in self._text.split("\n"):
            plain = line.rstrip("\r")
            if plain.startswith("["):
                if inside:
                    break
                inside = plain == f"[{section}]"
                found = offset if inside else found
            elif inside and key and plain.startswith(f"{key}="):
                return offset
            offset += len(line.encode()) + 1
        return found


class HeaderSection(Mapping[str, HeaderValue]):
    """Keys of one section; values get their type when they are asked for."""

    def __init__(self, header: NidHeader, name: str, raw: Mapping[str, str]) -> None:
        self.name = name
        self._header = header
        self._raw = raw

    def __getitem__(self, key: str) -> HeaderValue:
        try:
            return parse_value(self._raw[key])
        except ValueError as error:
            self.refuse(key, str(error))

    def __iter__(self) -> Iterator[str]:
        return iter(self._raw)

    def __len__(self) -> int:
        return len(self._raw)

    def text(self, key: str, default: str = "") -> str:
        """Return a value as the file has it, without the spaces around it."""
        return self._raw.get(key, default).strip()

    def integer(self, key: str, channel: str = "header") -> int:
        """Return a required integer."""
        try:
            return integer(self._required(key, channel))
        except ValueError as error:
            self.refuse(key, str(error), channel)

    def number(self, key: str, channel: str = "header", power: int = 0) -> float:
        """Return a required finite number, times ten to `power`."""
        try:
            return number(self._required(key, channel), power)
        except ValueError as error:
            self.refuse(key, str(error), channel)

    def refuse(self, key: str, why: str, channel: str = "header") -> NoReturn:
        """Raise NidError that names the key and its place."""
        byte = self._header.byte_of(self.name, key)
        raise NidError(f"[{self.name}] {key}: {why}", source=self._header.source, channel=channel, byte=byte)

    def _required(self, key: str, channel: str) -> str:
        if key not in self._raw:
            self.refuse(key, "is missing", channel)
        return self._raw[key]


def parse_header(content: bytes, source: str) -> tuple[NidHeader, int]:
    """Read the header.

    Returns
    -------
    header : NidHeader
    start : int
        Offset of the first byte after the marker ``#!``.

    Raises
    ------
    NidError
        If there is no marker, the text is not UTF-8, a line is neither ``[section]`` nor ``key=value``, or a section
        or a key of one section occurs twice.
    """
    end = content.find(MARKER, 0, MAX_HEADER_BYTES + len(MARKER))
    if end < 0:
        searched = min(len(content), MAX_HEADER_BYTES)
        rule = "no line begins with '#!', which ends the header; this is no .nid file, or its header is cut off"
        raise NidError(rule, source=source, byte=searched)
    raw = content[:end]
    if raw.count(b"\n") > MAX_HEADER_LINES:
        raise NidError(f"the header has more than {MAX_HEADER_LINES} lines", source=source, byte=end)
    try:
        text = raw.decode("utf-8")
    except UnicodeDecodeError as error:
        raise NidError("the header is not UTF-8 here", source=source, byte=error.start) from None
    return NidHeader(text, _sections(text, source), source), end + len(MARKER)


def _sections(text: str, source: str) -> dict[str, dict[str, str]]:
    sections: dict[str, dict[str, str]] = {}
    current: dict[str, str] | None = None
    lines = text.split("\n")

    def refuse(rule: str, index: int) -> NoReturn:
        byte = sum(len(one.encode()) + 1 for one in lines[:index])
        raise NidError(f"{rule} (line {index + 1})", source=source, byte=byte)

    for index, line in enumerate(lines):
        plain = line.rstrip("\r")
        if not plain:
            continue
        if plain[0] == "[":
            if plain[-1] != "]":
                refuse("a section's name is not closed by ']'", index)
            name = plain[1:-1]
            if name in sections:
                refuse(f"section [{name[:80]}] occurs twice", index)
            current = sections[name] = {}
            continue
        key, equals, value = plain.partition("=")
        if not equals or not key:
            refuse("a line is neither '[section]' nor 'key=value'", index)
        if current is None:
            refuse("a key stands before the first section", index)
        if key in current:
            refuse(f"key {key[:80]} occurs twice in its section", index)
        current[key] = value
    return sections
