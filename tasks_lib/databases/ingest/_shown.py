"""Values of strangers, short enough for a message and safe to write down."""

from __future__ import annotations

import json
import re
from typing import Any

_LONGEST = 120
_KEY = re.compile(r"((?:api[_-]?key|x-api-key)=)[^&]*", re.IGNORECASE)


def shown(value: Any) -> str:
    """Return a value as one line of JSON of at most 120 characters; NaN and infinities by their names."""
    try:
        text = json.dumps(value, ensure_ascii=True, default=lambda other: type(other).__name__)
    except (ValueError, TypeError, RecursionError):
        text = f"a {type(value).__name__} that cannot be shown"
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 1]}…"


def without_key(url: str) -> str:
    """Return an address with the values of keys removed, cut at 500 characters."""
    return _KEY.sub(r"\1removed", url)[:500]
