"""Inputs and gold of the mixed tasks (``taskdefs/mattoolbench/mixed``).

The gold comes from the lattice, Bragg's law and tabulated scattering factors, not from the program that the oracle
uses.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from infra.inputs.spectra import Line, axis, count, profile, two_columns
from infra.inputs.texts import text_file

CU_K_ALPHA_1 = 1.54056  # Å
ANATASE_A, ANATASE_C, ANATASE_Z = 3.7845, 9.5143, 0.2081  # Å, Å, oxygen's free coordinate
SILICON_A = 5.4309  # Å

# What a powder of anatase shows up to 60 degrees: reflection -> peak height, counts.
ANATASE_SEEN = {
    (1, 0, 1): 3900.0,
    (1, 0, 3): 260.0,
    (0, 0, 4): 780.0,
    (1, 1, 2): 300.0,
    (2, 0, 0): 1150.0,
    (1, 0, 5): 690.0,
    (2, 1, 1): 640.0,
}
SILICON_SEEN = ((1, 1, 1), (2, 2, 0), (3, 1, 1))

# Scattering factor of silicon, f(s) = sum a exp(-b s²) + c with s = sin(theta) / lambda in 1/Å (Cromer and Mann,
# International Tables for Crystallography C, table 6.1.1.4).
_SILICON_F = ((6.2915, 2.4386), (3.0353, 32.3337), (1.9891, 0.6785), (1.5410, 81.6937))
_SILICON_C = 1.1407
# Multiplicity and |F|² / f² of the diamond structure.
_SILICON_FAMILY = {(1, 1, 1): (8, 32), (2, 2, 0): (12, 64), (3, 1, 1): (24, 32)}

PROFILE_FWHM = 0.30  # degrees
PROFILE_TOP = 10_000.0  # counts of the strongest reflection

Site = tuple[str, float, float, float]


def two_theta(hkl: tuple[int, int, int], a: float, c: float) -> float:
    """Return the diffraction angle of a tetragonal (or, with c = a, cubic) lattice for Cu K-alpha 1, degrees.

    Bragg: sin(theta) = lambda / 2 d, with 1 / d² = (h² + k²) / a² + l² / c².
    """
    h, k, ell = hkl
    inverse = math.sqrt((h * h + k * k) / a**2 + ell * ell / c**2)
    return 2.0 * math.degrees(math.asin(CU_K_ALPHA_1 * inverse / 2.0))


def silicon_heights() -> dict[tuple[int, int, int], float]:
    """Return the heights of silicon's reflections, the strongest `PROFILE_TOP`.

    Height ~ multiplicity x |F|² x (1 + cos² 2 theta) / (sin² theta cos theta), for a powder without absorption and
    thermal motion, all lines equally wide.
    """
    raw: dict[tuple[int, int, int], float] = {}
    for hkl, (multiplicity, structure) in _SILICON_FAMILY.items():
        angle = math.radians(two_theta(hkl, SILICON_A, SILICON_A))
        s = math.sin(angle / 2.0) / CU_K_ALPHA_1
        f = sum(a * math.exp(-b * s * s) for a, b in _SILICON_F) + _SILICON_C
        lorentz = (1.0 + math.cos(angle) ** 2) / (math.sin(angle / 2.0) ** 2 * math.cos(angle / 2.0))
        raw[hkl] = multiplicity * structure * f * f * lorentz
    return {hkl: PROFILE_TOP * value / max(raw.values()) for hkl, value in raw.items()}


def silicon_profile() -> bytes:
    """Return the gold of the simulated profile: angle and counts, 20 to 60 degrees."""
    x = axis(20.0, 60.0, 0.02)
    heights = silicon_heights()
    lines = [Line(two_theta(hkl, SILICON_A, SILICON_A), heights[hkl], PROFILE_FWHM) for hkl in SILICON_SEEN]
    rows = [f"{angle:.2f} {value:.1f}" for angle, value in zip(x, profile(x, lines), strict=True)]
    return text_file(rows)


def _cif(name: str, formula: str, a: float, c: float, sites: Sequence[Site]) -> bytes:
    lengths = (("a", a), ("b", a), ("c", c))
    rows = [f"data_{name}", f"_chemical_formula_sum   '{formula}'"]
    rows += [f"_cell_length_{axis_name}   {length:.4f}" for axis_name, length in lengths]
    rows += [f"_cell_angle_{angle}   90" for angle in ("alpha", "beta", "gamma")]
    rows += ["_symmetry_space_group_name_H-M   'P 1'", "_symmetry_Int_Tables_number   1", "loop_"]
    rows += ["_symmetry_equiv_pos_as_xyz", "'x, y, z'", "loop_", "_atom_site_label", "_atom_site_type_symbol"]
    rows += [f"_atom_site_fract_{coordinate}" for coordinate in "xyz"]
    rows += [f"{element}{n} {element} {x:.4f} {y:.4f} {z:.4f}" for n, (element, x, y, z) in enumerate(sites, start=1)]
    return text_file(rows)


def anatase_cif() -> bytes:
    """Return anatase, I4_1/amd (origin choice 1), all 12 atoms of the cell written out."""
    metal = ((0.0, 0.0, 0.0), (0.0, 0.5, 0.25), (0.5, 0.5, 0.5), (0.5, 0.0, 0.75))
    sites: list[Site] = [("Ti", *place) for place in metal]
    sites += [("O", x, y, (z + sign * ANATASE_Z) % 1.0) for x, y, z in metal for sign in (1.0, -1.0)]
    return _cif("anatase", "Ti4 O8", ANATASE_A, ANATASE_C, sites)


def silicon_cif() -> bytes:
    """Return silicon, all 8 atoms of the cubic cell written out."""
    faces = ((0.0, 0.0, 0.0), (0.0, 0.5, 0.5), (0.5, 0.0, 0.5), (0.5, 0.5, 0.0))
    sites: list[Site] = [("Si", x + s, y + s, z + s) for x, y, z in faces for s in (0.0, 0.25)]
    return _cif("silicon", "Si8", SILICON_A, SILICON_A, sites)


def powder() -> bytes:
    """Return a measured powder pattern of anatase on an amorphous hump, 20 to 60 degrees."""
    x = axis(20.0, 60.0, 0.05)
    lines = [Line(two_theta(hkl, ANATASE_A, ANATASE_C), height, 0.32) for hkl, height in ANATASE_SEEN.items()]
    background = 95.0 + 120.0 * np.exp(-(((x - 23.0) / 7.0) ** 2))
    counts = count(background + profile(x, lines), 20260301)
    return two_columns(x, counts, ("powder, Cu K-alpha 1, 2 s a step", "2theta (deg)  counts"))


def files() -> dict[str, bytes]:
    """Return inputs and gold: path below ``taskdefs/mattoolbench/mixed`` -> content."""
    return {
        "anatase-reference-overlay/inputs/anatase.cif": anatase_cif(),
        "anatase-reference-overlay/inputs/powder.xy": powder(),
        "silicon-profile-fit/inputs/silicon.cif": silicon_cif(),
        "silicon-profile-fit/gold/profile.xy": silicon_profile(),
    }
