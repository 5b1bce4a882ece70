"""How values stand in a verdict's sentences: short, stable, with units."""

from __future__ import annotations

import json
from typing import Any

from tasks_lib.records import Json, clean_json

LONGEST = 120


def number(value: float) -> str:
    """Write a number with up to ten digits, the same on every machine."""
    return str(value) if isinstance(value, int) and abs(value) < 10**15 else format(float(value), ".10g")


def quantity(value: float, unit: str | None) -> str:
    """Write a number with its unit."""
    return f"{number(value)} {unit}" if unit else number(value)


def value(given: Json) -> str:
    """Write any value, cut where it is long."""
    if isinstance(given, int | float) and not isinstance(given, bool) and abs(given) < 1e300:
        return number(given)
    text = json.dumps(clean_json(given), ensure_ascii=False, sort_keys=True)
    return text if len(text) <= LONGEST else f"{text[:LONGEST]}… ({len(text)} characters)"


def several(items: list[Any]) -> str:
    """Write a list of values, the first eight of them."""
    rest = len(items) - 8
    return ", ".join(value(item) for item in items[:8]) + (f" and {rest} more" if rest > 0 else "")
