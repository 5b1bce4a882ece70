"""Text of agents made safe to show: secrets taken out, control characters made visible, length capped."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from typing import Any

Redact = Callable[[str], str]

# Extensions that a viewer opens as data; everything else gets one of these appended.
_DATA_EXTENSIONS = frozenset(
    {"agr", "cif", "csv", "dat", "fit", "in", "jpeg", "jpg", "json", "log", "md", "npy", "out", "pdf", "peaks", "png"}
    | {"poscar", "py", "tsv", "txt", "vasp", "vsz", "webp", "xy", "xyz", "yaml"}
)
# Control characters but line feed and tab, lone surrogates, and what reorders, joins or hides text: soft hyphen,
# direction marks and overrides, zero-width characters, fillers, line separators, annotations, tags.
_SHOWN = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\xad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f"
    "\u2028-\u202e\u2060-\u206f\u3164\ud800-\udfff\ufeff\uffa0\ufff9-\ufffb\U000e0000-\U000e0fff]"
)


# What a metric's record of what it wanted consists of where it compares numbers.
_WANTED = frozenset({"value", "unit", "tolerance", "relative"})
_ITEM = re.compile(r"[ \t]*([-*•]|\d+[.)]) |[ \t]{2,}\S")


def _visible(char: str) -> str:
    code = ord(char)
    if code < 0x20:
        return chr(0x2400 + code)
    if code == 0x7F:
        return "\u2421"
    return f"⟦U+{code:04X}⟧"


def scrub(text: str) -> str:
    r"""Make every character visible that could hide, reorder or erase others.

    Terminal escapes show as ``␛[31m``, bidirectional overrides and zero-width characters as ``⟦U+202E⟧``. Line feeds
    and tabs stay, ``\r\n`` becomes a line feed.

    Parameters
    ----------
    text : str
        Any text.

    Returns
    -------
    str
        Text whose every character has a glyph; the same for a second pass.
    """
    return _SHOWN.sub(lambda found: _visible(found[0]), text.replace("\r\n", "\n"))


def cap(text: str, most: int) -> str:
    """Cut the middle out of a text longer than `most` characters and say how much is missing.

    The head keeps three quarters: a script's beginning says more than its end, but errors stand at the end.
    """
    if len(text) <= most:
        return text
    tail = most // 4
    head = most - tail
    return f"{text[:head]}\n⟦… {len(text) - most:,} characters left out …⟧\n{text[len(text) - tail :]}"


def redact_tree(value: Any, redact: Redact) -> Any:
    """Redact every string of a JSON tree, keys too."""
    if isinstance(value, str):
        return redact(value)
    if isinstance(value, list | tuple):
        return [redact_tree(item, redact) for item in value]
    if isinstance(value, dict):
        return {redact(key): redact_tree(item, redact) for key, item in value.items()}
    return value


def value_text(value: Any, redact: Redact, most: int = 4000) -> str:
    """Write a value seen or wanted as a reader would: text bare, numbers in full, the rest as JSON."""
    clean = redact_tree(value, redact)
    if clean is None:
        return "nothing"
    if isinstance(clean, str):
        return cap(clean, most) if clean.strip() else json.dumps(clean)
    flat = json.dumps(clean, ensure_ascii=False)
    return cap(flat if len(flat) <= 80 else json.dumps(clean, ensure_ascii=False, indent=1), most)


def wanted_text(value: Any, redact: Redact) -> str:
    """Write what a metric wanted: a value with its unit and tolerance as one would write it, else as `value_text`."""
    if not isinstance(value, dict) or "value" not in value or not set(value) <= _WANTED:
        return value_text(value, redact)
    unit = f" {redact(str(value['unit']))}" if value.get("unit") else ""
    wanted = value_text(value["value"], redact)
    if not _is_number(value["value"]):
        wanted += unit
    if _is_number(value.get("tolerance")):
        wanted += f" ± {value['tolerance']:g}" + (unit if not _is_number(value["value"]) else "")
    if _is_number(value["value"]):
        wanted += unit
    if _is_number(value.get("relative")):
        wanted += f" ± {100 * value['relative']:g} %"
    return wanted


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def paragraphs(text: str) -> list[str]:
    """Return the paragraphs of a text that was wrapped by hand, each unwrapped; list items keep their lines.

    Parameters
    ----------
    text : str
        Paragraphs with blank lines between them.

    Returns
    -------
    list of str
    """
    found = []
    for block in re.split(r"\n[ \t]*\n", text.strip()):
        lines = [line.rstrip() for line in block.split("\n")]
        joined = lines[0].lstrip()
        for line in lines[1:]:
            joined += f"\n{line.strip()}" if _ITEM.match(line) else f" {line.strip()}"
        found.append(joined)
    return found


def safe_name(path: str) -> str:
    """Return a file name for a download: plain characters, at most 80, an extension that opens as data.

    Parameters
    ----------
    path : str
        Path as the agent named it.

    Returns
    -------
    str
        For instance ``c1s.csv`` for ``out/c1s.csv`` and ``page.html.txt`` for ``page.html``.
    """
    name = re.sub(r"[^A-Za-z0-9._-]+", "_", path.rsplit("/", 1)[-1]).lstrip(".-")[-80:].lstrip(".-") or "file"
    stem, dot, extension = name.rpartition(".")
    if dot and stem and extension.lower() in _DATA_EXTENSIONS:
        return name
    return f"{name}.txt" if dot else name
