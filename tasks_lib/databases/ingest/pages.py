"""From page to page until the source ends, breaks its rules or reaches a limit of ours; never a part as the whole."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any
from urllib.parse import parse_qsl, urlencode, urljoin, urlsplit, urlunsplit

from tasks_lib.databases.ingest._shown import without_key
from tasks_lib.databases.ingest.findings import Collected, Effect, Fault, Finding, finding
from tasks_lib.databases.ingest.replies import Fetch, Reply

PAGING = ("page_offset", "page_number", "offset", "_skip", "_page")
FIELDS = ("response_fields", "fields", "fields!")


@dataclass(frozen=True)
class Limits:
    """Where collecting ends even though the source goes on.

    Attributes
    ----------
    pages, items : int
        Most replies that are asked for, and most items that are kept.
    """

    pages: int = 1_000
    items: int = 100_000


@dataclass(frozen=True)
class Page:
    """One page as a dialect's reader understood it.

    Attributes
    ----------
    url : str
        What was asked.
    items : tuple of (str, any)
        What was accepted, each with its identity; empty text where it carries none.
    identities : tuple of str
        One for each item that came, also for those that were not accepted; empty where the items carry none.
    size : int
        Items on the page as it came.
    next : str or None
        Absolute address of the next page.
    announced : int or None
        How many items the source says there are in all.
    findings : tuple of Finding
        What the reader found.
    attributes : frozenset of str
        Names of the fields that the page's items carry.
    readable : bool
        Whether it was a page at all.
    """

    url: str
    items: tuple[tuple[str, Any], ...] = ()
    identities: tuple[str, ...] = ()
    size: int = 0
    next: str | None = None
    announced: int | None = None
    findings: tuple[Finding, ...] = ()
    attributes: frozenset[str] = frozenset()
    readable: bool = True


# A reply, and the first address of its trail: a later one may be a token that no longer says what was asked.
ReadPage = Callable[[Reply, str], Page]


@dataclass
class Trail:
    """The pages of one question in the order in which they came, and the faults that only show across pages."""

    limits: Limits = field(default_factory=Limits)
    counted_by: str | None = None
    _pages: list[Page] = field(default_factory=list)
    _items: dict[str, Any] = field(default_factory=dict)
    _visited: set[str] = field(default_factory=set)
    _identities: set[str] = field(default_factory=set)
    _findings: list[Finding] = field(default_factory=list)
    _seen: int = 0

    def add(self, page: Page) -> bool:
        """Take a page; return whether the next one may be asked for."""
        self._findings.extend(page.findings)
        before = len(self._findings)
        self._visited.add(page.url)
        repeats = self._repeats(page)
        if not repeats:
            self._take(page)
        self._pages.append(page)
        if not page.readable:
            return False
        self._judge_next(page)
        # A page that brings new items beside old ones still leads on; every other fault of paging ends the trail.
        return page.next is not None and all(found.fault is Fault.ITEM_AGAIN for found in self._findings[before:])

    def collected(self, *, ended: bool = True) -> Collected:
        """Return what the trail holds.

        Parameters
        ----------
        ended : bool
            Whether the source was asked to its end: then fewer items than announced are a fault.
        """
        announced = next((page.announced for page in self._pages if page.announced is not None), None)
        findings = list(self._findings)
        # Where something else broke off the trail, a wrong count says nothing new.
        unexplained = not {Effect.MALFORMED, Effect.INCOMPLETE} & {found.effect for found in findings}
        if ended and announced is not None and unexplained:
            last = self._pages[-1].url
            if self._seen < announced:
                why = f"{announced} items are announced and {self._seen} came: the set is a part of what there is"
                findings.append(finding(Fault.TOO_FEW, "meta", self._seen, why, without_key(last)))
            elif self._seen > announced:
                why = f"{announced} items are announced and {self._seen} came: the set holds what was not asked for"
                findings.append(finding(Fault.TOO_MANY, "meta", self._seen, why, without_key(last)))
        return Collected(tuple(self._items.values()), tuple(findings), len(self._pages), announced)

    def _tell(self, fault: Fault, path: str, value: Any, why: str, page: Page) -> None:
        self._findings.append(finding(fault, path, value, why, without_key(page.url)))

    def _repeats(self, page: Page) -> bool:
        """Say whether a page brings nothing new although it has items; tell items that came before."""
        if not (page.identities and self._pages):
            return self._repeats_without_identity(page)
        again = [one for one in page.identities if one in self._identities]
        if len(again) == len(page.identities):
            if self.counted_by:
                why = f"with another {self.counted_by} comes another page, this one is as before: it is ignored"
                self._tell(Fault.PAGING_IGNORED, self.counted_by, again[0], why, page)
            else:
                self._tell(Fault.PAGE_AGAIN, "data", again[0], "every item of this page came before: stopped", page)
            return True
        if again:
            why = f"{len(again)} items of this page came before: pages overlap, others may be missing"
            self._tell(Fault.ITEM_AGAIN, "data", again[0], why, page)
        return False

    def _repeats_without_identity(self, page: Page) -> bool:
        # Rows of names alone may well be equal; only three equal pages in a row, or too many rows, are proof.
        if page.identities or not page.size:
            return False
        last = self._pages[-2:]
        if len(last) == 2 and page.announced is None and all(one.items == page.items for one in last):
            self._tell(Fault.PAGE_AGAIN, "data", page.size, "three pages in a row are equal: stopped", page)
            return True
        if page.announced is not None and self._seen + page.size > page.announced and self._pages:
            why = f"{page.announced} items are announced and page {len(self._pages) + 1} goes beyond: stopped"
            self._tell(Fault.PAGE_AGAIN, "data", self._seen + page.size, why, page)
            return True
        return False

    def _take(self, page: Page) -> None:
        new = len(set(page.identities) - self._identities) if page.identities else page.size
        if len(set(page.identities)) < len(page.identities):
            twice = next(one for one in page.identities if page.identities.count(one) > 1)
            self._tell(Fault.ITEM_AGAIN, "data", twice, "an item stands twice on one page", page)
        self._identities |= set(page.identities)
        for identity, value in page.items:
            self._items.setdefault(identity or f"#{len(self._items)}", value)
        self._seen += new

    def _judge_next(self, page: Page) -> None:
        if page.next is None:
            return
        if not page.size:
            self._tell(Fault.EMPTY_PAGE, "links.next", page.next, "a page without data has no next one: stopped", page)
        elif page.next in self._visited:
            self._tell(Fault.PAGE_AGAIN, "links.next", page.next, "the next page is one that was read: stopped", page)
        elif lost := lost_fields(page.url, page.next):
            why = f"the next page is asked without {lost}, so it brings other fields: stopped"
            self._tell(Fault.FIELDS_LOST, "links.next", page.next, why, page)
        elif (
            len(self._pages) > 1
            and (extra := sorted(page.attributes - self._pages[0].attributes))
            and chooses_fields(self._pages[0].url)
        ):
            why = "the first page has not these fields: the chosen fields were lost on the way; stopped"
            self._tell(Fault.FIELDS_LOST, "data[0]", extra, why, page)
        elif len(self._pages) >= self.limits.pages or len(self._items) >= self.limits.items:
            why = f"our limit of {self.limits.pages} pages or {self.limits.items} items is reached; there is more"
            self._tell(Fault.LIMIT, "links.next", page.next, why, page)


def walk(fetch: Fetch, url: str, read_page: ReadPage, limits: Limits | None = None) -> Collected:
    """Follow a source's own links from a first address to the end.

    Parameters
    ----------
    fetch : callable
        Gets an address, gives the `Reply`; it does not raise for what the other side did.
    url : str
        The first page.
    read_page : callable
        The dialect's reader.
    limits : Limits or None
        Where to end in any case.

    Returns
    -------
    Collected
        Also where the source broke off: what came until then, never called complete.
    """
    trail = Trail(limits or Limits())
    asked: str | None = url
    while asked is not None:
        page = read_page(fetch(asked), url)
        asked = page.next if trail.add(page) else None
    return trail.collected()


def walk_counted(
    fetch: Fetch, url: str, read_page: ReadPage, *, parameter: str, limits: Limits | None = None
) -> Collected:
    """Count through a source: the offset or page number is set by us, the links are not followed.

    Parameters
    ----------
    fetch, url, read_page, limits
        As for `walk`.
    parameter : str
        ``page_offset``, ``page_number``, ``offset``, ``_skip`` or ``_page``; numbers of pages begin at 1.
    """
    trail = Trail(limits or Limits(), counted_by=parameter)
    by_page = parameter in {"page_number", "_page"}
    position = 1 if by_page else 0
    asked: str | None = with_query(url, {parameter: str(position)})
    seen = 0
    while asked is not None:
        page = read_page(fetch(asked), url)
        seen += page.size
        position += 1 if by_page else page.size
        # Where nothing is announced, a page without items ends the count; it is asked for and has no next one.
        done = not page.size or (page.announced is not None and seen >= page.announced)
        page = replace(page, next=None if done else with_query(url, {parameter: str(position)}))
        asked = page.next if trail.add(page) else None
    return trail.collected()


def with_query(url: str, changes: Mapping[str, str]) -> str:
    """Return an address with parameters of its query set anew."""
    parts = urlsplit(url)
    kept = [(key, value) for key, value in parse_qsl(parts.query, keep_blank_values=True) if key not in changes]
    return urlunsplit(parts._replace(query=urlencode([*kept, *changes.items()])))


def lost_fields(url: str, following: str) -> str | None:
    """Return the parameter of chosen fields that a next link no longer carries, None where nothing is lost.

    A link that repeats nothing of the question is a token of the source's own and may well remember the fields.
    """
    asked, next_ = (dict(parse_qsl(urlsplit(one).query, keep_blank_values=True)) for one in (url, following))
    lost = next((name for name in FIELDS if name in asked and name not in next_), None)
    repeats = set(next_) & (set(asked) | set(PAGING))
    return lost if lost and repeats else None


def chooses_fields(url: str) -> bool:
    """Say whether a question chooses fields, so that the others may be absent."""
    return any(name in FIELDS for name, _ in parse_qsl(urlsplit(url).query, keep_blank_values=True))


def next_page(links: Any, more: Any, url: str) -> tuple[str | None, tuple[Finding, ...]]:
    """Read ``links.next`` in any of its lawful forms, and tell where it is missing, misnamed or leads elsewhere.

    Parameters
    ----------
    links : any
        What stands under ``links``.
    more : any
        What stands under ``meta.more_data_available``.
    url : str
        The page's own address.
    """
    place = without_key(url)
    if links is None:
        links = {}
    if not isinstance(links, dict):
        return None, (finding(Fault.NOT_A_REPLY, "links", links, "links are an object", place),)
    link = links.get("next")
    if isinstance(link, dict):
        link = link.get("href")
    if link is None:
        name = next((key for key in sorted(links) if _named_like_next(key) and links[key]), None)
        if name is not None:
            why = "the link to the next page is links.next; under another name clients end here; stopped"
            return None, (finding(Fault.MISNAMED_NEXT, f"links.{name}", links[name], why, place),)
        if more is True:
            why = "more data are announced and links.next leads nowhere; stopped"
            return None, (finding(Fault.TOO_FEW, "meta.more_data_available", more, why, place),)
        return None, ()
    try:
        absolute = urljoin(url, link)
        there, here = urlsplit(absolute), urlsplit(url)
        elsewhere = (there.hostname, there.scheme in {"http", "https"}) != (here.hostname, True)
    except (ValueError, TypeError, AttributeError):
        return None, (finding(Fault.NOT_A_REPLY, "links.next", link, "links.next is an address or null", place),)
    if elsewhere:
        why = f"the next page lies on the same host {here.hostname}; another host is not asked; stopped"
        return None, (finding(Fault.FOREIGN_NEXT, "links.next", link, why, place),)
    return absolute, ()


def _named_like_next(key: str) -> bool:
    return key != "next" and key.lower().replace("_", "").replace("-", "").startswith("next")
