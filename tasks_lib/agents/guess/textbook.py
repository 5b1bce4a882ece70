"""What a person knows by heart of common materials, rounded as one remembers it.

The values are room-temperature measurements as handbooks list them. They are the answers that somebody gives who asks
no database, so a task of a database must not accept them.
"""

from __future__ import annotations

import re
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Material:
    """A crystal as textbooks tell it.

    Attributes
    ----------
    formula : str
        Reduced formula.
    prototype : str
        Name of the structure type.
    a, c : float
        Cell edges, Å.
    gap : float
        Band gap, eV.
    density : float
        g/cm^3.
    bulk : float
        Bulk modulus, GPa.
    formation : float
        Formation energy, eV/atom.
    group : int
        Number of the space group.
    mp : int
        The number of its best-known entry in the Materials Project.
    """

    formula: str
    prototype: str
    a: float
    c: float
    gap: float
    density: float
    bulk: float
    formation: float
    group: int
    mp: int


_ROWS = """
Si      diamond     5.431 5.431   1.12  2.329   98  0.00 227 149
Ge      diamond     5.658 5.658   0.66  5.323   75  0.00 227 32
C       diamond     3.567 3.567   5.47  3.515  442  0.00 227 66
Sn      diamond     6.489 6.489   0.00  5.77    54  0.00 227 117
GaAs    zincblende  5.653 5.653   1.42  5.317   75 -0.37 216 2534
GaP     zincblende  5.451 5.451   2.26  4.138   88 -0.53 216 2490
InP     zincblende  5.869 5.869   1.34  4.81    71 -0.46 216 20351
InAs    zincblende  6.058 6.058   0.35  5.67    58 -0.30 216 20305
AlAs    zincblende  5.661 5.661   2.16  3.72    77 -0.60 216 2172
ZnS     zincblende  5.409 5.409   3.68  4.09    77 -1.07 216 10695
CdTe    zincblende  6.482 6.482   1.50  5.85    42 -0.48 216 406
SiC     zincblende  4.360 4.360   2.36  3.21   220 -0.38 216 8062
BN      zincblende  3.615 3.615   6.40  3.45   400 -1.32 216 1639
GaN     wurtzite    3.189 5.185   3.40  6.15   210 -0.57 186 804
AlN     wurtzite    3.112 4.982   6.20  3.26   210 -1.65 186 661
ZnO     wurtzite    3.250 5.207   3.37  5.606  140 -1.81 186 2133
CdS     wurtzite    4.137 6.714   2.42  4.82    62 -0.78 186 672
MgO     rocksalt    4.212 4.212   7.80  3.58   160 -3.12 225 1265
CaO     rocksalt    4.811 4.811   7.10  3.34   115 -3.29 225 2605
NaCl    rocksalt    5.640 5.640   8.50  2.165   24 -2.13 225 22862
KCl     rocksalt    6.292 6.292   8.60  1.984   17 -2.26 225 23193
LiF     rocksalt    4.026 4.026  13.60  2.635   67 -3.19 225 1138
NiO     rocksalt    4.177 4.177   4.00  6.67   190 -1.24 225 19009
FeO     rocksalt    4.330 4.330   2.40  5.745  150 -1.41 225 18905
PbTe    rocksalt    6.462 6.462   0.31  8.16    40 -0.36 225 19717
TiN     rocksalt    4.240 4.240   0.00  5.40   290 -1.75 225 492
CsCl    cscl        4.123 4.123   8.00  3.99    18 -2.30 221 22865
NiAl    cscl        2.887 2.887   0.00  5.90   166 -0.60 221 1487
TiO2    rutile      4.594 2.959   3.00  4.23   210 -3.26 136 2657
SnO2    rutile      4.737 3.186   3.60  6.95   205 -2.00 136 856
SiO2    rutile      4.913 5.405   8.90  2.65    37 -3.15 152 7000
SrTiO3  perovskite  3.905 3.905   3.25  5.12   175 -3.40 221 5229
BaTiO3  perovskite  4.000 4.000   3.20  6.02   160 -3.40 221 2998
CaTiO3  perovskite  3.840 3.840   3.50  4.04   175 -3.40 62  4019
CaF2    fluorite    5.463 5.463  12.10  3.18    82 -4.20 225 2741
ZrO2    fluorite    5.090 5.090   5.80  6.10   190 -3.79 225 1565
CeO2    fluorite    5.411 5.411   3.20  7.22   230 -3.76 225 20194
Al2O3   corundum    4.759 12.991  8.80  3.95   252 -3.47 167 1143
Fe2O3   corundum    5.038 13.772  2.20  5.26   225 -1.71 167 19770
MoS2    molybdenite 3.160 12.290  1.29  5.06    53 -0.90 194 2815
LiCoO2  delafossite 2.815 14.050  2.70  5.06   149 -1.70 166 22526
LiFePO4 olivine     10.330 4.690  3.70  3.60    94 -2.50 62  19017
FeS2    pyrite      5.418 5.418   0.95  5.01   143 -0.60 205 226
Fe3O4   spinel      8.396 8.396   0.10  5.17   180 -1.65 227 19306
Cu      fcc         3.615 3.615   0.00  8.96   140  0.00 225 30
Al      fcc         4.050 4.050   0.00  2.70    76  0.00 225 134
Ni      fcc         3.524 3.524   0.00  8.91   180  0.00 225 23
Ag      fcc         4.086 4.086   0.00 10.49   100  0.00 225 124
Au      fcc         4.078 4.078   0.00 19.30   180  0.00 225 81
Pt      fcc         3.924 3.924   0.00 21.45   230  0.00 225 126
Pd      fcc         3.891 3.891   0.00 12.02   180  0.00 225 2
Pb      fcc         4.951 4.951   0.00 11.34    46  0.00 225 20483
Fe      bcc         2.866 2.866   0.00  7.87   170  0.00 229 13
W       bcc         3.165 3.165   0.00 19.25   310  0.00 229 91
Mo      bcc         3.147 3.147   0.00 10.28   230  0.00 229 129
Cr      bcc         2.885 2.885   0.00  7.19   160  0.00 229 90
V       bcc         3.030 3.030   0.00  6.11   160  0.00 229 146
Nb      bcc         3.301 3.301   0.00  8.57   170  0.00 229 75
Ta      bcc         3.303 3.303   0.00 16.65   200  0.00 229 50
Na      bcc         4.291 4.291   0.00  0.97   6.3  0.00 229 127
Li      bcc         3.510 3.510   0.00  0.534   11  0.00 229 135
K       bcc         5.330 5.330   0.00  0.86   3.1  0.00 229 58
Ti      hcp         2.951 4.684   0.00  4.506  110  0.00 194 46
Mg      hcp         3.209 5.211   0.00  1.738   45  0.00 194 153
Zn      hcp         2.665 4.947   0.00  7.14    70  0.00 194 79
Co      hcp         2.507 4.070   0.00  8.90   180  0.00 194 54
Zr      hcp         3.232 5.147   0.00  6.52    83  0.00 194 131
"""

MATERIALS: dict[str, Material] = {
    name: Material(
        name, prototype, float(a), float(c), float(gap), float(rho), float(bulk), float(formed), int(group), int(mp)
    )
    for name, prototype, a, c, gap, rho, bulk, formed, group, mp in map(str.split, _ROWS.strip().splitlines())
}
"""Reduced formula -> what is known of it, the best known first."""

NAMES: dict[str, str] = {
    "silicon": "Si", "germanium": "Ge", "diamond": "C", "carbon": "C", "tin": "Sn", "gallium arsenide": "GaAs",
    "gallium nitride": "GaN", "aluminium nitride": "AlN", "aluminum nitride": "AlN", "zinc oxide": "ZnO",
    "magnesium oxide": "MgO", "magnesia": "MgO", "sodium chloride": "NaCl", "rock salt": "NaCl",
    "caesium chloride": "CsCl", "cesium chloride": "CsCl", "titanium dioxide": "TiO2", "rutile": "TiO2",
    "anatase": "TiO2", "quartz": "SiO2", "silica": "SiO2", "strontium titanate": "SrTiO3", "fluorite": "CaF2",
    "barium titanate": "BaTiO3", "alumina": "Al2O3", "corundum": "Al2O3", "haematite": "Fe2O3", "hematite": "Fe2O3",
    "magnetite": "Fe3O4", "pyrite": "FeS2", "copper": "Cu", "aluminium": "Al", "aluminum": "Al", "nickel": "Ni",
    "silver": "Ag", "gold": "Au", "platinum": "Pt", "iron": "Fe", "tungsten": "W", "molybdenum": "Mo", "sodium": "Na",
    "lithium": "Li", "titanium": "Ti", "magnesium": "Mg", "zinc": "Zn", "cobalt": "Co", "scandium": "Sc",
    "oxygen": "O", "indium": "In",
}  # fmt: skip
"""Names in running text -> formula."""

ELEMENTS: frozenset[str] = frozenset(re.findall("[A-Z][a-z]?", (
    "HHeLiBeBCNOFNeNaMgAlSiPSClArKCaScTiVCrMnFeCoNiCuZnGaGeAsSeBrKrRbSrYZrNbMoTcRuRhPdAgCdInSnSbTeIXeCsBaLaCePrNdPmSm"
    "EuGdTbDyHoErTmYbLuHfTaWReOsIrPtAuHgTlPbBiPoAtRnFrRaAcThPaUNpPu"
)))  # fmt: skip
_LONGEST_FORMULA = 24
_SYMBOL = "|".join(sorted(ELEMENTS, key=lambda symbol: (-len(symbol), symbol)))
_FORMULA = re.compile(rf"(?<![A-Za-z0-9_./])((?:(?:{_SYMBOL})[0-9]{{0,2}}){{1,8}})(?![A-Za-z0-9_]|\.[a-z])")
# The longer names first: gallium arsenide is no gallium.
_NAME = re.compile(rf"\b(?:{'|'.join(sorted(NAMES, key=lambda name: (-len(name), name)))})\b")
_PART = re.compile(rf"({_SYMBOL})([0-9]{{0,2}})")
# File formats, programs and words that happen to be made of symbols.
_NO_FORMULAS = frozenset(
    {"CIF", "CSV", "POSCAR", "VASP", "I", "In", "As", "At", "No", "He", "Be", "PBE", "ID", "UTF", "HTTP"}
)


def atoms(formula: str) -> dict[str, int]:
    """Return symbol -> count of a formula without brackets."""
    found: dict[str, int] = {}
    for symbol, count in _PART.findall(formula):
        found[symbol] = found.get(symbol, 0) + max(1, int(count or 1))
    return found


def formulas(text: str) -> list[str]:
    """Return the formulas and the known names of materials in a text, in order, each once."""
    places: list[tuple[int, str]] = []
    for match in _FORMULA.finditer(text):
        word = match[1]
        if word not in _NO_FORMULAS and len(word) <= _LONGEST_FORMULA:
            places.append((match.start(), word))
    places += [(match.start(), NAMES[match[0]]) for match in _NAME.finditer(text.casefold())]
    return list(dict.fromkeys(formula for _, formula in sorted(places, key=lambda place: place[0])))


def material(formula: str) -> Material:
    """Return what is known of a formula, or what one would say of any crystal of it."""
    if formula in MATERIALS:
        return MATERIALS[formula]
    wanted = atoms(formula)
    for known in MATERIALS.values():
        if atoms(known.formula) == wanted:
            return known
    kinds = {1: "fcc", 2: "rocksalt", 3: "perovskite"}
    oxide = "O" in wanted
    return Material(
        formula, kinds.get(len(wanted), "perovskite"), 4.2, 4.2 if len(wanted) != 2 else 5.2,
        3.0 if oxide else 0.0, 5.0, 150.0, 0.0 if len(wanted) < 2 else -2.5 if oxide else -0.5,
        225 if len(wanted) < 3 else 221, 1000,
    )  # fmt: skip
