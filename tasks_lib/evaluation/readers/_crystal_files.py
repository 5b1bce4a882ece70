"""The three formats of structures: what each file must say, and pymatgen's reading of it."""

from __future__ import annotations

import json
import math
import re
import warnings

from pymatgen.core.composition import Composition
from pymatgen.core.lattice import Lattice
from pymatgen.core.periodic_table import Element
from pymatgen.core.structure import Structure
from pymatgen.io.cif import CifFile, CifParser
from pymatgen.io.vasp.inputs import Poscar

from tasks_lib.evaluation._registry import Unreadable
from tasks_lib.evaluation.readers._crystal_checks import (
    MOST_SITES,
    check_angles,
    check_edges,
    check_occupancies,
    check_places,
    first_line,
    to_float,
)


def from_cif(text: str) -> Structure:
    """Read a CIF with one data block, without merging sites into a primitive cell.

    Raises
    ------
    Unreadable
        Where the file says no crystal, or says it in a way that leaves room for a guess.
    """
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
    check_edges([to_float(value) for _, value in sorted(edges)])
    angles = dict(re.findall(r"_cell_angle_(alpha|beta|gamma)\s+['\"]?([^\s'\"(]+)", plain))
    check_angles([to_float(angles.get(name, "90")) for name in ("alpha", "beta", "gamma")])
    try:
        block = next(iter(CifFile.from_str(text).data.values())).data
    except MemoryError:
        raise
    except Exception as error:
        msg = f"the CIF cannot be read: {first_line(error)}"
        raise Unreadable(msg) from error
    check_occupancies(block.get("_atom_site_occupancy", []))
    check_places(block)
    try:
        with warnings.catch_warnings(record=True) as told:
            warnings.simplefilter("always")
            structures = CifParser.from_str(text, occupancy_tolerance=1.0 + 1e-3).parse_structures(primitive=False)
    except MemoryError:
        raise
    except Exception as error:
        # pymatgen says only "no structures" in the error, and the reason in a warning.
        reason = next((str(w.message) for w in told if "occupanc" in str(w.message).lower()), first_line(error))
        msg = f"the CIF cannot be read: {' '.join(reason.split())[:200]}"
        raise Unreadable(msg) from error
    if any("implicit hydrogens" in str(warning.message) for warning in told):
        msg = "the CIF tells hydrogen atoms by a number or a name alone (water, O-H, _atom_site_attached_hydrogens): "
        raise Unreadable(msg + "atoms without a place are missing from the structure")
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


def from_poscar(text: str) -> Structure:
    """Read a POSCAR as VASP does, with element symbols and one scale factor or a negative volume.

    Raises
    ------
    Unreadable
        Where the file says no crystal, or says it in a way that leaves room for a guess.
    """
    lines = text.split("\n")
    if len(lines) < 8:
        msg = f"the POSCAR ends after line {len(lines)}: it is truncated"
        raise Unreadable(msg)
    try:
        scale = [float(word) for word in lines[1].split()]
    except ValueError:
        scale = []
    if len(scale) == 3:
        msg = "line 2 of the POSCAR gives three scale factors, one is read: write the scaled vectors and 1.0"
        raise Unreadable(msg)
    if len(scale) != 1:
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
        factor = _scale(scale[0], vectors)
        check_edges([factor * sum(component**2 for component in vector) ** 0.5 for vector in vectors])
        # pymatgen scales Cartesian positions by the volume itself where line 2 gives one as a negative number.
        lines[1] = repr(factor)
        poscar = Poscar.from_str("\n".join(lines), read_velocities=False)
    except (MemoryError, Unreadable):
        raise
    except Exception as error:
        msg = f"the POSCAR cannot be read: {first_line(error)}"
        raise Unreadable(msg) from error
    return poscar.structure


def _scale(scale: float, vectors: list[list[float]]) -> float:
    """Return the factor of line 2; where it is negative, the one that gives the cell the volume ``-scale``, Å^3."""
    if scale >= 0:
        return scale
    (a, b, c), (d, e, f), (g, h, i) = vectors
    volume = abs(a * (e * i - f * h) - b * (d * i - f * g) + c * (d * h - e * g))
    if volume == 0:
        msg = "the vectors of the POSCAR lie in one plane: the cell has no volume"
        raise Unreadable(msg)
    return float((-scale / volume) ** (1 / 3))


def from_cjson(text: str) -> Structure:
    """Read the unit cell and atoms of Avogadro's cjson.

    Raises
    ------
    Unreadable
        Where the file says no crystal, or says it in a way that leaves room for a guess.
    """
    try:
        tree = json.loads(text)
        cell = tree.get("unitCell") or tree["unit cell"]
        check_edges([float(cell[name]) for name in "abc"])
        check_angles([float(cell.get(name, 90.0)) for name in ("alpha", "beta", "gamma")])
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
        if not all(math.isfinite(value) for value in flat):
            at = next(at for at, value in enumerate(flat) if not math.isfinite(value))
            msg = f"atom {at // 3 + 1} of the cjson has the {'xyz'[at % 3]} coordinate {flat[at]}, no finite number"
            raise Unreadable(msg)
        triples = [flat[at : at + 3] for at in range(0, len(flat), 3)]
        return Structure(lattice, species, triples, coords_are_cartesian=fractional is None)
    except (MemoryError, RecursionError, Unreadable):
        raise
    except Exception as error:
        msg = f"the cjson holds no crystal: {first_line(error)}"
        raise Unreadable(msg) from error
