"""The frozen materials databases: a versioned snapshot of crystals, their properties and how each is known."""

from tasks_lib.databases.entry import MISSING, Crystal, Entry, Property, Provenance
from tasks_lib.databases.queries import by_stability, of_formula, of_system, system, within_system
from tasks_lib.databases.snapshot import Header, Snapshot, load
from tasks_lib.databases.vocabulary import PROPERTIES, PropertyKind

__all__ = [
    "MISSING",
    "PROPERTIES",
    "Crystal",
    "Entry",
    "Header",
    "Property",
    "PropertyKind",
    "Provenance",
    "Snapshot",
    "by_stability",
    "load",
    "of_formula",
    "of_system",
    "system",
    "within_system",
]
