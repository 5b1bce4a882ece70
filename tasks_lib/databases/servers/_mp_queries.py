"""The query of a search on the Materials Project's routes: read, checked, and answered from the documents."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from tasks_lib.databases.identifiers import mp_number
from tasks_lib.databases.servers._mp_conditions import Condition, Reader, inside
from tasks_lib.databases.servers._mp_documents import Doc
from tasks_lib.databases.servers._mp_parameters import LARGEST_SKIP, BadRequestError, read_ids, read_truth, read_whole

DEFAULT_LIMIT = 100
LARGEST_LIMIT = 1_000
MOST_SORT_FIELDS = 10
MOST_FIELDS = 200
_PAGING = ("_limit", "_skip", "_page", "_per_page", "_sort_fields", "_fields", "_all_fields")


@dataclass(frozen=True)
class Query:
    """A whole query.

    Attributes
    ----------
    conditions : tuple
        All must hold.
    fields : tuple of str or None
        Fields to return, with dots for nested ones; None for all.
    sort : tuple
        (field, descending) pairs.
    skip, limit : int
        The page.
    ids : tuple of int
        Ids in the order asked for; the summary answers in that order where no other is wanted.
    """

    conditions: tuple[Condition, ...]
    fields: tuple[str, ...] | None
    sort: tuple[tuple[str, bool], ...]
    skip: int
    limit: int
    ids: tuple[int, ...] = ()


def read(pairs: Iterable[tuple[str, str]], readers: Mapping[str, Reader], default_fields: tuple[str, ...]) -> Query:
    """Read the query of a search.

    Parameters
    ----------
    pairs : iterable of (str, str)
        As they stand in the URL, decoded.
    readers : mapping
        Parameters that the route knows; see `readers_for`.
    default_fields : tuple of str
        Returned where the query names none.

    Raises
    ------
    BadRequestError
        If a parameter is unknown, a page too large, a formula unreadable.
    UnprocessableError
        If a number, truth value or choice is none.
    """
    asked = dict(pairs)
    unknown = [name for name in asked if name not in readers and name not in _PAGING]
    if {"limit", "skip"} & set(unknown):
        msg = "'limit' and 'skip' parameters have been renamed: use '_limit' and '_skip'"
        raise BadRequestError(msg)
    if unknown:
        msg = (
            f"Request contains query parameters which cannot be used: {', '.join(unknown)[:500]}. "
            f"Usable are: {', '.join(sorted(readers))}"
        )
        raise BadRequestError(msg)
    conditions = tuple(readers[name](name, value) for name, value in asked.items() if name in readers and value)
    skip, limit = _page(asked)
    fields: tuple[str, ...] | None = default_fields
    if asked.get("_fields"):
        fields = tuple(dict.fromkeys(field.strip() for field in asked["_fields"].split(",")))
        if len(fields) > MOST_FIELDS:
            msg = f"'_fields' has at most {MOST_FIELDS} fields, got {len(fields)}: leave it away and set '_all_fields'"
            raise BadRequestError(msg)
    elif read_truth("_all_fields", asked.get("_all_fields") or "false"):
        fields = None
    sort = tuple(
        (field.strip().removeprefix("-"), field.strip().startswith("-"))
        for field in (asked.get("_sort_fields") or "").split(",")
        if field.strip()
    )
    if len(sort) > MOST_SORT_FIELDS:
        msg = f"'_sort_fields' has at most {MOST_SORT_FIELDS} fields, got {len(sort)}"
        raise BadRequestError(msg)
    ids = tuple(read_ids(asked["material_ids"])) if asked.get("material_ids") else ()
    return Query(conditions, fields, sort, skip, limit, ids)


def answer(query: Query, docs: Sequence[Doc], *, keep_order_of_ids: bool) -> tuple[list[Doc], int]:
    """Return the page of a query and the count of all documents that fit it."""
    found = [doc for doc in docs if all(holds(doc) for holds in query.conditions)]
    if query.sort:
        for field, descending in reversed(query.sort):
            found.sort(key=lambda doc, field=field: _sort_key(inside(doc, field)), reverse=descending)  # type: ignore[misc]
    elif query.ids and keep_order_of_ids:
        position = {number: index for index, number in reversed(list(enumerate(query.ids)))}
        found.sort(key=lambda doc: position.get(mp_number(doc["material_id"]), len(position)))
    page = found[query.skip : query.skip + query.limit]
    return [project(doc, query.fields) for doc in page], len(found)


def project(doc: Doc, fields: tuple[str, ...] | None) -> Doc:
    """Return the chosen fields of a document; a dotted name keeps its nesting, an unknown one is left out."""
    if fields is None:
        return doc
    chosen: Doc = {}
    for field in fields:
        into, source = chosen, doc
        *parents, last = field.split(".")[:8]
        for parent in parents:
            inner = source.get(parent)
            if not isinstance(inner, dict):
                break
            source, into = inner, into.setdefault(parent, {})
        else:
            if last in source and isinstance(into, dict):
                into[last] = source[last]
    return chosen


def _page(asked: Mapping[str, str]) -> tuple[int, int]:
    limit = read_whole("_limit", asked.get("_limit") or str(DEFAULT_LIMIT))
    per_page = read_whole("_per_page", asked.get("_per_page") or str(DEFAULT_LIMIT))
    skip = read_whole("_skip", asked.get("_skip") or "0")
    if limit > LARGEST_LIMIT or per_page > LARGEST_LIMIT:
        msg = f"Requested more data per query than allowed by this endpoint. The max limit is {LARGEST_LIMIT} entries"
        raise BadRequestError(msg)
    if not asked.get("_page"):
        return skip, limit
    page = read_whole("_page", asked["_page"])
    if skip or page < 1:
        msg = "Use '_page', counted from 1, or '_skip', not both"
        raise BadRequestError(msg)
    return min((page - 1) * per_page, LARGEST_SKIP), per_page


def _sort_key(value: Any) -> tuple[int, Any]:
    """Order as the real database does: missing values first, then numbers, texts and truth values."""
    if value is None:
        return (0, 0)
    if isinstance(value, bool):
        return (4, value)
    if isinstance(value, int | float):
        return (1, value)
    return (2, value) if isinstance(value, str) else (3, str(value))
