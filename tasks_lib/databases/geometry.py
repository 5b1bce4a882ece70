"""What follows from the stored structure alone: symmetry by spglib, volume, density."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pymatgen.core.structure import Structure

SYMPREC = 0.01
"""Distance, Å, within which spglib takes positions for equivalent."""
SYMMETRY_METHOD = f"spglib.get_symmetry_dataset of the stored cell, symprec {SYMPREC} Å, default angle tolerance"


def symmetry(structure: Structure) -> dict[str, int | str]:
    """Return number, symbol, crystal system and point group of a structure.

    Raises
    ------
    ValueError
        If spglib finds none.
    """
    import spglib

    numbers = [site.specie.Z for site in structure]
    cell = (structure.lattice.matrix.tolist(), structure.frac_coords.tolist(), numbers)
    found = spglib.get_symmetry_dataset(cell, symprec=SYMPREC)
    if found is None:
        msg = f"spglib finds no space group for {structure.formula} at symprec {SYMPREC} Å: check the coordinates"
        raise ValueError(msg)
    return {
        "space_group_number": int(found.number),
        "space_group_symbol": str(found.international),
        "crystal_system": crystal_system(int(found.number)),
        "point_group": str(found.pointgroup),
    }


def crystal_system(number: int) -> str:
    """Return the crystal system of a space group by its number (International Tables A)."""
    limits = ((2, "triclinic"), (15, "monoclinic"), (74, "orthorhombic"), (142, "tetragonal"), (167, "trigonal"))
    return next((name for last, name in (*limits, (194, "hexagonal")) if number <= last), "cubic")


def measures(structure: Structure) -> dict[str, float]:
    """Return volume (Å³), volume an atom (Å³) and mass density (g/cm³)."""
    return {
        "volume": round(float(structure.volume), 6),
        "volume_per_atom": round(float(structure.volume) / len(structure), 6),
        "density": round(float(structure.density), 6),
    }
