"""Crystal structures: CIF, POSCAR and Avogadro's cjson, and their comparison; pymatgen does the work.

`read_structure` is the one way in which a structure is read for a verdict: answers, gold and hand-offs go through it,
and so meet one policy. What cannot be read without a guess is refused, and the reason becomes part of the verdict.
Nothing is mended silently: no occupancy is rescaled, no atom added, no flag or symbol inferred. Being alike is no
equivalence (A fits B and C, B need not fit C), so an answer is compared with the gold alone, in both orders.

Imported by the reading process alone: pymatgen takes seconds to load and hundreds of megabytes.
"""

from __future__ import annotations

import json
import warnings
from typing import Any

from pymatgen.analysis.structure_matcher import StructureMatcher
from pymatgen.core.structure import Structure

from tasks_lib.evaluation._registry import Unreadable
from tasks_lib.evaluation.readers._crystal_checks import MOST_SITES, check_cell, first_line
from tasks_lib.evaluation.readers._crystal_files import from_cif, from_cjson, from_poscar
from tasks_lib.evaluation.readers.text import decode
from tasks_lib.records import Json


def read_structure(data: bytes, form: str, *, symmetry: bool = False, symprec: float = 0.01) -> dict[str, Json]:
    """Read one structure.

    Parameters
    ----------
    data : bytes
        The file.
    form : str
        ``cif``, ``poscar`` or ``cjson``.
    symmetry : bool
        Whether to find the space group.
    symprec : float
        Tolerance of the symmetry search, Å.

    Returns
    -------
    dict
        ``formula``, ``reduced-formula``, ``elements``, ``sites``, ``a`` … ``gamma`` (Å, °), ``volume`` (Å^3),
        ``density`` (g/cm^3), ``ordered``, ``structure`` (pymatgen's dict) and, where asked, ``space-group`` and
        ``space-group-symbol``.

    Raises
    ------
    Unreadable
        If the file is no structure, holds more than one, has impossible occupancies, a degenerate cell or numbers that
        are not finite, or if atoms were lost on reading.
    """
    text = decode(data)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        structure = {"cif": from_cif, "poscar": from_poscar, "cjson": from_cjson}[form](text)
        return _describe(structure, symmetry=symmetry, symprec=symprec)


def _describe(structure: Structure, *, symmetry: bool, symprec: float) -> dict[str, Json]:
    if not 0 < len(structure) <= MOST_SITES:
        msg = f"the structure has {len(structure)} sites; 1 to {MOST_SITES} are read"
        raise Unreadable(msg)
    for name in list(structure.site_properties):  # flags, magnetic moments: no part of the comparison
        structure.remove_site_property(name)
    lattice = structure.lattice
    check_cell(structure)
    found: dict[str, Json] = {
        "formula": structure.composition.formula.replace(" ", ""),
        "reduced-formula": structure.composition.reduced_formula,
        "elements": sorted({element.symbol for element in structure.composition.element_composition}),
        "sites": len(structure),
        **{name: float(getattr(lattice, name)) for name in ("a", "b", "c", "alpha", "beta", "gamma", "volume")},
        "density": float(structure.density),
        "ordered": bool(structure.is_ordered),
        "structure": json.loads(json.dumps(structure.as_dict(verbosity=0), default=float)),
    }
    if symmetry:
        try:
            symbol, number = structure.get_space_group_info(symprec=symprec)
        except Exception as error:
            msg = f"no space group can be found for it: {first_line(error)}"
            raise Unreadable(msg) from error
        found |= {"space-group": int(number), "space-group-symbol": str(symbol)}
    return found


def compare(
    seen: bytes,
    wanted: bytes,
    *,
    ltol: float,
    stol: float,
    angle_tol: float,
    primitive_cell: bool,
    scale: bool,
    attempt_supercell: bool,
) -> dict[str, Json]:
    """Compare two structures, order-free; see `tasks_lib.evaluation.metrics.structures`."""
    one, other = (Structure.from_dict(json.loads(data)) for data in (seen, wanted))
    matcher = StructureMatcher(
        ltol=ltol,
        stol=stol,
        angle_tol=angle_tol,
        primitive_cell=primitive_cell,
        scale=scale,
        attempt_supercell=attempt_supercell,
    )
    rms: Any = matcher.get_rms_dist
    found: dict[str, Any] = {"match": False, "rms": None, "largest": None}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found["match"] = bool(matcher.fit(one, other, symmetric=True))
        distances = [rms(*pair) for pair in ((one, other), (other, one))] if found["match"] else []
    known = [distance for distance in distances if distance is not None]
    if known:
        # Rounded, so that another BLAS does not change the verdict's bytes; the larger of both orders.
        found["rms"] = round(max(float(distance[0]) for distance in known), 6)
        found["largest"] = round(max(float(distance[1]) for distance in known), 6)
    return found
