"""The properties that an entry of the snapshot may carry: name, unit and meaning of each, in one closed table."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class PropertyKind:
    """What a property is.

    Attributes
    ----------
    name : str
        Key in `Entry.properties`.
    unit : str or None
        Unit of the value; None for text, counts and truth values.
    meaning : str
        One line for people.
    """

    name: str
    unit: str | None
    meaning: str


_KINDS = (
    PropertyKind("space_group_number", None, "number in International Tables, spglib"),
    PropertyKind("space_group_symbol", None, "Hermann-Mauguin symbol as spglib writes it"),
    PropertyKind("crystal_system", None, "triclinic … cubic"),
    PropertyKind("point_group", None, "point group as spglib writes it"),
    PropertyKind("volume", "Å³", "volume of the stored cell"),
    PropertyKind("volume_per_atom", "Å³/atom", "volume of the stored cell over its sites"),
    PropertyKind("density", "g/cm³", "mass density"),
    PropertyKind("largest_force", "eV/Å", "largest force left on an atom of the stored structure"),
    PropertyKind("largest_stress", "GPa", "largest component, in magnitude, of the stress left in the stored cell"),
    PropertyKind("energy_per_atom", "eV/atom", "potential energy of the stored structure"),
    PropertyKind("formation_energy_per_atom", "eV/atom", "relative to the lowest elemental entries of the snapshot"),
    PropertyKind(
        "energy_above_hull", "eV/atom", "height above the hull of all entries of the chemical system; 0 on it"
    ),
    PropertyKind("is_stable", None, "whether the entry lies on the hull"),
    PropertyKind("decomposes_to", "fraction of atoms", "entries of the hull below this one: id to share of the atoms"),
    PropertyKind("site_moments", "µB", "magnitude of the magnetic moment at each site, in the order of the sites"),
    PropertyKind("magnetic_ordering", None, "NM, FM, AFM or FiM: of the ground state"),
    PropertyKind(
        "total_magnetization", "µB/formula unit", "moment of the cell over its reduced formulas, for NM and FM"
    ),
    PropertyKind("elastic_tensor", "GPa", "6 by 6, Voigt order xx yy zz yz xz xy, in the axes of the stored cell"),
    PropertyKind("bulk_modulus_voigt", "GPa", "upper bound of the bulk modulus"),
    PropertyKind("bulk_modulus_reuss", "GPa", "lower bound of the bulk modulus"),
    PropertyKind("bulk_modulus_vrh", "GPa", "mean of Voigt's and Reuss's bulk modulus"),
    PropertyKind("shear_modulus_voigt", "GPa", "upper bound of the shear modulus"),
    PropertyKind("shear_modulus_reuss", "GPa", "lower bound of the shear modulus"),
    PropertyKind("shear_modulus_vrh", "GPa", "mean of Voigt's and Reuss's shear modulus"),
    PropertyKind("poisson_ratio", None, "isotropic Poisson's ratio from the means"),
    PropertyKind("universal_anisotropy", None, "5 G_V/G_R + K_V/K_R - 6"),
    PropertyKind("band_gap", "eV", "measured gap; 0 for a metal"),
    PropertyKind("band_gap_is_direct", None, "whether the smallest gap is direct"),
    PropertyKind("dielectric_static", None, "relative permittivity at low frequency, mean over directions"),
    PropertyKind("dielectric_high_frequency", None, "relative permittivity above the phonons, mean over directions"),
    PropertyKind(
        "optical_phonon_energy", "meV", "energy of the optical phonon at the zone centre, as handbooks give it"
    ),
    PropertyKind("piezoelectric_max", "C/m²", "largest component, in magnitude, of the piezoelectric stress tensor"),
)

PROPERTIES: dict[str, PropertyKind] = {kind.name: kind for kind in _KINDS}
