"""Inputs and gold of the pymatgen tasks about cells, meshes, strain and surfaces, without pymatgen.

Where each answer comes from:

* ``rhombohedral-cell``: closed formulas of the rhombohedral edge and angle from the hexagonal edges.
* ``skewed-cell-distances``: distances over 15 x 15 x 15 cells, far more than any pair needs.
* ``kspacing-mesh``: reciprocal edges from the metric, and the smallest whole numbers that keep the spacing.
* ``strained-zincblende``: the subgroups of F-43m that leave a strain as it is, from the group's mirrors and axes.
* ``perovskite-slab``: the layers of the cubic perovskite, stacked one by one.
"""

from __future__ import annotations

import math

import numpy as np

from infra.inputs.crystals import Array, Site, all_atoms, box, cif, distances, lengths_and_angles, poscar
from infra.inputs.texts import json_file, text_file

TELLURIDE_A, TELLURIDE_C = 4.1964, 29.9128  # Å, hexagonal axes
TELLURIDE_Z = {"Sb": 0.3948, "Te": 0.2104}  # along c; selenium lies at the origin

SKEWED_CELL = np.array([[6.12, 0.0, 0.0], [5.31, 4.87, 0.0], [-4.66, 3.92, 7.05]])  # Å, rows
SKEWED_ELEMENTS = ("Zn", "O", "N", "C", "O", "N", "C", "O", "C", "N", "O", "C")
SKEWED_PAIRS = ((1, 2), (1, 6), (3, 8), (4, 9), (5, 11), (7, 12), (10, 2), (8, 11))

LAYERED_A, LAYERED_C, LAYERED_Z = 4.236, 6.862, 0.2492  # Å, Å, iodine's free coordinate
SPACING = 0.22  # 1/Å, with the factor 2 pi

ZINCBLENDE_A = 5.8687  # Å
E = 0.0006  # size of the strains: moves atoms by less than 0.004 Å
STRAINS: dict[str, tuple[tuple[float, ...], int]] = {
    # name: (xx, yy, zz, yz, xz, xy) and the space group that is left of F-43m
    "a": ((E, E, -2 * E, 0, 0, 0), 119),  # I-4m2: the axis -4 along z, its mirrors
    "b": ((0, 0, 0, E, E, E), 160),  # R3m: the axis 3 along [111] and its three mirrors
    "c": ((0, 0, 0, 0, 0, 2 * E), 44),  # Imm2: the axis 2 along z and two mirrors, cell turned by 45 degrees
    "d": ((2 * E, -E, 0, 0, 0, 0), 22),  # F222: three axes 2 and no mirror
    "e": ((-E, -E, -E, 0, 0, 0), 216),  # F-43m: all of it
    "f": ((2 * E, -E, E, 1.5 * E, 0, 0), 5),  # C2: the axis along x alone
    "g": ((E, E, -E, 1.5 * E, 1.5 * E, 2 * E), 8),  # Cm: the mirror that exchanges x and y
    "h": ((E, -2 * E, 2 * E, -E, 1.5 * E, 2.5 * E), 1),  # P1
}

PEROVSKITE_A = 4.1928  # Å
SLAB_LAYERS = 7  # ZrO2, BaO, ZrO2 ... ZrO2
VACUUM = 15.0  # Å between the outermost layers of neighbouring slabs


# -- rhombohedral-cell -----------------------------------------------------------------------------------------------


def telluride() -> bytes:
    """Return a layered telluride, R-3m, in hexagonal axes, all 15 atoms written out."""
    places = [("Se", 0.0), *(pair for e, z in TELLURIDE_Z.items() for pair in ((e, z), (e, -z)))]
    centring = ((0, 0, 0), (2 / 3, 1 / 3, 1 / 3), (1 / 3, 2 / 3, 2 / 3))
    sites: list[Site] = [(element, [x, y, (z + up) % 1.0]) for element, z in places for x, y, up in centring]
    lengths = (TELLURIDE_A, TELLURIDE_A, TELLURIDE_C)
    return cif("telluride", "Sb6 Te6 Se3", lengths, (90, 90, 120), all_atoms(sites))


def rhombohedral() -> bytes:
    """Return edge (Å) and angle (degrees) of its rhombohedral cell.

    a_r² = a² / 3 + c² / 9 and sin(alpha / 2) = 3 / (2 sqrt(3 + (c / a)²)), from the obverse setting.
    """
    ratio = TELLURIDE_C / TELLURIDE_A
    edge = math.sqrt(TELLURIDE_A**2 / 3 + TELLURIDE_C**2 / 9)
    angle = 2 * math.degrees(math.asin(3 / (2 * math.sqrt(3 + ratio**2))))
    return json_file({"a": round(edge, 5), "alpha": round(angle, 5)})


# -- skewed-cell-distances -------------------------------------------------------------------------------------------


def skewed_sites() -> list[Site]:
    """Return twelve atoms at random places of the sharp-angled cell, none closer than 1.6 Å to another."""
    rng = np.random.default_rng(20260411)
    sites: list[Site] = []
    while len(sites) < len(SKEWED_ELEMENTS):
        place = np.round(rng.uniform(0.0, 1.0, 3), 6)
        if all(distances(SKEWED_CELL, np.asarray(other), place[None, :], 3).min() > 1.6 for _, other in sites):
            sites.append((SKEWED_ELEMENTS[len(sites)], place))
    return sites


def skewed_cif() -> bytes:
    """Return them as a CIF whose labels number the atoms."""
    sites = skewed_sites()
    return cif("network", "Zn1 C4 N3 O4", *lengths_and_angles(SKEWED_CELL), all_atoms(sites))


def _labels(pair: tuple[int, int]) -> str:
    return ",".join(f"{SKEWED_ELEMENTS[number - 1]}{number}" for number in pair)


def skewed_pairs() -> bytes:
    """Return the pairs whose distances are asked for, by label."""
    return text_file(["first,second", *map(_labels, SKEWED_PAIRS)])


def skewed_distances() -> bytes:
    """Return their shortest distances, Å."""
    places = [np.asarray(place) for _, place in skewed_sites()]
    cell = SKEWED_CELL
    rows = ["first,second,distance"]
    for one, other in SKEWED_PAIRS:
        nearest = distances(cell, places[one - 1], places[other - 1][None, :], 7).min()
        rows.append(f"{_labels((one, other))},{nearest:.4f}")
    return text_file(rows)


# -- kspacing-mesh ---------------------------------------------------------------------------------------------------


def layered() -> bytes:
    """Return a layered iodide, P-3m1, as a POSCAR."""
    sites: list[Site] = [("Cd", [0.0, 0.0, 0.0])]
    sites += [("I", [1 / 3, 2 / 3, LAYERED_Z]), ("I", [2 / 3, 1 / 3, 1 - LAYERED_Z])]
    return poscar("CdI2", box(LAYERED_A, LAYERED_A, LAYERED_C, 120.0), sites)


def mesh() -> tuple[int, ...]:
    """Return the smallest mesh whose points lie at most `SPACING` apart along each reciprocal vector."""
    across = 2 * math.pi / (LAYERED_A * math.sin(math.radians(120)))
    return tuple(math.ceil(edge / SPACING) for edge in (across, across, 2 * math.pi / LAYERED_C))


def kpoints_pattern() -> str:
    """Return the expression that a KPOINTS file with this mesh, centred at Gamma, matches.

    Comments may follow a line; the shift may be left out where it is zero.
    """
    blank, zero = r"[ \t]", r"0(\.0*)?"
    comment = rf"({blank}[^\n]*)?"
    numbers = rf"{blank}+".join(str(count) for count in mesh())
    shift = rf"(\n{blank}*{zero}{blank}+{zero}{blank}+{zero}{comment})?"
    return rf"[^\n]*\n{blank}*0{comment}\n{blank}*[Gg][^\n]*\n{blank}*{numbers}{comment}{shift}\s*"


# -- strained-zincblende ---------------------------------------------------------------------------------------------


def zincblende() -> bytes:
    """Return indium phosphide, F-43m, all 8 atoms of the cubic cell written out."""
    faces = ((0.0, 0.0, 0.0), (0.0, 0.5, 0.5), (0.5, 0.0, 0.5), (0.5, 0.5, 0.0))
    sites: list[Site] = [("In", place) for place in faces]
    sites += [("P", [value + 0.25 for value in place]) for place in faces]
    return cif("indium_phosphide", "In4 P4", [ZINCBLENDE_A] * 3, (90, 90, 90), all_atoms(sites))


def strain_tensors() -> dict[str, Array]:
    """Return the symmetric strain tensors by name."""
    order = ((0, 5, 4), (5, 1, 3), (4, 3, 2))
    return {name: np.array([[parts[i] for i in row] for row in order]) for name, (parts, _) in STRAINS.items()}


def strains() -> bytes:
    """Return the strain tensors as JSON, rows of numbers."""
    return json_file({name: [[round(float(x), 6) for x in row] for row in e] for name, e in strain_tensors().items()})


def strained_groups() -> bytes:
    """Return the space-group number of each strained crystal, as CSV."""
    rows = ["strain,space_group", *(f"{name},{group}" for name, (_, group) in STRAINS.items())]
    return text_file(rows)


# -- perovskite-slab -------------------------------------------------------------------------------------------------


def perovskite() -> bytes:
    """Return barium zirconate, Pm-3m, barium at the origin."""
    sites: list[Site] = [("Ba", [0.0, 0.0, 0.0]), ("Zr", [0.5, 0.5, 0.5])]
    sites += [("O", place) for place in ([0.5, 0.5, 0.0], [0.5, 0.0, 0.5], [0.0, 0.5, 0.5])]
    return cif("barium_zirconate", "Ba1 Zr1 O3", [PEROVSKITE_A] * 3, (90, 90, 90), all_atoms(sites))


def slab() -> bytes:
    """Return the slab: every second layer is BaO, the outermost two are ZrO2, and `VACUUM` between slabs."""
    half = PEROVSKITE_A / 2
    height = (SLAB_LAYERS - 1) * half + VACUUM
    layers = {0: [("Zr", 0.5, 0.5), ("O", 0.5, 0.0), ("O", 0.0, 0.5)], 1: [("Ba", 0.0, 0.0), ("O", 0.5, 0.5)]}
    sites: list[Site] = [
        (element, [x, y, (layer * half + VACUUM / 2) / height])
        for layer in range(SLAB_LAYERS)
        for element, x, y in layers[layer % 2]
    ]
    return poscar("BaZrO3 (001)", box(PEROVSKITE_A, PEROVSKITE_A, height), sites)


def files() -> dict[str, bytes]:
    """Return inputs and gold: path below ``taskdefs/mattoolbench/pymatgen`` -> content."""
    return {
        "rhombohedral-cell/inputs/telluride.cif": telluride(),
        "rhombohedral-cell/gold/cell.json": rhombohedral(),
        "skewed-cell-distances/inputs/network.cif": skewed_cif(),
        "skewed-cell-distances/inputs/pairs.csv": skewed_pairs(),
        "skewed-cell-distances/gold/distances.csv": skewed_distances(),
        "kspacing-mesh/inputs/POSCAR": layered(),
        "strained-zincblende/inputs/crystal.cif": zincblende(),
        "strained-zincblende/inputs/strains.json": strains(),
        "strained-zincblende/gold/groups.csv": strained_groups(),
        "perovskite-slab/inputs/perovskite.cif": perovskite(),
        "perovskite-slab/gold/slab.vasp": slab(),
    }
