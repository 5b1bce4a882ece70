"""Whether a database is well formed, asked of servers that are and that are not."""

from __future__ import annotations

from typing import Any

import pytest

from tasks_lib.databases import Snapshot
from tasks_lib.databases.ingest import Fault, Fetcher
from tasks_lib.databases.ingest.check import SourceReport, check_source
from tasks_lib.databases.servers import FaultSettings, start
from tasks_lib.records.errors import ConfigurationError

KEY = "0123456789abcdef0123456789abcdef"


def _checked(dialect: str, snapshot: Snapshot, pages: int = 5, **faults: Any) -> SourceReport:
    key = KEY if dialect == "mp" else None
    with (
        start(dialect, snapshot, faults=FaultSettings(**faults), api_key=key) as server,
        Fetcher(server.url, api_key=key) as fetch,
    ):
        base = server.endpoints["crystals"] if dialect == "optimade" else server.url
        return check_source(dialect, base, fetch, pages=pages)


def _faults(report: SourceReport) -> set[Fault]:
    return {found.fault for one in report.questions for found in one.findings}


@pytest.mark.parametrize(("dialect", "questions"), [("mp", 2), ("oqmd", 3), ("optimade", 4)])
def test_an_honest_database_is_well_formed(long_snapshot: Snapshot, dialect: str, questions: int) -> None:
    report = _checked(dialect, long_snapshot)
    assert report.well_formed
    assert len(report.questions) == questions
    assert report.questions[0].whole
    assert report.questions[0].items == report.questions[0].announced == len(long_snapshot)


def test_stopping_after_some_pages_is_no_fault_and_not_the_whole(long_snapshot: Snapshot) -> None:
    report = _checked("optimade", long_snapshot, pages=1)
    assert report.well_formed
    assert not report.questions[0].whole
    assert report.questions[0].items == 20


@pytest.mark.parametrize(
    ("dialect", "faults", "fault"),
    [
        ("optimade", {"misnamed_next": True}, Fault.MISNAMED_NEXT),
        ("optimade", {"next_without_fields": True}, Fault.FIELDS_LOST),
        ("optimade", {"endless_pages": "repeat"}, Fault.PAGING_IGNORED),
        ("optimade", {"endless_pages": "empty"}, Fault.EMPTY_PAGE),
        ("oqmd", {"endless_pages": "empty"}, Fault.EMPTY_PAGE),
        ("mp", {"endless_pages": "repeat"}, Fault.PAGING_IGNORED),
    ],
)
def test_a_broken_database_is_not(long_snapshot: Snapshot, dialect: str, faults: Any, fault: Fault) -> None:
    report = _checked(dialect, long_snapshot, **faults)
    assert not report.well_formed
    assert report.reachable
    assert fault in _faults(report)


def test_a_database_that_does_not_answer_is_not_well_formed(small_snapshot: Snapshot) -> None:
    report = _checked("oqmd", small_snapshot, server_errors=99, server_error_status=500)
    assert not report.reachable
    assert not report.well_formed
    assert _faults(report) == {Fault.UNREACHABLE}


def test_a_dialect_that_nobody_speaks() -> None:
    with pytest.raises(ConfigurationError, match="a dialect is mp, oqmd or optimade"):
        check_source("sql", "http://h", lambda url: pytest.fail(url))
