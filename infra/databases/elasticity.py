"""Elastic tensors by finite strain: the potential's stress of strained cells whose atoms are relaxed."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from ase import units
from ase.optimize import BFGS
from pymatgen.analysis.elasticity import DeformedStructureSet, ElasticTensor, Strain, Stress
from pymatgen.core.structure import Structure

from infra.databases.cache import Tree
from infra.databases.potential import Potential, plain


@dataclass(frozen=True)
class Strains:
    """The strains that are tried, and how well the atoms are relaxed at each.

    Attributes
    ----------
    normal, shear : tuple of float
        Magnitudes; each is put on each of the three axes or planes.
    force : float
        eV/Å.
    steps : int
        Most steps of a relaxation.
    """

    normal: tuple[float, ...] = (-0.005, 0.005)
    shear: tuple[float, ...] = (-0.005, 0.005)
    force: float = 0.005
    steps: int = 40


def elastic_tensor(
    potential: Potential, structure: Structure, strains: Strains | None = None
) -> list[list[float]] | None:
    """Return the 6 by 6 tensor in GPa, Voigt order, in the axes of the cell; None where the crystal would not hold.

    The tensor takes on the symmetry of the crystal. Born's criterion: every eigenvalue is positive.
    """
    strains = strains or Strains()
    question = {"elastic": plain(structure), "strains": asdict(strains), "version": potential.version}
    raw = potential.cache.get(question, lambda: _tensor(potential, structure, strains))["tensor"]
    tensor = ElasticTensor.from_voigt(np.array(raw)).voigt_symmetrized.fit_to_structure(structure)
    voigt = np.asarray(tensor.voigt, dtype=float)
    if np.linalg.eigvalsh(voigt).min() <= 1.0:
        return None
    return [[round(float(x), 2) + 0.0 for x in row] for row in voigt]


def moduli(tensor: list[list[float]]) -> dict[str, float]:
    """Return the averages that the vocabulary names, GPa, from a 6 by 6 tensor in GPa."""
    elastic = ElasticTensor.from_voigt(np.array(tensor))
    found: dict[str, Any] = {
        "bulk_modulus_voigt": elastic.k_voigt,
        "bulk_modulus_reuss": elastic.k_reuss,
        "bulk_modulus_vrh": elastic.k_vrh,
        "shear_modulus_voigt": elastic.g_voigt,
        "shear_modulus_reuss": elastic.g_reuss,
        "shear_modulus_vrh": elastic.g_vrh,
        "poisson_ratio": elastic.homogeneous_poisson,
        "universal_anisotropy": elastic.universal_anisotropy,
    }
    decimals = {"poisson_ratio": 4, "universal_anisotropy": 4}
    return {name: round(float(value), decimals.get(name, 2)) for name, value in found.items()}


def _tensor(potential: Potential, structure: Structure, strains: Strains) -> Tree:
    deformed = DeformedStructureSet(structure, norm_strains=strains.normal, shear_strains=strains.shear, symmetry=False)
    tried = [Strain.from_deformation(deformation) for deformation in deformed.deformations]
    stresses = [_stress(potential, strained, strains) for strained in deformed]
    rest = _stress(potential, structure, strains)
    found = ElasticTensor.from_independent_strains(tried, stresses, eq_stress=rest, vasp=False, tol=1e-7)
    return {"tensor": [[round(float(x), 4) for x in row] for row in found.voigt]}


def _stress(potential: Potential, structure: Structure, strains: Strains) -> Stress:
    atoms = potential.atoms(structure)
    if len(structure) > 1:
        with BFGS(atoms, logfile=None) as optimiser:
            optimiser.run(fmax=strains.force, steps=strains.steps)
    return Stress(atoms.get_stress(voigt=False) / units.GPa)
