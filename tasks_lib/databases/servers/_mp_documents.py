"""Entries of the snapshot as the documents of the Materials Project's collections.

Only what the snapshot knows is filled in; every other field of a document is there and null, so that a client finds
the field and sees that it has no value. Ids are spelt with letters, as the client itself spells them.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from tasks_lib.databases.entry import Entry, Provenance
from tasks_lib.databases.snapshot import Snapshot

FROZEN_AT = "2026-11-30T00:00:00+00:00"
# The scale on which the snapshot's potential was trained, and the only one of the client's that is served over REST.
THERMO_TYPE = "GGA_GGA+U"
RUN_TYPE = "GGA"
# A site counts as magnetic above this moment (µB); emmet, which makes the real documents, takes the same.
MAGNETIC_SITE = 0.2

Doc = dict[str, Any]

_SUMMARY_NULLS = (
    "cbm", "vbm", "efermi", "dos", "dos_energy_up", "dos_energy_down", "bandstructure", "xas", "grain_boundaries",
    "weighted_surface_energy_EV_PER_ANG2", "weighted_surface_energy", "weighted_work_function", "surface_anisotropy",
    "shape_factor", "has_reconstructed", "possible_species", "theoretical", "database_IDs", "phonon_IDs",
    "equilibrium_reaction_energy_per_atom",
)  # fmt: skip
HAS_PROPS = (
    "materials", "thermo", "xas", "grain_boundaries", "electronic_structure", "bandstructure", "dos", "magnetism",
    "elasticity", "dielectric", "piezoelectric", "surface_properties", "oxi_states", "provenance", "charge_density",
    "eos", "phonon", "absorption", "insertion_electrodes", "substrates", "chemenv",
)  # fmt: skip


@dataclass(frozen=True)
class Material:
    """An entry with what several of its documents need.

    Attributes
    ----------
    entry : Entry
        The crystal and its properties.
    snapshot : Snapshot
        Where it stands in.
    """

    entry: Entry
    snapshot: Snapshot

    @cached_property
    def structure(self) -> Doc:
        """The structure as pymatgen writes it."""
        written: Doc = self.entry.structure.to_pymatgen().as_dict()
        return written

    @cached_property
    def formula_units(self) -> float:
        """Count of reduced formulas in the stored cell."""
        from pymatgen.core.composition import Composition

        return self.entry.nsites / float(Composition(self.entry.formula).num_atoms)

    @cached_property
    def metadata(self) -> Doc:
        """What every document of this material begins with."""
        entry = self.entry
        from pymatgen.core.composition import Composition

        crystal_system = entry.value("crystal_system")
        volume = _number(entry, "volume")
        return {
            "builder_meta": {
                "emmet_version": None,
                "pymatgen_version": None,
                "run_id": None,
                "batch_id": None,
                "database_version": self.snapshot.name,
                "build_date": FROZEN_AT,
                # The client leaves out whole collections' documents that name no licence.
                "license": "BY-C",
            },
            "nsites": entry.nsites,
            "elements": list(entry.elements),
            "nelements": len(entry.elements),
            "composition": {symbol: float(count) for symbol, count in Counter(entry.structure.species).items()},
            "composition_reduced": dict(Composition(entry.formula).get_el_amt_dict()),
            "formula_pretty": entry.formula,
            "formula_anonymous": entry.anonymous_formula,
            "chemsys": entry.chemical_system,
            "volume": volume,
            "density": _number(entry, "density"),
            "density_atomic": None if volume is None else volume / entry.nsites,
            "symmetry": {
                "crystal_system": str(crystal_system).capitalize() if crystal_system else None,
                "symbol": entry.value("space_group_symbol"),
                "hall": None,
                "number": entry.value("space_group_number"),
                "point_group": entry.value("point_group"),
                "symprec": None,
                "angle_tolerance": None,
                "version": None,
            },
            "material_id": entry.mp_alpha_id,
            "deprecated": False,
            "deprecation_reasons": None,
            "last_updated": FROZEN_AT,
            "origins": [],
            "warnings": [],
        }


def core(material: Material) -> Doc:
    """Return the document of ``/materials/core``."""
    return {
        **material.metadata,
        "structure": material.structure,
        "initial_structures": [],
        "task_ids": [],
        "deprecated_tasks": [],
        "calc_types": {},
        "created_at": FROZEN_AT,
    }


def summary(material: Material) -> Doc:
    """Return the document of ``/materials/summary``."""
    entry = material.entry
    gap, static, fast = (_number(entry, of) for of in ("band_gap", "dielectric_static", "dielectric_high_frequency"))
    held = {
        "materials": True,
        "provenance": True,
        "thermo": entry.value("energy_per_atom") is not None,
        "electronic_structure": gap is not None,
        "magnetism": entry.value("magnetic_ordering") is not None,
        "elasticity": entry.value("elastic_tensor") is not None,
        "dielectric": static is not None or fast is not None,
        "piezoelectric": entry.value("piezoelectric_max") is not None,
    }
    return {
        **dict.fromkeys(_SUMMARY_NULLS),
        **material.metadata,
        "property_name": "summary",
        "structure": material.structure,
        "task_ids": [],
        **_energies(material),
        "band_gap": gap,
        "is_gap_direct": entry.value("band_gap_is_direct"),
        "is_metal": None if gap is None else gap == 0,
        **_magnetism(material),
        **_moduli(entry),
        "e_total": static,
        "e_electronic": fast,
        "e_ionic": None if static is None or fast is None else static - fast,
        "n": None if fast is None else math.sqrt(fast),
        "e_ij_max": entry.value("piezoelectric_max"),
        "has_props": {name: held.get(name, False) for name in HAS_PROPS},
    }


def thermo(material: Material) -> Doc | None:
    """Return the document of ``/materials/thermo``, None without an energy."""
    entry = material.entry
    if entry.value("energy_per_atom") is None or entry.value("energy_above_hull") is None:
        return None
    return {
        **material.metadata,
        "warnings": [
            f"energies of {material.snapshot.name} by a machine-learned potential, not by a calculation of DFT"
        ],
        "property_name": "thermo",
        "thermo_type": THERMO_TYPE,
        "thermo_id": f"{entry.mp_alpha_id}_{THERMO_TYPE}",
        **_energies(material),
        "energy_uncertainy_per_atom": None,  # spelt so in the real documents
        "equilibrium_reaction_energy_per_atom": None,
        "decomposition_enthalpy": None,
        "decomposition_enthalpy_decomposes_to": None,
        "energy_type": RUN_TYPE,
        "entry_types": [RUN_TYPE],
        "entries": {RUN_TYPE: computed_entry(material)},
    }


def computed_entry(material: Material) -> Doc:
    """Return the entry that phase diagrams are built from, as pymatgen writes its ``ComputedStructureEntry``."""
    from pymatgen.entries.computed_entries import ComputedStructureEntry

    entry = material.entry
    energy = _number(entry, "energy_per_atom") or 0.0
    written: Doc = ComputedStructureEntry(
        entry.structure.to_pymatgen(),
        energy * entry.nsites,
        parameters={"run_type": RUN_TYPE},
        data={"material_id": entry.mp_alpha_id, "run_type": RUN_TYPE},
        entry_id=f"{entry.mp_alpha_id}-{RUN_TYPE}",
    ).as_dict()
    return written


def electronic_structure(material: Material) -> Doc | None:
    """Return the document of ``/materials/electronic_structure``, None where no gap is known."""
    entry = material.entry
    gap = _number(entry, "band_gap")
    if gap is None:
        return None
    return {
        **material.metadata,
        "property_name": "electronic_structure",
        "band_gap": gap,
        "cbm": None,
        "vbm": None,
        "efermi": None,
        "is_gap_direct": entry.value("band_gap_is_direct"),
        "is_metal": gap == 0,
        "magnetic_ordering": entry.value("magnetic_ordering"),
        "bandstructure": None,
        "dos": None,
    }


def magnetism(material: Material) -> Doc | None:
    """Return the document of ``/materials/magnetism``, None where the ordering is not known."""
    entry = material.entry
    if entry.value("magnetic_ordering") is None:
        return None
    moments = entry.value("site_moments")
    return {
        **material.metadata,
        "property_name": "magnetism",
        **_magnetism(material),
        "exchange_symmetry": None,
        "magmoms": list(moments) if isinstance(moments, tuple) else None,
    }


def elasticity(material: Material) -> Doc | None:
    """Return the document of ``/materials/elasticity``, None without an elastic tensor."""
    entry = material.entry
    tensor = entry.value("elastic_tensor")
    if not isinstance(tensor, tuple):
        return None
    stiffness = np.asarray(tensor, dtype=float)
    return {
        **material.metadata,
        "property_name": "elasticity",
        "structure": material.structure,
        "order": 2,
        "elastic_tensor": {"raw": stiffness.tolist(), "ieee_format": None},
        "compliance_tensor": {"raw": (np.linalg.inv(stiffness) * 1000).tolist(), "ieee_format": None},
        **_moduli(entry),
        **dict.fromkeys(("sound_velocity", "thermal_conductivity", "young_modulus", "debye_temperature")),
        "fitting_data": None,
        "fitting_method": None,
        "state": "successful",
    }


def provenance(material: Material) -> Doc:
    """Return the document of ``/materials/provenance``; citations stand in it as BibTeX."""
    entry = material.entry
    known = {name: one for name, one in entry.properties.items() if one.provenance is Provenance.LITERATURE}
    cited = sorted({one.source for one in known.values() if one.source})
    return {
        **material.metadata,
        "property_name": "provenance",
        "created_at": FROZEN_AT,
        "references": [f"@misc{{{entry.id}-{n},\n  note = {{{text}}}\n}}" for n, text in enumerate(cited, 1)],
        "authors": [],
        "remarks": [entry.origin, *(f"{name}: {one.source}" for name, one in sorted(known.items()))],
        "tags": [text for text in (entry.name, entry.prototype, entry.strukturbericht) if text],
        "theoretical": None,
        "database_IDs": {},
        "history": [],
    }


MAKERS: dict[str, Callable[[Material], Doc | None]] = {
    "core": core,
    "summary": summary,
    "thermo": thermo,
    "electronic_structure": electronic_structure,
    "elasticity": elasticity,
    "magnetism": magnetism,
    "provenance": provenance,
}


def collection(name: str, materials: Sequence[Material]) -> list[Doc]:
    """Return every document of a collection, in the order of the snapshot."""
    made = (MAKERS[name](material) for material in materials)
    return [doc for doc in made if doc is not None]


def _energies(material: Material) -> Doc:
    entry = material.entry
    products = entry.value("decomposes_to")
    by_id = material.snapshot.by_id
    decomposition = None
    if isinstance(products, dict) and not entry.value("is_stable"):
        decomposition = [
            {"material_id": by_id[one].mp_alpha_id, "formula": by_id[one].formula, "amount": share}
            for one, share in sorted(products.items())
        ]
    energy = _number(entry, "energy_per_atom")
    return {
        "uncorrected_energy_per_atom": energy,
        "energy_per_atom": energy,
        "formation_energy_per_atom": _number(entry, "formation_energy_per_atom"),
        "energy_above_hull": _number(entry, "energy_above_hull"),
        "is_stable": bool(entry.value("is_stable")),
        "decomposes_to": decomposition,
    }


def _magnetism(material: Material) -> Doc:
    entry = material.entry
    ordering, moments = entry.value("magnetic_ordering"), entry.value("site_moments")
    per_formula = _number(entry, "total_magnetization")
    total = None if per_formula is None else per_formula * material.formula_units
    volume = _number(entry, "volume")
    magnetic = None
    if isinstance(moments, tuple):
        magnetic = [
            symbol
            for symbol, moment in zip(entry.structure.species, moments, strict=True)
            if isinstance(moment, float) and moment > MAGNETIC_SITE
        ]
    return {
        "is_magnetic": None if ordering is None else ordering != "NM",
        "ordering": ordering,
        "total_magnetization": total,
        "total_magnetization_normalized_vol": None if total is None or not volume else total / volume,
        "total_magnetization_normalized_formula_units": per_formula,
        "num_magnetic_sites": None if magnetic is None else len(magnetic),
        "num_unique_magnetic_sites": None,
        "types_of_magnetic_species": None if magnetic is None else sorted(set(magnetic)),
    }


def _moduli(entry: Entry) -> Doc:
    def means(kind: str) -> dict[str, Any] | None:
        found = {mean: entry.value(f"{kind}_modulus_{mean}") for mean in ("voigt", "reuss", "vrh")}
        return None if None in found.values() else found

    return {
        "bulk_modulus": means("bulk"),
        "shear_modulus": means("shear"),
        "universal_anisotropy": entry.value("universal_anisotropy"),
        "homogeneous_poisson": entry.value("poisson_ratio"),
    }


def _number(entry: Entry, name: str) -> float | None:
    value = entry.value(name)
    return float(value) if isinstance(value, int | float) and not isinstance(value, bool) else None
