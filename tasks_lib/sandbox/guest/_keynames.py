"""Names of keys as agents write them, and the signs that every machine's keyboard carries from the start."""

from __future__ import annotations

# Name, in lower case -> X keysym name.
KEY_NAMES: dict[str, str] = {
    "enter": "Return",
    "return": "Return",
    "\n": "Return",
    "tab": "Tab",
    "\t": "Tab",
    "esc": "Escape",
    "escape": "Escape",
    "backspace": "BackSpace",
    "back_space": "BackSpace",
    "delete": "Delete",
    "del": "Delete",
    "insert": "Insert",
    "ins": "Insert",
    "home": "Home",
    "end": "End",
    "pageup": "Page_Up",
    "page_up": "Page_Up",
    "pgup": "Page_Up",
    "prior": "Page_Up",
    "pagedown": "Page_Down",
    "page_down": "Page_Down",
    "pgdn": "Page_Down",
    "next": "Page_Down",
    "left": "Left",
    "right": "Right",
    "up": "Up",
    "down": "Down",
    "space": "space",
    "spacebar": "space",
    "menu": "Menu",
    "apps": "Menu",
    "capslock": "Caps_Lock",
    "caps_lock": "Caps_Lock",
    "numlock": "Num_Lock",
    "printscreen": "Print",
    "print": "Print",
    "pause": "Pause",
    "plus": "plus",
    "minus": "minus",
    "ctrl": "Control_L",
    "control": "Control_L",
    "ctrlleft": "Control_L",
    "ctrlright": "Control_R",
    "control_l": "Control_L",
    "control_r": "Control_R",
    "alt": "Alt_L",
    "option": "Alt_L",
    "altleft": "Alt_L",
    "alt_l": "Alt_L",
    "shift": "Shift_L",
    "shiftleft": "Shift_L",
    "shiftright": "Shift_R",
    "shift_l": "Shift_L",
    "shift_r": "Shift_R",
    "win": "Super_L",
    "super": "Super_L",
    "meta": "Super_L",
    "cmd": "Super_L",
    "command": "Super_L",
    "super_l": "Super_L",
    **{f"f{number}": f"F{number}" for number in range(1, 25)},
}

# Signs of the field that a US keyboard lacks: put on unused keys before any program starts, two a key.
SIGNS = "ÅåÄäÖöÜüßéèµμ°±×÷·²³¹½¼αβγδεζηθκλνξπρστφχψωΓΔΘΛΠΣΦΨΩ–—‘’“”…•→←↔≈≠≤≥∞∂∇√∫‰′″₀₁₂₃₄₅₆₇₈₉⁺⁻⁰⁴⁵⁶⁷⁸⁹€£§"

# What is held beside another key and is no key of its own in a recording.
MODIFIER_KEYS = frozenset({"ctrl", "alt", "shift", "win", "capslock", "numlock", "level3"})
# X keysym -> the name that a recording gives it; the first name of `KEY_NAMES` is the one people write.
_SPECIAL: dict[int, str] = {
    0xFF0D: "enter", 0xFF8D: "enter", 0xFF09: "tab", 0xFE20: "tab", 0xFF1B: "esc", 0xFF08: "backspace",
    0xFFFF: "delete", 0xFF9F: "delete", 0xFF63: "insert", 0xFF50: "home", 0xFF95: "home", 0xFF57: "end",
    0xFF9C: "end", 0xFF55: "pageup", 0xFF9A: "pageup", 0xFF56: "pagedown", 0xFF9B: "pagedown", 0xFF51: "left",
    0xFF96: "left", 0xFF53: "right", 0xFF98: "right", 0xFF52: "up", 0xFF97: "up", 0xFF54: "down", 0xFF99: "down",
    0xFF67: "menu", 0xFF61: "print", 0xFF13: "pause",
    0xFFE1: "shift", 0xFFE2: "shift", 0xFFE3: "ctrl", 0xFFE4: "ctrl", 0xFFE5: "capslock", 0xFF7F: "numlock",
    0xFFE7: "alt", 0xFFE8: "alt", 0xFFE9: "alt", 0xFFEA: "alt", 0xFFEB: "win", 0xFFEC: "win",
    0xFE03: "level3", 0xFF7E: "level3",
    **{0xFFBE + number: f"f{number + 1}" for number in range(24)},
}  # fmt: skip
_KEYPAD = dict(zip(range(0xFFAA, 0xFFBA), "*+,-./0123456789", strict=True))
_GREEK = {0x7D2: "Σ", 0x7F2: "σ", 0x7F3: "ς"}


def name_of(sym: int) -> tuple[str, str]:
    """Return the sign that a keysym types and the name of its key; two empty texts where it has none."""
    if sym in _SPECIAL:
        return "", _SPECIAL[sym]
    text = _KEYPAD.get(sym) or _GREEK.get(sym, "")
    if 0x20 <= sym <= 0x7E or 0xA0 <= sym <= 0xFF:
        text = chr(sym)
    elif 0x0100_0100 <= sym <= 0x0110_FFFF:
        text = chr(sym - 0x0100_0000)
    elif sym == 0x20AC:
        text = "€"
    elif not text and (0x7C1 <= sym <= 0x7D9 or 0x7E1 <= sym <= 0x7F9):
        text = chr(sym - 0x430)  # the block of Greek letters, in the order of Unicode's
    return text, {" ": "space", "+": "plus"}.get(text, text.lower())
