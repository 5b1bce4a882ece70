"""What clients send, as messages and the log have it: cut to a length, and in text that UTF-8 can carry."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from tasks_lib.records import Json, clean_text

# Characters of a value in a message, and of a text in the log.
_SHOWN, _STORED = 300, 4000
# Entries of a list or an object in the log.
_MOST = 100
_BITS = 64


def shown(value: Any) -> str:
    """Return a value as a message has it; of a whole number beyond 64 bits only the size."""
    if isinstance(value, int) and value.bit_length() > _BITS:
        return f"a whole number of {value.bit_length()} bits"
    return _cut(repr(value), _SHOWN)


def storable(value: Any) -> Json:
    """Return what strict JSON can hold: NaN and the infinities as None, what is foreign as text, long things cut."""
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, str):
        return _cut(clean_text(value), _STORED)
    if isinstance(value, int) and value.bit_length() <= _BITS:
        return int(value)
    if isinstance(value, float):
        return float(value) if math.isfinite(value) else None
    if isinstance(value, list | tuple):
        return [storable(one) for one in value[:_MOST]]
    if isinstance(value, Mapping):
        return {str(storable(str(name))): storable(one) for name, one in list(value.items())[:_MOST]}
    return shown(value)


def _cut(text: str, longest: int) -> str:
    return text if len(text) <= longest else f"{text[:longest]}… ({len(text)} characters)"
