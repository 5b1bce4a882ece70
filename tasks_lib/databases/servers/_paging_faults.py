"""How a page of each dialect looks when its paging is broken on purpose."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any
from urllib.parse import parse_qsl, urlencode

from starlette.requests import Request

from tasks_lib.databases.servers.dialect import Dialect
from tasks_lib.databases.servers.faults import FaultSettings

Page = dict[str, Any]
Rewriter = Callable[[Request, Page], Page]

# A client that trusts this count asks for pages until it is stopped; it fits a 32-bit counter.
ENDLESS_COUNT = 1_000_000
_FIELDS = ("response_fields", "fields", "fields!")
_OFFSETS = ("_skip", "_page", "offset", "page_offset", "page_number")


def rewriter(dialect: Dialect, faults: FaultSettings) -> Rewriter:
    """Return what changes a page of the dialect for the faults that are on."""
    if dialect is Dialect.MATERIALS_PROJECT:
        return lambda request, page: _counted(request, page, faults)
    return lambda request, page: _linked(request, page, faults)


def asked_again(query: bytes, dialect: Dialect, faults: FaultSettings) -> bytes:
    """Return the query that the app is asked instead: the first page, where every page is to be that one."""
    repeats = faults.endless_pages == "repeat" or (faults.stale_next and dialect is Dialect.MATERIALS_PROJECT)
    if not repeats:
        return query
    kept = [
        pair
        for pair in parse_qsl(query.decode("latin-1"), keep_blank_values=True, errors="replace")
        if pair[0] not in _OFFSETS
    ]
    return urlencode(kept).encode("ascii")


def _linked(request: Request, page: Page, faults: FaultSettings) -> Page:
    links = page.get("links")
    if not isinstance(links, dict) or not isinstance(page.get("data"), list):
        return page
    if faults.endless_pages != "off":
        if faults.endless_pages == "empty" and _is_later_page(request):
            page["data"] = []
        links["next"] = _later(request)
        page.setdefault("meta", {})["more_data_available"] = True
    elif faults.stale_next and links.get("next") is not None:
        links["next"] = str(request.url)
    if faults.next_without_fields and links.get("next") is not None:
        links["next"] = _without_fields(links["next"])
    if faults.misnamed_next:
        links["next_page"] = links.pop("next", None)
    return page


def _counted(request: Request, page: Page, faults: FaultSettings) -> Page:
    meta = page.get("meta")
    if not isinstance(meta, dict) or not isinstance(page.get("data"), list):
        return page
    if faults.endless_pages != "off":
        meta["total_doc"] = ENDLESS_COUNT
        if faults.endless_pages == "empty" and int(request.query_params.get("_skip") or 0):
            page["data"] = []
    return page


def _is_later_page(request: Request) -> bool:
    return any(request.query_params.get(name) not in (None, "0") for name in ("page_offset", "offset"))


def _later(request: Request) -> str:
    # The offset grows, so that a client which compares links is not warned; the page stays (see `asked_again`).
    name = "page_offset" if "structures" in request.url.path else "offset"
    offset = request.query_params.get(name, "0")
    later = int(offset) + 1 if offset.isdecimal() else 1
    return str(request.url.include_query_params(**{name: later}))


def _without_fields(link: Any) -> Any:
    if not isinstance(link, str):
        return link
    address, _, query = link.partition("?")
    kept = [(key, value) for key, value in parse_qsl(query, keep_blank_values=True) if key not in _FIELDS]
    return f"{address}?{urlencode(kept)}"
