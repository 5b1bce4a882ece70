"""Materials Project's documents: the ids that moved, the hull energies of more than one functional, the values gone."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from tasks_lib.databases.identifiers import mp_number
from tasks_lib.databases.ingest._records import count_in, odd_numbers, read_items
from tasks_lib.databases.ingest._shown import without_key
from tasks_lib.databases.ingest.findings import Effect, Fault, Finding, finding
from tasks_lib.databases.ingest.pages import Page
from tasks_lib.databases.ingest.replies import Reply, read_object

_ID = re.compile(r"(?:mp|mvc)-(?:[0-9]{1,15}|[a-z]{1,15})")
_NUMBERS = (
    "energy_above_hull", "formation_energy_per_atom", "energy_per_atom", "uncorrected_energy_per_atom", "band_gap",
    "density", "volume", "efermi",
)  # fmt: skip


def read_page(reply: Reply, question: str = "") -> Page:
    """Read one reply of ``/materials/<collection>/``; there are no links, clients count with ``_skip``.

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
    data = document.get("data")
    if not isinstance(data, list):
        told = finding(Fault.NOT_A_REPLY, "data", data, "a page of documents has a list under data", place)
        return Page(reply.url, findings=(told,), readable=False)
    meta = document.get("meta")
    found: list[Finding] = []
    # A single document (/materials/summary/mp-149/) is answered without meta, and is all there is.
    if not isinstance(meta, dict) and len(data) != 1:
        why = "without meta.total_doc nobody knows whether this is all there is"
        found.append(finding(Fault.NO_META, "meta", meta, why, place))
    items = read_items(
        data, "data", lambda item, _: _identity(item), lambda item, path: read_document(item, path, url=reply.url)
    )
    return Page(
        url=reply.url,
        items=items.accepted,
        identities=items.identities if all(items.identities) else (),
        size=len(data),
        announced=count_in(meta.get("total_doc")) if isinstance(meta, dict) else None,
        findings=(*found, *items.findings),
        attributes=frozenset(name for _, kept in items.accepted for name in kept),
    )


def read_document(item: Any, path: str, *, url: str = "") -> tuple[dict[str, Any] | None, tuple[Finding, ...]]:
    """Read one document: ids in either spelling, finite numbers; a deprecated one is kept and told.

    Returns
    -------
    dict or None
        The document as it came; None where it is rejected.
    tuple of Finding
        What was wrong.
    """
    place = without_key(url)
    if not isinstance(item, dict):
        return None, (finding(Fault.NOT_THE_MODEL, path, item, "a document is an object; left out", place),)
    found = list(_wrong(item, path, place))
    if item.get("deprecated") is True:
        why = "the material is deprecated: the id may lead to another one after the next release"
        found.append(finding(Fault.DEPRECATED, f"{path}.deprecated", item.get("material_id"), why, place))
    rejected = any(one.effect is Effect.REJECTED for one in found)
    return (None if rejected else item), tuple(found)


def _wrong(item: dict[str, Any], path: str, place: str) -> Iterator[Finding]:
    if "material_id" in item and not _ID.fullmatch(str(item["material_id"])):
        why = "a material id is mp- and digits or letters; the document is left out"
        yield finding(Fault.NOT_THE_MODEL, f"{path}.material_id", item["material_id"], why, place)
    what = "an energy, gap, density or volume"
    yield from odd_numbers(item, _NUMBERS, path, place, what=what, whole="document")


def _number(identity: Any) -> int | None:
    try:
        return mp_number(identity) if isinstance(identity, str) else None
    except ValueError:
        return None


def _identity(item: Any) -> str:
    if not isinstance(item, dict):
        return ""
    for name in ("thermo_id", "material_id"):
        if isinstance(item.get(name), str) and item[name]:
            kind = item.get("thermo_type")
            return f"{item[name]}_{kind}"[:200] if name == "material_id" and isinstance(kind, str) else item[name][:200]
    return ""


@dataclass(frozen=True)
class Hulls:
    """Heights above the hull, eV/atom, by material number and thermo type."""

    heights: Mapping[int, Mapping[str, float]]
    findings: tuple[Finding, ...]

    def height(self, material_id: str, thermo_type: str) -> float | None:
        """Return the height of a material above the hull of one thermo type; None where there is none."""
        number = _number(material_id)
        return None if number is None else self.heights.get(number, {}).get(thermo_type)


def read_hulls(documents: Iterable[Mapping[str, Any]]) -> Hulls:
    """Sort the heights above the hull of thermo documents by thermo type.

    One material has a height for each functional that it was computed with, and they differ by tenths of an eV. A
    height is therefore nothing without its thermo type, and a material with more than one is told.
    """
    heights: dict[int, dict[str, float]] = {}
    found: list[Finding] = []
    for position, one in enumerate(documents):
        number, height = _number(one.get("material_id")), one.get("energy_above_hull")
        if number is None or isinstance(height, bool) or not isinstance(height, int | float):
            continue
        mine = heights.setdefault(number, {})
        known = len(mine)
        mine[str(one.get("thermo_type") or "unsaid")] = float(height)
        if len(mine) > known > 0:
            why = f"{one['material_id']} has a height for each of {sorted(mine)}: choose one thermo type"
            found.append(finding(Fault.TWO_HULLS, f"data[{position}].energy_above_hull", mine, why))
    return Hulls(heights, tuple(found))


def compare_with(
    expected: Mapping[str, Mapping[str, Any]], documents: Iterable[Mapping[str, Any]], *, url: str = ""
) -> tuple[Finding, ...]:
    """Say which ids and values that were known are gone.

    Parameters
    ----------
    expected : mapping of str to mapping
        Material id, in either spelling, to fields and the values that they had.
    documents : iterable of mapping
        What the database answers now.
    url : str
        What was asked, for the findings.

    Returns
    -------
    tuple of Finding
        ``id-gone`` where no document has the id, ``value-gone`` where a field that had a value is null or absent.
    """
    known = ((_number(one.get("material_id")), position, one) for position, one in enumerate(documents))
    there = {number: (position, one) for number, position, one in known if number is not None}
    found = []
    for identity, fields in expected.items():
        number = _number(identity)
        if number is None or number not in there:
            found.append(finding(Fault.ID_GONE, "data", identity, "the id was there and is no more", without_key(url)))
            continue
        position, document = there[number]
        for name, value in fields.items():
            if value is not None and document.get(name) is None:
                why = f"{identity} had {name} = {value!r}; now it is null"
                found.append(
                    finding(Fault.VALUE_GONE, f"data[{position}].{name}", document.get(name), why, without_key(url))
                )
    return tuple(found)
