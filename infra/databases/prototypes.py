"""Starting structures from the AFLOW prototypes that pymatgen ships, as they are and with other elements."""

from __future__ import annotations

import re
from collections import Counter
from functools import cache
from importlib.resources import files
from typing import Any

from monty.serialization import loadfn
from pymatgen.analysis.structure_prediction.volume_predictor import DLSVolumePredictor
from pymatgen.core.periodic_table import Element
from pymatgen.core.structure import Structure

from infra.databases.starting import Start, primitive

LARGEST = 40
# Decorations that name Wyckoff positions of alloys by unlike elements; no such compound is meant.
_NOT_COMPOUNDS = {"sigma_tP30_136_bf2ij"}


@cache
def _shipped() -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = loadfn(str(files("pymatgen.analysis.prototypes") / "aflow_prototypes.json.gz"))
    return found


@cache
def shipped() -> tuple[Start, ...]:
    """Return the prototypes with their own compounds, up to `LARGEST` atoms in the primitive cell.

    A label that stands twice for one formula gets a count at the end of its key.
    """
    seen: Counter[str] = Counter()
    starts = []
    for item in _shipped():
        tags = item["tags"]
        structure = item["snl"].structure
        key = f"aflow/{tags['aflow']}/{structure.composition.reduced_formula}"
        seen[key] += 1
        key += f"/{seen[key]}" if seen[key] > 1 else ""
        if tags["aflow"] in _NOT_COMPOUNDS:
            continue
        cell = primitive(structure)
        if len(cell) > LARGEST:
            continue
        starts.append(
            Start(
                key=key,
                structure=cell,
                origin=f"AFLOW prototype {tags['aflow']} as pymatgen ships it, its own compound",
                name=_plain(tags["mineral"]),
                prototype=tags["aflow"],
                strukturbericht=tags["strukturbericht"] if tags["strukturbericht"] != "None" else None,
            )
        )
    return tuple(starts)


def substituted(
    label: str, of: str, elements: dict[str, str], name: str | None = None, *, keep_volume: bool = False
) -> Start:
    """Put other elements into a shipped prototype and scale the cell to the volume that they are likely to need.

    Compounds take the volume of pymatgen's ``DLSVolumePredictor``, which knows bonds between unlike elements; an
    element takes the old volume times the cube of the ratio of the tabulated atomic radii.

    Parameters
    ----------
    label : str
        AFLOW label, e.g. ``AB_cF8_225_a_b``.
    of : str
        Reduced formula of the shipped compound, e.g. ``NaCl``; one label may stand for several.
    elements : dict of str to str
        Old symbol to new symbol, one pair for each element of the compound.
    name : str or None
        Mineral or common name of the new compound.
    keep_volume : bool
        Leave the cell as it is: molecular crystals, where no radius tells the distance of the molecules.

    Raises
    ------
    ValueError
        If no such prototype is shipped or an element is left out.
    """
    found = next((start for start in shipped() if start.key == f"aflow/{label}/{of}"), None)
    if found is None:
        msg = f"pymatgen ships no prototype {label} of {of} below {LARGEST} atoms: take a label and formula of its list"
        raise ValueError(msg)
    if {site.specie.symbol for site in found.structure} != set(elements):
        msg = f"{label} of {of} needs one new symbol for each of its elements, got {elements}: complete the pairs"
        raise ValueError(msg)
    structure: Structure = found.structure.copy()
    structure.replace_species(elements)
    if keep_volume:
        scaled = "volume kept"
    elif len(elements) == 1:
        ((old, new),) = elements.items()
        ratio = float(Element(new).atomic_radius) / float(Element(old).atomic_radius)
        structure = structure.scale_lattice(structure.volume * ratio**3)
        scaled = "volume by the ratio of the atomic radii"
    else:
        structure = DLSVolumePredictor().get_predicted_structure(structure)
        scaled = "volume by pymatgen's DLSVolumePredictor"
    cell = primitive(structure)
    pairs = ", ".join(f"{old} by {new}" for old, new in sorted(elements.items()))
    return Start(
        key=f"like/{label}/{of}/{''.join(elements[symbol] for symbol in sorted(elements))}",
        structure=cell,
        origin=f"AFLOW prototype {label} of {of}, {pairs}, {scaled}",
        name=name,
        prototype=label if len(set(elements.values())) == len(elements) else None,
        strukturbericht=found.strukturbericht if len(set(elements.values())) == len(elements) else None,
    )


def _plain(mineral: str) -> str | None:
    name = re.sub(r"\s+", " ", re.sub(r"[$\\{}_']", "", mineral)).strip()
    return name or None
