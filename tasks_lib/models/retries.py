"""How long to wait before a request is sent again, and how often."""

from __future__ import annotations

import math
import random
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime

from tasks_lib.records import now


@dataclass(slots=True)
class RetryPolicy:
    """Exponential waits with full jitter, bounded in number and in length.

    Attributes
    ----------
    attempts : int
        Requests at most, the first included.
    first : float
        Upper end of the first wait, s; it doubles each time.
    longest : float
        Longest wait of ours, s.
    patience : float
        Longest wait that an endpoint may ask for (``Retry-After``), s; where it asks for more the tries end.
    seed : int
        Of the jitter.
    """

    attempts: int = 5
    first: float = 1.0
    longest: float = 60.0
    patience: float = 300.0
    seed: int = 0
    _random: random.Random = field(init=False, repr=False)

    def __post_init__(self) -> None:
        self._random = random.Random(self.seed)  # noqa: S311  # jitter, no secret

    def wait(self, attempt: int, retry_after: float | None = None) -> float | None:
        """Return the seconds to wait after the attempt of that number, or None to give up.

        Parameters
        ----------
        attempt : int
            The attempt that has just failed, from 1.
        retry_after : float, optional
            What the endpoint asked for, s; the wait is never shorter, and up to a second longer so that many callers
            do not come back at once.
        """
        if attempt >= self.attempts:
            return None
        if retry_after is not None:
            return (
                None if retry_after > self.patience else retry_after + self._random.uniform(0.0, min(1.0, self.first))
            )
        return self._random.uniform(0.0, min(self.longest, self.first * 2.0 ** (attempt - 1)))


def retry_after_seconds(value: str | None, clock: Callable[[], datetime] = now) -> float | None:
    """Read a ``Retry-After`` header: seconds, or an HTTP date.

    Returns
    -------
    float or None
        Seconds from now, not below 0; None where the header is missing or unreadable.
    """
    if value is None:
        return None
    try:
        seconds = float(value)
    except ValueError:
        try:
            when = parsedate_to_datetime(value)
        except (ValueError, TypeError, IndexError, OverflowError):
            return None
        when = when if when.tzinfo is not None else when.replace(tzinfo=UTC)
        seconds = (when - clock()).total_seconds()
    return max(0.0, seconds) if math.isfinite(seconds) else None
