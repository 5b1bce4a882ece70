"""Put the snapshot together: relax, drop repeats, hulls, elasticity, literature, entries."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any

from pymatgen.analysis.structure_matcher import StructureMatcher
from pymatgen.core.structure import Structure

from infra.databases import elasticity, ledger
from infra.databases.literature import FILE as LITERATURE
from infra.databases.literature import Candidate, literature
from infra.databases.potential import Potential, plain
from infra.databases.starting import Start
from tasks_lib.databases import (
    MISSING,
    PROPERTIES,
    Crystal,
    Entry,
    Header,
    Property,
    Provenance,
    Snapshot,
    geometry,
)
from tasks_lib.databases.hulls import Stability, stabilities

NAME = "matassay-snapshot-1"
VERSION = "1.0.0"
STATEMENT = (
    "Structures relaxed and energies computed by a pretrained potential, for tests of agents and clients. "
    "Not data of the Materials Project, of OQMD or of any OPTIMADE provider, and no substitute for them."
)
# µB: below it the potential sees no moment.
NO_MOMENT = 0.1
# The potential's training data keep most open f shells in the core, so it sees no moment where nature may have one.
OPEN_F = frozenset(
    ["Ce", "Pr", "Nd", "Pm", "Sm", "Eu", "Gd", "Tb", "Dy", "Ho", "Er", "Tm", "Yb", "Pa", "U", "Np", "Pu"]
)
# Elastic tensors: small cells, close to the hull, at rest.
ELASTIC_SITES, ELASTIC_ABOVE_HULL, ELASTIC_STRESS, ELASTIC_GROUP = 6, 0.1, 0.5, 75


@dataclass(frozen=True)
class Relaxed:
    """A start with what the potential made of it."""

    start: Start
    structure: Structure
    result: dict[str, Any]
    symmetry: dict[str, int | str]


def build(
    starts: Iterable[Start],
    potential: Potential,
    say: Callable[[str], None],
    *,
    ledger_file: Path = ledger.FILE,
    literature_file: Path = LITERATURE,
) -> Snapshot:
    """Return the snapshot of the starts.

    Parameters
    ----------
    starts : iterable of Start
    potential : Potential
    say : callable
        Gets a line for each start that is left out, and for each stage.
    ledger_file, literature_file : Path
        Where numbers are kept, and where values of the literature are read.
    """
    kept = _without_repeats(_relaxed(starts, potential, say), say)
    say(f"{len(kept)} entries")
    hull = stabilities({item.start.key: (item.structure.composition, item.result["energy_per_atom"]) for item in kept})
    candidates = [
        Candidate(
            key=item.start.key,
            formula=item.structure.composition.reduced_formula,
            space_group=int(item.symmetry["space_group_number"]),
            energy=item.result["energy_per_atom"],
        )
        for item in kept
    ]
    cited = literature(candidates, literature_file)
    tensors = {item.start.key: _tensor(item, hull[item.start.key], potential, say) for item in kept}
    numbers = ledger.numbers((item.start.key for item in kept), ledger_file)
    identity = {key: f"matassay-{number}" for key, number in numbers.items()}
    entries = []
    for item in kept:
        key = item.start.key
        properties = {
            **_geometric(item),
            **_energetic(item, hull[key], identity, potential),
            **_elastic(tensors[key], potential),
        }
        properties |= cited.get(key, {})
        properties |= _magnetic(item, properties, potential)
        entries.append(_entry(item, numbers[key], properties))
    return Snapshot(_header(potential), entries)


def _relaxed(starts: Iterable[Start], potential: Potential, say: Callable[[str], None]) -> list[Relaxed]:
    found = []
    for start in starts:
        try:
            result = potential.relax(start.structure)
        except (ValueError, RuntimeError, IndexError) as error:
            say(f"left out, the potential cannot compute it: {start.key}: {error}")
            continue
        structure = Structure(result["lattice"], result["species"], result["positions"])
        if result["largest_stress"] > 30 or result["largest_force"] > 2:
            say(f"left out, far from rest: {start.key}: {result['largest_stress']} GPa, {result['largest_force']} eV/Å")
            continue
        found.append(Relaxed(start, structure, result, geometry.symmetry(structure)))
    return found


def _without_repeats(items: list[Relaxed], say: Callable[[str], None]) -> list[Relaxed]:
    """Keep the first of several starts that became one crystal: same space group, energy and, symmetrically, sites."""
    matcher = StructureMatcher()
    kept: dict[tuple[str, int], list[Relaxed]] = {}
    for item in items:
        rivals = kept.setdefault(
            (item.structure.composition.reduced_formula, int(item.symmetry["space_group_number"])), []
        )
        twin = next((rival for rival in rivals if _same(item, rival, matcher)), None)
        if twin is None:
            rivals.append(item)
        else:
            say(f"left out, the same crystal as {twin.start.key}: {item.start.key}")
    chosen = {item.start.key for rivals in kept.values() for item in rivals}
    return [item for item in items if item.start.key in chosen]


def _same(one: Relaxed, other: Relaxed, matcher: StructureMatcher) -> bool:
    near = abs(one.result["energy_per_atom"] - other.result["energy_per_atom"]) < 0.005
    return near and matcher.fit(one.structure, other.structure) and matcher.fit(other.structure, one.structure)


def _tensor(
    item: Relaxed, hull: Stability, potential: Potential, say: Callable[[str], None]
) -> list[list[float]] | None:
    wanted = (
        len(item.structure) <= ELASTIC_SITES
        and hull.above_hull <= ELASTIC_ABOVE_HULL
        and item.result["largest_stress"] <= ELASTIC_STRESS
        and int(item.symmetry["space_group_number"]) >= ELASTIC_GROUP
    )
    if not wanted:
        return None
    tensor = elasticity.elastic_tensor(potential, item.structure)
    if tensor is None:
        say(f"no elastic tensor, not stable under strain: {item.start.key}")
    return tensor


def _computed(values: dict[str, Any], method: str, by: str) -> dict[str, Property]:
    return {
        name: Property(
            provenance=Provenance.COMPUTED, value=value, unit=PROPERTIES[name].unit, method=method, version=by
        )
        for name, value in values.items()
    }


def _geometric(item: Relaxed) -> dict[str, Property]:
    return _computed(item.symmetry, geometry.SYMMETRY_METHOD, f"spglib {version('spglib')}") | _computed(
        geometry.measures(item.structure), "from the stored cell", f"pymatgen-core {version('pymatgen-core')}"
    )


def _energetic(item: Relaxed, hull: Stability, identity: dict[str, str], potential: Potential) -> dict[str, Property]:
    names = ("energy_per_atom", "largest_force", "largest_stress")
    own = {name: item.result[name] for name in names} | {"site_moments": tuple(item.result["moments"])}
    diagram = {
        "formation_energy_per_atom": hull.formation_energy,
        "energy_above_hull": hull.above_hull,
        "is_stable": hull.is_stable,
        "decomposes_to": {identity[key]: share for key, share in hull.decomposes_to.items()},
    }
    by = f"{potential.version}, pymatgen-core {version('pymatgen-core')}"
    return _computed(own, "CHGNet, stored structure", potential.version) | _computed(
        diagram, "pymatgen PhaseDiagram of all entries of the chemical system, CHGNet energies", by
    )


def _elastic(tensor: list[list[float]] | None, potential: Potential) -> dict[str, Property]:
    if tensor is None:
        return {}
    values = {"elastic_tensor": tuple(tuple(row) for row in tensor), **elasticity.moduli(tensor)}
    method = "finite strains of 0.5 %, CHGNet stress, atoms relaxed, symmetrised"
    return _computed(values, method, f"{potential.version}, pymatgen-core {version('pymatgen-core')}")


def _magnetic(item: Relaxed, properties: dict[str, Property], potential: Potential) -> dict[str, Property]:
    """Say NM where the potential sees no moment; an order with moments is only ever the literature's."""
    found: dict[str, Property] = {}
    ordering = properties.get("magnetic_ordering")
    open_f = any(site.specie.symbol in OPEN_F for site in item.structure)
    if ordering is None and not open_f and max(item.result["moments"]) < NO_MOMENT:
        method = f"CHGNet, every moment below {NO_MOMENT} µB"
        found |= _computed({"magnetic_ordering": "NM", "total_magnetization": 0.0}, method, potential.version)
    if ordering is not None and ordering.value == "FM":
        _, formulas = item.structure.composition.get_reduced_composition_and_factor()
        total = round(sum(item.result["moments"]) / formulas, 3)
        method = "CHGNet moments added up, parallel as the literature says"
        found |= _computed({"total_magnetization": total}, method, potential.version)
    return found


def _entry(item: Relaxed, number: int, properties: dict[str, Property]) -> Entry:
    composition = item.structure.composition
    crystal = plain(item.structure)
    return Entry(
        number=number,
        name=item.start.name,
        prototype=item.start.prototype,
        strukturbericht=item.start.strukturbericht,
        origin=item.start.origin,
        relaxation=item.result["relaxation"],
        formula=composition.reduced_formula,
        anonymous_formula=composition.anonymized_formula,
        elements=tuple(sorted(element.symbol for element in composition.elements)),
        structure=Crystal.model_validate(crystal),
        properties={name: properties.get(name, MISSING) for name in sorted(PROPERTIES)},
    )


def _header(potential: Potential) -> Header:
    settings = potential.settings
    return Header(
        name=NAME,
        version=VERSION,
        statement=STATEMENT,
        methods={
            "structures": f"{potential.version}; best of the volumes x {settings.scan}; then BFGS of cell and "
            f"positions within the space group, ended below {settings.force} eV/Å or after {settings.steps} steps "
            f"({settings.steps_large} above {settings.large} atoms); primitive cell in spglib's standard setting, "
            "rounded to 6 decimals",
            "symmetry": geometry.SYMMETRY_METHOD,
            "energies": f"{potential.version}; its training data carry the Materials Project's 2020 corrections",
            "hulls": "pymatgen PhaseDiagram of all entries of a chemical system, elements included",
            "elasticity": "12 strains of 0.5 %, atoms relaxed at each, symmetrised; missing where not stable",
            "magnetism": f"NM where every moment is below {NO_MOMENT} µB and no element has an open f shell; "
            "any other ordering is the literature's",
            "literature": "entered by hand with its source, as commonly quoted from it; not yet compared with the "
            "print. Nothing is estimated, what is not known is missing",
        },
    )
