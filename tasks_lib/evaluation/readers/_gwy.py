"""The containers of Gwyddion's native files, parsed strictly and without following any pointer.

Layout as the user guide of Gwyddion gives it: ``GWYP``, then one serialised object. An object is its type name, its
size in 4 bytes and its components; a component is its name, one sign for its type and its data. All numbers are little
endian. Capital signs are arrays, whose length comes first.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from tasks_lib.evaluation._registry import Unreadable

MAGIC = b"GWYP"
DEEPEST = 20
"""Objects within objects beyond this are refused."""
MOST_PARTS = 100_000
"""A file with more components, or more texts and objects in one array, is refused."""
LONGEST_NAME = 1000
_NUMBERS = {"b": struct.Struct("<?"), "c": struct.Struct("<b"), "i": struct.Struct("<i"), "q": struct.Struct("<q"),
            "d": struct.Struct("<d")}  # fmt: skip
_ARRAYS = {"C": "<i1", "I": "<i4", "Q": "<i8", "D": "<f8"}
_UINT = struct.Struct("<I")


@dataclass(slots=True)
class GwyObject:
    """A serialised object: its type, and name -> number, text, array, object or list of texts or objects."""

    kind: str
    parts: dict[str, Any] = field(default_factory=dict)

    def get(self, name: str, kind: type | tuple[type, ...]) -> Any:
        """Return a component where it is there and of that Python type, else None."""
        value = self.parts.get(name)
        return value if isinstance(value, kind) else None

    def object(self, name: str, kind: str) -> GwyObject | None:
        """Return a component that is an object of that type name, else None."""
        value = self.parts.get(name)
        return value if isinstance(value, GwyObject) and value.kind == kind else None


def parse(data: bytes) -> GwyObject:
    """Parse a whole file.

    Raises
    ------
    Unreadable
        If it is no ``.gwy`` file, is truncated, has a part twice, or anything stands behind its end.
    """
    if not data.startswith(MAGIC):
        msg = "the file is no Gwyddion file: it does not start with 'GWYP'"
        raise Unreadable(msg)
    return _Parser(data).whole()


class _Parser:
    def __init__(self, data: bytes) -> None:
        self._data = data
        self._at = len(MAGIC)
        self._parts = 0

    def whole(self) -> GwyObject:
        top = self._object(len(self._data), 0)
        if self._at != len(self._data):
            raise self._broken(f"{len(self._data) - self._at} bytes stand behind its end")
        return top

    def _broken(self, why: str) -> Unreadable:
        return Unreadable(f"the Gwyddion file is truncated or broken at byte {self._at}: {why}")

    def _take(self, size: int, end: int) -> bytes:
        if size > end - self._at:
            raise self._broken(f"{size} bytes are due and {end - self._at} are left")
        self._at += size
        return self._data[self._at - size : self._at]

    def _count(self, end: int) -> int:
        return int(_UINT.unpack(self._take(4, end))[0])

    def _text(self, end: int, longest: int | None = None) -> str:
        stop = self._data.find(b"\0", self._at, end if longest is None else min(end, self._at + longest + 1))
        if stop < 0:
            raise self._broken("a text has no end")
        try:
            text = self._data[self._at : stop].decode("utf-8")
        except UnicodeDecodeError as error:
            raise self._broken("a text is not UTF-8") from error
        self._at = stop + 1
        return text

    def _object(self, end: int, depth: int) -> GwyObject:
        if depth > DEEPEST:
            raise self._broken(f"objects stand in each other more than {DEEPEST} deep")
        found = GwyObject(self._text(end, LONGEST_NAME))
        size = self._count(end)
        if size > end - self._at:
            raise self._broken(f"{found.kind[:40]} has {size} bytes and {end - self._at} are left")
        stop = self._at + size
        while self._at < stop:
            name = self._text(stop, LONGEST_NAME)
            if name in found.parts:
                raise self._broken(f"{name[:60]!r} stands twice in one object")
            self._step()
            found.parts[name] = self._value(chr(self._take(1, stop)[0]), stop, depth)
        return found

    def _step(self, number: int = 1) -> None:
        self._parts += number
        if self._parts > MOST_PARTS:
            raise self._broken(f"it has more than {MOST_PARTS} parts")

    def _value(self, sign: str, end: int, depth: int) -> Any:
        if sign in _NUMBERS:
            return _NUMBERS[sign].unpack(self._take(_NUMBERS[sign].size, end))[0]
        if sign == "s":
            return self._text(end)
        if sign == "o":
            return self._object(end, depth + 1)
        if sign in _ARRAYS:
            kind = np.dtype(_ARRAYS[sign])
            return np.frombuffer(self._take(self._count(end) * kind.itemsize, end), dtype=kind)
        if sign in "SO":
            number = self._count(end)
            self._step(number)
            return [self._text(end) if sign == "S" else self._object(end, depth + 1) for _ in range(number)]
        raise self._broken(f"{sign!r} is no type of a component")
