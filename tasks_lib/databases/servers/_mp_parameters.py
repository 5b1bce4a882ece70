"""Single parameters of the Materials Project's routes: numbers, truth values, lists and ids, or the error they earn."""

from __future__ import annotations

import math
import re

from tasks_lib.databases.identifiers import mp_number

LONGEST_LIST = 2_000
LARGEST_SKIP = 10**9


class BadRequestError(Exception):
    """A query that the real service answers with 400: the message is its ``detail``."""


class UnprocessableError(Exception):
    """A parameter of the wrong type: 422, with the place in ``loc``.

    Parameters
    ----------
    name, message : str
        The parameter and what it should be.
    """

    def __init__(self, name: str, message: str) -> None:
        super().__init__(f"{name}: {message}")
        self.detail = [{"type": "value_error", "loc": ["query", name], "msg": message}]


def read_number(name: str, text: str) -> float:
    """Read a finite number; else `UnprocessableError`."""
    try:
        value = float(text)
    except ValueError:
        raise UnprocessableError(name, f"Input should be a valid number, got {text[:40]!r}") from None
    if not math.isfinite(value):
        raise UnprocessableError(name, f"Input should be a finite number, got {text[:40]!r}")
    return value


def read_whole(name: str, text: str) -> int:
    """Read a whole number of at most nine digits; else `UnprocessableError`."""
    if not re.fullmatch(r"[0-9]{1,9}", text):
        raise UnprocessableError(
            name, f"Input should be a whole number from 0 to {LARGEST_SKIP - 1}, got {text[:40]!r}"
        )
    return int(text)


def read_truth(name: str, text: str) -> bool:
    """Read a truth value in any of pydantic's spellings; else `UnprocessableError`."""
    if text.lower() in ("true", "1", "yes", "on", "t", "y"):
        return True
    if text.lower() in ("false", "0", "no", "off", "f", "n"):
        return False
    raise UnprocessableError(name, f"Input should be a valid boolean, got {text[:40]!r}")


def read_list(text: str) -> list[str]:
    """Read values between commas; `BadRequestError` for more than 2 000."""
    parts = [part.strip() for part in text.split(",")]
    if len(parts) > LONGEST_LIST:
        msg = f"a list has at most {LONGEST_LIST} values, got {len(parts)}: ask in parts"
        raise BadRequestError(msg)
    return parts


def read_ids(text: str) -> list[int]:
    """Read material ids in either spelling as numbers.

    An id of another kind is -1: it fits no document, as in the real database, and is no error.
    """
    return [mp_number(one) if re.fullmatch(r"mp-(\d{1,15}|[a-z]{1,15})", one) else -1 for one in read_list(text)]
