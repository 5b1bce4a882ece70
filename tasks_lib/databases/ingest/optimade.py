"""OPTIMADE pages and structures, read strictly: the library's own models, and what these accept wrongly.

The models of the `optimade` package take NaN coordinates and ratios, a lattice of zeros and a time without a zone;
each of these is refused here. A provider's own fields (``_prefix_name``) may be anything; NaN in one of them is a
missing value.
"""

from __future__ import annotations

import logging
import math
import warnings
from collections.abc import Iterator
from datetime import datetime
from typing import Any

import numpy as np
from pydantic import ValidationError

from tasks_lib.databases.ingest._records import count_in, read_items
from tasks_lib.databases.ingest._shown import without_key
from tasks_lib.databases.ingest.findings import Fault, Finding, finding
from tasks_lib.databases.ingest.pages import Page, chooses_fields, next_page
from tasks_lib.databases.ingest.replies import Reply, read_object
from tasks_lib.records.errors import ConfigurationError

# A cell this flat for its edges has no volume that a calculation could use.
_FLATTEST = 1e-8


def read_page(reply: Reply, question: str = "") -> Page:
    """Read one reply of ``/structures``; a single structure is a page of one.

    Parameters
    ----------
    reply : Reply
    question : str
        First address of the trail; it says whether fields were chosen.
    """
    document, findings = read_object(reply)
    if document is None:
        return Page(reply.url, findings=findings, readable=False)
    place = without_key(reply.url)
    data = document.get("data")
    if isinstance(data, dict):
        data = [data]
    if not isinstance(data, list):
        told = finding(Fault.NOT_A_REPLY, "data", data, "a page of structures has a list under data", place)
        return Page(reply.url, findings=(told,), readable=False)
    meta = document.get("meta")
    counts = meta if isinstance(meta, dict) else {}
    found: list[Finding] = []
    if not isinstance(meta, dict):
        why = "without meta nobody knows whether this is all there is"
        found.append(finding(Fault.NO_META, "meta", meta, why, place))
    link, told_of_link = next_page(document.get("links"), counts.get("more_data_available"), reply.url)
    found.extend(told_of_link)
    partial = chooses_fields(question or reply.url)

    def identify(item: Any, position: int) -> str:
        identity = item.get("id") if isinstance(item, dict) else None
        return identity if isinstance(identity, str) else f"{reply.url}#{position}"

    items = read_items(
        data, "data", identify, lambda item, path: read_structure(item, path, partial=partial, url=reply.url)
    )
    return Page(
        url=reply.url,
        items=items.accepted,
        identities=items.identities,
        size=len(data),
        next=link,
        announced=count_in(counts.get("data_returned")),
        findings=(*found, *items.findings),
        attributes=frozenset(name for _, kept in items.accepted for name in kept.get("attributes") or {}),
    )


def read_structure(
    item: Any, path: str, *, partial: bool = False, url: str = ""
) -> tuple[dict[str, Any] | None, tuple[Finding, ...]]:
    """Read one structure.

    Parameters
    ----------
    item : any
        An element of ``data``.
    path : str
        Where it stands in the reply.
    partial : bool
        Whether fields were chosen, so that some may be absent.
    url : str
        What was asked, for the findings.

    Returns
    -------
    dict or None
        The item as it came, NaN of a provider's own fields replaced by None; None where it is rejected.
    tuple of Finding
        Why it was rejected, and what was replaced.
    """
    place = without_key(url)
    if not isinstance(item, dict) or not isinstance(item.get("attributes"), dict):
        why = "a structure is an object with an object under attributes; left out"
        return None, (finding(Fault.NOT_THE_MODEL, path, item, why, place),)
    attributes, noted, wrong = dict(item["attributes"]), [], []
    for name, value in item["attributes"].items():
        for where, number in _not_finite(value):
            at = f"{path}.attributes.{name}{where}"
            if str(name).startswith("_"):
                attributes[name] = None
                why = "NaN in a provider's own field is a missing value; read as null"
                noted.append(finding(Fault.OWN_NAN, at, number, why, place))
            else:
                why = "a number of a structure is finite; the structure is left out"
                wrong.append(finding(Fault.NOT_FINITE, at, number, why, place))
            break  # the first of a field says enough
    wrong += _cell(attributes, f"{path}.attributes", place)
    wrong += _time(attributes, f"{path}.attributes.last_modified", place)
    cleaned = {**item, "attributes": attributes}
    wrong += _by_the_model(cleaned, path, partial, place)
    return (None if wrong else cleaned), (*wrong, *noted)


def _not_finite(value: Any) -> Iterator[tuple[str, float]]:
    """Yield the place and value of each number within a tree that is no number; without recursion."""
    heap: list[tuple[str, Any]] = [("", value)]
    while heap:
        where, one = heap.pop()
        if isinstance(one, float) and not math.isfinite(one):
            yield where, one
        elif isinstance(one, list):
            heap.extend((f"{where}[{position}]", part) for position, part in reversed(list(enumerate(one))))
        elif isinstance(one, dict):
            heap.extend((f"{where}.{key}", part) for key, part in reversed(list(one.items())))


def _cell(attributes: dict[str, Any], path: str, place: str) -> Iterator[Finding]:
    vectors = attributes.get("lattice_vectors")
    try:
        lattice = np.asarray(vectors, dtype=float)
    except (ValueError, TypeError, OverflowError):
        return  # a vector is null, which a molecule may have; what else it may be, the model says
    if lattice.shape != (3, 3) or not np.isfinite(lattice).all():
        return
    lengths = np.linalg.norm(lattice, axis=1)
    at = f"{path}.lattice_vectors"
    if not lengths.any():
        yield finding(Fault.NO_CELL, at, vectors, "a lattice of zeros is no cell; the structure is left out", place)
    elif attributes.get("dimension_types") in (None, [1, 1, 1]):
        volume = abs(float(np.linalg.det(lattice / np.where(lengths > 0, lengths, 1)[:, None])))
        if not lengths.all() or volume < _FLATTEST:
            why = "three periodic directions span a volume, these do not; the structure is left out"
            yield finding(Fault.NO_CELL, at, vectors, why, place)


def _time(attributes: dict[str, Any], path: str, place: str) -> Iterator[Finding]:
    value = attributes.get("last_modified")
    if value is None:
        return
    try:
        told = datetime.fromisoformat(value)
    except (ValueError, TypeError):
        yield finding(Fault.NOT_THE_MODEL, path, value, "a time is text as 2026-11-30T12:00:00Z; left out", place)
        return
    if told.tzinfo is None:
        why = "a time without a zone may be any of 26 hours; write it with Z or an offset; left out"
        yield finding(Fault.NAIVE_TIME, path, value, why, place)


def _by_the_model(item: dict[str, Any], path: str, partial: bool, place: str) -> Iterator[Finding]:
    try:
        logging.getLogger("optimade").addHandler(logging.NullHandler())
        from optimade.models import StructureResource
    except ImportError as error:
        msg = "reading OPTIMADE needs the package 'optimade': install matassay with the extra 'databases'"
        raise ConfigurationError(msg) from error
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # what the standard only recommends
        try:
            StructureResource.model_validate(item)
        except ValidationError as error:
            for one in error.errors(include_url=False):
                if not (partial and one["type"] == "missing"):
                    where = "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in one["loc"])
                    told = f"{one['msg']}; the structure is left out"
                    yield finding(Fault.NOT_THE_MODEL, f"{path}{where}", one["input"], told, place)
                    return
        except (TypeError, ValueError, LookupError, AttributeError, ArithmeticError, RecursionError) as error:
            # The model's own checks expect the types that they check for.
            why = f"the model of the standard fails on it with {type(error).__name__}; the structure is left out"
            yield finding(Fault.NOT_THE_MODEL, path, item.get("id"), why, place)
