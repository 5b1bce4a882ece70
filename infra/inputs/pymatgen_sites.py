"""Inputs and gold of the pymatgen tasks about which atom sits where, without pymatgen.

Where each answer comes from:

* ``hop-images``: start and end before the end was wrapped and shuffled, so that each atom's path is known.
* ``duplicate-crystals``: which crystal each entry was made from.
* ``divacancy-classes``: orbits of pairs under the 64 operations of the supercell, written out.
* ``lowest-ewald-order``: every one of the 1820 orders, with an Ewald sum of our own.
"""

from __future__ import annotations

import itertools
import json
import math
from collections.abc import Sequence

import numpy as np
from scipy.special import erfc

from infra.inputs.crystals import Array, Site, all_atoms, box, cif, distances, operations, poscar, random_rotation
from infra.inputs.texts import text_file

NICKEL_A, HOP_IMAGES, HOP_WANTED = 3.5184, 5, 2  # Å; images between the ends; the one that is asked for, from the start

TITANATE_A, TITANATE_C = 3.9052, 4.1107  # Å
TITANATE_CELLS = (2, 2, 1)

NIOBATE_A = 4.2204  # Å, edge of the rock-salt cell
NIOBATE_CELLS = (2, 2, 1)
COULOMB = 14.39964548  # eV Å, e² / (4 pi epsilon_0)


# -- hop-images ------------------------------------------------------------------------------------------------------


def hop_ends() -> tuple[Array, Array, Array]:
    """Return the cell (Å) of 31 nickel atoms, their places at the start, and the same atoms' places at the end.

    The last atom goes through the floor of the cell into the vacancy; the others relax a little.
    """
    rng = np.random.default_rng(20260431)
    faces = np.array([[0.0, 0.0, 0.0], [0.0, 0.5, 0.5], [0.5, 0.0, 0.5], [0.5, 0.5, 0.0]])
    steps = np.array(list(itertools.product(range(2), repeat=3)), dtype=float)
    places = ((faces[None, :, :] + steps[:, None, :]) / 2).reshape(-1, 3)
    cell = box(2 * NICKEL_A, 2 * NICKEL_A, 2 * NICKEL_A)
    hop = np.array([0.25, 0.0, -0.25])
    mover = int(np.flatnonzero(np.all(np.isclose(places, [0.25, 0.25, 0.0]), axis=1))[0])
    hole = int(np.flatnonzero(np.all(np.isclose(places, [0.5, 0.25, 0.75]), axis=1))[0])
    kept = [index for index in range(len(places)) if index not in (mover, hole)]
    start = np.vstack([places[kept], places[mover]])
    end = np.vstack([places[kept], places[mover] + hop])
    shared = rng.normal(0.0, 0.03, start.shape)
    moved = [site + (shared + rng.normal(0.0, 0.05, start.shape)) @ np.linalg.inv(cell) for site in (start, end)]
    return cell, moved[0], moved[1]


def hop_start() -> bytes:
    """Return the start, atoms in the generator's order."""
    cell, start, _ = hop_ends()
    return poscar("Ni31, before the hop", cell, [("Ni", place) for place in start])


def hop_end() -> bytes:
    """Return the end, atoms in another order, all inside the cell."""
    cell, _, end = hop_ends()
    order = np.random.default_rng(20260432).permutation(len(end))
    return poscar("Ni31, after the hop", cell, [("Ni", place) for place in end[order]])


def hop_image() -> bytes:
    """Return the image that is asked for: each atom on the straight line of its own path."""
    cell, start, end = hop_ends()
    places = start + (end - start) * HOP_WANTED / (HOP_IMAGES + 1)
    return poscar("Ni31, on the way", cell, [("Ni", place) for place in places])


# -- duplicate-crystals ----------------------------------------------------------------------------------------------


def _rutile(a: float, b: float, c: float, x: float, y: float) -> tuple[Array, list[Site]]:
    oxygen = [(x, y, 0.0), (-x, -y, 0.0), (0.5 - x, 0.5 + y, 0.5), (0.5 + x, 0.5 - y, 0.5)]
    return box(a, b, c), [("Ti", (0.0, 0.0, 0.0)), ("Ti", (0.5, 0.5, 0.5)), *(("O", place) for place in oxygen)]


def _anatase() -> tuple[Array, list[Site]]:
    metal = ((0.0, 0.0, 0.0), (0.0, 0.5, 0.25), (0.5, 0.5, 0.5), (0.5, 0.0, 0.75))
    sites: list[Site] = [("Ti", place) for place in metal]
    sites += [("O", (x, y, z + sign * 0.2081)) for x, y, z in metal for sign in (1.0, -1.0)]
    return box(3.7845, 3.7845, 9.5143), sites


def _fluorite() -> tuple[Array, list[Site]]:
    faces = ((0.0, 0.0, 0.0), (0.0, 0.5, 0.5), (0.5, 0.0, 0.5), (0.5, 0.5, 0.0))
    sites: list[Site] = [("Ti", place) for place in faces]
    sites += [("O", [v + s for v in place]) for place in faces for s in (0.25, 0.75)]
    return box(4.787, 4.787, 4.787), sites


CRYSTALS = {
    "rutile": _rutile(4.594, 4.594, 2.959, 0.305, 0.305),
    # Squeezed until it twists: edges differ by 4 %, oxygen has moved by 0.2 Å.
    "twisted": _rutile(4.686, 4.502, 2.959, 0.262, 0.348),
    # As rutile, all edges 2.2 % shorter.
    "dense": _rutile(4.493, 4.493, 2.894, 0.305, 0.305),
    "anatase": _anatase(),
    "fluorite": _fluorite(),
}
IDENTITY = ((1, 0, 0), (0, 1, 0), (0, 0, 1))
# name -> crystal, and the new cell's edges in the old ones.
ENTRIES: dict[str, tuple[str, Sequence[Sequence[float]]]] = {
    "run-03": ("dense", IDENTITY),
    "run-04": ("rutile", ((0, 0, 1), (1, 1, 0), (-1, 1, 0))),
    "run-07": ("anatase", ((-0.5, 0.5, 0.5), (0.5, -0.5, 0.5), (0.5, 0.5, -0.5))),
    "run-09": ("twisted", ((0, 1, 0), (0, 0, 1), (1, 0, 0))),
    "run-12": ("rutile", IDENTITY),
    "run-15": ("fluorite", IDENTITY),
    "run-18": ("dense", ((1, 0, 0), (0, 1, 0), (1, 0, 2))),
    "run-21": ("anatase", IDENTITY),
    "run-22": ("rutile", ((1, 1, 0), (0, 1, 1), (0, 0, 1))),
    "run-26": ("twisted", ((2, 0, 0), (0, 1, 0), (0, 1, 1))),
}


def recut(cell: Array, sites: Sequence[Site], edges: Sequence[Sequence[float]]) -> tuple[Array, list[Site]]:
    """Return the crystal in another cell, whose edges are given in the old ones."""
    larger = np.array(edges, dtype=float)
    inverse = np.linalg.inv(larger)
    kept: dict[tuple[str, tuple[float, ...]], Site] = {}
    for (element, place), step in itertools.product(sites, itertools.product(range(-3, 4), repeat=3)):
        inside = ((np.asarray(place) + np.array(step)) @ inverse) % 1.0
        key = (element, tuple(float(value) for value in np.round(inside, 6) % 1.0))
        kept.setdefault(key, (element, inside))
    return larger @ cell, list(kept.values())


def entries() -> bytes:
    """Return the entries as pymatgen's JSON: turned, shifted, shuffled, atoms shaken by 0.015 Å, cells by 0.1 %."""
    rng = np.random.default_rng(20260433)
    found = []
    for name, (crystal, edges) in ENTRIES.items():
        cell, sites = recut(*CRYSTALS[crystal], edges)
        cell = cell @ random_rotation(rng) * (1 + rng.normal(0.0, 0.0007, (3, 1)))
        shift = rng.uniform(0.0, 1.0, 3)
        order = rng.permutation(len(sites))
        moved = []
        for element, place in (sites[index] for index in order):
            abc = (place + shift + rng.normal(0.0, 0.015 / math.sqrt(3), 3) @ np.linalg.inv(cell)) % 1.0
            moved.append({"species": [{"element": element, "occu": 1}], "abc": [round(float(v), 6) for v in abc]})
        lattice = {"matrix": [[round(float(v), 6) for v in row] for row in cell]}
        kind = {"@module": "pymatgen.core.structure", "@class": "Structure"}
        found.append({"name": name, "structure": {**kind, "charge": 0, "lattice": lattice, "sites": moved}})
    return (json.dumps(found) + "\n").encode("utf-8")


def duplicates() -> bytes:
    """Return for each entry the first name of its crystal, as CSV."""
    first: dict[str, str] = {}
    for name in sorted(ENTRIES):
        first.setdefault(ENTRIES[name][0], name)
    rows = ["name,same_as", *(f"{name},{first[crystal]}" for name, (crystal, _) in ENTRIES.items())]
    return text_file(rows)


# -- divacancy-classes -----------------------------------------------------------------------------------------------


def titanate_sites() -> list[Site]:
    """Return a tetragonal perovskite without polarisation, P4/mmm."""
    oxygen = ([0.5, 0.5, 0.0], [0.5, 0.0, 0.5], [0.0, 0.5, 0.5])
    return [("Pb", [0.0, 0.0, 0.0]), ("Ti", [0.5, 0.5, 0.5]), *(("O", place) for place in oxygen)]


def titanate() -> bytes:
    """Return it as a CIF."""
    lengths = (TITANATE_A, TITANATE_A, TITANATE_C)
    return cif("lead_titanate", "Pb1 Ti1 O3", lengths, (90, 90, 90), all_atoms(titanate_sites()))


def pair_classes() -> list[tuple[float, int]]:
    """Return distance (Å) and number of pairs of each class of oxygen pairs that symmetry makes alike."""
    times = np.array(TITANATE_CELLS, dtype=float)
    steps = list(itertools.product(*(range(count) for count in TITANATE_CELLS)))
    unit = [np.asarray(place) for element, place in titanate_sites() if element == "O"]
    oxygen = np.array([place + np.array(step) for step in steps for place in unit])  # in edges of the unit cell
    index = {tuple(np.round(place % times, 4)): number for number, place in enumerate(oxygen)}
    signs = itertools.product((1, -1), repeat=3)
    turns = [np.diag(sign) @ swap for sign in signs for swap in (np.eye(3), np.eye(3)[[1, 0, 2]])]
    permutations = [
        [index[tuple(np.round((place @ turn + np.array(step)) % times, 4))] for place in oxygen]
        for turn in turns
        for step in steps
    ]
    cell = box(TITANATE_A, TITANATE_A, TITANATE_C) * times[:, None]
    orbits = {
        frozenset(frozenset((p[i], p[j])) for p in permutations)
        for i, j in itertools.combinations(range(len(oxygen)), 2)
    }
    found = []
    for orbit in orbits:
        i, j = sorted(min(orbit, key=sorted))
        found.append((float(distances(cell, oxygen[i] / times, oxygen[j][None, :] / times).min()), len(orbit)))
    return sorted(found)


def divacancies() -> bytes:
    """Return the classes as CSV."""
    rows = ["distance,pairs", *(f"{distance:.4f},{pairs}" for distance, pairs in pair_classes())]
    return text_file(rows)


# -- lowest-ewald-order ----------------------------------------------------------------------------------------------


def niobate_sites() -> tuple[Array, Array, Array]:
    """Return the cell (Å) and the places of cations and of oxygen: rock salt, 2 x 2 x 1 cells."""
    times = np.array(NIOBATE_CELLS, dtype=float)
    faces = np.array([[0.0, 0.0, 0.0], [0.0, 0.5, 0.5], [0.5, 0.0, 0.5], [0.5, 0.5, 0.0]])
    steps = np.array(list(itertools.product(*(range(count) for count in NIOBATE_CELLS))), dtype=float)
    cations = ((faces[None, :, :] + steps[:, None, :]) / times).reshape(-1, 3)
    oxygen = cations + np.array([0.5, 0.0, 0.0]) / times
    return box(NIOBATE_A, NIOBATE_A, NIOBATE_A) * times[:, None], cations, oxygen % 1.0


def niobate() -> bytes:
    """Return the crystal with lithium and niobium mixed on every cation site."""
    cell, cations, oxygen = niobate_sites()
    rows = ["_symmetry_space_group_name_H-M   'P 1'", *operations(["x,y,z"]), "loop_", "_atom_site_label"]
    rows += ["_atom_site_type_symbol", *(f"_atom_site_fract_{axis}" for axis in "xyz"), "_atom_site_occupancy"]
    for number, place in enumerate(cations, start=1):
        where = " ".join(f"{value:.6f}" for value in place)
        rows += [f"Li{number} Li {where} 0.75", f"Nb{number} Nb {where} 0.25"]
    rows += [f"O{n} O " + " ".join(f"{v:.6f}" for v in place) + " 1" for n, place in enumerate(oxygen, start=1)]
    return cif("niobate", "Li12 Nb4 O16", [float(v) for v in np.diag(cell)], (90, 90, 90), rows)


def ewald_matrix(cell: Array, places: Array) -> Array:
    """Return M with electrostatic energy q M q in eV, for charges q (e) whose sum is zero.

    Ewald's sum with Gaussian width 1 / eta: half of erfc(eta r) / r over all images, plus
    2 pi / V exp(-G² / 4 eta²) / G² cos(G r) over the reciprocal lattice, less eta / sqrt(pi) for each charge.
    """
    volume = abs(float(np.linalg.det(cell)))
    eta = math.sqrt(math.pi) / volume ** (1 / 3)
    reciprocal = 2 * math.pi * np.linalg.inv(cell).T
    reach = range(-5, 6)
    images = np.array(list(itertools.product(reach, repeat=3)), dtype=float)
    far = (
        np.array([step for step in itertools.product(range(-10, 11), repeat=3) if any(step)], dtype=float) @ reciprocal
    )
    size = (far**2).sum(axis=1)
    weight = 2 * math.pi / volume * np.exp(-size / (4 * eta**2)) / size
    heavy = weight > weight.max() * 1e-16
    matrix = np.zeros((len(places), len(places)))
    for i, j in itertools.product(range(len(places)), repeat=2):
        apart = places[j] - places[i]
        r = np.linalg.norm((apart + images) @ cell, axis=1)
        r = r[r > 1e-8]
        near = 0.5 * (erfc(eta * r) / r).sum()
        matrix[i, j] = near + (weight[heavy] * np.cos(far[heavy] @ (apart @ cell))).sum()
        if i == j:
            matrix[i, j] -= eta / math.sqrt(math.pi)
    return COULOMB * matrix


def rated_orders() -> list[tuple[float, tuple[int, ...]]]:
    """Return every choice of four cation sites for niobium with its electrostatic energy (eV), lowest first."""
    cell, cations, oxygen = niobate_sites()
    matrix = ewald_matrix(cell, np.vstack([cations, oxygen]))
    rated = []
    for chosen in itertools.combinations(range(len(cations)), len(cations) // 4):
        charges = np.array([1.0] * len(cations) + [-2.0] * len(oxygen))
        charges[list(chosen)] = 5.0
        rated.append((float(charges @ matrix @ charges), chosen))
    return sorted(rated, key=lambda item: (round(item[0], 6), item[1]))


def lowest_order() -> bytes:
    """Return the order of lowest energy."""
    cell, cations, oxygen = niobate_sites()
    chosen = rated_orders()[0][1]
    sites: list[Site] = [("Nb" if index in chosen else "Li", place) for index, place in enumerate(cations)]
    return poscar("Li3NbO4, ordered", cell, [*sites, *(("O", place) for place in oxygen)])


def files() -> dict[str, bytes]:
    """Return inputs and gold: path below ``taskdefs/mattoolbench/pymatgen`` -> content."""
    return {
        "hop-images/inputs/start.vasp": hop_start(),
        "hop-images/inputs/end.vasp": hop_end(),
        "hop-images/gold/image.vasp": hop_image(),
        "duplicate-crystals/inputs/entries.json": entries(),
        "duplicate-crystals/gold/groups.csv": duplicates(),
        "divacancy-classes/inputs/titanate.cif": titanate(),
        "divacancy-classes/gold/classes.csv": divacancies(),
        "lowest-ewald-order/inputs/niobate.cif": niobate(),
        "lowest-ewald-order/gold/ordered.vasp": lowest_order(),
    }
