"""Scripts to start a figure from, one for each kind of figure; what kind it is, is read from what the agent is told."""

from __future__ import annotations

import re
from collections.abc import Mapping
from importlib import resources
from types import MappingProxyType

from tasks_lib.agents.protocol import Brief

BASE = "base"
# Words of each kind, the first of two kinds with as many words counts. A stem stands for all its endings.
KINDS: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {
        "photoelectron": ("xps", "photoelectron", "binding energ", "core level", "core-level"),
        "raman": ("raman", "raman shift"),
        "infrared": ("ftir", "infrared", "transmittance", "absorbance", "wavenumber"),
        "diffraction": ("xrd", "diffract", "2θ", "two theta", "two-theta", "bragg"),
        "bands": ("band structure", "bandstructure", "k-point", "k-path", "high symmetry", "high-symmetry"),
        "rates": ("rate capability", "c-rate", "current densit", "at each rate"),
        "cycling": ("cycler", "cycling", "cycle number", "coulombic", "two vertical axes"),
    }
)


def kind_of_figure(brief: Brief) -> str:
    """Return the kind of figure that a stage asks for: a key of `KINDS`, or ``base`` where none is told.

    Only the instruction and the words on inputs and deliverables decide, never how the figure is judged.
    """
    told = [brief.instruction, *brief.inputs, *(f"{path} {what}" for path, what in brief.deliverables)]
    text = " ".join(told).replace("_", " ").casefold()
    counts = {kind: sum(_stands(stem, text) for stem in stems) for kind, stems in KINDS.items()}
    best = max(counts, key=lambda kind: counts[kind])
    return best if counts[best] else BASE


def template_for(brief: Brief) -> str:
    """Return the Veusz script for the kind of figure that a stage asks for."""
    return read_template(kind_of_figure(brief))


def read_template(kind: str) -> str:
    """Return the script of a kind: a key of `KINDS`, or ``base``."""
    return (resources.files("tasks_lib.agents") / "templates" / f"{kind}.veusz").read_text(encoding="utf-8")


def _stands(stem: str, text: str) -> bool:
    return re.search(rf"(?<!\w){re.escape(stem)}", text) is not None
