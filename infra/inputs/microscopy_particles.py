"""Inputs of the microscopy tasks on touching particles and on a turned detail, with their truth."""

from __future__ import annotations

import numpy as np

from infra.inputs.micrographs import Disc, Field, discs, levels, noise, pixels, scattered, tiff

TOUCHING_PIXEL = 1.25  # nm
# Places for particles alone and in pairs; the circles of a pair overlap by a quarter of their radius.
PLACES = scattered(17, 280, (20.0, 20.5), 1.0, 20260420, gap=2.0)
SINGLES = tuple(Disc(place.x, place.y, 11.0, 165.0) for place in PLACES[:10])
PAIRS = tuple(
    Disc(place.x + side * 8.5 * np.cos(turn), place.y + side * 8.5 * np.sin(turn), 9.7, 165.0)
    for place, turn in zip(PLACES[10:], np.linspace(0.2, 2.9, 7), strict=True)
    for side in (-1.0, 1.0)
)

# A detector picture that came lying on its side; the detail is given in the picture once it stands.
DETAIL = (30, 100, 72, 56)  # x, y, width and height after the turn, px


def touching_particles() -> Field:
    """Return grey levels: bright particles, some of them in touching pairs."""
    bright = discs(280, 280, SINGLES + PAIRS)
    return np.where(bright > 0.0, bright, 42.0) + noise(280, 280, 6.0, 20260421)


def touching_table() -> bytes:
    """Return the areas, nm²: of a particle alone its disc, of one in a pair half of the pair."""

    def area(these: tuple[Disc, ...]) -> float:
        return float(discs(280, 280, these).astype(bool).sum()) * TOUCHING_PIXEL**2

    pairs = [area(PAIRS[at : at + 2]) / 2.0 for at in range(0, len(PAIRS), 2)]
    areas = sorted([area((disc,)) for disc in SINGLES] + pairs + pairs)
    return "".join(["Area\n", *(f"{value:.3f}\n" for value in areas)]).encode()


def lying_picture() -> Field:
    """Return grey levels of 240 by 160 pixels: a ramp, which tells the corners apart, and a mottle."""
    x, y = pixels(240, 160)
    return 60.0 + 0.35 * x + 0.2 * y + noise(240, 160, 12.0, 20260422, smooth=2.0)


def files() -> dict[str, bytes]:
    """Return the inputs: path below ``taskdefs/mattoolbench/microscopy`` -> content."""
    return {
        "touching-particles/inputs/pairs.tif": tiff(levels(touching_particles(), np.uint8), TOUCHING_PIXEL),
        "touching-particles/gold/sizes.csv": touching_table(),
        "turned-detail/inputs/lying.tif": tiff(levels(lying_picture(), np.uint8), 0.4),
    }
