"""Key presses and typed text of any script, through the X server's XTEST extension.

A sign that no key carries is put on an unused key. Programs read the key map when they are told that it changed, which
may be later than the press, so a key that was given a sign keeps it for as long as unused keys last: the common signs
of the field get theirs before any program starts, and the oldest of the others gives way only after a pause.
"""

from __future__ import annotations

import time
from collections import OrderedDict
from collections.abc import Callable
from typing import Any

from Xlib import XK, X

from ._keynames import KEY_NAMES, SIGNS
from .faults import RefusedError

MAX_CHARACTERS = 20_000
_PAUSE = 0.15  # s that a program gets to work through its presses before a key that it used changes
_MODIFIERS = ("Control_L", "Control_R", "Alt_L", "Shift_L", "Shift_R", "Super_L")


class Keyboard:
    """The keyboard of a display.

    Parameters
    ----------
    display : Xlib.display.Display
        Connection that is used under the caller's lock.
    """

    def __init__(self, display: Any) -> None:
        self._display = display
        first = display.display.info.min_keycode
        count = display.display.info.max_keycode - first + 1
        rows = [tuple(row) for row in display.get_keyboard_mapping(first, count)]
        held = {code for row in display.get_modifier_mapping() for code in row if code}
        # keysym -> key and whether shift is held; an earlier, unshifted place wins
        self._places: dict[int, tuple[int, bool]] = {}
        spare = []
        for code, row in enumerate(rows, first):
            plain = row[0] if row else 0
            shifted = row[1] if len(row) > 1 else 0
            if code not in held and (not plain or _rarely_used(plain)):
                spare.append(code)
                continue
            for sym, shift in ((plain, False), (shifted, True)):
                if sym and (sym not in self._places or (self._places[sym][1] and not shift)):
                    self._places[sym] = (code, shift)
        if len(spare) < 40:
            msg = f"the X server leaves {len(spare)} keys unused, 40 are needed: start it with its default key map"
            raise RefusedError(msg, "broken")
        self._dynamic: OrderedDict[int, int | None] = OrderedDict((code, None) for code in spare)
        self._fix_signs()

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
        for sym in syms:
            if sym not in self._places:
                self._assign([sym])
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
        for start, chunk in self._chunks(syms):
            if start:
                self._display.sync()
                time.sleep(_PAUSE)
            self._assign([sym for sym in dict.fromkeys(chunk) if sym not in self._places])
            for sym in chunk:
                self._strike(sym)
        self._display.sync()

    def _chunks(self, syms: list[int]) -> list[tuple[int, list[int]]]:
        """Cut a text where its new signs outnumber the keys that can be given to them."""
        chunks: list[tuple[int, list[int]]] = []
        chunk: list[int] = []
        signs: set[int] = set()
        for sym in syms:
            foreign = sym not in self._places or self._places[sym][0] in self._dynamic
            if foreign and sym not in signs and len(signs) == len(self._dynamic):
                chunks.append((len(chunks), chunk))
                chunk, signs = [], set()
            if foreign:
                signs.add(sym)
            chunk.append(sym)
        chunks.append((len(chunks), chunk))
        return chunks

    def _assign(self, syms: list[int]) -> None:
        """Put signs on the keys that were given away longest ago."""
        reused = False
        for sym in syms:
            code, before = next(iter(self._dynamic.items()))
            if before is not None:
                reused = True
                self._places.pop(before, None)
            self._dynamic[code] = sym
            self._dynamic.move_to_end(code)
            self._places[sym] = (code, False)
        if not syms:
            return
        if reused:
            time.sleep(_PAUSE)
        for sym in syms:
            self._display.change_keyboard_mapping(self._places[sym][0], [(sym, sym)])
        self._display.sync()
        time.sleep(_PAUSE)

    def _fix_signs(self) -> None:
        wanted = [sym for sym in dict.fromkeys(map(_keysym_of_character, SIGNS)) if sym not in self._places]
        keep = 24  # keys left for signs that nobody foresaw
        for first, second in zip(wanted[::2], [*wanted[1::2], 0], strict=False):
            if len(self._dynamic) <= keep:
                break
            code, _ = self._dynamic.popitem(last=False)
            second = second or first
            self._display.change_keyboard_mapping(code, [(first, second)])
            self._places[first] = (code, False)
            self._places.setdefault(second, (code, True))
        self._display.sync()

    def _strike(self, sym: int) -> None:
        code, shift = self._places[sym]
        if code in self._dynamic:
            self._dynamic.move_to_end(code)
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
