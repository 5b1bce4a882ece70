"""Inputs and gold of the pymatgen tasks about compositions, energies and molecules, without pymatgen.

Where each answer comes from:

* ``transition-metal-valence``: neutrality, with the amounts that the formulas were written from.
* ``dihedral-scan``: the angle that each molecule was built with.
* ``oxygen-window``: two linear programmes over the chemical potentials (Reuter and Scheffler, Phys. Rev. B 65,
  035406, 2001: a phase is stable where no other one gains by forming), solved by scipy's HiGHS.
"""

from __future__ import annotations

import math
from collections import Counter

import numpy as np
from scipy.optimize import linprog

from infra.inputs.crystals import Array, random_rotation
from infra.inputs.texts import json_file, text_file

FIXED = {"Li": 1, "Na": 1, "Ca": 2, "Sr": 2, "Ba": 2, "La": 3, "Al": 3, "P": 5, "O": -2, "F": -1}
REDOX = ("Mn", "Fe", "Co", "Ni")
# name -> formula as it is written, and its amounts as they were meant.
SAMPLES: dict[str, tuple[str, dict[str, float]]] = {
    "A1": (
        "Li1.06(Ni0.55Mn0.25Co0.2)0.94O2",
        {"Li": 1.06, "Ni": 0.55 * 0.94, "Mn": 0.25 * 0.94, "Co": 0.2 * 0.94, "O": 2},
    ),
    "A2": ("Li1.2Mn0.54Ni0.13Co0.13O1.9F0.1", {"Li": 1.2, "Mn": 0.54, "Ni": 0.13, "Co": 0.13, "O": 1.9, "F": 0.1}),
    "A3": ("Na0.7(Ni0.3Mn0.65Al0.05)O2", {"Na": 0.7, "Ni": 0.3, "Mn": 0.65, "Al": 0.05, "O": 2}),
    "B1": (
        "(La0.6Sr0.4)0.97(Co0.2Fe0.8)O2.91",
        {"La": 0.6 * 0.97, "Sr": 0.4 * 0.97, "Co": 0.2, "Fe": 0.8, "O": 2.91},
    ),
    "B2": ("Ba0.5Sr0.5(Co0.8Fe0.2)O2.38", {"Ba": 0.5, "Sr": 0.5, "Co": 0.8, "Fe": 0.2, "O": 2.38}),
    "B3": ("(CaO)2(CoO2)1.56(Ca0.94Co)O", {"Ca": 2.94, "Co": 2.56, "O": 2 + 2 * 1.56 + 1}),
    "C1": ("Li0.42(Fe0.7Mn0.3)PO4", {"Li": 0.42, "Fe": 0.7, "Mn": 0.3, "P": 1, "O": 4}),
    "C2": ("Na1.5Fe2(PO4)F3.2O0.3", {"Na": 1.5, "Fe": 2, "P": 1, "O": 4.3, "F": 3.2}),
}

# Dihedral angles of the scan in degrees and energies above the lowest in kJ/mol, in the order of the frames.
SCAN = (
    (-178.2, 0.31), (151.6, 5.92), (-121.3, 14.87), (96.4, 9.66), (64.9, 3.78), (-33.7, 14.02),
    (5.8, 22.43), (-61.2, 3.92), (88.1, 7.75), (172.4, 0.0), (-139.5, 9.47), (41.3, 10.6),
)  # fmt: skip
HARTREE = 2625.4996  # kJ/mol
SCAN_LOWEST = -158.458217  # hartree
SCAN_ATOMS = (5, 11, 2, 8)  # the chain of carbon atoms, as numbered in the file
BOND, HYDROGEN_BOND, BEND = 1.532, 1.096, 112.4  # Å, Å, degrees

# Energy of each element, eV/atom, and heat of formation of each phase, eV a formula unit.
ELEMENTS = {"Ca": -1.9304, "Mn": -9.0287, "O": -4.9481}
# name -> amounts a formula unit, units a cell, heat of formation (eV a formula unit)
PHASES: dict[str, tuple[dict[str, int], int, float]] = {
    "Ca-fcc": ({"Ca": 1}, 4, 0.0),
    "Ca-bcc": ({"Ca": 1}, 2, 0.0172),
    "Mn-alpha": ({"Mn": 1}, 58, 0.0),
    "O2-gas": ({"O": 1}, 2, 0.0),
    "CaO-rocksalt": ({"Ca": 1, "O": 1}, 4, -6.5713),
    "CaO2-peroxide": ({"Ca": 1, "O": 2}, 2, -6.8126),
    "MnO-rocksalt": ({"Mn": 1, "O": 1}, 4, -3.9918),
    "Mn3O4-spinel": ({"Mn": 3, "O": 4}, 4, -14.3477),
    "Mn2O3-bixbyite": ({"Mn": 2, "O": 3}, 16, -9.9472),
    "MnO2-rutile": ({"Mn": 1, "O": 2}, 2, -5.3904),
    "MnO2-hollandite": ({"Mn": 1, "O": 2}, 8, -5.3266),
    "CaMnO3-perovskite": ({"Ca": 1, "Mn": 1, "O": 3}, 4, -12.6038),
    "CaMnO3-cubic": ({"Ca": 1, "Mn": 1, "O": 3}, 1, -12.3711),
    "Ca2MnO4-layered": ({"Ca": 2, "Mn": 1, "O": 4}, 4, -19.3417),
    "CaMn2O4-marokite": ({"Ca": 1, "Mn": 2, "O": 4}, 4, -17.0214),
    "CaMn2O4-spinel": ({"Ca": 1, "Mn": 2, "O": 4}, 2, -16.7345),
    "CaMn4O8-tunnel": ({"Ca": 1, "Mn": 4, "O": 8}, 2, -27.9936),
}
WINDOW_OF = "CaMn2O4-marokite"


# -- transition-metal-valence ----------------------------------------------------------------------------------------


def samples() -> bytes:
    """Return the samples and their formulas, as CSV."""
    return text_file(["sample,formula", *(f"{name},{text}" for name, (text, _) in SAMPLES.items())])


def valences() -> bytes:
    """Return the mean oxidation state of the transition metals that makes each sample neutral, as CSV."""
    rows = ["sample,valence"]
    for name, (_, amounts) in SAMPLES.items():
        charge = sum(FIXED[element] * amount for element, amount in amounts.items() if element not in REDOX)
        metals = sum(amount for element, amount in amounts.items() if element in REDOX)
        rows.append(f"{name},{-charge / metals:.4f}")
    return text_file(rows)


# -- dihedral-scan ---------------------------------------------------------------------------------------------------


def _next(one: Array, two: Array, three: Array, length: float, bend: float, dihedral: float) -> Array:
    """Return the atom behind `three` at a bond length (Å), a bond angle and a dihedral angle (degrees).

    The dihedral angle is IUPAC's: looking along the middle bond, clockwise from the front bond to the rear one.
    """
    axis = (three - two) / np.linalg.norm(three - two)
    normal = np.cross(two - one, axis)
    normal /= np.linalg.norm(normal)
    side = np.cross(normal, axis)
    theta, phi = math.radians(bend), math.radians(dihedral)
    step = -math.cos(theta) * axis + math.sin(theta) * (math.cos(phi) * side + math.sin(phi) * normal)
    return np.asarray(three + length * step)


def butane(dihedral: float) -> list[tuple[str, Array]]:
    """Return butane: the four carbon atoms in order, then ten hydrogen atoms."""
    one, two = np.zeros(3), np.array([BOND, 0.0, 0.0])
    bend = math.radians(180.0 - BEND)
    three = two + BOND * np.array([math.cos(bend), math.sin(bend), 0.0])
    four = _next(one, two, three, BOND, BEND, dihedral)
    chain = [one, two, three, four]
    hydrogen = [_next(three, two, one, HYDROGEN_BOND, 110.8, angle) for angle in (60.0, 180.0, 300.0)]
    hydrogen += [_next(two, three, four, HYDROGEN_BOND, 110.8, angle) for angle in (60.0, 180.0, 300.0)]
    hydrogen += [_next(four, three, two, HYDROGEN_BOND, 109.2, dihedral + turn) for turn in (121.0, -121.0)]
    hydrogen += [_next(one, two, three, HYDROGEN_BOND, 109.2, dihedral + turn) for turn in (121.0, -121.0)]
    return [*(("C", place) for place in chain), *(("H", place) for place in hydrogen)]


def scan() -> bytes:
    """Return the scan as frames of one XYZ file: energy in the comment, molecules turned, atoms in one odd order."""
    rng = np.random.default_rng(20260441)
    hydrogen = iter(rng.permutation(np.arange(4, 14)))
    order = [SCAN_ATOMS.index(number) if number in SCAN_ATOMS else int(next(hydrogen)) for number in range(1, 15)]
    rows: list[str] = []
    for number, (dihedral, energy) in enumerate(SCAN, start=1):
        atoms = butane(dihedral)
        turn = random_rotation(rng)
        shift = rng.normal(0.0, 1.0, 3)
        rows += [str(len(atoms)), f"frame {number}  E = {SCAN_LOWEST + energy / HARTREE:.8f} hartree"]
        for element, place in (atoms[index] for index in order):
            rows.append(f"{element:2s}" + "".join(f" {value:12.6f}" for value in place @ turn + shift))
    return text_file(rows)


def scan_table() -> bytes:
    """Return the size of the dihedral angle (degrees) and the energy above the lowest (kJ/mol) of each frame."""
    rows = ["frame,dihedral,energy"]
    rows += [f"{number},{abs(dihedral):.2f},{energy:.3f}" for number, (dihedral, energy) in enumerate(SCAN, start=1)]
    return text_file(rows)


# -- oxygen-window ---------------------------------------------------------------------------------------------------


def energies() -> bytes:
    """Return the cell's formula and its total energy (eV) of each phase, as CSV."""
    rows = ["phase,cell,energy"]
    for name, (amounts, units, heat) in PHASES.items():
        total = units * (heat + sum(ELEMENTS[element] * count for element, count in amounts.items()))
        cell = " ".join(f"{element}{count * units}" for element, count in amounts.items())
        rows.append(f"{name},{cell},{total:.6f}")
    return text_file(rows)


def window(without: str | None = None) -> tuple[float, float]:
    """Return the lowest and highest chemical potential of oxygen at which `WINDOW_OF` is stable.

    Parameters
    ----------
    without : str or None
        A phase that is left out, to see which ones matter.

    Returns
    -------
    tuple of float
        eV an atom, above half the energy of O2.
    """
    order = list(ELEMENTS)
    table = {
        name: (np.array([float(Counter(amounts)[element]) for element in order]), heat)
        for name, (amounts, _, heat) in PHASES.items()
        if name != without
    }
    target, heat = table[WINDOW_OF]
    others = [row for name, row in table.items() if name != WINDOW_OF]
    bounds = []
    for sign in (1.0, -1.0):
        found = linprog(
            [sign * (element == "O") for element in order],
            A_ub=np.array([row for row, _ in others]),
            b_ub=np.array([value for _, value in others]),
            A_eq=target[None, :],
            b_eq=[heat],
            bounds=[(None, None)] * len(order),
        )
        bounds.append(sign * float(found.fun))
    return bounds[0], bounds[1]


def oxygen_window() -> bytes:
    """Return both ends, eV."""
    low, high = window()
    return json_file({"min": round(low, 5), "max": round(high, 5)})


def files() -> dict[str, bytes]:
    """Return inputs and gold: path below ``taskdefs/mattoolbench/pymatgen`` -> content."""
    return {
        "transition-metal-valence/inputs/samples.csv": samples(),
        "transition-metal-valence/gold/valence.csv": valences(),
        "dihedral-scan/inputs/scan.xyz": scan(),
        "dihedral-scan/gold/scan.csv": scan_table(),
        "oxygen-window/inputs/energies.csv": energies(),
        "oxygen-window/gold/window.json": oxygen_window(),
    }
