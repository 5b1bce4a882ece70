"""Whether something is there, and how many."""

from __future__ import annotations

from typing import Any

from tasks_lib.evaluation._registry import CallError, Judgement, Seen, metric
from tasks_lib.evaluation.metrics import _say
from tasks_lib.records import Json


@metric("exists", want=False)
def exists(seen: Seen, want: Json = None, *, min_bytes: int = 1, **_: Any) -> Judgement:
    """Pass where the file is there and not empty; with another getter, where there is a value at all.

    Parameters
    ----------
    min_bytes : int
        The file must have at least this many bytes.
    """
    if isinstance(seen.value, dict) and set(seen.value) == {"exists", "size"}:
        if not seen.value["exists"]:
            return Judgement(False, seen.note or "there is no such file")
        size = seen.value["size"]
        if size < min_bytes:
            return Judgement(False, f"the file has {size} bytes, at least {min_bytes} are wanted")
        return Judgement(True, f"the file is there with {size} bytes")
    if seen.value is None or seen.value in ("", [], {}):
        return Judgement(False, seen.note or "there is no value")
    return Judgement(True, "there is a value")


@metric("count")
def count(seen: Seen, want: Json, **_: Any) -> Judgement:
    """Pass where the list, the table or the object that was read has exactly so many items.

    A table counts its rows. Several lines of text count as lines that are not empty.
    """
    if isinstance(want, bool) or not isinstance(want, int) or want < 0:
        msg = f"count wants a whole number, got {want!r}"
        raise CallError(msg)
    value = seen.value
    if isinstance(value, dict) and set(value) == {"columns", "rows"}:
        value = value["rows"]
    if isinstance(value, str):
        value = [line for line in value.split("\n") if line.strip()]
    if not isinstance(value, list | dict):
        return Judgement(False, f"{_say.value(value)} is not a list, so it has no number of items")
    return Judgement(len(value) == want, f"{len(value)} items were found, {want} are wanted")
