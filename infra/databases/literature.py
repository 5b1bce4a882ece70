"""Values of the literature, from ``literature.yaml``, given to the entries that they belong to."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml
from pymatgen.core.composition import Composition

from tasks_lib.databases import PROPERTIES, Property, Provenance

FILE = Path(__file__).with_name("literature.yaml")


@dataclass(frozen=True)
class Candidate:
    """What the choice of an entry needs: its key, reduced formula, space group and energy (eV/atom)."""

    key: str
    formula: str
    space_group: int
    energy: float


def literature(candidates: Iterable[Candidate], file: Path = FILE) -> dict[str, dict[str, Property]]:
    """Return the literature's properties by entry and name.

    A value belongs to the entry with its formula and space group that has the lowest energy.

    Raises
    ------
    ValueError
        If a value names a property outside the vocabulary, has no entry, or stands twice.
    """
    lowest: dict[tuple[str, int], Candidate] = {}
    for candidate in sorted(candidates, key=lambda item: (item.energy, item.key)):
        lowest.setdefault((candidate.formula, candidate.space_group), candidate)
    found: dict[str, dict[str, Property]] = {}
    groups: list[dict[str, Any]] = yaml.safe_load(file.read_text(encoding="utf-8"))
    for group in groups:
        name = group["property"]
        for formula, space_group, value, *method in group["values"]:
            place = f"{file.name}, {name} of {formula} in space group {space_group}"
            owner = lowest.get((Composition(formula).reduced_formula, space_group))
            if name not in PROPERTIES or owner is None:
                missing = "entry of this formula and space group" if owner is None else f"property {name}"
                msg = f"{place}: the snapshot has no such {missing}: correct the line or add the structure"
                raise ValueError(msg)
            properties = found.setdefault(owner.key, {})
            if name in properties:
                msg = f"{place} is given twice: keep the value with the better source"
                raise ValueError(msg)
            properties[name] = Property(
                provenance=Provenance.LITERATURE,
                value=float(value) if PROPERTIES[name].unit is not None or isinstance(value, float) else value,
                unit=PROPERTIES[name].unit,
                method=method[0] if method else group["method"],
                source=group["source"],
            )
    return found
