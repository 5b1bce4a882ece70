"""What was wrong with replies that somebody else asked for: the recorded traffic of a live run.

A client may stop when it has enough, ask twice or ask for overlapping pages; none of that is the source's fault. So
pages are only held against one another where one follows from the other: by the link that it gave, or, where clients
count, by the next count.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from urllib.parse import parse_qsl, urlsplit

from tasks_lib.databases.ingest import materials_project, optimade, oqmd
from tasks_lib.databases.ingest._shown import without_key
from tasks_lib.databases.ingest.findings import Fault, Finding, finding
from tasks_lib.databases.ingest.pages import Page, ReadPage, Trail
from tasks_lib.databases.ingest.replies import Reply

_COUNTED = "_skip"
# A listing or a single structure; not /info/structures, which describes the fields.
_STRUCTURES = re.compile(r"(?<!/info)/structures(?:/[^/]+)?/?$")
# What passes by itself, and what a gateway says for a database that is away.
_AWAY = frozenset({0, 429, 500, 502, 503, 504})
Asked = tuple[str, tuple[tuple[str, str], ...]]


@dataclass
class _Chain:
    """Pages that follow from one another."""

    question: str
    trail: Trail
    expects: Asked | None = None


@dataclass
class _Survey:
    chains: list[_Chain] = field(default_factory=list)
    findings: list[Finding] = field(default_factory=list)
    asked: set[Asked] = field(default_factory=set)


def reader_for(dialect: str, url: str) -> ReadPage | None:
    """Return the reader for a reply of a dialect, None where the address holds no data of it.

    Parameters
    ----------
    dialect : str
        ``mp``, ``oqmd`` or ``optimade``.
    url : str
        What was asked. OQMD has an OPTIMADE face beside its own.
    """
    path = urlsplit(url).path
    if dialect == "mp":
        return materials_project.read_page if "/materials/" in path else None
    if _STRUCTURES.search(path):
        return optimade.read_page
    return oqmd.read_page if dialect == "oqmd" and "/formationenergy" in path else None


def survey(dialect: str, replies: Iterable[Reply]) -> tuple[Finding, ...]:
    """Return what was wrong with recorded replies of one database, in the order in which they came.

    Parameters
    ----------
    dialect : str
        ``mp``, ``oqmd`` or ``optimade``.
    replies : iterable of Reply
        As they came. One that failed for the question's sake (4xx) is the client's affair.
    """
    found = _Survey()
    counted: list[tuple[int, Reply, ReadPage]] = []
    for reply in replies:
        if reply.problem or reply.status in _AWAY:
            told = reply.problem or f"status {reply.status}"
            why = "the database gave no whole reply"
            found.findings.append(finding(Fault.UNREACHABLE, "", told, why, without_key(reply.url)))
            continue
        read = reader_for(dialect, reply.url)
        if read is not None and reply.status == 200:
            if dialect == "mp":
                counted.append((_offset(reply.url), reply, read))
            else:
                _take(found, reply, read, _next_link)
    # Clients ask for the pages of a count all at once: their order says nothing.
    for _, reply, read in sorted(counted, key=lambda one: one[0]):
        _take(found, reply, read, _next_count)
    across = (one for chain in found.chains for one in chain.trail.collected(ended=False).findings)
    return (*found.findings, *across)


def _take(found: _Survey, reply: Reply, read: ReadPage, following: Callable[[Page], Asked | None]) -> None:
    place = _asked(reply.url)
    if place in found.asked:
        return
    found.asked.add(place)
    chain = next((one for one in found.chains if one.expects == place), None)
    if chain is None:
        chain = _Chain(reply.url, Trail(counted_by=_COUNTED if following is _next_count else None))
        found.chains.append(chain)
    page = read(reply, chain.question)
    chain.expects = following(page) if chain.trail.add(page) or following is _next_count else None


def _next_link(page: Page) -> Asked | None:
    return None if page.next is None else _asked(page.next)


def _next_count(page: Page) -> Asked | None:
    path, query = _asked(page.url)
    kept = [pair for pair in query if pair[0] != _COUNTED]
    return (path, tuple(sorted([*kept, (_COUNTED, str(_offset(page.url) + page.size))]))) if page.size else None


def _offset(url: str) -> int:
    value = dict(parse_qsl(urlsplit(url).query)).get(_COUNTED, "0")
    return int(value) if value.isdecimal() and len(value) < 10 else 0


def _asked(url: str) -> Asked:
    """Return an address in a form that does not depend on the order or the escapes of its query."""
    try:
        parts = urlsplit(url)
    except ValueError:
        return url, ()
    return parts.path, tuple(sorted(parse_qsl(parts.query, keep_blank_values=True)))
