"""The snapshot that ships: what it promises, derived again by other means."""

from __future__ import annotations

import math
from collections import defaultdict
from pathlib import Path

import numpy as np
import pytest
import spglib
import yaml
from pymatgen.analysis.phase_diagram import PDEntry, PhaseDiagram
from pymatgen.core.composition import Composition
from pymatgen.core.periodic_table import Element

from tasks_lib.databases import Provenance, load
from tasks_lib.databases.snapshot import DEFAULT

ROOT = Path(__file__).parents[3]
SNAPSHOT = load()
SYSTEMS = [
    "-".join(sorted(system.split("-")))
    for system in yaml.safe_load((ROOT / "infra/databases/systems.yaml").read_text(encoding="utf-8"))
]


def composition(entry):
    return Composition({symbol: entry.structure.species.count(symbol) for symbol in entry.elements})


def test_size_and_breadth():
    assert SNAPSHOT.name == "matassay-snapshot-1"
    assert DEFAULT.stat().st_size < 15_000_000
    assert len(SNAPSHOT) >= 400
    assert len({symbol for entry in SNAPSHOT for symbol in entry.elements}) >= 60


def test_it_says_what_it_is_not():
    assert "Not data of the Materials Project, of OQMD" in SNAPSHOT.header.statement


@pytest.mark.parametrize("system", SYSTEMS)
def test_every_system_of_a_task_has_stable_and_unstable_entries(system):
    found = [entry.value("is_stable") for entry in SNAPSHOT if entry.chemical_system == system]
    assert True in found
    assert False in found


def test_every_element_has_its_reference():
    alone = {entry.elements[0] for entry in SNAPSHOT if len(entry.elements) == 1 and entry.value("is_stable")}
    assert alone == {symbol for entry in SNAPSHOT for symbol in entry.elements}


@pytest.mark.parametrize("system", [system for system in SYSTEMS if "-" in system])
def test_hulls_follow_from_the_energies(system):
    within = [entry for entry in SNAPSHOT if set(entry.elements) <= set(system.split("-"))]
    entries = {e.id: PDEntry(composition(e), e.value("energy_per_atom") * e.nsites, name=e.id) for e in within}
    diagram = PhaseDiagram(list(entries.values()))
    for entry in within:
        point = entries[entry.id]
        assert diagram.get_e_above_hull(point) == pytest.approx(entry.value("energy_above_hull"), abs=2e-6)
        assert diagram.get_form_energy_per_atom(point) == pytest.approx(
            entry.value("formation_energy_per_atom"), abs=2e-6
        )
        assert entry.value("is_stable") is bool(diagram.get_e_above_hull(point) <= 1e-6)
        shares = entry.value("decomposes_to")
        assert set(shares) <= {part.name for part in diagram.stable_entries}
        assert math.fsum(shares.values()) == pytest.approx(1, abs=1e-4)
        assert entry.value("energy_above_hull") == pytest.approx(
            entry.value("energy_per_atom")
            - math.fsum(share * SNAPSHOT.by_id[key].value("energy_per_atom") for key, share in shares.items()),
            abs=1e-4,
        )


@pytest.mark.parametrize("entry", SNAPSHOT.entries[::7], ids=lambda entry: entry.id)
def test_symmetry_follows_from_the_structure(entry):
    kinds = [Element(symbol).Z for symbol in entry.structure.species]
    cell = (np.array(entry.structure.lattice), np.array(entry.structure.positions), kinds)
    found = spglib.get_symmetry_dataset(cell, symprec=0.01)
    assert (found.number, found.international) == (entry.value("space_group_number"), entry.value("space_group_symbol"))
    assert len(spglib.find_primitive(cell, symprec=0.01)[2]) == entry.nsites


def test_volume_and_density_follow_from_the_structure():
    for entry in SNAPSHOT:
        volume = abs(np.linalg.det(np.array(entry.structure.lattice)))
        assert entry.value("volume") == pytest.approx(volume, rel=1e-6)
        grams = float(composition(entry).weight) / 6.02214076e23
        assert entry.value("density") == pytest.approx(grams / (volume * 1e-24), rel=1e-4)
        assert entry.formula == composition(entry).reduced_formula


def test_no_two_atoms_lie_on_one_another():
    for entry in SNAPSHOT:
        structure = entry.structure.to_pymatgen()
        if len(structure) > 1:
            distances = structure.distance_matrix + np.eye(len(structure)) * 9
            assert distances.min() > 0.6, entry.id


def test_every_value_of_the_literature_has_a_source_and_no_gap_is_computed():
    cited = defaultdict(int)
    for entry in SNAPSHOT:
        for name, found in entry.properties.items():
            if found.provenance is Provenance.LITERATURE:
                cited[name] += 1
                assert any(character.isdigit() for character in found.source), (entry.id, name)
        assert entry.properties["band_gap"].provenance is not Provenance.COMPUTED
    assert cited["band_gap"] >= 60
    assert {"magnetic_ordering", "dielectric_static", "piezoelectric_max"} <= set(cited)


def test_an_ordering_with_moments_is_never_the_potentials():
    for entry in SNAPSHOT:
        ordering = entry.properties["magnetic_ordering"]
        if ordering.provenance is Provenance.COMPUTED:
            assert ordering.value == "NM"
            assert max(entry.value("site_moments")) < 0.1
            assert not {"Gd", "Dy", "Nd", "U"} & set(entry.elements)
        assert len(entry.value("site_moments")) == entry.nsites


def test_elastic_tensors_are_stable_and_give_the_moduli():
    with_tensor = [entry for entry in SNAPSHOT if entry.value("elastic_tensor") is not None]
    assert len(with_tensor) >= 40
    for entry in with_tensor:
        c = np.array(entry.value("elastic_tensor"))
        assert np.allclose(c, c.T, atol=0.02)
        assert np.linalg.eigvalsh(c).min() > 0
        voigt = (np.trace(c[:3, :3]) + 2 * (c[0, 1] + c[0, 2] + c[1, 2])) / 9
        s = np.linalg.inv(c)
        reuss = 1 / (np.trace(s[:3, :3]) + 2 * (s[0, 1] + s[0, 2] + s[1, 2]))
        assert entry.value("bulk_modulus_voigt") == pytest.approx(voigt, abs=0.05)
        assert entry.value("bulk_modulus_reuss") == pytest.approx(reuss, abs=0.05)
        assert entry.value("bulk_modulus_vrh") == pytest.approx((voigt + reuss) / 2, abs=0.05)
        assert entry.value("bulk_modulus_reuss") <= entry.value("bulk_modulus_voigt") + 0.02


@pytest.mark.parametrize(
    ("formula", "group", "volume"),
    [("Si", 227, 20.0), ("C", 227, 5.67), ("Cu", 225, 11.8), ("MgO", 225, 9.4), ("NaCl", 225, 22.4),
     ("GaAs", 216, 22.6), ("Fe", 229, 11.8), ("Al2O3", 167, 8.5), ("TiO2", 136, 10.4)],
)  # fmt: skip
def test_volumes_are_near_the_measured_ones(formula, group, volume):
    """Å³/atom at room temperature, from lattice constants of the handbooks; the potential is within 6 %."""
    found = [e for e in SNAPSHOT if e.formula == formula and e.value("space_group_number") == group]
    assert min(abs(entry.value("volume_per_atom") / volume - 1) for entry in found) < 0.06
