"""Reading what others wrote: regular files only, within bounds, strict JSON, errors with the line."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from tasks_lib.interop._faults import fault
from tasks_lib.records import load_json

LONGEST_LINE = 256 * 2**20  # a conversation with all its pictures in it
MOST_LINES = 10_000


def read_file(path: Path, most: int) -> bytes:
    """Read a regular file; a link is not followed.

    Raises
    ------
    ConfigurationError
        If it is a link, a device, missing or larger than `most` bytes.
    """
    try:
        handle = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
    except OSError as error:
        raise fault(str(path), f"cannot be opened ({error.strerror})", "give a regular file, not a link") from error
    with open(handle, "rb") as file:  # noqa: PTH123 - from a descriptor
        if not stat.S_ISREG(os.fstat(handle).st_mode):
            raise fault(str(path), "is no regular file", "give a regular file")
        data = file.read(most + 1)
    if len(data) > most:
        raise fault(str(path), f"has more than {most} bytes", "split it")
    return data


def lines(path: Path, longest: int = LONGEST_LINE) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield each line of a ``.jsonl`` file as an object, with its place; empty lines are left out.

    Raises
    ------
    ConfigurationError
        If a line is too long, no strict JSON or no object, or there are too many.
    """
    try:
        handle = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
    except OSError as error:
        raise fault(str(path), f"cannot be opened ({error.strerror})", "give a regular file, not a link") from error
    with open(handle, "rb") as file:  # noqa: PTH123 - from a descriptor
        if not stat.S_ISREG(os.fstat(handle).st_mode):
            raise fault(str(path), "is no regular file", "give a regular file")
        number = 0
        while line := file.readline(longest + 1):
            number += 1
            place = f"{path}, line {number}"
            if len(line) > longest:
                raise fault(place, f"a line has at most {longest} bytes", "split the conversation")
            if number > MOST_LINES:
                raise fault(place, f"a file has at most {MOST_LINES} lines", "split it")
            if not line.strip():
                continue
            yield place, as_object(line, place)


def as_object(data: bytes, place: str) -> dict[str, Any]:
    """Read a JSON object.

    Raises
    ------
    ConfigurationError
        If it is no strict JSON, or no object.
    """
    try:
        value = load_json(data)
    except ValueError as error:
        raise fault(place, f"is no strict JSON in UTF-8: {error}", "mend it") from error
    if not isinstance(value, dict):
        raise fault(place, f"a JSON object is wanted, got {type(value).__name__}", "write {...}")
    return value


def text_in(value: dict[str, Any], key: str, place: str, default: str | None = None) -> str:
    """Return a field that is a text; a default of None makes it a must.

    Raises
    ------
    ConfigurationError
        If it is missing or of another type.
    """
    found = value.get(key, default)
    if not isinstance(found, str):
        raise fault(place, f"{key} is a text, got {type(found).__name__}", f"give {key!r}")
    return found
