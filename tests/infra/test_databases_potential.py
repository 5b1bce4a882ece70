"""The builder with its potential; runs where the extra ``databases-build`` is installed."""

from __future__ import annotations

import numpy as np
import pytest
from pymatgen.core.lattice import Lattice
from pymatgen.core.structure import Structure

pytest.importorskip("chgnet", reason="the extra databases-build is not installed")

from infra.databases import build as builder
from infra.databases import elasticity
from infra.databases.cache import Cache
from infra.databases.potential import Potential
from infra.databases.prototypes import shipped, substituted
from infra.databases.starting import Start, primitive
from tasks_lib.databases import load

pytestmark = pytest.mark.filterwarnings("ignore")


@pytest.fixture(scope="module")
def potential(tmp_path_factory):
    return Potential(Cache(tmp_path_factory.mktemp("kept")))


@pytest.fixture(scope="module")
def starts():
    by_key = {start.key: start for start in shipped()}
    return [
        by_key["aflow/A_hP2_194_c/Mg"],
        by_key["aflow/A_mC4_12_i/O2"],
        by_key["aflow/A_cF4_225_a/Cu"],
        substituted("AB_cF8_225_a_b", "NaCl", {"Na": "Mg", "Cl": "O"}, "periclase"),
        substituted("AB_cP2_221_b_a", "CsCl", {"Cs": "Mg", "Cl": "O"}),
    ]


@pytest.fixture
def books(tmp_path):
    """Ledger and literature of a small build, in a folder of its own."""
    cited = tmp_path / "literature.yaml"
    line = "- {property: band_gap, source: 'A book (1999)', method: optical, values: [[MgO, 225, 7.8]]}\n"
    cited.write_text(line, encoding="utf-8")
    return {"ledger_file": tmp_path / "numbers.json", "literature_file": cited}


def test_a_stretched_crystal_is_brought_to_rest(potential):
    halite = Structure.from_spacegroup("Fm-3m", Lattice.cubic(6.1), ["Na", "Cl"], [[0, 0, 0], [0.5, 0.5, 0.5]])
    found = potential.relax(primitive(halite))
    assert found["relaxation"] == "cell and positions"
    assert found["largest_force"] < 0.02
    volume = abs(np.linalg.det(np.array(found["lattice"])))
    assert volume == pytest.approx(5.64**3 / 4, rel=0.06)


def test_a_second_build_from_the_cache_gives_the_same_bytes(potential, starts, books, tmp_path):
    said: list[str] = []
    first = builder.build(starts, potential, said.append, **books)
    again = builder.build(starts, Potential(potential.cache), said.append, **books)
    first.save(tmp_path / "a.xz")
    again.save(tmp_path / "b.xz")
    assert first.digest == again.digest
    assert (tmp_path / "a.xz").read_bytes() == (tmp_path / "b.xz").read_bytes()
    assert load(tmp_path / "a.xz").entries == first.entries
    periclase = next(entry for entry in first if entry.name == "periclase")
    assert periclase.value("is_stable")
    assert periclase.value("band_gap") == 7.8
    assert periclase.value("magnetic_ordering") == "NM"
    assert periclase.value("formation_energy_per_atom") == pytest.approx(-3.0, abs=0.3)


def test_repeats_are_left_out_and_told(potential, starts):
    said: list[str] = []
    copper = starts[2]
    twin = Start(key="twin", structure=copper.structure.copy(), origin="the same again")
    found = builder._without_repeats(builder._relaxed([copper, twin], potential, said.append), said.append)
    assert [item.start.key for item in found] == [copper.key]
    assert said == [f"left out, the same crystal as {copper.key}: twin"]


def test_the_elastic_tensor_of_a_cubic_crystal(potential, starts):
    relaxed = potential.relax(starts[3].structure)
    structure = Structure(relaxed["lattice"], relaxed["species"], relaxed["positions"])
    c = np.array(elasticity.elastic_tensor(potential, structure))
    assert c[0, 0] == pytest.approx(c[2, 2], abs=0.02)
    assert np.allclose(c[:3, 3:], 0, atol=0.02)
    assert elasticity.moduli(c.tolist())["bulk_modulus_vrh"] == pytest.approx((c[0, 0] + 2 * c[0, 1]) / 3, abs=0.02)


def test_a_crystal_that_would_not_hold_has_no_tensor(potential):
    tungsten = Structure.from_spacegroup("Fm-3m", Lattice.cubic(3.9), ["W"], [[0, 0, 0]])
    assert elasticity.elastic_tensor(potential, primitive(tungsten)) is None
