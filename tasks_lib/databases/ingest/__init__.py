"""Reading what live databases answer: strict, page by page, with a typed finding for each fault of the field."""

from tasks_lib.databases.ingest.fetching import Fetcher
from tasks_lib.databases.ingest.findings import Collected, Effect, Fault, Finding
from tasks_lib.databases.ingest.pages import Limits, Page, Trail, walk, walk_counted
from tasks_lib.databases.ingest.replies import Fetch, Reply
from tasks_lib.databases.ingest.survey import survey

__all__ = [
    "Collected",
    "Effect",
    "Fault",
    "Fetch",
    "Fetcher",
    "Finding",
    "Limits",
    "Page",
    "Reply",
    "Trail",
    "survey",
    "walk",
    "walk_counted",
]
