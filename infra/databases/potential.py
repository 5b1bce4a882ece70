"""CHGNet, the pretrained potential whose weights ship in its wheel: relaxation, energy, moments, elastic tensor.

The potential was trained on energies that carry the Materials Project's 2020 corrections, so its energies of oxides,
sulphides and the elements may be put into one phase diagram as they are.
"""

from __future__ import annotations

import warnings
from dataclasses import asdict, dataclass
from importlib.metadata import version
from typing import Any, cast

import numpy as np
import torch
from ase import Atoms
from ase.constraints import FixSymmetry
from ase.filters import FrechetCellFilter
from ase.optimize import BFGS
from chgnet.model import CHGNet
from chgnet.model.dynamics import CHGNetCalculator
from pymatgen.core.structure import Structure
from pymatgen.io.ase import AseAtomsAdaptor

from infra.databases.cache import Cache, Tree
from infra.databases.starting import primitive

LATTICE_DECIMALS = 6
POSITION_DECIMALS = 6


@dataclass(frozen=True)
class Settings:
    """How far a structure is relaxed.

    Attributes
    ----------
    force : float
        Relaxation ends below this force on atoms and generalised force on the cell, eV/Å.
    steps, steps_large : int
        Most steps up to and above `large` atoms.
    large : int
        Count of atoms.
    volume_change : float
        A cell that grows or shrinks by more than this factor is given up: the start is kept.
    scan : tuple of float
        Factors on the volume that are tried first; the relaxation starts from the lowest energy, because the predicted
        volume of a substituted structure may be far off and the potential knows little of compressed bonds.
    """

    force: float = 0.02
    steps: int = 60
    steps_large: int = 25
    large: int = 12
    volume_change: float = 2.0
    scan: tuple[float, ...] = (0.75, 0.82, 0.9, 0.96, 1.0, 1.04, 1.1, 1.2, 1.3, 1.45)


class Potential:
    """The potential with one thread, so that its sums have one order.

    Parameters
    ----------
    cache : Cache
        Where results are kept.
    settings : Settings
    """

    def __init__(self, cache: Cache, settings: Settings | None = None) -> None:
        warnings.filterwarnings("ignore", module="chgnet")
        torch.set_num_threads(1)
        torch.manual_seed(0)
        self.model = CHGNet.load(use_device="cpu", verbose=False)
        self.cache = cache
        self.settings = settings or Settings()
        self.version = f"chgnet {version('chgnet')}, weights {self.model.version}"

    def relax(self, start: Structure) -> Tree:
        """Relax cell and positions within the space group, then describe the rounded result.

        Returns
        -------
        dict
            ``lattice`` (Å), ``species``, ``positions``, ``relaxation``, and the results of `describe`.
        """
        question = {"relax": plain(start), "settings": asdict(self.settings), "version": self.version}
        return self.cache.get(question, lambda: self._relax(start))

    def describe(self, structure: Structure) -> Tree:
        """Return ``energy_per_atom`` (eV), ``moments`` (µB), ``largest_force`` (eV/Å), ``largest_stress`` (GPa)."""
        found = self.model.predict_structure(structure)
        return {
            "energy_per_atom": round(float(found["e"]), 6),
            "moments": [round(abs(float(moment)), 3) for moment in np.asarray(found["m"]).reshape(-1)],
            "largest_force": round(float(np.abs(np.asarray(found["f"])).max()), 4),
            "largest_stress": round(float(np.abs(np.asarray(found["s"])).max()), 3),
        }

    def _relax(self, start: Structure) -> Tree:
        settings = self.settings
        scanned = [start.copy().scale_lattice(start.volume * factor) for factor in settings.scan]
        found = self.model.predict_structure(scanned, task="e", batch_size=len(scanned))
        energies = [float(item["e"]) for item in found]
        lowest = int(np.argmin(energies))
        atoms = self.atoms(scanned[lowest])
        atoms.set_constraint(FixSymmetry(atoms, symprec=0.01))
        steps = settings.steps if len(start) <= settings.large else settings.steps_large
        with BFGS(cast("Any", FrechetCellFilter(atoms)), logfile=None) as optimiser:
            optimiser.run(fmax=settings.force, steps=steps)
        end = AseAtomsAdaptor.get_structure(atoms, cls=Structure)
        end.remove_site_property("magmom") if "magmom" in end.site_properties else None
        ratio = end.volume / start.volume
        structure = rounded(primitive(end))
        described = self.describe(structure)
        kept = 1 / settings.volume_change < ratio < settings.volume_change
        kept = kept and described["energy_per_atom"] <= energies[lowest] + 1e-3
        if not kept:
            structure = rounded(primitive(scanned[lowest]))
            described = self.describe(structure)
        return {
            **plain(structure),
            "relaxation": "cell and positions" if kept else "volume",
            **described,
        }

    def atoms(self, structure: Structure) -> Atoms:
        """Return ASE's atoms with the potential as their calculator."""
        atoms = AseAtomsAdaptor.get_atoms(structure, msonable=False)
        atoms.calc = CHGNetCalculator(model=self.model, use_device="cpu")
        return atoms


def rounded(structure: Structure) -> Structure:
    """Return the structure as it is stored: rounded, positions in [0, 1)."""
    positions = np.round(structure.frac_coords, POSITION_DECIMALS) % 1.0
    lattice = np.round(structure.lattice.matrix, LATTICE_DECIMALS)
    return Structure(lattice + 0.0, structure.species, positions + 0.0)


def plain(structure: Structure) -> Tree:
    """Return the structure as lists: ``lattice`` (Å), ``species``, fractional ``positions``."""
    return {
        "lattice": [[float(x) for x in row] for row in structure.lattice.matrix],
        "species": [site.specie.symbol for site in structure],
        "positions": [[float(x) for x in row] for row in structure.frac_coords],
    }
