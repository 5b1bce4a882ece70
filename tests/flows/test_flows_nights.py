"""A night is its local date: a change of the clock neither doubles nor drops one, a backlog plays one."""

from __future__ import annotations

import asyncio
from datetime import UTC, date, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import TypeAdapter

from flows.nights import night_of, run_id_of, to_play, zone
from tasks_lib.records.errors import ConfigurationError
from tasks_lib.records.identifiers import RunId

LONDON = ZoneInfo("Europe/London")


def starts(cron: str, where: str, first: datetime, days: int) -> list[datetime]:
    """Ask Prefect's own scheduler for the starts of some days."""
    from prefect.server.schemas.schedules import CronSchedule

    schedule = CronSchedule(cron=cron, timezone=where)
    return asyncio.run(schedule.get_dates(n=50, start=first, end=first + timedelta(days=days)))


@pytest.mark.parametrize(
    ("where", "change"),
    [
        ("Europe/London", date(2026, 10, 25)),  # 02:00 becomes 01:00
        ("Europe/London", date(2026, 3, 29)),  # 01:00 becomes 02:00
        ("America/Montreal", date(2023, 3, 12)),  # 02:00 becomes 03:00
    ],
)
@pytest.mark.parametrize("cron", ["0 3 * * *", "0 0 * * *", "30 1 * * *", "30 2 * * *"])
def test_every_local_date_is_one_night(where: str, change: date, cron: str) -> None:
    at = zone(where)
    first = datetime(change.year, change.month, change.day, 12, tzinfo=at) - timedelta(days=3)
    found = starts(cron, where, first, days=6)
    nights = [night_of(start, at) for start in found]
    assert sorted(set(nights)) == [first.date() + timedelta(days=n) for n in range(1, 7)]
    # Should a scheduler start twice in one night, both belong to one run.
    assert len({run_id_of(night, "smoke") for night in nights}) == 6


def test_the_hour_that_comes_twice_is_one_night() -> None:
    twice = [datetime(2026, 10, 25, 1, 30, fold=fold, tzinfo=LONDON).astimezone(UTC) for fold in (0, 1)]
    assert twice[0] != twice[1]
    assert {night_of(moment, LONDON) for moment in twice} == {date(2026, 10, 25)}


def test_the_date_is_the_local_one_and_not_that_of_utc() -> None:
    moment = datetime(2026, 7, 1, 23, 30, tzinfo=UTC)
    assert night_of(moment, LONDON) == date(2026, 7, 2)
    assert night_of(moment, ZoneInfo("America/Montreal")) == date(2026, 7, 1)


def test_a_time_without_zone_is_refused() -> None:
    with pytest.raises(ValueError, match="two nights"):
        night_of(datetime(2026, 7, 1), LONDON)  # noqa: DTZ001


@pytest.mark.parametrize("name", ["Europe/Lodnon", "../../etc/passwd", ""])
def test_unknown_zones_are_a_fault_of_the_settings(name: str) -> None:
    with pytest.raises(ConfigurationError, match="time_zone"):
        zone(name)


def test_a_backlog_of_missed_nights_plays_the_newest_alone() -> None:
    missed = starts("0 3 * * *", "Europe/London", datetime(2026, 10, 22, 12, tzinfo=LONDON), days=8)
    now = datetime(2026, 10, 28, 9, tzinfo=LONDON)
    played = [start for start in missed if to_play(start, now, missed, LONDON) and start <= now]
    assert [night_of(start, LONDON) for start in played] == [date(2026, 10, 28)]


def test_a_start_that_is_late_is_still_played() -> None:
    tonight, tomorrow = (datetime(2026, 6, day, 23, 50, tzinfo=LONDON) for day in (1, 2))
    assert to_play(tonight, tonight + timedelta(hours=2), [tonight, tomorrow], LONDON)
    assert not to_play(tonight, tomorrow, [tonight, tomorrow], LONDON)


@given(
    offsets=st.lists(st.integers(-20, 20), max_size=12),
    hour=st.integers(0, 23),
    where=st.sampled_from(["Europe/London", "America/Montreal", "Asia/Kathmandu", "UTC"]),
)
def test_of_any_backlog_exactly_one_night_is_played(offsets: list[int], hour: int, where: str) -> None:
    at = ZoneInfo(where)
    now = datetime(2026, 10, 26, 12, tzinfo=at)
    all_starts = [datetime(2026, 10, 26, hour, tzinfo=at) + timedelta(days=n) for n in offsets]
    due = [start for start in all_starts if start <= now]
    played = {night_of(start, at) for start in due if to_play(start, now, all_starts, at)}
    assert len(played) == (1 if due else 0)


def test_run_ids_are_names_of_folders() -> None:
    adapter = TypeAdapter(RunId)
    assert adapter.validate_python(run_id_of(date(2026, 1, 2), "smoke", "qwen3")) == "nightly-2026-01-02-smoke-qwen3"
