"""Which night a start belongs to. A night's name is its local date, so that a change of the clock changes nothing.

At the end of summer time an hour comes twice, and at its start one is left out; a scheduler that counts hours starts
twice or not at all. The date of the night comes once. Of several nights that were missed, the last one is played.
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import date, datetime
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from tasks_lib.records.errors import ConfigurationError


def zone(name: str) -> ZoneInfo:
    """Return a time zone.

    Raises
    ------
    ConfigurationError
        If the name is unknown here.
    """
    try:
        return ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError, OSError) as error:
        msg = f"[serve] time_zone {name!r} is unknown: give a name such as 'Europe/London' or 'UTC'"
        raise ConfigurationError(msg) from error


def night_of(moment: datetime, where: ZoneInfo) -> date:
    """Return the night of a scheduled start: its date on the local clock.

    Parameters
    ----------
    moment : datetime
        Aware.
    where : ZoneInfo
        The zone of the schedule.

    Raises
    ------
    ValueError
        If `moment` has no zone: it could belong to either of two nights.
    """
    if moment.tzinfo is None:
        msg = f"a start without a zone, {moment.isoformat()}, could belong to two nights: give an aware time"
        raise ValueError(msg)
    return moment.astimezone(where).date()


def run_id_of(night: date, benchmark: str, model: str | None = None) -> str:
    """Return the name of a night's run; the same night gives the same name, and so the same run."""
    return "-".join(part for part in ("nightly", night.isoformat(), benchmark, model) if part)


def to_play(scheduled: datetime, now: datetime, others: Iterable[datetime], where: ZoneInfo) -> bool:
    """Whether a scheduled start is of the newest night that is due; older ones of a backlog are let go.

    Parameters
    ----------
    scheduled : datetime
        For when this start was scheduled; aware.
    now : datetime
        The present time; aware.
    others : iterable of datetime
        For when the schedule's other starts were scheduled, in any order, future ones among them; aware.
    where : ZoneInfo
        The zone of the schedule.
    """
    own = night_of(scheduled, where)
    return not any(scheduled < other <= now and night_of(other, where) > own for other in others)
