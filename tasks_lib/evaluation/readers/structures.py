"""Crystal structures: CIF, POSCAR and Avogadro's cjson, and their comparison; pymatgen does the work.

Imported by the reading process alone: pymatgen takes seconds to load and hundreds of megabytes.
"""

from __future__ import annotations

import json
import re
import warnings
from typing import Any

from pymatgen.analysis.structure_matcher import StructureMatcher
from pymatgen.core.composition import Composition
from pymatgen.core.lattice import Lattice
from pymatgen.core.periodic_table import Element
from pymatgen.core.structure import Structure
from pymatgen.io.cif import CifFile, CifParser
from pymatgen.io.vasp.inputs import Poscar

from tasks_lib.evaluation._registry import Unreadable
from tasks_lib.evaluation.readers.text import decode
from tasks_lib.records import Json

SHORTEST_EDGE = 0.5
"""A shorter cell edge is no crystal, Å."""
MOST_SITES = 5000
"""A larger structure is not read, sites."""


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
        If the file is no structure, holds more than one, has impossible occupancies or a degenerate cell, or if atoms
        were lost on reading.
    """
    text = decode(data)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        structure = {"cif": _from_cif, "poscar": _from_poscar, "cjson": _from_cjson}[form](text)
        return _describe(structure, symmetry=symmetry, symprec=symprec)


def _describe(structure: Structure, *, symmetry: bool, symprec: float) -> dict[str, Json]:
    if not 0 < len(structure) <= MOST_SITES:
        msg = f"the structure has {len(structure)} sites; 1 to {MOST_SITES} are read"
        raise Unreadable(msg)
    for name in list(structure.site_properties):  # flags, magnetic moments: no part of the comparison
        structure.remove_site_property(name)
    lattice = structure.lattice
    _check_edges([float(edge) for edge in lattice.abc])
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
            msg = f"no space group can be found for it: {_first_line(error)}"
            raise Unreadable(msg) from error
        found |= {"space-group": int(number), "space-group-symbol": str(symbol)}
    return found


def _check_edges(edges: list[float]) -> None:
    for name, edge in zip("abc", edges, strict=False):
        if not edge >= SHORTEST_EDGE:  # also NaN
            msg = f"cell edge {name} is {edge:.3g} Å, shorter than the {SHORTEST_EDGE:g} Å of any crystal"
            raise Unreadable(msg)


def _first_line(error: BaseException) -> str:
    line = (str(error).strip().splitlines() or [""])[0]
    return f"{type(error).__name__}: {re.sub(r'0x[0-9a-f]+', '0x…', line)[:200]}"


def _from_cif(text: str) -> Structure:
    plain = re.sub(r"^;.*?^;", "", text, flags=re.MULTILINE | re.DOTALL)
    blocks = re.findall(r"^\s*data_(\S*)", plain, flags=re.MULTILINE | re.IGNORECASE)
    if len(blocks) != 1:
        named = f" ({', '.join(name[:40] for name in blocks[:5])})" if blocks else ""
        msg = f"the CIF has {len(blocks)} data blocks{named}, one structure is expected"
        raise Unreadable(msg)
    edges = re.findall(r"_cell_length_([abc])\s+['\"]?([-+.\deE]+)", plain)
    if {name for name, _ in edges} != {"a", "b", "c"}:
        msg = "the CIF does not give the cell edges a, b and c as numbers"
        raise Unreadable(msg)
    _check_edges([_float(value) for _, value in sorted(edges)])
    try:
        block = next(iter(CifFile.from_str(text).data.values())).data
    except MemoryError:
        raise
    except Exception as error:
        msg = f"the CIF cannot be read: {_first_line(error)}"
        raise Unreadable(msg) from error
    _check_occupancies(block.get("_atom_site_occupancy", []))
    try:
        with warnings.catch_warnings(record=True) as told:
            warnings.simplefilter("always")
            structures = CifParser.from_str(text, occupancy_tolerance=1.0 + 1e-3).parse_structures(primitive=False)
    except MemoryError:
        raise
    except Exception as error:
        # pymatgen says only "no structures" in the error, and the reason in a warning.
        reason = next((str(w.message) for w in told if "occupanc" in str(w.message).lower()), _first_line(error))
        msg = f"the CIF cannot be read: {' '.join(reason.split())[:200]}"
        raise Unreadable(msg) from error
    if len(structures) != 1:
        msg = f"the CIF gives {len(structures)} structures, one is expected"
        raise Unreadable(msg)
    structure = structures[0]
    said = str(block.get("_chemical_formula_sum", "")).strip()
    if said and said != "?":
        try:
            wanted = Composition(said.replace("'", ""))
        except Exception as error:
            msg = f"_chemical_formula_sum {said[:80]!r} is no formula"
            raise Unreadable(msg) from error
        found = structure.composition.element_composition
        # The sum may name one formula unit or the whole cell, so shares are compared: 1 % takes rounding of
        # partial occupancies, and loses no atom of a cell below 100 sites.
        if not found.fractional_composition.almost_equals(wanted.fractional_composition, rtol=0.01, atol=1e-3):
            msg = (
                f"the composition {found.reduced_formula} of the atoms differs from _chemical_formula_sum "
                f"{said[:80]!r}: atoms are missing or too many"
            )
            raise Unreadable(msg)
    return structure


def _float(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        return float("nan")


def _check_occupancies(values: list[str] | str) -> None:
    for text in [values] if isinstance(values, str) else values:
        value = _float(str(text).split("(")[0])
        if value > 1.0 + 1e-3 or value < 0:
            msg = f"a site has the occupancy {str(text)[:20]}, outside 0 to 1"
            raise Unreadable(msg)


def _from_poscar(text: str) -> Structure:
    lines = text.split("\n")
    if len(lines) < 8:
        msg = f"the POSCAR ends after line {len(lines)}: it is truncated"
        raise Unreadable(msg)
    try:
        scale = [float(word) for word in lines[1].split()]
    except ValueError:
        scale = []
    if len(scale) not in (1, 3):
        msg = f"line 1 of a POSCAR is the comment and line 2 the scale: line 2 is {lines[1].strip()[:40]!r}"
        raise Unreadable(msg)
    if re.fullmatch(r"[\s\d]+", lines[5]):
        msg = "line 6 of the POSCAR gives numbers of atoms without the element symbols above them"
        raise Unreadable(msg)
    counts = [int(word[:9]) for word in re.findall(r"\d+", lines[6])]
    if sum(counts) > MOST_SITES:
        msg = f"the POSCAR has {sum(counts)} sites; up to {MOST_SITES} are read"
        raise Unreadable(msg)
    if lines[7].strip()[:1] in ("S", "s"):
        for number, line in enumerate(lines[9:], start=10):
            words = line.split()
            if len(words) >= 6 and words[3].upper().strip(".") not in ("T", "F", "TRUE", "FALSE"):
                msg = f"line {number} of the POSCAR has {words[3][:20]!r} where a selective-dynamics flag T or F stands"
                raise Unreadable(msg)
    try:
        vectors = [[float(word) for word in line.split()[:3]] for line in lines[2:5]]
        factor = scale[0] if scale[0] > 0 else 1.0
        _check_edges([factor * sum(component**2 for component in vector) ** 0.5 for vector in vectors])
        poscar = Poscar.from_str(text, read_velocities=False)
    except (MemoryError, Unreadable):
        raise
    except Exception as error:
        msg = f"the POSCAR cannot be read: {_first_line(error)}"
        raise Unreadable(msg) from error
    return poscar.structure


def _from_cjson(text: str) -> Structure:
    try:
        tree = json.loads(text)
        cell = tree.get("unitCell") or tree["unit cell"]
        _check_edges([float(cell[name]) for name in "abc"])
        vectors = cell.get("cellVectors")
        lattice = (
            Lattice(vectors)
            if vectors
            else Lattice.from_parameters(*(float(cell[name]) for name in ("a", "b", "c", "alpha", "beta", "gamma")))
        )
        species = [Element.from_Z(int(number)) for number in tree["atoms"]["elements"]["number"]]
        coords = tree["atoms"]["coords"]
        fractional = coords.get("3dFractional") or coords.get("3d fractional")
        flat = [float(value) for value in (fractional or coords["3d"])]
        if len(flat) != 3 * len(species):
            msg = f"the cjson has {len(species)} atoms but {len(flat)} coordinates"
            raise Unreadable(msg)
        triples = [flat[at : at + 3] for at in range(0, len(flat), 3)]
        return Structure(lattice, species, triples, coords_are_cartesian=fractional is None)
    except (MemoryError, RecursionError, Unreadable):
        raise
    except Exception as error:
        msg = f"the cjson holds no crystal: {_first_line(error)}"
        raise Unreadable(msg) from error


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
