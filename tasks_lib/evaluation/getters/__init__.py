"""Getters by name; importing this package registers them."""

from tasks_lib.evaluation.getters import (
    detected,
    dm,
    documents,
    files,
    fityk,
    gwyddion,
    imagej,
    pictures,
    screen,
    structures,
    tables,
    veusz,
)

__all__ = [
    "detected",
    "dm",
    "documents",
    "files",
    "fityk",
    "gwyddion",
    "imagej",
    "pictures",
    "screen",
    "structures",
    "tables",
    "veusz",
]
