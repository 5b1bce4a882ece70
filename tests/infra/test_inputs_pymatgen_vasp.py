"""The generated VASP files are read by pymatgen as they were meant, and the gold agrees with its analysis."""

from __future__ import annotations

import json
import re
from pathlib import Path

import numpy as np
import pytest
import yaml
from pymatgen.analysis.elasticity import ElasticTensor
from pymatgen.electronic_structure.core import Spin
from pymatgen.io.vasp import Incar, Outcar, Poscar, Vasprun
from pymatgen.io.vasp.outputs import Eigenval

from infra.inputs import pymatgen_vasp as inputs

ROOT = Path(__file__).parents[2] / "taskdefs" / "mattoolbench" / "pymatgen"
FILES = inputs.files()
AXES = ("XX", "YY", "ZZ", "XY", "YZ", "ZX")

pytestmark = pytest.mark.filterwarnings("ignore::UserWarning", "ignore::DeprecationWarning")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for name, data in FILES.items():
        if "/inputs/" in name:
            (tmp_path / name.replace("/inputs/", "-")).write_bytes(data)
    return tmp_path


def test_moments_move_with_their_atoms(folder: Path):
    crystal = Poscar.from_file(folder / "moments-after-sorting-POSCAR", check_for_potcar=False).structure
    assert crystal.distance_matrix[np.triu_indices(len(crystal), 1)].min() > 1.9
    moments = Incar.from_file(folder / "moments-after-sorting-INCAR")["MAGMOM"]
    crystal.add_site_property("magmom", moments)
    crystal.sort()
    assert [site.specie.symbol for site in crystal] == sorted(site.specie.symbol for site in crystal)
    assert crystal.site_properties["magmom"] == inputs.sorted_moments()
    assert inputs.sorted_moments() != moments


@pytest.mark.parametrize(
    ("edit", "fits"),
    [
        ({}, True),
        ({"0.021 0.021": "2*0.021"}, True),
        ({"0.021 0.021": "2*.0210", " -0.034": "  1*-0.0340"}, True),
        ({"0.021 0.021": "0.021"}, False),
        ({"0.021 0.021": "3*0.021"}, False),
        ({"-3.094": "3.094"}, False),
        ({"1.713 -1.688": "-1.688 1.713"}, False),
        ({"0.018": "0.02"}, False),
        ({"0.018": "0.0185"}, False),
    ],
)
def test_what_the_magmom_line_may_look_like(edit, fits):
    line = "MAGMOM = " + " ".join(f"{moment:g}" for moment in inputs.sorted_moments())
    for old, new in edit.items():
        assert old in line
        line = line.replace(old, new)
    assert (re.fullmatch(inputs.magmom_pattern(), line + "\n") is not None) is fits


def test_the_task_holds_the_pattern_of_the_generator():
    task = yaml.safe_load((ROOT / "moments-after-sorting" / "task.yaml").read_text(encoding="utf-8"))
    assert task["criteria"][0]["compares"]["want"] == inputs.magmom_pattern()


def test_the_relaxation_is_read_as_it_was_written(folder: Path):
    run = Vasprun(folder / "relaxation-record-vasprun.xml", parse_potcar_file=False)
    assert run.converged
    assert run.efermi == pytest.approx(5.1173)
    wanted = inputs.relaxation()
    assert len(run.ionic_steps) == len(wanted)
    for step, truth in zip(run.ionic_steps, wanted, strict=True):
        assert step["e_0_energy"] == pytest.approx(truth["e_0_energy"])
        assert np.allclose(step["forces"], truth["forces"])
        assert np.allclose(step["stress"], truth["stress"])
        assert np.allclose(step["structure"].lattice.matrix, truth["cell"], atol=1e-7)
    rows = [line.split(",") for line in FILES["relaxation-record/gold/steps.csv"].decode().splitlines()[1:]]
    assert float(rows[-1][1]) == pytest.approx(float(run.final_energy), abs=1e-5)
    assert float(rows[0][3]) > 0 > float(rows[-1][3])


def test_other_energies_and_forces_are_outside_the_tolerances():
    for step in inputs.relaxation():
        assert abs(step["e_0_energy"] - step["e_fr_energy"]) > 0.01
        forces = np.asarray(step["forces"])
        assert np.linalg.norm(forces, axis=1).max() - np.abs(forces).max() > 0.002


def test_the_gaps_agree_with_pymatgen(folder: Path):
    run = Eigenval(folder / "gap-of-two-spins-EIGENVAL")
    gold = json.loads(FILES["gap-of-two-spins/gold/gap.json"])
    gap, cbm, vbm, direct = run.eigenvalue_band_properties
    assert gap == pytest.approx(gold["gap"])
    assert not direct
    up, down = run.eigenvalues[Spin.up], run.eigenvalues[Spin.down]
    assert up[gold["top"] - 1, inputs.GAP_ELECTRONS[0] - 1, 0] == pytest.approx(vbm)
    assert down[gold["bottom"] - 1, inputs.GAP_ELECTRONS[1], 0] == pytest.approx(cbm)
    vertical = [
        min(point[point[:, 1] < 0.5, 0].min() - point[point[:, 1] > 0.5, 0].max() for point in states)
        for states in (up, down)
    ]
    assert min(vertical) == pytest.approx(gold["vertical_gap"])
    assert len({tuple(point) for point in run.kpoints}) == run.nkpt


def test_no_other_state_is_near_a_band_edge():
    _, energies = inputs.bands()
    up, down = inputs.GAP_ELECTRONS
    for edge in (np.sort(-energies[0, :, up - 1]), np.sort(energies[1, :, down]), np.sort(energies[1, :, down])):
        assert edge[1] - edge[0] > 0.02
    steps = np.sort(energies[1, :, down] - energies[1, :, down - 1])
    assert steps[1] - steps[0] > 0.02


def test_the_moduli_agree_with_pymatgen(folder: Path):
    run = Outcar(folder / "outcar-elastic-moduli-OUTCAR")
    run.read_elastic_tensor()
    table = np.array(run.data["elastic_tensor"]) / 10
    order = [inputs.VASP_ORDER.index(number) for number in range(1, 7)]
    tensor = ElasticTensor.from_voigt(table[np.ix_(order, order)])
    assert np.allclose(tensor.voigt, inputs.stiffness())
    assert np.linalg.eigvalsh(tensor.voigt).min() > 0
    gold = json.loads(FILES["outcar-elastic-moduli/gold/moduli.json"])
    assert gold["bulk"] == pytest.approx(tensor.k_vrh, abs=1e-3)
    assert gold["shear"] == pytest.approx(tensor.g_vrh, abs=1e-3)
    along = [np.array([1.0, 1.0, 0.0]) / np.sqrt(2)] * 4
    assert gold["young_110"] == pytest.approx(1 / tensor.compliance_tensor.einsum_sequence(along), abs=1e-3)


def test_clamped_ions_and_their_relaxation_add_up_to_the_total():
    text = FILES["outcar-elastic-moduli/inputs/OUTCAR"].decode("utf-8")
    tables = [
        np.array([[float(word) for word in line.split()[1:]] for line in block.splitlines() if line[1:3] in AXES])
        for block in text.split("(kBar)")[1:]
    ]
    assert [table.shape for table in tables] == [(6, 6)] * 3
    assert np.allclose(tables[0] + tables[1], tables[2], atol=2e-4)
