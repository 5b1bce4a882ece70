"""The tag tree of DigitalMicrograph's files (``.dm3``, ``.dm4``), parsed strictly.

A file is a head (version, length of the root, byte order of the values) and one group of tags. The structure is big
endian whatever the byte order of the values; counts have 4 bytes in version 3 and 8 in version 4. A tag is its kind (20
a group, 21 data), its name and, in version 4, its length; data starts with ``%%%%`` and the list of numbers that says
its type. The layout was worked out by users of the format; it has no published specification.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass
from typing import Any

import numpy as np

from tasks_lib.evaluation._registry import Unreadable

DEEPEST = 40
MOST_TAGS = 300_000
_GROUP, _DATA = 20, 21
_STRUCT, _STRING, _ARRAY = 15, 18, 20
_TYPES = {2: "i2", 3: "i4", 4: "u2", 5: "u4", 6: "f4", 7: "f8", 8: "u1", 9: "i1", 10: "u1", 11: "i8", 12: "u8"}
_TRUTH = 8
MOST_FIELDS = 256

Group = dict[str, Any] | list[Any]


@dataclass(frozen=True, slots=True)
class Block:
    """An array of a file: the bytes as they stand there, and the type of an element (a list for a record)."""

    data: memoryview
    dtype: np.dtype[Any]

    def text(self) -> str:
        """Return an array of 16-bit numbers as the text that it stands for."""
        order = "utf-16-be" if self.dtype.byteorder == ">" else "utf-16-le"
        return bytes(self.data).decode(order, errors="replace").rstrip("\0")


def parse(data: bytes) -> dict[str, Any]:
    """Parse a whole file into groups (dict, or list where the tags have no names), numbers, tuples and `Block`.

    Raises
    ------
    Unreadable
        If it is no such file, is truncated, or names a tag twice.
    """
    if len(data) < 24 or data[:4] not in (b"\0\0\0\3", b"\0\0\0\4"):
        msg = "the file is no DigitalMicrograph file of version 3 or 4"
        raise Unreadable(msg)
    top = _Parser(data).whole()
    if not isinstance(top, dict):
        msg = "the DigitalMicrograph file holds no named tags"
        raise Unreadable(msg)
    return top


class _Parser:
    def __init__(self, data: bytes) -> None:
        self._data = memoryview(data)
        self._at = 4
        self._wide = data[3] == 4
        self._tags = 0
        self._order = "<"

    def whole(self) -> Group:
        self._count()
        order = self._number(">i")
        if order not in (0, 1):
            raise self._broken(f"the byte order is {order}")
        self._order = "<" if order else ">"
        return self._group(0)

    def _broken(self, why: str) -> Unreadable:
        return Unreadable(f"the DigitalMicrograph file is truncated or broken at byte {self._at}: {why}")

    def _take(self, size: int) -> memoryview:
        if size < 0 or size > len(self._data) - self._at:
            raise self._broken(f"{size} bytes are due and {len(self._data) - self._at} are left")
        self._at += size
        return self._data[self._at - size : self._at]

    def _number(self, form: str) -> int:
        return int(struct.unpack(form, self._take(struct.calcsize(form)))[0])

    def _count(self) -> int:
        return self._number(">Q" if self._wide else ">I")

    def _group(self, depth: int) -> Group:
        if depth > DEEPEST:
            raise self._broken(f"groups stand in each other more than {DEEPEST} deep")
        self._take(2)  # whether it is sorted, and whether it was open on the screen
        number = self._count()
        self._tags += number
        if self._tags > MOST_TAGS:
            raise self._broken(f"it has more than {MOST_TAGS} tags")
        named: dict[str, Any] = {}
        bare: list[Any] = []
        for _ in range(number):
            kind = self._number(">B")
            name = bytes(self._take(self._number(">H"))).decode("latin-1")
            if self._wide:
                self._count()  # the length of the tag, which it shows itself
            if kind not in (_GROUP, _DATA):
                raise self._broken(f"{kind} is no kind of a tag")
            if name in named:
                raise self._broken(f"the tag {name[:60]!r} stands twice in one group")
            value = self._group(depth + 1) if kind == _GROUP else self._value()
            if name:
                named[name] = value
            else:
                bare.append(value)
        if named and bare:
            raise self._broken("a group has tags with and without names")
        return named or bare

    def _value(self) -> Any:
        if bytes(self._take(4)) != b"%%%%":
            raise self._broken("a tag without its mark")
        length = self._count()
        if not 1 <= length <= 4 + 2 * MOST_FIELDS:
            raise self._broken(f"a type of {length} numbers")
        said = [self._count() for _ in range(length)]
        if said[0] in _TYPES and length == 1:
            return self._single(said[0])
        if said[0] == _STRING and length == 2:
            order = "utf-16-le" if self._order == "<" else "utf-16-be"
            return bytes(self._take(said[1])).decode(order, errors="replace")
        if said[0] == _STRUCT:
            return tuple(self._single(kind) for kind in self._fields(said[1:]))
        if said[0] == _ARRAY and length == 3:
            return self._block(self._dtype(said[1]), said[2])
        if said[0] == _ARRAY and length > 3 and said[1] == _STRUCT:
            kinds = self._fields(said[2:-1])
            record = np.dtype([(f"f{at}", self._dtype(kind)) for at, kind in enumerate(kinds)])
            return self._block(record, said[-1])
        raise self._broken(f"{said[:6]} is no type")

    def _fields(self, said: list[int]) -> list[int]:
        if len(said) < 2 or len(said) != 2 + 2 * said[1] or not 1 <= said[1] <= MOST_FIELDS:
            raise self._broken("a record of another length than it says")
        return said[3::2]

    def _dtype(self, kind: int) -> np.dtype[Any]:
        if kind not in _TYPES:
            raise self._broken(f"{kind} is no type of a number")
        return np.dtype(self._order + _TYPES[kind])

    def _single(self, kind: int) -> float | int | bool:
        dtype = self._dtype(kind)
        value = np.frombuffer(self._take(dtype.itemsize), dtype)[0].item()
        return bool(value) if kind == _TRUTH else value

    def _block(self, dtype: np.dtype[Any], number: int) -> Block:
        return Block(self._take(number * dtype.itemsize), dtype)
