"""The text in front of the binary blocks.

Python's configparser is not used: it takes ``:`` for ``=``, lower-cases keys, joins indented lines, gives ``[DEFAULT]``
a meaning, knows no byte offsets, and takes longer than all the rest of the reading together.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cached_property
from typing import NoReturn

from tasks_lib.instruments.nid._errors import NidError
from tasks_lib.instruments.nid._values import HeaderValue, integer, number, parse_value

MARKER = b"\n#!"
# The largest header at hand, of a hundred force curves, has 147 kB and 6,816 lines.
MAX_HEADER_BYTES = 4 * 2**20
MAX_HEADER_LINES = 100_000
_CURVE = "\nLineDim"


class NidHeader(Mapping[str, "HeaderSection"]):
    r"""Sections of the header by name, for example ``DataSet\Parameters\Imaging``.

    The lines of a section are looked at, and a broken one refused, when the section is first asked for. Of the forty
    sections a reader needs ten. The lines of single curves (``LineDim7Points``), hundreds in a channel's section, wait
    until one of them, or the whole section, is asked for.
    """

    def __init__(self, text: str, source: str) -> None:
        self.source = source
        self._text = text
        self._bodies = _bodies(text, source)
        self._pairs: dict[str, Mapping[str, str]] = {}

    def __getitem__(self, name: str) -> HeaderSection:
        return HeaderSection(self, name, self._read(name))

    def __contains__(self, name: object) -> bool:
        return name in self._bodies

    def __iter__(self) -> Iterator[str]:
        return iter(self._bodies)

    def __len__(self) -> int:
        return len(self._bodies)

    def value(self, section: str, key: str) -> HeaderValue | None:
        """Return a typed value, or None where the section or the key is not there."""
        return self[section][key] if section in self and key in self._read(section) else None

    def text(self, section: str, key: str) -> str:
        """Return a value as the file has it, without the spaces around it; empty where there is none."""
        return self._read(section).get(key, "").strip() if section in self else ""

    def _read(self, name: str) -> Mapping[str, str]:
        pairs = self._pairs.get(name)
        if pairs is None:
            body = self._bodies[name]
            first = body.find(_CURVE)
            pairs = _pairs(body, self._text, self.source) if first < 0 else self._read_around_curves(body, first)
            self._pairs[name] = pairs
        return pairs

    def _read_around_curves(self, body: str, first: int) -> Mapping[str, str]:
        behind = body.find("\n", body.rfind(_CURVE) + 1)
        around = body[:first] + (body[behind:] if behind >= 0 else "")
        return _PairsWithCurves(_pairs(around, self._text, self.source), body, self._text, self.source)

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


class _PairsWithCurves(Mapping[str, str]):
    """Pairs of a section that describes curves: all its lines are cut when a key is not among those `around` them."""

    def __init__(self, around: Mapping[str, str], body: str, text: str, source: str) -> None:
        self._around = around
        self._whole = (body, text, source)

    def __getitem__(self, key: str) -> str:
        return self._around[key] if key in self._around else self._all[key]

    def __iter__(self) -> Iterator[str]:
        return iter(self._all)

    def __len__(self) -> int:
        return len(self._all)

    @cached_property
    def _all(self) -> Mapping[str, str]:
        return _pairs(*self._whole)


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

    def __contains__(self, key: object) -> bool:
        return key in self._raw

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
        If there is no marker, the text is not UTF-8, or a section occurs twice. When a section is asked for: if one of
        its lines is not ``key=value``, or a key of it occurs twice; among its lines of curves, when one is asked for.
    """
    end = content.find(MARKER, 0, MAX_HEADER_BYTES + len(MARKER))
    if end < 0:
        searched = min(len(content), MAX_HEADER_BYTES)
        rule = "no line begins with '#!', which ends the header; this is no .nid file, or its header is cut off"
        raise NidError(rule, source=source, byte=searched)
    raw = content[: end + 1]
    if raw.count(b"\n") > MAX_HEADER_LINES:
        raise NidError(f"the header has more than {MAX_HEADER_LINES} lines", source=source, byte=end)
    try:
        text = raw.decode("utf-8")
    except UnicodeDecodeError as error:
        raise NidError("the header is not UTF-8 here", source=source, byte=error.start) from None
    return NidHeader(text, source), end + len(MARKER)


def _bodies(text: str, source: str) -> dict[str, str]:
    """Cut the text into sections; each body holds the lines behind the section's name."""
    before, *chunks = f"\n{text}".split("\n[")
    bodies: dict[str, str] = {}
    for chunk in chunks:
        line, _, body = chunk.partition("\n")
        name = line.removesuffix("\r")
        if name[-1:] != "]" or name[:-1] in bodies:
            _refuse_first_fault(text, source)
        bodies[name[:-1]] = body
    if before.strip("\r\n"):
        _refuse_first_fault(text, source)
    return bodies


def _pairs(body: str, text: str, source: str) -> dict[str, str]:
    """Cut the lines of a section; whatever does not fit is looked for, and named, line by line."""
    lines = [line for line in f"{body}\n".replace("\r\n", "\n").split("\n") if line]
    try:
        pairs = dict([line.split("=", 1) for line in lines])
    except ValueError:
        _refuse_first_fault(text, source)
    if len(pairs) != len(lines) or "" in pairs:
        _refuse_first_fault(text, source)
    return pairs


def _refuse_first_fault(text: str, source: str) -> NoReturn:
    byte, keys, sections = 0, set[str](), set[str]()
    rule = "the header cannot be cut into sections"
    for line in text.split("\n"):
        plain = line.removesuffix("\r")
        key, equals, _ = plain.partition("=")
        if plain.startswith("["):
            if not plain.endswith("]"):
                rule = "a section's name is not closed by ']'"
                break
            if plain in sections:
                rule = f"section {plain[:80]} occurs twice"
                break
            sections.add(plain)
            keys.clear()
        elif plain:
            if not equals or not key:
                rule = "a line is neither '[section]' nor 'key=value'"
                break
            if not sections:
                rule = "a key stands before the first section"
                break
            if key in keys:
                rule = f"key {key[:80]} occurs twice in its section"
                break
            keys.add(key)
        byte += len(line.encode()) + 1
    raise NidError(rule, source=source, byte=min(byte, len(text.encode())))
