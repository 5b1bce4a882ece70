"""Formation energies and heights above the hull of all entries, by pymatgen's phase diagram."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, cast

if TYPE_CHECKING:
    from pymatgen.analysis.phase_diagram import PDEntry, PhaseDiagram
    from pymatgen.core.composition import Composition

# Energies are stored to 1e-6 eV/atom; an entry this close to the hull lies on it.
ON_THE_HULL = 1e-6


@dataclass(frozen=True)
class Stability:
    """What the hull says of one entry; energies in eV/atom, shares as fractions of the atoms."""

    formation_energy: float
    above_hull: float
    is_stable: bool
    decomposes_to: dict[str, float]


def stabilities(energies: Mapping[str, tuple[Composition, float]]) -> dict[str, Stability]:
    """Put every entry into the phase diagram of its own chemical system.

    Parameters
    ----------
    energies : mapping of str to (Composition, float)
        By key: composition of the cell and energy, eV/atom.

    Returns
    -------
    dict of str to Stability
        By key.

    Raises
    ------
    ValueError
        If an element has no entry of its own: a hull needs every corner.
    """
    from pymatgen.analysis.phase_diagram import PDEntry, PhaseDiagram

    entries = {key: PDEntry(cell, energy * cell.num_atoms, name=key) for key, (cell, energy) in energies.items()}
    systems: dict[frozenset[str], list[str]] = {}
    for key, entry in entries.items():
        systems.setdefault(frozenset(element.symbol for element in entry.composition.elements), []).append(key)
    absent = sorted({symbol for system in systems for symbol in system if frozenset({symbol}) not in systems})
    if absent:
        msg = f"a hull needs an entry of each of its elements, there is none of {absent}: add one"
        raise ValueError(msg)
    found: dict[str, Stability] = {}
    for system, keys in systems.items():
        diagram = PhaseDiagram([entries[key] for other, more in systems.items() if other <= system for key in more])
        found |= {key: _stability(diagram, entries[key]) for key in keys}
    return found


def _stability(diagram: PhaseDiagram, entry: PDEntry) -> Stability:
    parts, above = diagram.get_decomp_and_e_above_hull(entry, allow_negative=True)
    if parts is None or above is None:
        msg = f"the phase diagram gives no decomposition of {entry.name}: check its energy"
        raise ValueError(msg)
    shares = {cast("PDEntry", part).name: round(float(share), 6) for part, share in parts.items() if share > 1e-6}
    height = round(max(float(above), 0.0), 6)
    return Stability(
        formation_energy=round(float(diagram.get_form_energy_per_atom(entry)), 6),
        above_hull=height if height > ON_THE_HULL else 0.0,
        is_stable=height <= ON_THE_HULL,
        decomposes_to=dict(sorted(shares.items())),
    )
