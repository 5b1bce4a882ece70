"""A starting structure: a crystal before the potential has moved it, with the story of where it came from."""

from __future__ import annotations

from dataclasses import dataclass

import spglib
from pymatgen.core.lattice import Lattice
from pymatgen.core.structure import Structure

from tasks_lib.databases.geometry import SYMPREC


@dataclass(frozen=True)
class Start:
    """A structure to be computed.

    Attributes
    ----------
    key : str
        Lasting name of the entry in the ledger of numbers; also its cache name.
    structure : Structure
        Primitive standard cell.
    origin : str
        Where the structure came from, for people.
    name, prototype, strukturbericht : str or None
        Mineral or common name; AFLOW label; Strukturbericht symbol.
    """

    key: str
    structure: Structure
    origin: str
    name: str | None = None
    prototype: str | None = None
    strukturbericht: str | None = None


def primitive(structure: Structure, symprec: float = SYMPREC) -> Structure:
    """Return the primitive cell in spglib's standard setting, idealised to its space group.

    Raises
    ------
    ValueError
        If spglib finds no symmetry at this tolerance.
    """
    numbers = [site.specie.Z for site in structure]
    cell = (structure.lattice.matrix, structure.frac_coords, numbers)
    found = spglib.standardize_cell(cell, to_primitive=True, no_idealize=False, symprec=symprec)
    if found is None:
        msg = f"spglib finds no cell for {structure.formula} at symprec {symprec} Å: check the coordinates"
        raise ValueError(msg)
    lattice, positions, kinds = found
    return Structure(
        Lattice(lattice), [int(kind) for kind in kinds], positions, to_unit_cell=True
    ).get_sorted_structure()
