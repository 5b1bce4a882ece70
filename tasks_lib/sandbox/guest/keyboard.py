"""Key presses and typed text of any script, through the X server's XTEST extension.

A sign that no key carries is put on an unused one. Programs read the key map when they come to the news that it
changed, which may be later than the press, so a key keeps its sign until the program has worked through its input. The
common signs of the field get keys for good, before any program starts.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

from Xlib import XK, X

from ._keynames import KEY_NAMES, SIGNS
from .faults import RefusedError

MAX_CHARACTERS = 20_000
_PAUSE = 0.2  # s for programs that do not say when they have worked through their input
_BARRIER_SECONDS = 10.0
_BLOCK = 208  # keys from here on carry what nobody foresaw: one run of keys changes with one message


class Keyboard:
    """The keyboard of a display.

    Parameters
    ----------
    display : Xlib.display.Display
        Connection that is used under the caller's lock.
    barrier : callable
        ``barrier(seconds)`` waits until the focused program has worked through its input; None: it cannot tell.
    """

    def __init__(self, display: Any, barrier: Callable[[float], bool | None]) -> None:
        self._display = display
        self._barrier = barrier
        first = display.display.info.min_keycode
        last = display.display.info.max_keycode
        rows = [tuple(row) for row in display.get_keyboard_mapping(first, last - first + 1)]
        held = {code for row in display.get_modifier_mapping() for code in row if code}
        # keysym -> key and whether shift is held; an earlier, unshifted place wins
        self._places: dict[int, tuple[int, bool]] = {}
        spare = []
        for code, row in enumerate(rows, first):
            plain = row[0] if row else 0
            shifted = row[1] if len(row) > 1 else 0
            if code not in held and (code >= _BLOCK or not plain or _rarely_used(plain)):
                spare.append(code)
                continue
            for sym, shift in ((plain, False), (shifted, True)):
                if sym and (sym not in self._places or (self._places[sym][1] and not shift)):
                    self._places[sym] = (code, shift)
        self._block = [code for code in spare if code >= _BLOCK]
        if self._block != list(range(_BLOCK, last + 1)):
            msg = f"the X server uses keys from {_BLOCK} on as modifiers: start it with its default key map"
            raise RefusedError(msg, "broken")
        self._slots = [(code, shift) for shift in (False, True) for code in self._block]
        self._dynamic: list[int] = []  # the signs in the slots, in their order
        self._fix_signs([code for code in spare if code < _BLOCK])

    def write(self, text: str) -> None:
        """Type text; a line end is the Return key, a tab the Tab key.

        Raises
        ------
        RefusedError
            If the text is too long or holds a control character.
        """
        if len(text) > MAX_CHARACTERS:
            msg = f"keyboard.write takes at most {MAX_CHARACTERS} characters at once, got {len(text)}: split the text"
            raise RefusedError(msg)
        text = text.replace("\r\n", "\n").replace("\r", "\n")
        syms = [_keysym_of_character(character) for character in text]
        self._without_caps_lock(lambda: self._type(syms))

    def press(self, chord: str) -> None:
        """Press a key or a chord such as ``ctrl+o``; the last part is struck while the others are held.

        Raises
        ------
        RefusedError
            If a part names no key.
        """
        parts = split_chord(chord)
        syms = [_keysym_of_name(part, chord) for part in parts]
        self._assign(syms)
        held = []
        try:
            for sym in syms[:-1]:
                code, _ = self._places[sym]
                self._key(code, down=True)
                held.append(code)
            self._strike(syms[-1])
        finally:
            for code in reversed(held):
                self._key(code, down=False)
            self._display.sync()

    def _type(self, syms: list[int]) -> None:
        start = 0
        while start < len(syms):
            end, signs = start, set[int]()
            while end < len(syms):
                sym = syms[end]
                if sym not in self._places or sym in self._dynamic:
                    signs.add(sym)
                if len(signs) > len(self._slots):
                    break
                end += 1
            self._assign(syms[start:end])
            for sym in syms[start:end]:
                self._strike(sym)
            self._display.sync()
            start = end

    def _assign(self, syms: list[int]) -> None:
        """Give keys to signs that have none; when the keys are used up, all are given anew."""
        missing = [sym for sym in dict.fromkeys(syms) if sym not in self._places]
        if not missing:
            return
        if len(self._dynamic) + len(missing) > len(self._slots):
            if self._barrier(_BARRIER_SECONDS) is None:
                time.sleep(_PAUSE)
            again = [sym for sym in dict.fromkeys(syms) if sym in self._dynamic]
            for sym in self._dynamic:
                del self._places[sym]
            self._dynamic = []
            missing = again + missing
        for sym in missing:
            self._places[sym] = self._slots[len(self._dynamic)]
            self._dynamic.append(sym)
        size = len(self._block)
        signs = self._dynamic + [0] * (2 * size - len(self._dynamic))
        rows = [(plain, shifted or plain) for plain, shifted in zip(signs[:size], signs[size:], strict=True)]
        self._display.change_keyboard_mapping(_BLOCK, rows)
        self._display.sync()
        if self._barrier(_BARRIER_SECONDS) is None:
            time.sleep(_PAUSE)

    def _fix_signs(self, codes: list[int]) -> None:
        wanted = [sym for sym in dict.fromkeys(map(_keysym_of_character, SIGNS)) if sym not in self._places]
        for code, first, second in zip(codes, wanted[::2], [*wanted[1::2], 0], strict=False):
            self._display.change_keyboard_mapping(code, [(first, second or first)])
            self._places[first] = (code, False)
            if second:
                self._places[second] = (code, True)
        self._display.sync()

    def _strike(self, sym: int) -> None:
        code, shift = self._places[sym]
        if shift:
            self._key(self._places[XK.XK_Shift_L][0], down=True)
        self._key(code, down=True)
        self._key(code, down=False)
        if shift:
            self._key(self._places[XK.XK_Shift_L][0], down=False)

    def _key(self, code: int, *, down: bool) -> None:
        self._display.xtest_fake_input(X.KeyPress if down else X.KeyRelease, code)

    def _without_caps_lock(self, work: Callable[[], None]) -> None:
        mask = self._display.screen().root.query_pointer().mask
        if not mask & X.LockMask:
            work()
            return
        self._strike(XK.XK_Caps_Lock)
        try:
            work()
        finally:
            self._strike(XK.XK_Caps_Lock)
            self._display.sync()


def split_chord(chord: str) -> list[str]:
    """Split ``ctrl+shift+s`` into its keys; a plus sign as a key is written ``ctrl++`` or ``ctrl+plus``.

    Raises
    ------
    RefusedError
        If a part is empty or a modifier stands last beside other keys.
    """
    if not chord:
        msg = "keyboard.press needs a key, for instance 'enter' or 'ctrl+s'; got an empty text"
        raise RefusedError(msg)
    if chord == "+":
        return ["+"]
    text = chord[:-1] + "plus" if chord.endswith("++") else chord
    parts = [part if len(part) == 1 else part.strip() for part in text.split("+")]
    if not all(parts):
        msg = f"keyboard.press cannot read {chord!r}: write keys joined by '+', for instance 'ctrl+shift+s'"
        raise RefusedError(msg)
    return parts


def _keysym_of_name(name: str, chord: str) -> int:
    known = KEY_NAMES.get(name.lower())
    if known is None and len(name) == 1:
        return _keysym_of_character(name.lower() if len(chord) > 1 else name)
    sym = XK.string_to_keysym(known or name)
    if not sym:
        msg = (
            f"no key is called {name!r} in {chord!r}: use a character or a name such as enter, esc, tab, f5, left, ctrl"
        )
        raise RefusedError(msg)
    return int(sym)


def _keysym_of_character(character: str) -> int:
    code = ord(character)
    if character == "\n":
        return int(XK.XK_Return)
    if character == "\t":
        return int(XK.XK_Tab)
    if code < 0x20 or 0x7F <= code < 0xA0 or 0xD800 <= code <= 0xDFFF:
        msg = f"keyboard.write cannot type the control character U+{code:04X}: leave it out, or use keyboard.press"
        raise RefusedError(msg)
    # Latin-1 signs are their own keysyms; any other has its code point in the range set apart for Unicode.
    return code if code < 0x100 else 0x0100_0000 + code


def _rarely_used(sym: int) -> bool:
    """Whether a keysym belongs to a media key or another that no desktop program here listens to."""
    return 0x1008_0000 <= sym <= 0x1008_FFFF
