"""Inputs and gold of four pymatgen tasks (``taskdefs/mattoolbench/pymatgen``), without pymatgen.

The others are made by ``pymatgen_cells``, ``pymatgen_vasp``, ``pymatgen_sites`` and ``pymatgen_tables``.

Where each answer comes from:

* ``distant-scandium``: every choice of three sites is tried, with distances over all periodic images.
* ``oxide-solution-lines``: Bragg's law and the structure factor, with the form factors of Cromer and Mann
  (International Tables C, table 6.1.1.4); pymatgen uses other form factors.
* ``relaxing-octahedra``: distances in the crystal that the POSCAR was written from.
* ``hidden-chalcopyrite``: the crystal that was turned, multiplied, shifted, shuffled and shaken to make the input.
"""

from __future__ import annotations

import itertools
import math

import numpy as np

from infra.inputs.crystals import Array, Site, all_atoms, box, cif, distances, operations, poscar
from infra.inputs.texts import text_file

CU_K_ALPHA_1 = 1.54056  # Å
WURTZITE_A, WURTZITE_C, WURTZITE_U = 3.121, 4.998, 0.3805  # Å, Å, nitrogen's free coordinate
WURTZITE_CELLS = (3, 2, 2)
RUTILE_A, RUTILE_C, RUTILE_X, TIN = 4.6512, 3.0374, 0.3058, 0.35  # Å, Å, oxygen's free coordinate, share of tin
CHALCOPYRITE_A, CHALCOPYRITE_C, CHALCOPYRITE_X = 5.7630, 11.5480, 0.2260  # Å, Å, selenium's free coordinate
BOND_LIMIT = 2.5  # Å

# a1 b1 a2 b2 a3 b3 a4 b4 c, with f(s) = sum a exp(-b s²) + c and s = sin(theta) / lambda in 1/Å.
FORM_FACTORS = {
    "O": (3.0485, 13.2771, 2.2868, 5.7011, 1.5463, 0.3239, 0.8670, 32.9089, 0.2508),
    "Ti": (9.7595, 7.8508, 7.3558, 0.5000, 1.6991, 35.6338, 1.9021, 116.105, 1.2807),
    "Sn": (19.1889, 5.8303, 19.1005, 0.5031, 4.4585, 26.8909, 2.4663, 83.9571, 4.7821),
}


# -- distant-scandium ------------------------------------------------------------------------------------------------


def wurtzite_cif() -> bytes:
    """Return aluminium nitride, P6_3mc, as its two independent atoms and twelve operations."""
    turns = ("x,y,z", "-y,x-y,z", "-x+y,-x,z", "-x,-y,z+1/2", "y,-x+y,z+1/2", "x-y,x,z+1/2")
    mirrors = ("-y,-x,z", "-x+y,y,z", "x,x-y,z", "y,x,z+1/2", "x-y,-y,z+1/2", "-x,-x+y,z+1/2")
    atoms = ["loop_", "_atom_site_label", "_atom_site_type_symbol"]
    atoms += [f"_atom_site_fract_{axis}" for axis in "xyz"]
    atoms += ["Al1 Al 0.333333 0.666667 0.00000", f"N1 N 0.333333 0.666667 {WURTZITE_U:.5f}"]
    head = ["_symmetry_Int_Tables_number   186", "_symmetry_space_group_name_H-M   'P 63 m c'"]
    lengths = (WURTZITE_A, WURTZITE_A, WURTZITE_C)
    return cif("aluminium_nitride", "Al2 N2", lengths, (90, 90, 120), [*head, *operations((*turns, *mirrors)), *atoms])


def wurtzite_supercell() -> tuple[Array, Array, Array]:
    """Return lattice vectors (Å) and the fractional positions of metal and nitrogen of the supercell."""
    times = np.array(WURTZITE_CELLS, dtype=float)
    cell = box(WURTZITE_A, WURTZITE_A, WURTZITE_C, 120.0) * times[:, None]
    steps = np.array(list(itertools.product(*(range(count) for count in WURTZITE_CELLS))), dtype=float)
    layers = np.array([[1 / 3, 2 / 3, 0.0], [2 / 3, 1 / 3, 0.5]])
    metal = ((layers[None, :, :] + steps[:, None, :]) / times).reshape(-1, 3)
    return cell, metal, metal + np.array([0.0, 0.0, WURTZITE_U / times[2]])


def farthest_apart(count: int) -> list[tuple[float, tuple[int, ...]]]:
    """Return every choice of metal sites with its smallest mutual distance (Å), best first.

    All metal sites are alike, so the first of them is always taken.
    """
    cell, metal, _ = wurtzite_supercell()
    table = np.array([distances(cell, one, metal).min(axis=1) for one in metal])
    choices = ((0, *rest) for rest in itertools.combinations(range(1, len(metal)), count - 1))
    rated = [(min(float(table[i, j]) for i, j in itertools.combinations(choice, 2)), choice) for choice in choices]
    return sorted(rated, key=lambda item: (-round(item[0], 6), item[1]))


def distant_scandium() -> bytes:
    """Return the supercell in which three scandium atoms are as far apart as they can be."""
    cell, metal, nitrogen = wurtzite_supercell()
    chosen = farthest_apart(3)[0][1]
    sites: list[Site] = [("Sc", metal[index]) for index in chosen]
    sites += [("Al", place) for index, place in enumerate(metal) if index not in chosen]
    sites += [("N", place) for place in nitrogen]
    return poscar("Sc-doped AlN", cell, sites)


# -- oxide-solution-lines --------------------------------------------------------------------------------------------


def rutile_cif() -> bytes:
    """Return a solid solution of tin in titanium dioxide, P4_2/mnm, with two metals on one site."""
    symmetry = (
        "x,y,z", "-x,-y,z", "-y+1/2,x+1/2,z+1/2", "y+1/2,-x+1/2,z+1/2",
        "-x+1/2,y+1/2,-z+1/2", "x+1/2,-y+1/2,-z+1/2", "y,x,-z", "-y,-x,-z",
        "-x,-y,-z", "x,y,-z", "y+1/2,-x+1/2,-z+1/2", "-y+1/2,x+1/2,-z+1/2",
        "x+1/2,-y+1/2,z+1/2", "-x+1/2,y+1/2,z+1/2", "-y,-x,z", "y,x,z",
    )  # fmt: skip
    atoms = ["loop_", "_atom_site_label", "_atom_site_type_symbol", *(f"_atom_site_fract_{axis}" for axis in "xyz")]
    atoms += ["_atom_site_occupancy", f"Ti1 Ti 0 0 0 {1 - TIN:g}", f"Sn1 Sn 0 0 0 {TIN:g}"]
    atoms += [f"O1 O {RUTILE_X:.5f} {RUTILE_X:.5f} 0 1"]
    head = ["_symmetry_Int_Tables_number   136", "_symmetry_space_group_name_H-M   'P 42/m n m'"]
    lengths = (RUTILE_A, RUTILE_A, RUTILE_C)
    return cif(
        "oxide_solution",
        f"Ti{2 * (1 - TIN):g} Sn{2 * TIN:g} O4",
        lengths,
        (90, 90, 90),
        [*head, *operations(symmetry), *atoms],
    )


def form_factor(element: str, s: float) -> float:
    """Return the scattering of an atom in electrons, for s = sin(theta) / lambda in 1/Å."""
    *pairs, constant = FORM_FACTORS[element]
    return constant + sum(a * math.exp(-b * s * s) for a, b in zip(pairs[::2], pairs[1::2], strict=True))


def _waves(places: Array, hkl: Array) -> complex:
    return complex(np.exp(2j * math.pi * (places @ hkl)).sum())


def powder_lines(start: float, stop: float) -> list[tuple[int, int, int, float, float]]:
    """Return h >= k, l, two theta (degrees) and intensity (strongest = 100) of every line, by angle.

    Intensity = multiplicity |F|² (1 + cos² 2 theta) / (sin² theta cos theta): random powder, no monochromator, no
    thermal motion.
    """
    x = RUTILE_X
    oxygen = np.array([[x, x, 0], [-x, -x, 0], [0.5 - x, 0.5 + x, 0.5], [0.5 + x, 0.5 - x, 0.5]])
    metal = np.array([[0, 0, 0], [0.5, 0.5, 0.5]])
    found = []
    for h, k, ell in itertools.product(range(8), range(8), range(6)):
        if k > h or (h, k, ell) == (0, 0, 0):
            continue
        s = math.sqrt((h * h + k * k) / RUTILE_A**2 + ell * ell / RUTILE_C**2) / 2
        if s * CU_K_ALPHA_1 >= 1:
            continue
        theta = math.asin(s * CU_K_ALPHA_1)
        if not start <= 2 * math.degrees(theta) <= stop:
            continue
        f_metal = (1 - TIN) * form_factor("Ti", s) + TIN * form_factor("Sn", s)
        hkl = np.array([h, k, ell])
        amplitude = f_metal * _waves(metal, hkl) + form_factor("O", s) * _waves(oxygen, hkl)
        signs = itertools.product((1, -1), repeat=3)
        multiplicity = len({(a * p, b * q, ell * r) for p, q, r in signs for a, b in ((h, k), (k, h))})
        shape = (1 + math.cos(2 * theta) ** 2) / (math.sin(theta) ** 2 * math.cos(theta))
        found.append((h, k, ell, 2 * math.degrees(theta), multiplicity * abs(amplitude) ** 2 * shape))
    strongest = max(line[4] for line in found)
    return sorted(((*line[:4], 100 * line[4] / strongest) for line in found), key=lambda line: line[3])


def solution_lines() -> bytes:
    """Return the lines from 20 to 80 degrees with at least 4 % of the strongest, as CSV.

    The weakest that counts has 4.7 %, the strongest that does not 3.3 %: other form factors choose the same lines.
    """
    rows = ["h,k,l,two_theta"]
    rows += [f"{h},{k},{ell},{angle:.3f}" for h, k, ell, angle, size in powder_lines(20, 80) if size >= 4]
    return text_file(rows)


# -- relaxing-octahedra ----------------------------------------------------------------------------------------------


def shaken_rutile() -> tuple[Array, list[Site], list[str]]:
    """Return lattice vectors (Å), sites and selective-dynamics flags of a shaken 2 x 2 x 2 cell of rutile."""
    rng = np.random.default_rng(20260401)
    times = np.array([2.0, 2.0, 2.0])
    cell = box(4.594, 4.594, 2.959) * times[:, None]
    x = 0.305
    basis: list[Site] = [("Ti", (0, 0, 0)), ("Ti", (0.5, 0.5, 0.5)), ("O", (x, x, 0)), ("O", (1 - x, 1 - x, 0))]
    basis += [("O", (0.5 - x, 0.5 + x, 0.5)), ("O", (0.5 + x, 0.5 - x, 0.5))]
    steps = list(itertools.product(range(2), repeat=3))
    sites = [(element, (np.array(place) + np.array(step)) / times) for element, place in basis for step in steps]
    sites = [(e, place + rng.normal(0.0, 0.055, 3) @ np.linalg.inv(cell)) for e, place in sites]
    oxygen = [site for site in sites if site[0] == "O"]
    metal = [site for site in sites if site[0] == "Ti"]
    oxygen = [oxygen[index] for index in rng.permutation(len(oxygen))]
    metal = [metal[index] for index in rng.permutation(len(metal))]
    # The relaxed region was written before the fixed one, so both elements stand twice.
    ordered = [*oxygen[:14], *metal[:7], *oxygen[14:], *metal[7:]]
    flags = ["T T T"] * len(ordered)
    for index, (element, place) in enumerate(ordered):
        if place[2] % 1.0 > 0.4 and element == "Ti":
            flags[index] = "F F F"
        if element == "O" and index % 3 == 0:
            flags[index] = "F F F"
    free = [index for index, (element, _) in enumerate(ordered) if element == "Ti" and flags[index] == "T T T"]
    flags[free[1]], flags[free[-2]] = "T T F", "F F T"
    return cell, ordered, flags


def troubled_poscar() -> bytes:
    """Return it as VASP allows: a volume for scale, Cartesian, flags, elements that stand twice, velocities."""
    cell, sites, flags = shaken_rutile()
    factor = 1.0 / 4.594
    rows = ["Ti8 O16 step 12 of the relaxation", f"  -{abs(np.linalg.det(cell)):.8f}"]
    rows += [" ".join(f"{value * factor:16.10f}" for value in vector) for vector in cell]
    groups = [(element, len(list(group))) for element, group in itertools.groupby(element for element, _ in sites)]
    rows += ["  ".join(element for element, _ in groups), "  ".join(str(count) for _, count in groups)]
    rows += ["Selective dynamics", "Cartesian"]
    for (element, place), flag in zip(sites, flags, strict=True):
        rows.append(" ".join(f"{value * factor:16.10f}" for value in place @ cell) + f"  {flag}  {element}")
    rows.append("")
    rng = np.random.default_rng(20260402)
    rows += [" ".join(f"{value:15.8E}" for value in rng.normal(0.0, 1e-3, 3)) for _ in sites]
    return text_file(rows)


def octahedra() -> bytes:
    """Return the bonds of each titanium atom that is free in all directions, by its number in the file, as CSV, Å."""
    cell, sites, flags = shaken_rutile()
    oxygen = np.array([place for element, place in sites if element == "O"])
    rows = ["atom,bonds,shortest,mean,longest"]
    for number, ((element, place), flag) in enumerate(zip(sites, flags, strict=True), start=1):
        if element == "Ti" and flag == "T T T":
            near = distances(cell, np.asarray(place), oxygen)
            bonds = near[near < BOND_LIMIT]
            rows.append(f"{number},{bonds.size},{bonds.min():.4f},{bonds.mean():.4f},{bonds.max():.4f}")
    return text_file(rows)


# -- hidden-chalcopyrite ---------------------------------------------------------------------------------------------


def chalcopyrite() -> tuple[Array, list[Site]]:
    """Return the conventional cell of copper indium diselenide, I-42d, 16 atoms."""
    x = CHALCOPYRITE_X
    half = np.array([0.5, 0.5, 0.5])
    copper = [(0.0, 0.0, 0.0), (0.0, 0.5, 0.25)]
    indium = [(0.0, 0.0, 0.5), (0.0, 0.5, 0.75)]
    selenium = [(x, 0.25, 0.125), (-x, 0.75, 0.125), (0.75, x, 0.875), (0.25, -x, 0.875)]
    whole = [("Cu", copper), ("In", indium), ("Se", selenium)]
    sites: list[Site] = []
    for element, places in whole:
        sites += [(element, np.asarray(place) + shift) for place in places for shift in (0 * half, half)]
    return box(CHALCOPYRITE_A, CHALCOPYRITE_A, CHALCOPYRITE_C), sites


def primitive_chalcopyrite() -> bytes:
    """Return the primitive cell: half of the body-centred cell, 8 atoms."""
    cell, sites = chalcopyrite()
    smaller = np.array([[-0.5, 0.5, 0.5], [0.5, -0.5, 0.5], [0.5, 0.5, -0.5]])
    kept: dict[tuple[str, tuple[float, ...]], Site] = {}
    for element, place in sites:
        inside = (np.asarray(place) @ np.linalg.inv(smaller)) % 1.0
        key = (element, tuple(float(value) for value in np.round(inside, 6) % 1.0))
        kept.setdefault(key, (element, inside))
    return poscar("CuInSe2", smaller @ cell, list(kept.values()))


def hidden_chalcopyrite() -> bytes:
    """Return a supercell of it as a CIF in P1: turned axes, shifted origin, shuffled and shaken atoms."""
    rng = np.random.default_rng(20260403)
    cell, sites = chalcopyrite()
    larger = np.array([[1.0, 1.0, 0.0], [-1.0, 1.0, 0.0], [0.0, 0.0, 1.0]])
    big = larger @ cell
    steps = [np.array(step, dtype=float) for step in itertools.product((-1, 0, 1, 2), repeat=3)]
    kept: dict[tuple[str, tuple[float, ...]], Site] = {}
    for (element, place), step in itertools.product(sites, steps):
        inside = ((np.asarray(place) + step) @ np.linalg.inv(larger)) % 1.0
        key = (element, tuple(float(value) for value in np.round(inside, 6) % 1.0))
        kept.setdefault(key, (element, inside))
    shift = rng.uniform(0.0, 1.0, 3)
    noise = [rng.normal(0.0, 0.012, 3) @ np.linalg.inv(big) for _ in kept]
    moved = zip(kept.values(), noise, strict=True)
    shaken = [(element, (place + shift + step) % 1.0) for (element, place), step in moved]
    order = rng.permutation(len(shaken))
    lengths = [float(value) for value in np.linalg.norm(big, axis=1)]
    rows = all_atoms([shaken[index] for index in order])
    return cif("md_average", "Cu8 In8 Se16", lengths, (90, 90, 90), rows)


def files() -> dict[str, bytes]:
    """Return inputs and gold: path below ``taskdefs/mattoolbench/pymatgen`` -> content."""
    return {
        "distant-scandium/inputs/aln.cif": wurtzite_cif(),
        "distant-scandium/gold/supercell.vasp": distant_scandium(),
        "oxide-solution-lines/inputs/oxide.cif": rutile_cif(),
        "oxide-solution-lines/gold/lines.csv": solution_lines(),
        "relaxing-octahedra/inputs/POSCAR": troubled_poscar(),
        "relaxing-octahedra/gold/bonds.csv": octahedra(),
        "hidden-chalcopyrite/inputs/average.cif": hidden_chalcopyrite(),
        "hidden-chalcopyrite/gold/primitive.vasp": primitive_chalcopyrite(),
    }
