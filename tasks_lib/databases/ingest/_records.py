"""What the pages of all dialects have in common: items one after the other, a count, numbers that are numbers."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from tasks_lib.databases.ingest.findings import Fault, Finding, finding

# An item of a page and where it stands, to what is kept of it (None: rejected) and what was wrong.
ReadItem = Callable[[Any, str], tuple[dict[str, Any] | None, tuple[Finding, ...]]]


@dataclass(frozen=True)
class Items:
    """The items of a page: those accepted with their identities, the identities of all, and what was found."""

    accepted: tuple[tuple[str, Any], ...]
    identities: tuple[str, ...]
    findings: tuple[Finding, ...]


def read_items(data: Sequence[Any], at: str, identify: Callable[[Any, int], str], read: ReadItem) -> Items:
    """Read the items of a page.

    Parameters
    ----------
    data : sequence
        As it came.
    at : str
        Path of the list in the reply; empty where a single item is the reply itself.
    identify : callable
        Item and position to its identity; empty text where it carries none.
    read : callable
        See `ReadItem`.

    """
    accepted: list[tuple[str, Any]] = []
    identities: list[str] = []
    found: list[Finding] = []
    for position, item in enumerate(data):
        identity = identify(item, position)
        identities.append(identity)
        kept, told = read(item, f"{at}[{position}]" if at else "")
        found.extend(told)
        if kept is not None:
            accepted.append((identity, kept))
    return Items(tuple(accepted), tuple(identities), tuple(found))


def count_in(value: Any) -> int | None:
    """Return a number of items that a source announces; None where it announces none."""
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def field_at(path: str, name: str) -> str:
    """Return the path of an item's field."""
    return f"{path}.{name}" if path else name


def odd_numbers(
    item: dict[str, Any], names: Sequence[str], path: str, place: str, *, what: str, whole: str
) -> Iterator[Finding]:
    """Yield a finding for each field that holds something and no finite number.

    Parameters
    ----------
    item : dict
    names : sequence of str
        The fields.
    path, place : str
        Of the item in the reply, and what was asked.
    what, whole : str
        What such a field is, and what is left out for it, in words.
    """
    for name in names:
        value = item.get(name)
        if value is None:
            continue
        if isinstance(value, bool) or not isinstance(value, int | float):
            why = f"{what} is a number; the {whole} is left out"
            yield finding(Fault.NOT_THE_MODEL, field_at(path, name), value, why, place)
        elif isinstance(value, float) and not math.isfinite(value):
            why = f"{what} is finite; the {whole} is left out"
            yield finding(Fault.NOT_FINITE, field_at(path, name), value, why, place)
