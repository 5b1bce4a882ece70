"""OQMD's replies in the forms in which they really come: each form told apart, each with the field's path."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from pymatgen.core.composition import Composition
from pymatgen.core.periodic_table import Element

from tasks_lib.databases.ingest._records import count_in, field_at, odd_numbers, read_items
from tasks_lib.databases.ingest._shown import without_key
from tasks_lib.databases.ingest.findings import Effect, Fault, Finding, finding
from tasks_lib.databases.ingest.pages import Page, next_page
from tasks_lib.databases.ingest.replies import Reply, read_object

_IDENTITIES = ("formationenergy_id", "entry_id", "calculation_id")
_FORMULAS = ("name", "formula", "chemical_formula", "chemical_formula_reduced", "composition")
_NUMBERS = ("delta_e", "stability", "band_gap", "volume")
_COUNTED_ONE = re.compile(r"(?<=[A-Za-z])1(?![0-9.])")
_SYMBOL = re.compile(r"[A-Z][a-z]?")
_LONGEST_FORMULA = 200


def read_page(reply: Reply, question: str = "") -> Page:
    """Read one reply of ``/oqmdapi/formationenergy``: a list under ``data``, or a single entry that stands bare.

    Parameters
    ----------
    reply : Reply
    question : str
        First address of the trail; not needed for this dialect.
    """
    document, findings = read_object(reply)
    if document is None:
        return Page(reply.url, findings=findings, readable=False)
    place = without_key(reply.url)
    found: list[Finding] = []
    link: str | None = None
    announced: int | None = None
    if "data" in document:
        data, at = document["data"], "data"
        if not isinstance(data, list):
            told = finding(Fault.NOT_A_REPLY, "data", data, "a page of entries has a list under data", place)
            return Page(reply.url, findings=(told,), readable=False)
        meta = document.get("meta")
        counts = meta if isinstance(meta, dict) else {}
        if not isinstance(meta, dict):
            why = "without meta nobody knows whether this is all there is"
            found.append(finding(Fault.NO_META, "meta", meta, why, place))
        # The real service says that there are more data on its last page too: only the link and the count are asked.
        link, told_of_link = next_page(document.get("links"), None, reply.url)
        found.extend(told_of_link)
        announced = count_in(counts.get("data_available"))
    elif _is_entry(document):
        data, at = [document], ""
        why = "a single entry stands bare, not under data; read as one entry"
        found.append(finding(Fault.BARE_ENTRY, "", sorted(document)[:6], why, place))
    else:
        why = "a reply has data, or is one entry; this is neither"
        told = finding(Fault.NOT_A_REPLY, "", sorted(map(str, document))[:6], why, place)
        return Page(reply.url, findings=(told,), readable=False)
    items = read_items(
        data, at, lambda item, _: _identity(item), lambda item, path: read_entry(item, path, url=reply.url)
    )
    return Page(
        url=reply.url,
        items=items.accepted,
        identities=items.identities if all(items.identities) else (),
        size=len(data),
        next=link,
        announced=announced,
        findings=(*found, *items.findings),
        attributes=frozenset(name for _, kept in items.accepted for name in kept),
    )


def read_entry(item: Any, path: str, *, url: str = "") -> tuple[dict[str, Any] | None, tuple[Finding, ...]]:
    """Read one entry.

    Returns
    -------
    dict or None
        The entry with formulas without ones (``CO`` for ``C1O1``) and elements as a list; None where it is rejected.
    tuple of Finding
        What was rewritten, and why it was rejected.
    """
    place = without_key(url)
    if not isinstance(item, dict):
        return None, (finding(Fault.NOT_THE_MODEL, path, item, "an entry is an object; left out", place),)
    entry = dict(item)
    numbers = odd_numbers(entry, _NUMBERS, path, place, what="an energy, gap or volume", whole="entry")
    found = [*_formulas(entry, path, place), *_elements(entry, path, place), *numbers]
    rejected = any(one.effect is Effect.REJECTED for one in found)
    return (None if rejected else entry), tuple(found)


def _is_entry(document: dict[str, Any]) -> bool:
    return any(name in document for name in _IDENTITIES) or ("name" in document and "meta" not in document)


def _identity(item: Any) -> str:
    if isinstance(item, dict):
        for name in _IDENTITIES:
            if isinstance(item.get(name), int | str) and not isinstance(item[name], bool):
                return f"{name}={item[name]}"[:100]
    return ""


def _formulas(entry: dict[str, Any], path: str, place: str) -> Iterator[Finding]:
    for name in _FORMULAS:
        value = entry.get(name)
        if value is None:
            continue
        at = field_at(path, name)
        if not isinstance(value, str) or not _is_formula(value):
            why = "a formula is text such as Fe2O3; the entry is left out"
            yield finding(Fault.NOT_THE_MODEL, at, value, why, place)
        elif _COUNTED_ONE.search(value) and not (name == "composition" and _spaced(value)):
            entry[name] = _COUNTED_ONE.sub("", value)
            why = f"a formula counts no ones; read as {entry[name]}"
            yield finding(Fault.COUNTED_ONES, at, value, why, place)


def _spaced(text: str) -> bool:
    """Say whether it is the way OQMD writes its own field ``composition``, ``C1 O1`` or ``Fe1``, where ones belong."""
    return " " in text.strip() or len(_SYMBOL.findall(text)) == 1


def _is_formula(text: str) -> bool:
    if not text or len(text) > _LONGEST_FORMULA:
        return False
    try:
        return bool(Composition(text, strict=True))
    except (ValueError, TypeError, LookupError, ArithmeticError, RecursionError):
        return False


def _elements(entry: dict[str, Any], path: str, place: str) -> Iterator[Finding]:
    value = entry.get("elements")
    if value is None:
        return
    at = field_at(path, "elements")
    if isinstance(value, str):
        symbols = _SYMBOL.findall(value)
        left = _SYMBOL.sub("", value).strip(" ,;-[]()'\"")
        if symbols and not left.strip(" ,;-'\"") and all(map(Element.is_valid_symbol, symbols)):
            entry["elements"] = symbols
            why = f"elements are a list of symbols; read as {symbols}"
            yield finding(Fault.ELEMENTS_AS_TEXT, at, value, why, place)
            return
    elif isinstance(value, list) and all(isinstance(one, str) and Element.is_valid_symbol(one) for one in value):
        return
    why = "elements are a list of symbols; the entry is left out"
    yield finding(Fault.NOT_THE_MODEL, at, value, why, place)
