"""Long output cut in its middle: a script's first lines and its last ones, a traceback among them, say the most."""

from __future__ import annotations

import codecs
import re
from dataclasses import dataclass, field

_MARK = re.compile(r"\n?\[… (\d{1,15}) characters missing …\]\n?")


def mark(missing: int) -> str:
    """Return the line that stands where characters are missing."""
    return f"\n[… {missing} characters missing …]\n"


def middle(text: str, limit: int) -> str:
    """Return both ends of a text that is longer than `limit` characters, with a mark in place of its middle.

    Parameters
    ----------
    text : str
        Any text. Where it was cut before, what is missing there counts too.
    limit : int
        Characters that are kept; the mark comes on top.
    """
    if len(text) <= limit:
        return text
    head, tail = limit - limit // 2, limit // 2
    dropped = text[head : len(text) - tail]
    marks = list(_MARK.finditer(dropped))
    missing = len(dropped) + sum(int(found[1]) - len(found[0]) for found in marks)
    return text[:head] + mark(missing) + text[len(text) - tail :]


@dataclass(slots=True)
class Ends:
    """The two ends of a stream of bytes, in memory that does not grow with the stream.

    Attributes
    ----------
    limit : int
        Bytes that are kept, half of them of either end.
    """

    limit: int
    missing: int = field(default=0, init=False)
    is_cut: bool = field(default=False, init=False)
    _head: bytearray = field(default_factory=bytearray, init=False, repr=False)
    _tail: bytearray = field(default_factory=bytearray, init=False, repr=False)

    def add(self, piece: bytes) -> None:
        """Take the next bytes of the stream."""
        room = self.limit // 2 - len(self._head)
        self._head += piece[:room]
        self._tail += piece[room:]
        if (over := len(self._tail) - self.limit // 2) > 0:
            self.is_cut = True
            self.missing += _characters(bytes(self._tail[:over]))
            del self._tail[:over]

    def text(self) -> str:
        """Return what was kept, bytes that are no UTF-8 replaced, with a mark where characters are missing."""
        # Not told by `missing`: what was dropped may be the end of one character alone, which the head has begun.
        if not self.is_cut:
            return bytes(self._head + self._tail).decode("utf-8", "replace")
        # A character that the cut went through is left out whole and is missing once: its first byte is either among
        # those that were dropped or, unfinished, at the end of the head.
        decoder = codecs.getincrementaldecoder("utf-8")("replace")
        head = decoder.decode(bytes(self._head))
        split = bool(decoder.getstate()[0])
        rest = bytes(self._tail[:3]).lstrip(_CONTINUING) + bytes(self._tail[3:])
        return head + mark(self.missing + split) + rest.decode("utf-8", "replace")


_CONTINUING = bytes(range(0x80, 0xC0))


def _characters(data: bytes) -> int:
    """Count the characters of UTF-8: every byte but those that continue one."""
    return len(data.translate(None, _CONTINUING))
