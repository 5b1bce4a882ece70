"""Inputs of the microscopy task on filtering in Fourier space, with their truth."""

from __future__ import annotations

import numpy as np

from infra.inputs.micrographs import Field, fringes, levels, noise, pixels, tiff

SIZE = 256  # px; a power of two, so that no transform has to pad the picture
LATTICE_PIXEL = 0.025  # nm
# Waves a picture of both lattice directions, along x and y; with the envelope each gives a spot of 3 by 3 pixels.
LATTICE_WAVES = ((19, 11), (-11, 19))
LATTICE_LEVEL = 16.0
GROUND = 122.0
WEDGE = 14.0  # how far the ground goes up and down across the picture, as the thickness of the foil does
NOISE = 8.0

# Hum of the mains in a scan that is locked to it: upright stripes with a period of 8 px, and their second harmonic.
HUM_WAVES = 32
HUM_LEVEL = 20.0
HARMONIC_LEVEL = 9.0

MEASURED = (150, 60, 20, 90)  # x, y, width and height of the rectangle that is measured, px


def clean_lattice() -> Field:
    """Return the grey levels as they would be without hum, noise included."""
    x, y = pixels(SIZE, SIZE)
    turn = 2.0 * np.pi / SIZE
    envelope = (1.0 - 0.5 * np.cos(turn * x)) * (1.0 - 0.5 * np.cos(turn * y))
    lattice = sum(np.cos(turn * (along_x * x + along_y * y)) for along_x, along_y in LATTICE_WAVES)
    field: Field = GROUND + WEDGE * np.cos(turn * (x + y)) + LATTICE_LEVEL * envelope * lattice
    return field + noise(SIZE, SIZE, NOISE, 20260430)


def hum() -> Field:
    """Return the stripes alone; they swell slowly from row to row, and their mean over all rows is that of none."""
    _, y = pixels(SIZE, SIZE)
    turn = 2.0 * np.pi * y / SIZE
    swell = 1.0 + 0.4 * np.cos(turn) + 0.4 * np.cos(2.0 * turn) + 0.2 * np.cos(3.0 * turn)
    period = SIZE / HUM_WAVES
    stripes = fringes(SIZE, SIZE, period, 0.0, HUM_LEVEL) + fringes(SIZE, SIZE, period / 2.0, 0.0, HARMONIC_LEVEL)
    return swell * stripes


def files() -> dict[str, bytes]:
    """Return the inputs: path below ``taskdefs/mattoolbench/microscopy`` -> content."""
    return {"humming-lattice/inputs/lattice.tif": tiff(levels(clean_lattice() + hum(), np.uint8), LATTICE_PIXEL)}
