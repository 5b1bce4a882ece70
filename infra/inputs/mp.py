"""Inputs of the Materials Project tasks (``taskdefs/mattoolbench/mp``), made from entries of the snapshot.

``unknown-ordering``: the ordering of Fe3Ni on a hexagonal close packing (``mp-9000597``), in a skewed double cell,
expanded as a warm crystal is, with its atoms moved, shuffled and counted from another origin.
"""

from __future__ import annotations

import numpy as np

from infra.inputs.crystals import poscar
from tasks_lib.databases import load

UNKNOWN = "mp-9000597"
SKEW = np.array([[1, 1, 0], [0, 1, 0], [1, 0, 2]])  # determinant 2
EXPANSION = 1.006  # of each edge
SHAKE = 0.03  # Å, largest move of an atom along each axis
ORIGIN = np.array([0.137, 0.291, 0.083])


def unknown_ordering() -> bytes:
    """Return the crystal that is to be found in the database, as a POSCAR."""
    random = np.random.default_rng(20_261_130)
    crystal = load().by_mp(UNKNOWN).structure.to_pymatgen().make_supercell(SKEW, in_place=False)
    cell = crystal.lattice.matrix * EXPANSION
    places = crystal.frac_coords + random.uniform(-SHAKE, SHAKE, crystal.frac_coords.shape) @ np.linalg.inv(cell)
    sites = [(site.specie.symbol, (place + ORIGIN) % 1.0) for site, place in zip(crystal, places, strict=True)]
    order = random.permutation(len(sites))
    return poscar("Fe Ni, room temperature", cell, [sites[index] for index in order])


def files() -> dict[str, bytes]:
    """Return path below ``taskdefs/mattoolbench/mp`` -> content."""
    return {"unknown-ordering/inputs/unknown.vasp": unknown_ordering()}
