"""Inputs and gold of the pymatgen tasks about files of VASP, without pymatgen.

The files follow VASP 5.4's layout, cut down to what their readers need. Where each answer comes from:

* ``moments-after-sorting``: the moment that the generator gave each atom, in the wanted order.
* ``relaxation-record``: energies, forces and stresses that the generator wrote, before they were written.
* ``gap-of-two-spins``: the bands that the generator drew, channel by channel with their own numbers of electrons.
* ``outcar-elastic-moduli``: Voigt's, Reuss's and Hill's formulas with the constants that the tables were written from.
"""

from __future__ import annotations

import itertools
import re

import numpy as np

from infra.inputs.crystals import Array, Site, box, poscar
from infra.inputs.texts import json_file, text_file

# Runs of atoms as the POSCAR lists them, with the moments of a converged run, µB.
MOMENT_RUNS: tuple[tuple[str, tuple[float, ...]], ...] = (
    ("O", (0.021, 0.021, -0.034)),
    ("Mn", (3.127, -3.094)),
    ("O", (0.045, 0.018, -0.027)),
    ("Ni", (1.713, -1.688)),
    ("Li", (0.003, -0.002)),
    ("O", (0.061, -0.055)),
)
MOMENT_ORDER = ("Li", "Mn", "Ni", "O")

RELAXED_STEPS = 7
RELAXED_ATOMS = ("V", "V", "V", "N", "N", "N")

GAP_POINTS, GAP_BANDS, GAP_ELECTRONS = 18, 10, (8, 5)  # electrons of spin up, of spin down

# Elastic constants of a monoclinic crystal, axis y, GPa: pairs of Voigt's indices.
MONOCLINIC = {
    (1, 1): 158.3, (2, 2): 203.7, (3, 3): 121.9, (1, 2): 62.4, (1, 3): 48.8, (2, 3): 71.5,
    (4, 4): 39.6, (5, 5): 57.2, (6, 6): 83.1, (1, 5): -14.7, (2, 5): 6.3, (3, 5): 11.2, (4, 6): -8.4,
}  # fmt: skip
VASP_ORDER = (1, 2, 3, 6, 4, 5)  # XX YY ZZ XY YZ ZX


# -- moments-after-sorting -------------------------------------------------------------------------------------------


def mixed_poscar() -> bytes:
    """Return a layered oxide whose elements stand in several runs."""
    rng = np.random.default_rng(20260421)
    elements = [element for element, moments in MOMENT_RUNS for _ in moments]
    grid = [
        ((i + 0.5) / 2, (j + 0.5) / 2, (k + 0.5) / 4) for i, j, k in itertools.product(range(2), range(2), range(4))
    ]
    places = rng.permutation(np.array(grid))[: len(elements)] + rng.normal(0.0, 0.01, (len(elements), 3))
    sites: list[Site] = list(zip(elements, places, strict=True))
    return poscar("Li-Mn-Ni oxide, cut from a larger run", box(5.12, 5.74, 9.63), sites, grouped=False)


def mixed_incar() -> bytes:
    """Return its INCAR; MAGMOM follows the POSCAR, equal neighbours written together."""
    moments = [moment for _, run in MOMENT_RUNS for moment in run]
    runs = [(moment, len(list(run))) for moment, run in itertools.groupby(moments)]
    words = [f"{count}*{moment:g}" if count > 1 else f"{moment:g}" for moment, count in runs]
    rows = ["SYSTEM = layered oxide", "ENCUT = 520", "ISPIN = 2", "ISMEAR = 0", "SIGMA = 0.05", "EDIFF = 1E-6"]
    rows += ["LORBIT = 11", "MAGMOM = " + " ".join(words), "IBRION = 2", "NSW = 99", "ISIF = 3"]
    return text_file(rows)


def sorted_moments() -> list[float]:
    """Return the moments by element, atoms of one element as the POSCAR has them."""
    return [m for wanted in MOMENT_ORDER for element, run in MOMENT_RUNS if element == wanted for m in run]


def magmom_pattern() -> str:
    """Return the expression that the sorted MAGMOM line matches, with or without VASP's ``count*value``."""
    parts = []
    for moment, run in itertools.groupby(sorted_moments()):
        sign, digits = ("-" if moment < 0 else ""), re.escape(f"{abs(moment):.3f}").replace("0\\.", "0?\\.", 1)
        number = f"{sign}{digits}0*"
        times = len(list(run))
        singly = r"\s+".join([rf"(1\*)?{number}"] * times)
        parts.append(singly if times == 1 else rf"({times}\*{number}|{singly})")
    return r"\s*MAGMOM\s*=\s*" + r"\s+".join(parts) + r"\s*"


# -- relaxation-record -----------------------------------------------------------------------------------------------


def relaxation() -> list[dict[str, Array | float]]:
    """Return cell (Å), places, forces (eV/Å), stress (kbar) and the three energies (eV) of each ionic step."""
    rng = np.random.default_rng(20260422)
    a, c = 2.7312, 2.6418
    start = np.array(
        [[i / 3 * 1.0, i / 3, 0.0] for i in range(3)] + [[i / 3 + 0.17, i / 3 + 0.16, 0.5] for i in range(3)]
    )
    steps: list[dict[str, Array | float]] = []
    for step in range(RELAXED_STEPS):
        left = 0.55**step
        # The fifth step overshoots, as a line search does.
        left = 0.4 if step == 4 else left
        forces = np.round(rng.normal(0.0, 0.9 * left, (len(RELAXED_ATOMS), 3)), 8)
        forces -= forces.mean(axis=0)
        shear = rng.normal(0.0, 4.0 * left, (3, 3))
        stress = np.diag([86.0 * left - 3.1, 79.0 * left - 2.6, -54.0 * left + 1.9]) + (shear + shear.T) / 2
        free = round(-58.2147 + 1.1 * left**2 + float(rng.normal(0.0, 1e-3)), 8)
        entropy = round(0.0382 + 0.011 * left, 8)  # -T S, by which the energy without entropy is higher
        steps.append(
            {
                "cell": box(
                    3 * a * (1 + 0.02 * (1 - left)), a * (1 + 0.018 * (1 - left)), c * (1 - 0.01 * (1 - left)), 60.0
                ),
                "places": start + rng.normal(0.0, 0.004, start.shape),
                "forces": np.round(forces, 8),
                "stress": np.round(stress, 8),
                "e_fr_energy": free,
                "e_wo_entrp": free + entropy,
                "e_0_energy": free + entropy / 2,
            }
        )
    return steps


def _array(name: str, rows: Array, indent: str) -> list[str]:
    head = f'{indent}<varray name="{name}" >'
    body = [f"{indent} <v>" + "".join(f" {value:16.8f}" for value in row) + " </v>" for row in rows]
    return [head, *body, f"{indent}</varray>"]


def _structure(step: dict[str, Array | float], indent: str, name: str = "") -> list[str]:
    cell, places = np.asarray(step["cell"]), np.asarray(step["places"])
    named = f' name="{name}"' if name else ""
    rows = [f"{indent}<structure{named} >", f"{indent} <crystal>", *_array("basis", cell, indent + "  ")]
    rows += [f'{indent}  <i name="volume"> {abs(np.linalg.det(cell)):16.8f} </i>']
    rows += [*_array("rec_basis", np.linalg.inv(cell).T, indent + "  "), f"{indent} </crystal>"]
    return [*rows, *_array("positions", places, indent + " "), f"{indent}</structure>"]


def _energy(step: dict[str, Array | float], indent: str, above: float = 0.0) -> list[str]:
    names = ("e_fr_energy", "e_wo_entrp", "e_0_energy")
    rows = [f'{indent} <i name="{name}"> {float(np.asarray(step[name])) + above:16.8f} </i>' for name in names]
    return [f"{indent}<energy>", *rows, f"{indent}</energy>"]


def _header(first: dict[str, Array | float]) -> list[str]:
    kinds = list(dict.fromkeys(RELAXED_ATOMS))
    rows = ['<?xml version="1.0" encoding="ISO-8859-1"?>', "<modeling>", " <generator>"]
    rows += ['  <i name="program" type="string">vasp </i>', '  <i name="version" type="string">5.4.4  </i>']
    rows += [
        " </generator>",
        " <incar>",
        '  <i type="int" name="ISMEAR">     1</i>',
        '  <i name="SIGMA">      0.20000000</i>',
    ]
    rows += ['  <i type="int" name="NSW">    60</i>', '  <i type="int" name="IBRION">     2</i>']
    rows += ['  <i type="int" name="ISIF">     3</i>', " </incar>", " <kpoints>", '  <generation param="Gamma">']
    rows += ['   <v type="int" name="divisions">       1        1        1 </v>', "  </generation>"]
    rows += _array("kpointlist", np.zeros((1, 3)), "  ")
    rows += [
        '  <varray name="weights" >',
        "   <v>       1.00000000 </v>",
        "  </varray>",
        " </kpoints>",
        " <parameters>",
    ]
    rows += [
        '  <separator name="electronic" >',
        '   <i type="int" name="NELM">    60</i>',
        '   <i type="int" name="NELMIN">     2</i>',
    ]
    rows += ['   <i name="EDIFF">      0.00001000</i>', '   <i type="int" name="ISPIN">     1</i>', "  </separator>"]
    rows += [
        '  <separator name="ionic" >',
        '   <i type="int" name="NSW">    60</i>',
        '   <i type="int" name="IBRION">     2</i>',
    ]
    rows += ['   <i name="EDIFFG">      0.00010000</i>', "  </separator>", " </parameters>", " <atominfo>"]
    rows += [
        f"  <atoms>{len(RELAXED_ATOMS):8d} </atoms>",
        f"  <types>{len(kinds):8d} </types>",
        '  <array name="atoms" >',
    ]
    rows += ['   <dimension dim="1">ion</dimension>', '   <field type="string">element</field>']
    rows += ['   <field type="int">atomtype</field>', "   <set>"]
    rows += [f"    <rc><c>{kind:2s}</c><c>{kinds.index(kind) + 1:4d}</c></rc>" for kind in RELAXED_ATOMS]
    rows += ["   </set>", "  </array>", '  <array name="atomtypes" >', '   <dimension dim="1">type</dimension>']
    rows += [
        '   <field type="int">atomspertype</field>',
        '   <field type="string">element</field>',
        "   <field>mass</field>",
    ]
    rows += ["   <field>valence</field>", '   <field type="string">pseudopotential</field>', "   <set>"]
    table = {"V": (50.941, 11.0, "PAW_PBE V_pv 07Sep2000"), "N": (14.001, 5.0, "PAW_PBE N 08Apr2002")}
    for kind in kinds:
        mass, valence, potential = table[kind]
        rows.append(
            f"    <rc><c>{RELAXED_ATOMS.count(kind):4d}</c><c>{kind:2s}</c><c>{mass:16.8f}</c><c>{valence:16.8f}</c>"
            f"<c>  {potential}                 </c></rc>"
        )
    return [*rows, "   </set>", "  </array>", " </atominfo>", *_structure(first, " ", "initialpos")]


def _states() -> list[str]:
    """Return eigenvalues and density of states of the last step, as short as readers take them."""
    levels = (-9.8214, 1.2075, 4.3391, 6.0482, 7.9126)
    rows = ["  <eigenvalues>", "   <array>", '    <dimension dim="1">band</dimension>']
    rows += ['    <dimension dim="2">kpoint</dimension>', '    <dimension dim="3">spin</dimension>']
    rows += ["    <field>eigene</field>", "    <field>occ</field>", "    <set>", '     <set comment="spin 1">']
    rows += ['      <set comment="kpoint 1">']
    rows += [f"       <r> {level:10.4f} {1.0 if level < 5.1 else 0.0:8.4f} </r>" for level in levels]
    rows += ["      </set>", "     </set>", "    </set>", "   </array>", "  </eigenvalues>", "  <dos>"]
    rows += [
        '   <i name="efermi">      5.11730000 </i>',
        "   <total>",
        "    <array>",
        '     <dimension dim="1">gridpoints</dimension>',
    ]
    rows += ['     <dimension dim="2">spin</dimension>', "     <field>energy</field>", "     <field>total</field>"]
    rows += ["     <field>integrated</field>", "     <set>", '      <set comment="spin 1">']
    grid = np.arange(-12.0, 12.5, 0.5)
    density = np.exp(-((grid[:, None] - np.array(levels)) ** 2)).sum(axis=1)
    whole = np.cumsum(density) * 0.5
    rows += [f"       <r> {e:10.4f} {d:10.4f} {n:10.4f} </r>" for e, d, n in zip(grid, density, whole, strict=True)]
    return [*rows, "      </set>", "     </set>", "    </array>", "   </total>", "  </dos>"]


def vasprun() -> bytes:
    """Return the vasprun.xml of the relaxation."""
    steps = relaxation()
    rows = _header(steps[0])
    for number, step in enumerate(steps, start=1):
        rows.append(" <calculation>")
        for above in (0.9132, 0.0417, 0.0):  # electronic steps, the last one converged
            rows += ["  <scstep>", *_energy(step, "   ", above), "  </scstep>"]
        rows += _structure(step, "  ")
        rows += _array("forces", np.asarray(step["forces"]), "  ")
        rows += _array("stress", np.asarray(step["stress"]), "  ")
        rows += _energy(step, "  ")
        rows += _states() if number == len(steps) else []
        rows.append(" </calculation>")
    rows += [*_structure(steps[-1], " ", "finalpos"), "</modeling>"]
    return text_file(rows)


def relaxation_record() -> bytes:
    """Return energy at zero smearing (eV), largest force (eV/Å) and pressure (GPa) of each step, as CSV."""
    rows = ["step,energy,max_force,pressure"]
    for number, step in enumerate(relaxation(), start=1):
        force = np.linalg.norm(np.asarray(step["forces"]), axis=1).max()
        pressure = np.trace(np.asarray(step["stress"])) / 3 / 10  # 10 kbar are 1 GPa
        rows.append(f"{number},{float(np.asarray(step['e_0_energy'])):.6f},{force:.4f},{pressure:.4f}")
    return text_file(rows)


# -- gap-of-two-spins ------------------------------------------------------------------------------------------------


def bands() -> tuple[Array, Array]:
    """Return k-points, shape (points, 3), and energies in eV, shape (2 spins, points, bands)."""
    rng = np.random.default_rng(20260423)
    grid = [k for k in itertools.product((0.0, 0.125, 0.25, 0.375, 0.5), repeat=3) if k[0] >= k[1] >= k[2]]
    points = np.array(grid[:GAP_POINTS])
    centres = np.array(
        [
            (-15.2, -9.1, -6.4, -3.2, -0.7, 0.8, 2.4, 3.6, 7.4, 8.9),  # up: 8 filled
            (-14.6, -8.3, -5.5, -2.4, 2.3, 5.2, 6.6, 8.8, 10.1, 11.4),  # down: 5 filled
        ]
    )
    energies = centres[:, None, :] + rng.uniform(-0.45, 0.45, (2, GAP_POINTS, GAP_BANDS))
    return points, np.sort(np.round(energies, 6), axis=2)


def eigenval() -> bytes:
    """Return the EIGENVAL of a spin-polarised run."""
    points, energies = bands()
    rows = ["    5    5    1    2", "  0.1371640E+02  0.4093100E-09  0.4093100E-09  0.4093100E-09  0.5000000E-15"]
    rows += ["  1.000000000000000E-004", "  CAR ", " ferromagnetic oxide"]
    rows += [f"{sum(GAP_ELECTRONS):7d}{GAP_POINTS:7d}{GAP_BANDS:7d}"]
    for at, point in enumerate(points):
        rows += ["", "".join(f"  {value:.7E}" for value in (*point, 1.0 / GAP_POINTS))]
        for band in range(GAP_BANDS):
            filled = [1.0 if band < electrons else 0.0 for electrons in GAP_ELECTRONS]
            values = "".join(f"  {value:12.6f}" for value in energies[:, at, band])
            rows.append(f"  {band + 1:4d}{values}" + "".join(f"  {value:9.6f}" for value in filled))
    return text_file(rows)


def two_spin_gap() -> bytes:
    """Return the gap over both channels, the smallest vertical one within a channel (eV), and where the edges lie."""
    _, energies = bands()
    filled = np.array([energies[spin, :, count - 1] for spin, count in enumerate(GAP_ELECTRONS)])
    empty = np.array([energies[spin, :, count] for spin, count in enumerate(GAP_ELECTRONS)])
    top, bottom = filled.max(axis=0), empty.min(axis=0)
    return json_file(
        {
            "gap": round(float(bottom.min() - top.max()), 6),
            "vertical_gap": round(float((empty - filled).min()), 6),
            "top": int(top.argmax()) + 1,
            "bottom": int(bottom.argmin()) + 1,
        }
    )


# -- outcar-elastic-moduli -------------------------------------------------------------------------------------------


def stiffness() -> Array:
    """Return the elastic constants in Voigt's order, GPa."""
    found = np.zeros((6, 6))
    for (i, j), value in MONOCLINIC.items():
        found[i - 1, j - 1] = found[j - 1, i - 1] = value
    return found


def _moduli_table(title: str, values: Array) -> list[str]:
    names = ("XX", "YY", "ZZ", "XY", "YZ", "ZX")
    rows = ["", f" {title} (kBar)", " Direction    " + "".join(f"{name:<12s}" for name in names)]
    rule = " " + "-" * 80
    body = [
        f" {name}    " + "".join(f"{value:12.4f}" for value in row) for name, row in zip(names, values, strict=True)
    ]
    return [*rows, rule, *body, rule, ""]


def outcar() -> bytes:
    """Return the end of an OUTCAR of finite differences: clamped ions, what ions add, and the sum."""
    order = np.array(VASP_ORDER) - 1
    total = stiffness()[np.ix_(order, order)] * 10
    rng = np.random.default_rng(20260424)
    share = rng.uniform(-0.22, -0.08, total.shape)
    ionic = np.round(total * (share + share.T) / 2, 4)
    rows = [" vasp.5.4.4.18Apr17-6-g9f103f2a35 complex", " running on   16 total cores", ""]
    rows += [
        "   k-points           NKPTS =     14   k-points in BZ     NKDIM =     14   number of bands    NBANDS=     36"
    ]
    rows += ["   total plane-waves  NPLWV =  46656", "   IBRION =      6    ionic relax: 0-MD 1-quasi-New 2-CG", ""]
    rows += _moduli_table("SYMMETRIZED ELASTIC MODULI", total - ionic)
    rows += _moduli_table("ELASTIC MODULI CONTR FROM IONIC RELAXATION", ionic)
    rows += _moduli_table("TOTAL ELASTIC MODULI", total)
    rows += [" General timing and accounting informations for this job:", " " + "=" * 56, ""]
    rows += [
        "                  Total CPU time used (sec):    18642.117",
        "                         Elapsed time (sec):    18710.482",
    ]
    return text_file(rows)


def elastic_moduli() -> bytes:
    """Return Hill's bulk and shear modulus and Young's modulus along x + y, GPa.

    With S the inverse of C and v = (n1², n2², n3², n2 n3, n1 n3, n1 n2), Young's modulus along n is 1 / (v S v).
    """
    c = stiffness()
    s = np.linalg.inv(c)
    bulk_v = c[:3, :3].sum() / 9
    bulk_r = 1 / s[:3, :3].sum()
    off_c, off_s = c[0, 1] + c[0, 2] + c[1, 2], s[0, 1] + s[0, 2] + s[1, 2]
    shear_v = (np.trace(c[:3, :3]) - off_c + 3 * np.trace(c[3:, 3:])) / 15
    shear_r = 15 / (4 * np.trace(s[:3, :3]) - 4 * off_s + 3 * np.trace(s[3:, 3:]))
    v = np.array([0.5, 0.5, 0.0, 0.0, 0.0, 0.5])
    found = {"bulk": (bulk_v + bulk_r) / 2, "shear": (shear_v + shear_r) / 2, "young_110": 1 / (v @ s @ v)}
    return json_file({name: round(float(value), 4) for name, value in found.items()})


def files() -> dict[str, bytes]:
    """Return inputs and gold: path below ``taskdefs/mattoolbench/pymatgen`` -> content."""
    return {
        "moments-after-sorting/inputs/POSCAR": mixed_poscar(),
        "moments-after-sorting/inputs/INCAR": mixed_incar(),
        "relaxation-record/inputs/vasprun.xml": vasprun(),
        "relaxation-record/gold/steps.csv": relaxation_record(),
        "gap-of-two-spins/inputs/EIGENVAL": eigenval(),
        "gap-of-two-spins/gold/gap.json": two_spin_gap(),
        "outcar-elastic-moduli/inputs/OUTCAR": outcar(),
        "outcar-elastic-moduli/gold/moduli.json": elastic_moduli(),
    }
