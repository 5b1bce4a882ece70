"""The next release of a database, as it may come any week: energies shifted, entries gone, ids given anew.

Drift is tested against such a release. Hulls are derived again, so that the altered snapshot is as consistent as its
origin, and only its answers differ.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

from tasks_lib.databases.derivation import energies as energies_of
from tasks_lib.databases.entry import Entry, Provenance
from tasks_lib.databases.hulls import Stability, stabilities
from tasks_lib.databases.snapshot import Snapshot
from tasks_lib.records.errors import ConfigurationError


def altered(
    snapshot: Snapshot,
    *,
    name: str,
    energies: Mapping[int, float] | None = None,
    values: Mapping[int, Mapping[str, Any]] | None = None,
    gone: Collection[int] = (),
    renumbered: Mapping[int, int] | None = None,
) -> Snapshot:
    """Return a snapshot that differs from another one as said, with hulls to match.

    Parameters
    ----------
    snapshot : Snapshot
    name : str
        Of the new one.
    energies : mapping of int to float
        Entry's number to what is added to its energy, eV/atom.
    values : mapping of int to mapping
        Entry's number to properties and their new values; None makes a value missing.
    gone : collection of int
        Entries that are left out.
    renumbered : mapping of int to int
        Entry's number to the number that replaces it: the old id is deprecated.

    Raises
    ------
    ConfigurationError
        If an entry that is named is not there.
    ValueError
        If an element would have no entry left.
    """
    shifts, values, renumbered = energies or {}, values or {}, renumbered or {}
    absent = sorted({*shifts, *values, *gone, *renumbered} - set(snapshot.by_number))
    if absent:
        msg = f"only entries of {snapshot.name} can be altered, {absent} are none: name others"
        raise ConfigurationError(msg)
    kept = [entry for entry in snapshot if entry.number not in gone]
    kept = [_with(entry, values.get(entry.number, {}), shifts.get(entry.number, 0.0)) for entry in kept]
    kept = [entry.model_copy(update={"number": renumbered.get(entry.number, entry.number)}) for entry in kept]
    made = Snapshot(snapshot.header.model_copy(update={"name": name}), kept)
    hulls = stabilities(energies_of(made))
    return Snapshot(made.header, [_on(hulls[entry.id], entry) if entry.id in hulls else entry for entry in made])


def _with(entry: Entry, values: Mapping[str, Any], shift: float) -> Entry:
    energy = entry.value("energy_per_atom")
    changes = dict(values)
    if shift and isinstance(energy, float):
        changes["energy_per_atom"] = round(energy + shift, 6)
    return _changed(entry, changes)


def _on(hull: Stability, entry: Entry) -> Entry:
    derived = {
        "formation_energy_per_atom": hull.formation_energy,
        "energy_above_hull": hull.above_hull,
        "is_stable": hull.is_stable,
        "decomposes_to": hull.decomposes_to,
    }
    known = {name: value for name, value in derived.items() if entry.value(name) is not None}
    return _changed(entry, known)


def _changed(entry: Entry, values: Mapping[str, Any]) -> Entry:
    properties = dict(entry.properties)
    for name, value in values.items():
        found = properties[name]
        if value is None:
            properties[name] = found.model_validate({"provenance": Provenance.MISSING})
        else:
            properties[name] = found.model_copy(update={"value": value})
    return entry.model_copy(update={"properties": properties})
