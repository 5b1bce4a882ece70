"""Text of agents made safe to show: secrets taken out, control characters made visible, length capped."""

from __future__ import annotations

import json
import re
import unicodedata
from collections.abc import Callable
from typing import Any

Redactor = Callable[[str], str]

# Extensions that a viewer opens as data; everything else gets one of these appended.
_DATA_EXTENSIONS = frozenset(
    "agr cif csv dat fit fityk in json jpeg jpg log md npy out pdf peak png poscar py tsv txt vasp vsz webp xy xyz yaml".split()
)
# Left-to-right and other marks that reorder or hide text: shown by their code points.
_HIDDEN = frozenset(
    [0x00AD, 0x061C, 0x180E, *range(0x200B, 0x2010), *range(0x2028, 0x202F), *range(0x2060, 0x2070), 0xFEFF]
    + [*range(0xFFF9, 0xFFFC), *range(0xE0000, 0xE0080)]
)
_KEPT = frozenset("\n\t")


def no_redaction(text: str) -> str:
    """Return `text` as it is."""
    return text


def _visible(char: str) -> str:
    code = ord(char)
    if code < 0x20:
        return chr(0x2400 + code)
    if code == 0x7F:
        return "\u2421"
    return f"⟦U+{code:04X}⟧"


def _to_show(code: int) -> bool:
    char = chr(code)
    return char not in _KEPT and (code in _HIDDEN or unicodedata.category(char) in {"Cc", "Cs"})


# All characters that are replaced, as one compiled class: most texts have none and are returned untouched.
_SHOWN = re.compile("[" + "".join(re.escape(chr(code)) for code in range(0xE0080) if _to_show(code)) + "]")


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


def redact_tree(value: Any, redact: Redactor) -> Any:
    """Redact every string of a JSON tree, keys too."""
    if isinstance(value, str):
        return redact(value)
    if isinstance(value, list | tuple):
        return [redact_tree(item, redact) for item in value]
    if isinstance(value, dict):
        return {redact(key): redact_tree(item, redact) for key, item in value.items()}
    return value


def value_text(value: Any, redact: Redactor, most: int = 4000) -> str:
    """Write a value seen or wanted as a reader would: text bare, numbers in full, the rest as JSON."""
    clean = redact_tree(value, redact)
    if clean is None:
        return "nothing"
    if isinstance(clean, str):
        return cap(clean, most) if clean.strip() else json.dumps(clean)
    flat = json.dumps(clean, ensure_ascii=False)
    return cap(flat if len(flat) <= 80 else json.dumps(clean, ensure_ascii=False, indent=1), most)


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
