"""Values of strangers, short enough for a message and safe to write down."""

from __future__ import annotations

import json
from typing import Any

from tasks_lib.databases._keys import without_keys

_LONGEST = 120


def shown(value: Any) -> str:
    """Return a value as one line of JSON of at most 120 characters; NaN and infinities by their names."""
    try:
        text = json.dumps(value, ensure_ascii=True, default=lambda other: type(other).__name__)
    except (ValueError, TypeError, RecursionError):
        text = f"a {type(value).__name__} that cannot be shown"
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 1]}…"


def without_key(url: str) -> str:
    """Return an address with the values of keys removed, cut at 500 characters."""
    return without_keys(url)[:500]
