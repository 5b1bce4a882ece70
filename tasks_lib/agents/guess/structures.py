"""Textbook structures as POSCAR and CIF, written without any library."""

from __future__ import annotations

import math
from collections import Counter

from tasks_lib.agents.guess.textbook import Material, atoms

Place = tuple[int, float, float, float]
_FCC = ((0.0, 0.0, 0.0), (0.0, 0.5, 0.5), (0.5, 0.0, 0.5), (0.5, 0.5, 0.0))


def _centred(*basis: Place) -> tuple[Place, ...]:
    return tuple((kind, x + a, y + b, z + c) for kind, a, b, c in basis for x, y, z in _FCC)


# Kind of atom (place in the formula) and fractional coordinates in the conventional cell.
_CELLS: dict[str, tuple[Place, ...]] = {
    "fcc": _centred((0, 0.0, 0.0, 0.0)),
    "bcc": ((0, 0.0, 0.0, 0.0), (0, 0.5, 0.5, 0.5)),
    "hcp": ((0, 1 / 3, 2 / 3, 0.25), (0, 2 / 3, 1 / 3, 0.75)),
    "diamond": _centred((0, 0.0, 0.0, 0.0), (0, 0.25, 0.25, 0.25)),
    "zincblende": _centred((0, 0.0, 0.0, 0.0), (1, 0.25, 0.25, 0.25)),
    "rocksalt": _centred((0, 0.0, 0.0, 0.0), (1, 0.5, 0.0, 0.0)),
    "cscl": ((0, 0.0, 0.0, 0.0), (1, 0.5, 0.5, 0.5)),
    "wurtzite": (
        (0, 1 / 3, 2 / 3, 0.0), (0, 2 / 3, 1 / 3, 0.5), (1, 1 / 3, 2 / 3, 0.375), (1, 2 / 3, 1 / 3, 0.875),
    ),
    "rutile": (
        (0, 0.0, 0.0, 0.0), (0, 0.5, 0.5, 0.5),
        (1, 0.305, 0.305, 0.0), (1, 0.695, 0.695, 0.0), (1, 0.195, 0.805, 0.5), (1, 0.805, 0.195, 0.5),
    ),
    "fluorite": _centred((0, 0.0, 0.0, 0.0), (1, 0.25, 0.25, 0.25), (1, 0.75, 0.75, 0.75)),
    "perovskite": (
        (0, 0.0, 0.0, 0.0), (1, 0.5, 0.5, 0.5), (2, 0.5, 0.5, 0.0), (2, 0.5, 0.0, 0.5), (2, 0.0, 0.5, 0.5),
    ),
}  # fmt: skip
_HEXAGONAL = frozenset({"hcp", "wurtzite", "corundum", "molybdenite", "delafossite"})


def _counts(cell: tuple[Place, ...]) -> tuple[int, ...]:
    """Return the atoms of each kind in a formula unit."""
    atoms_of = Counter(kind for kind, *_ in cell)
    units = math.gcd(*atoms_of.values())
    return tuple(count // units for _, count in sorted(atoms_of.items()))


def _sites(known: Material) -> list[tuple[str, float, float, float]]:
    """Return symbol and fractional coordinates; where the prototype does not suit, one formula unit on a grid."""
    wanted = atoms(known.formula) or {"Si": 1}
    cell = _CELLS.get(known.prototype)
    if cell is not None and _counts(cell) == tuple(wanted.values()):
        symbols = list(wanted)
        return sorted(
            ((symbols[kind], x % 1, y % 1, z % 1) for kind, x, y, z in cell), key=lambda s: symbols.index(s[0])
        )
    line = [symbol for symbol, count in wanted.items() for _ in range(min(count, 24))]
    edge = math.ceil(len(line) ** (1 / 3) - 1e-9)
    grid = [(x / edge, y / edge, z / edge) for x in range(edge) for y in range(edge) for z in range(edge)]
    return [(symbol, *place) for symbol, place in zip(line, grid, strict=False)]


def _vectors(known: Material) -> list[tuple[float, float, float]]:
    a, c = known.a, known.c
    if known.prototype in _HEXAGONAL:
        return [(a, 0.0, 0.0), (-a / 2, a * math.sqrt(3) / 2, 0.0), (0.0, 0.0, c)]
    return [(a, 0.0, 0.0), (0.0, a, 0.0), (0.0, 0.0, c)]


def poscar(known: Material) -> str:
    """Write the structure as a POSCAR."""
    sites = _sites(known)
    symbols = list(dict.fromkeys(site[0] for site in sites))
    lines = [known.formula, "1.0"]
    lines += [" ".join(f"{value:.6f}" for value in vector) for vector in _vectors(known)]
    lines += [
        " ".join(symbols),
        " ".join(str(sum(site[0] == symbol for site in sites)) for symbol in symbols),
        "Direct",
    ]
    lines += [f"{x:.6f} {y:.6f} {z:.6f} {symbol}" for symbol, x, y, z in sites]
    return "\n".join(lines) + "\n"


def cif(known: Material) -> str:
    """Write the structure as a CIF without symmetry."""
    gamma = 120 if known.prototype in _HEXAGONAL else 90
    lines = [
        f"data_{known.formula}",
        "_symmetry_space_group_name_H-M 'P 1'",
        f"_cell_length_a {known.a}",
        f"_cell_length_b {known.a}",
        f"_cell_length_c {known.c}",
        "_cell_angle_alpha 90",
        "_cell_angle_beta 90",
        f"_cell_angle_gamma {gamma}",
        "loop_",
        "_symmetry_equiv_pos_as_xyz",
        "'x, y, z'",
        "loop_",
        "_atom_site_label",
        "_atom_site_type_symbol",
        "_atom_site_fract_x",
        "_atom_site_fract_y",
        "_atom_site_fract_z",
    ]
    lines += [
        f"{symbol}{number} {symbol} {x:.6f} {y:.6f} {z:.6f}"
        for number, (symbol, x, y, z) in enumerate(_sites(known), start=1)
    ]
    return "\n".join(lines) + "\n"
