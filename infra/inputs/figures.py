"""Inputs of the scripted figures (``taskdefs/mattoolbench/figures``): exports as instruments write them."""

from __future__ import annotations

import numpy as np

from infra.inputs.spectra import Line, axis, count, profile
from infra.inputs.texts import text_file

# A titania film on silicon, Cu K-alpha: anatase (101), (004), (200), and the substrate's (400) far above them.
SUBSTRATE = Line(69.13, 61000.0, 0.16)
ANATASE = (Line(25.28, 310.0, 0.48), Line(37.80, 85.0, 0.52), Line(48.05, 120.0, 0.52))

# A cathode at C/2: capacity fades with the square root of the cycle number.
FIRST_CAPACITY = 162.0
FADE = 2.1
LOST_CYCLES = (17, 41)  # the cycler was paused: no efficiency was computed


def thin_film_pattern() -> bytes:
    """Return the export of a German diffractometer: remark, names, units, decimal commas, semicolons."""
    x = axis(20.0, 80.0, 0.04)
    background = 14.0 + 60.0 * np.exp(-(x - 20.0) / 9.0)
    deposited = count(background + profile(x, (SUBSTRATE,)), 20260201)
    annealed = count(background + profile(x, (SUBSTRATE, *ANATASE)), 20260202)
    rows = ["Messprotokoll 14-031;Cu K-alpha;Schrittzeit 2 s", "two_theta;as_deposited;annealed", "deg;counts;counts"]
    for angle, first, second in zip(x, deposited, annealed, strict=True):
        rows.append(f"{angle:.2f};{first};{second}".replace(".", ","))
    return text_file(rows)


def cycling() -> bytes:
    """Return a cycler's export: names, a units row, one row a cycle, gaps where the cycler was paused."""
    rng = np.random.default_rng(20260203)
    rows = ["cycle,discharge_capacity,coulombic_efficiency", "1,mAh/g,%"]
    for cycle in range(1, 61):
        capacity = FIRST_CAPACITY - FADE * np.sqrt(cycle - 1) + rng.normal(0.0, 0.35)
        efficiency = 99.55 - 11.0 * np.exp(-(cycle - 1) / 1.1) + rng.normal(0.0, 0.06)
        rows.append(f"{cycle},{capacity:.2f},{'' if cycle in LOST_CYCLES else format(efficiency, '.2f')}")
    return text_file(rows)


def files() -> dict[str, bytes]:
    """Return the inputs: path below ``taskdefs/mattoolbench/figures`` -> content."""
    return {
        "film-diffraction/inputs/film_xrd.csv": thin_film_pattern(),
        "cell-cycling/inputs/cycling.csv": cycling(),
    }
