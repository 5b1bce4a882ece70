"""A small snapshot with real crystals and hand-made energies, and one honest server of each dialect over it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from pymatgen.analysis.phase_diagram import PDEntry, PhaseDiagram
from pymatgen.core import Lattice, Structure
from pymatgen.symmetry.analyzer import SpacegroupAnalyzer

from tasks_lib.databases import MISSING, PROPERTIES, Crystal, Entry, Header, Property, Provenance, Snapshot
from tasks_lib.databases.servers import RunningServer, start

KEY = "0123456789abcdef0123456789abcdef"
GAP_SOURCE = "C. Kittel, Introduction to Solid State Physics, 8th ed. (2005); doi 10.1000/example.gap"


def _cubic(a: float) -> Lattice:
    return Lattice.cubic(a)


# Formula-independent description: space group, lattice, species, positions, energy per atom (eV), measured gap (eV).
CRYSTALS: tuple[tuple[str, Lattice, list[str], list[list[float]], float, float | None], ...] = (
    ("Im-3m", _cubic(2.86), ["Fe"], [[0, 0, 0]], -8.2, 0.0),
    ("Fm-3m", _cubic(3.66), ["Fe"], [[0, 0, 0]], -8.1, 0.0),
    ("Fd-3m", _cubic(5.43), ["Si"], [[0, 0, 0]], -5.4, 1.12),
    ("Fm-3m", _cubic(4.05), ["Al"], [[0, 0, 0]], -3.7, 0.0),
    ("Im-3m", _cubic(4.29), ["Na"], [[0, 0, 0]], -1.3, 0.0),
    ("P6_3/mmc", Lattice.hexagonal(3.21, 5.21), ["Mg"], [[1 / 3, 2 / 3, 0.25]], -1.5, 0.0),
    ("P6_3/mmc", Lattice.hexagonal(2.95, 4.68), ["Ti"], [[1 / 3, 2 / 3, 0.25]], -7.8, 0.0),
    ("Fm-3m", _cubic(5.0), ["O"], [[0, 0, 0]], -4.9, None),
    ("Fm-3m", _cubic(6.0), ["Cl"], [[0, 0, 0]], -1.8, None),
    ("Fm-3m", _cubic(5.64), ["Na", "Cl"], [[0, 0, 0], [0.5, 0.5, 0.5]], -3.4, 8.5),
    ("Pm-3m", _cubic(3.5), ["Na", "Cl"], [[0, 0, 0], [0.5, 0.5, 0.5]], -3.3, None),
    ("Fm-3m", _cubic(4.21), ["Mg", "O"], [[0, 0, 0], [0.5, 0.5, 0.5]], -6.2, 7.8),
    ("Fm-3m", _cubic(4.33), ["Fe", "O"], [[0, 0, 0], [0.5, 0.5, 0.5]], -7.9, 2.4),
    ("P4_2/mnm", Lattice.tetragonal(4.59, 2.96), ["Ti", "O"], [[0, 0, 0], [0.305, 0.305, 0]], -9.0, 3.03),
    ("I4_1/amd", Lattice.tetragonal(3.78, 9.51), ["Ti", "O"], [[0, 0, 0], [0, 0, 0.208]], -8.97, 3.2),
    ("Fd-3m", _cubic(7.13), ["Si", "O"], [[0, 0, 0], [0.125, 0.125, 0.125]], -7.9, None),
    ("Pm-3m", _cubic(2.95), ["Fe", "Al"], [[0, 0, 0], [0.5, 0.5, 0.5]], -6.3, None),
    ("Fm-3m", _cubic(5.79), ["Fe", "Al"], [[0.25, 0.25, 0.25], [0, 0, 0]], -7.1, None),
    ("Fd-3m", _cubic(8.08), ["Mg", "Al", "O"], [[1 / 8] * 3, [0.5] * 3, [0.2624] * 3], -7.3, 7.8),
    ("Pm-3m", _cubic(3.9), ["Mg", "Ti", "O"], [[0.5] * 3, [0, 0, 0], [0.5, 0, 0]], -7.7, None),
)


def _computed(name: str, value: Any) -> Property:
    return Property(
        provenance=Provenance.COMPUTED, value=value, unit=PROPERTIES[name].unit, method="fixture", version="1"
    )


def _entry(number: int, structure: Structure, energy: float, gap: float | None, hull: PhaseDiagram) -> Entry:
    symmetry = SpacegroupAnalyzer(structure, symprec=0.01)
    pd_entry = PDEntry(structure.composition, energy * len(structure))
    above = hull.get_e_above_hull(pd_entry, allow_negative=True) or 0.0
    above = 0.0 if above < 1e-9 else above
    properties = dict.fromkeys(PROPERTIES, MISSING)
    found: dict[str, Any] = {
        "space_group_number": symmetry.get_space_group_number(),
        "space_group_symbol": symmetry.get_space_group_symbol(),
        "crystal_system": symmetry.get_crystal_system(),
        "point_group": symmetry.get_point_group_symbol(),
        "volume": structure.volume,
        "volume_per_atom": structure.volume / len(structure),
        "density": float(structure.density),
        "energy_per_atom": energy,
        "formation_energy_per_atom": hull.get_form_energy_per_atom(pd_entry),
        "energy_above_hull": above,
        "is_stable": above == 0.0,
    }
    if above:
        found["decomposes_to"] = {
            one.name: float(share) for one, share in hull.get_decomposition(structure.composition).items()
        }
    if structure.composition.reduced_formula in ("Fe", "FeO"):
        moments = tuple(2.2 if site.specie.symbol == "Fe" else 0.0 for site in structure)
        found |= {"site_moments": moments, "magnetic_ordering": "FM", "total_magnetization": 2.2}
    if structure.composition.reduced_formula in ("Si", "MgO", "Al"):
        c11, c12, c44 = 160.0 + number % 7, 60.0, 80.0
        tensor = [[0.0] * 6 for _ in range(6)]
        for i in range(3):
            tensor[i][:3] = [c12] * 3
            tensor[i][i], tensor[i + 3][i + 3] = c11, c44
        found |= {"elastic_tensor": tuple(map(tuple, tensor)), "poisson_ratio": 0.25, "universal_anisotropy": 0.3}
        found |= {f"bulk_modulus_{kind}": (c11 + 2 * c12) / 3 for kind in ("voigt", "reuss", "vrh")}
        found |= {f"shear_modulus_{kind}": 60.0 + i for i, kind in enumerate(("reuss", "vrh", "voigt"))}
    properties |= {name: _computed(name, value) for name, value in found.items()}
    if gap is not None:
        properties["band_gap"] = Property(
            provenance=Provenance.LITERATURE, value=gap, unit="eV", method="optical", source=GAP_SOURCE
        )
    composition = structure.composition
    return Entry(
        number=number,
        prototype="A_test_1_a",
        strukturbericht="B1" if structure.composition.reduced_formula in ("NaCl", "MgO") else None,
        origin="fixture",
        relaxation="none",
        formula=composition.reduced_formula,
        anonymous_formula=composition.anonymized_formula,
        elements=tuple(sorted(composition.get_el_amt_dict())),
        structure=Crystal(
            lattice=tuple(map(tuple, structure.lattice.matrix.tolist())),
            species=tuple(site.specie.symbol for site in structure),
            positions=tuple(map(tuple, (structure.frac_coords % 1).tolist())),
        ),
        properties=properties,
    )


@pytest.fixture(scope="session")
def small_snapshot() -> Snapshot:
    numbered = []
    for position, (group, lattice, species, coordinates, energy, gap) in enumerate(CRYSTALS):
        structure = Structure.from_spacegroup(group, lattice, species, coordinates).get_primitive_structure()
        numbered.append((9_000_001 + position, structure, energy, gap))
    known = [PDEntry(s.composition, e * len(s), name=f"matassay-{number}") for number, s, e, _ in numbered]
    entries = []
    for number, structure, energy, gap in numbered:
        inside = [one for one in known if set(one.composition.elements) <= set(structure.composition.elements)]
        entries.append(_entry(number, structure, energy, gap, PhaseDiagram(inside)))
    header = Header(name="small-snapshot", version="1", statement="hand-made for tests", methods={"energy": "none"})
    return Snapshot(header, entries)


@pytest.fixture(scope="session")
def long_snapshot(small_snapshot: Snapshot) -> Snapshot:
    """Twice the small one: more entries than one page of any dialect's default holds."""
    again = [entry.model_copy(update={"number": entry.number + 1_000}) for entry in small_snapshot]
    return Snapshot(small_snapshot.header.model_copy(update={"name": "long-snapshot"}), [*small_snapshot, *again])


@pytest.fixture(scope="session")
def oqmd(small_snapshot: Snapshot) -> Iterator[RunningServer]:
    with start("oqmd", small_snapshot) as server:
        yield server


@pytest.fixture(scope="session")
def optimade(small_snapshot: Snapshot) -> Iterator[RunningServer]:
    with start("optimade", small_snapshot) as server:
        yield server


@pytest.fixture(scope="session")
def materials_project(small_snapshot: Snapshot) -> Iterator[RunningServer]:
    with start("mp", small_snapshot, api_key=KEY) as server:
        yield server
