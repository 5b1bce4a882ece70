"""Every starting structure of the snapshot, in a fixed order and without repeats."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import ase.build
import ase.data
import yaml
from pymatgen.core.lattice import Lattice
from pymatgen.core.periodic_table import Element
from pymatgen.core.structure import Structure
from pymatgen.io.ase import AseAtomsAdaptor

from infra.databases.prototypes import shipped, substituted
from infra.databases.starting import Start, primitive

HERE = Path(__file__).parent
# CHGNet was trained on 89 elements: hydrogen to plutonium without these five.
_BEYOND_THE_POTENTIAL = {"Po", "At", "Rn", "Fr", "Ra"}
_SIMPLE = ("fcc", "bcc", "hcp")
# ASE files the trigonal chains of selenium and tellurium under hcp.
_CHAINS = {"Se", "Te"}


def all_starts() -> list[Start]:
    """Return every starting structure: shipped prototypes, elements, substitutions, crystals written by hand."""
    starts = [*shipped(), *_elements(), *_substitutions(), *_written()]
    kept = [start for start in starts if not _beyond(start.structure)]
    keys = [start.key for start in kept]
    twice = sorted({key for key in keys if keys.count(key) > 1})
    if twice:
        msg = f"a starting structure stands once, {twice} stand twice: delete one of each"
        raise ValueError(msg)
    return kept


def _beyond(structure: Structure) -> bool:
    return any(site.specie.symbol in _BEYOND_THE_POTENTIAL or site.specie.Z > Element("Pu").Z for site in structure)


def _elements() -> list[Start]:
    """Close-packed and body-centred metals: the phase of ASE's reference state, and the two others at its volume."""
    starts = []
    for symbol, state in zip(ase.data.chemical_symbols, ase.data.reference_states, strict=True):
        if state is None or symbol in _CHAINS or state["symmetry"] not in _SIMPLE or Element(symbol).is_noble_gas:
            continue
        known = ase.build.bulk(symbol)
        volume = known.get_volume() / len(known)
        for phase in _SIMPLE:
            atoms = known if phase == state["symmetry"] else ase.build.bulk(symbol, phase, **_cell(phase, volume))
            story = "ASE's reference state" if atoms is known else "at the volume of ASE's reference state"
            starts.append(
                Start(
                    key=f"element/{phase}/{symbol}",
                    structure=primitive(AseAtomsAdaptor.get_structure(atoms)),
                    origin=f"{phase} {symbol}, {story}",
                    strukturbericht={"fcc": "A1", "bcc": "A2", "hcp": "A3"}[phase],
                )
            )
    return starts


def _cell(phase: str, volume: float) -> dict[str, float]:
    """Return the cell parameters (Å) of a phase with a volume (Å³) an atom."""
    if phase == "hcp":
        a = (volume * 2 / (3**0.5 / 2 * 1.633)) ** (1 / 3)
        return {"a": a, "c": 1.633 * a}
    return {"a": (volume * {"fcc": 4, "bcc": 2}[phase]) ** (1 / 3)}


def _substitutions() -> list[Start]:
    families: list[dict[str, Any]] = yaml.safe_load((HERE / "compounds.yaml").read_text(encoding="utf-8"))
    starts = []
    for family in families:
        for line in family["compounds"]:
            found = re.fullmatch(r"([A-Z][A-Za-z ]*?)(?: \((.*)\))?", line)
            symbols = found[1].split() if found else []
            if found is None or len(symbols) != len(family["sites"]):
                msg = f"compounds.yaml, {family['family']}: {line!r} gives one symbol for each of {family['sites']}"
                raise ValueError(msg)
            pairs = dict(zip(family["sites"], symbols, strict=True))
            keep = family.get("keep_volume", False)
            starts.append(substituted(family["prototype"], family["of"], pairs, found[2], keep_volume=keep))
    return starts


def _written() -> list[Start]:
    starts = []
    for crystal in yaml.safe_load((HERE / "crystals.yaml").read_text(encoding="utf-8")):
        structure = Structure.from_spacegroup(
            crystal["group"],
            Lattice.from_parameters(*crystal["cell"]),
            [site[0] for site in crystal["sites"]],
            [site[1:] for site in crystal["sites"]],
        )
        starts.append(
            Start(
                key=f"written/{crystal['key']}",
                structure=primitive(structure),
                origin=f"space group {crystal['group']}; {crystal['source']}",
                name=crystal.get("name"),
            )
        )
    return starts
