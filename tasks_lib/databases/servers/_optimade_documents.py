"""Entries of the snapshot as OPTIMADE documents."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from typing import Any

import numpy as np

from tasks_lib.databases.entry import Entry, Provenance
from tasks_lib.databases.snapshot import Snapshot

# The content is frozen; a client that sorts by time gets the same order on every run.
FROZEN_AT = datetime(2026, 11, 30, tzinfo=UTC)
# Clients write filters into URLs without escaping these, and the reference server takes ';' for '&'.
_PLAIN = str.maketrans({";": ",", "&": "and", '"': "'", "#": "no. ", "+": " plus ", "%": " per cent", "\\": "/"})
_DOI = re.compile(r"10\.\d{4,9}/[^\s\"<>]+")


def structure(entry: Entry, fields: Mapping[str, str], reference_ids: Mapping[str, str]) -> dict[str, Any]:
    """Return one document of ``/structures``.

    Parameters
    ----------
    entry : Entry
        The crystal.
    fields : mapping
        Name of a provider's own field to property.
    reference_ids : mapping
        Citation to id of its reference.
    """
    from optimade.models.utils import anonymize_formula, reduce_formula

    species = entry.structure.species
    counted = "".join(f"{symbol}{species.count(symbol)}" for symbol in entry.elements)
    positions = np.asarray(entry.structure.positions) @ np.asarray(entry.structure.lattice)
    cited = sorted({reference_ids[text] for text in _sources(entry)})
    return {
        "id": entry.id,
        "type": "structures",
        "immutable_id": entry.id,
        "last_modified": FROZEN_AT,
        "elements": list(entry.elements),
        "nelements": len(entry.elements),
        "elements_ratios": [species.count(symbol) / len(species) for symbol in entry.elements],
        "chemical_formula_descriptive": entry.formula,
        "chemical_formula_reduced": reduce_formula(counted),
        "chemical_formula_anonymous": anonymize_formula(counted),
        "dimension_types": [1, 1, 1],
        "nperiodic_dimensions": 3,
        "lattice_vectors": [list(vector) for vector in entry.structure.lattice],
        "cartesian_site_positions": positions.tolist(),
        "nsites": entry.nsites,
        "species": [{"name": one, "chemical_symbols": [one], "concentration": [1.0]} for one in entry.elements],
        "species_at_sites": list(species),
        "structure_features": [],
        "space_group_it_number": entry.value("space_group_number"),
        "relationships": {"references": {"data": [{"type": "references", "id": one} for one in cited]}},
        **{name: _field(entry, of) for name, of in fields.items()},
    }


def references(snapshot: Snapshot, entries: Iterable[Entry]) -> tuple[list[dict[str, Any]], dict[str, str]]:
    """Return the documents of ``/references`` and the id of each citation; the first is the snapshot itself."""
    ids = {text: _reference_id(text) for text in sorted({text for entry in entries for text in _sources(entry)})}
    own = {
        "id": snapshot.name,
        "type": "references",
        "last_modified": FROZEN_AT,
        "title": f"{snapshot.name} {snapshot.version}",
        "note": snapshot.header.statement,
        "year": str(FROZEN_AT.year),
    }
    cited = []
    for text, identifier in ids.items():
        doi = _DOI.search(text)
        cited.append(
            {
                "id": identifier,
                "type": "references",
                "last_modified": FROZEN_AT,
                "title": text.translate(_PLAIN),
                **({"doi": doi[0].rstrip(".,;)")} if doi else {}),
            }
        )
    return [own, *cited], ids


def link(name: str, title: str, rule: str, base_url: str) -> dict[str, Any]:
    """Return the document of ``/links`` that says where this provider is rooted."""
    return {
        "id": name,
        "type": "links",
        "name": title,
        "description": rule,
        "base_url": base_url,
        "homepage": None,
        "link_type": "root",
        "aggregate": "no",
        "no_aggregate_reason": "a frozen snapshot on loopback, for measuring agents",
    }


def _field(entry: Entry, of: str) -> Any:
    if of == "prototype":
        return entry.prototype
    return entry.nsites if of == "nsites" else entry.value(of)


def _sources(entry: Entry) -> set[str]:
    found = entry.properties.values()
    return {one.source for one in found if one.provenance is Provenance.LITERATURE and one.source}


def _reference_id(text: str) -> str:
    return f"ref-{hashlib.sha256(text.encode('utf-8')).hexdigest()[:12]}"
