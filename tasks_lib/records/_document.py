"""The base of every document on disk: frozen, closed to unknown fields, strict JSON both ways."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable
from datetime import UTC, datetime
from typing import Annotated, Any, ClassVar, Self

from pydantic import AfterValidator, AwareDatetime, BaseModel, BeforeValidator, ConfigDict

# What JSON can hold. `Any` and not a recursive alias: pydantic would validate each level twice.
Json = Any


def clean_text(value: str) -> str:
    """Replace lone surrogates by U+FFFD, the only characters that UTF-8 cannot carry.

    Parameters
    ----------
    value : str
        Any text, for instance a file name read with ``surrogateescape``.

    Returns
    -------
    str
        Text that encodes to UTF-8.
    """
    if value.isascii():
        return value
    return value.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def clean_json(value: Any) -> Json:
    """Turn a tree of Python values into one that strict JSON can hold.

    NaN and the infinities become ``None``: a missing value is said to be missing and never turns into 0.

    Parameters
    ----------
    value
        Nested dict, list, tuple, str, int, float, bool or None.

    Returns
    -------
    Json
        The same tree with lists for tuples, cleaned text and no non-finite number.

    Raises
    ------
    ValueError
        If a key is not a string or a value is of another type.
    """
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, str):
        return clean_text(str(value))
    if isinstance(value, int):
        return int(value)
    if isinstance(value, float):
        return float(value) if math.isfinite(value) else None
    if isinstance(value, list | tuple):
        return [clean_json(item) for item in value]
    if isinstance(value, dict):
        for key in value:
            if not isinstance(key, str):
                msg = f"a JSON object's keys are strings, got {key!r} of {type(key).__name__}: write the key as text"
                raise ValueError(msg)
        return {clean_text(key): clean_json(item) for key, item in value.items()}
    msg = f"strict JSON cannot hold {value!r} of {type(value).__name__}: convert it to a number, text, list or object"
    raise ValueError(msg)


def _missing_if_not_finite(value: Any) -> Any:
    return None if isinstance(value, float) and not math.isfinite(value) else value


# Cleaned before anything else: pydantic itself refuses a lone surrogate where a text has a least length.
Text = Annotated[str, BeforeValidator(lambda value: clean_text(value) if isinstance(value, str) else value)]
JsonValue = Annotated[Any, BeforeValidator(clean_json)]
# A measured number, or None where there is none; NaN and the infinities are read as None.
MaybeFloat = Annotated[float | None, BeforeValidator(_missing_if_not_finite)]


def _in_utc(time: datetime) -> datetime:
    try:
        return time.astimezone(UTC)
    except OverflowError as error:
        msg = f"{time.isoformat()} has no place in the years 1 to 9999 of UTC: give another time"
        raise ValueError(msg) from error


UtcTime = Annotated[AwareDatetime, AfterValidator(_in_utc)]


def now() -> datetime:
    """Return the present time, aware, in UTC."""
    return datetime.now(tz=UTC)


def dump_json(value: Any) -> str:
    """Write a tree as strict JSON: sorted keys, two-space indent, a line feed at the end.

    Raises
    ------
    ValueError
        If the tree holds NaN or an infinity; pass it through `clean_json` first.
    """
    return json.dumps(value, indent=2, sort_keys=True, ensure_ascii=False, allow_nan=False) + "\n"


def load_json(text: str | bytes) -> Json:
    """Read strict JSON in UTF-8; bare ``NaN`` and ``Infinity`` and repeated keys are refused.

    Raises
    ------
    ValueError
        If the text is not strict JSON, or nested deeper than Python can follow.
    """
    if isinstance(text, bytes):
        # Left alone, the parser would guess UTF-16 or UTF-32 from the first bytes.
        text = text.decode("utf-8")
    try:
        return json.loads(text, parse_constant=_refuse_constant, object_pairs_hook=no_key_twice)
    except RecursionError:
        msg = "JSON is nested too deep to be read: flatten it"
        raise ValueError(msg) from None


def _refuse_constant(name: str) -> Any:
    msg = f"strict JSON has no {name}: write null for a missing number"
    raise ValueError(msg)


def no_key_twice(pairs: Iterable[tuple[str, Any]]) -> dict[str, Any]:
    """Make an object of the pairs that a reader of JSON found: the ``object_pairs_hook`` of whoever reads strictly.

    Left alone, the reader would take the last of several values, and another program the first.

    Parameters
    ----------
    pairs : iterable of tuple
        Keys and values in their order.

    Raises
    ------
    ValueError
        If a key stands twice; the message has its first 80 characters.
    """
    found: dict[str, Any] = {}
    for key, value in pairs:
        if key in found:
            msg = f"key {key[:80]!r} stands twice in one JSON object: keep one"
            raise ValueError(msg)
        found[key] = value
    return found


class Record(BaseModel):
    """A part of a document: frozen, no unknown field, no NaN."""

    model_config: ClassVar[ConfigDict] = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)


class Document(Record):
    """A whole document on disk, with the version of its shape."""

    schema_version: int = 1

    def to_json(self) -> str:
        """Return the document as strict JSON, the same bytes for the same content."""
        return dump_json(self.model_dump(mode="json"))

    def to_line(self) -> str:
        """Return the document as one line of JSON, for ``.jsonl`` files."""
        return json.dumps(self.model_dump(mode="json"), sort_keys=True, ensure_ascii=False, allow_nan=False) + "\n"

    @classmethod
    def from_json(cls, text: str | bytes) -> Self:
        """Read a document back.

        Raises
        ------
        ValueError
            If the text is not strict JSON or does not fit the model.
        """
        return cls.model_validate(load_json(text))
