"""Crystals written as files, and distances in them, without pymatgen: for inputs and gold of the structure tasks."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from infra.inputs.texts import text_file

Array = NDArray[np.float64]
Site = tuple[str, Sequence[float] | Array]


def box(a: float, b: float, c: float, gamma: float = 90.0) -> Array:
    """Return lattice vectors as rows, Å; alpha and beta are right angles."""
    angle = math.radians(gamma)
    return np.array([[a, 0.0, 0.0], [b * math.cos(angle), b * math.sin(angle), 0.0], [0.0, 0.0, c]])


def lengths_and_angles(cell: Array) -> tuple[list[float], list[float]]:
    """Return the edges (Å) and the angles alpha, beta, gamma (degrees) of lattice vectors."""
    edges = np.linalg.norm(cell, axis=1)
    cosines = [cell[i] @ cell[j] / (edges[i] * edges[j]) for i, j in ((1, 2), (0, 2), (0, 1))]
    return [float(edge) for edge in edges], [math.degrees(math.acos(value)) for value in cosines]


def distances(cell: Array, one: Array, others: Array, reach: int = 1) -> Array:
    """Return the distances from a fractional position to others over the nearest cells, Å, shape (n, cells).

    Parameters
    ----------
    cell : array, shape (3, 3)
        Lattice vectors as rows, Å.
    one : array, shape (3,)
    others : array, shape (n, 3)
    reach : int
        Cells that are looked at in each direction; 1, or 27 cells, is enough where no angle is sharp.
    """
    images = np.array(list(itertools.product(range(-reach, reach + 1), repeat=3)), dtype=float)
    wrapped = (others - one) - np.round(others - one)
    return np.asarray(np.linalg.norm((wrapped[:, None, :] + images[None, :, :]) @ cell, axis=2))


def random_rotation(rng: np.random.Generator) -> Array:
    """Return a random rotation, from the QR decomposition of a random matrix."""
    q, r = np.linalg.qr(rng.normal(size=(3, 3)))
    q = q * np.sign(np.diag(r))
    return np.asarray(q * np.linalg.det(q))


def cif(name: str, formula: str, lengths: Sequence[float], angles: Sequence[float], rest: Sequence[str]) -> bytes:
    """Return a CIF of one block: its cell, then `rest`, line by line."""
    rows = [f"data_{name}", f"_chemical_formula_sum   '{formula}'"]
    rows += [f"_cell_length_{axis}   {length:.5f}" for axis, length in zip("abc", lengths, strict=True)]
    rows += [f"_cell_angle_{axis}   {angle:g}" for axis, angle in zip(("alpha", "beta", "gamma"), angles, strict=True)]
    return text_file([*rows, *rest])


def operations(symmetry: Sequence[str]) -> list[str]:
    """Return the loop of symmetry operations of a CIF, line by line."""
    return ["loop_", "_space_group_symop_operation_xyz", *(f"'{operation}'" for operation in symmetry)]


def all_atoms(sites: Sequence[Site]) -> list[str]:
    """Return a CIF's loop of atoms without symmetry, labelled by element and number in the file, line by line."""
    rows = ["_symmetry_space_group_name_H-M   'P 1'", *operations(["x,y,z"])]
    rows += ["loop_", "_atom_site_label", "_atom_site_type_symbol", *(f"_atom_site_fract_{axis}" for axis in "xyz")]
    for number, (element, place) in enumerate(sites, start=1):
        rows.append(f"{element}{number} {element} " + " ".join(f"{value:.6f}" for value in place))
    return rows


def poscar(title: str, cell: Array, sites: Sequence[Site], *, grouped: bool = True) -> bytes:
    """Return a plain POSCAR with direct coordinates.

    Parameters
    ----------
    title : str
    cell : array, shape (3, 3)
        Lattice vectors as rows, Å.
    sites : sequence of (element, fractional position)
    grouped : bool
        Whether the sites of one element are put together, elements in order of appearance; else the order is kept,
        and an element may stand twice in the header.
    """
    if grouped:
        elements = list(dict.fromkeys(element for element, _ in sites))
        sites = sorted(sites, key=lambda site: elements.index(site[0]))
    runs = [(element, len(list(run))) for element, run in itertools.groupby(element for element, _ in sites)]
    rows = [title, "1.0", *(" ".join(f"{value:.10f}" for value in vector) for vector in cell)]
    rows += [" ".join(element for element, _ in runs), " ".join(str(count) for _, count in runs), "Direct"]
    rows += [" ".join(f"{value % 1.0:.10f}" for value in place) for _, place in sites]
    return text_file(rows)
