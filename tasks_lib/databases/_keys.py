"""What in a query may be a key, and texts without it."""

from __future__ import annotations

import re

KEY_NAME = re.compile(r"api[_-]?key|x-api-key", re.IGNORECASE)
_KEY_IN_QUERY = re.compile(rf"((?:{KEY_NAME.pattern})=)[^&]*", re.IGNORECASE)


def without_keys(text: str) -> str:
    """Return an address or a query with the values of keys removed."""
    return _KEY_IN_QUERY.sub(r"\1removed", text)
