"""Nanoparticles on a flat substrate."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from tasks_lib.instruments.twin.errors import TwinError, whole_seed
from tasks_lib.instruments.twin.samples._rough import texture
from tasks_lib.instruments.twin.samples._sample import Array, Sample, not_negative, positive, truths

Indices = NDArray[np.int64]


def nanoparticles(
    *,
    size_m: float = 5.5e-6,
    count: int = 80,
    radius_m: tuple[float, float] = (25e-9, 60e-9),
    roughness_m: float = 0.5e-9,
    friction: float = 0.3,
    seed: int = 0,
) -> Sample:
    """Return spheres that lie on a substrate, apart from each other; radii uniform within `radius_m`.

    The truth holds the number, the mean height (two radii) and its standard deviation.

    Raises
    ------
    TwinError
        If the radii are no range above 0, or `count` is not within 1 to 20,000 or more than find room.
    """
    positive(size_m=size_m, smallest_radius_m=radius_m[0], largest_radius_m=radius_m[1])
    not_negative(friction=friction)
    if not radius_m[0] <= radius_m[1] <= size_m / 8:
        raise TwinError(f"radius_m must rise and end at an eighth of the sample, {size_m / 8:g} m, not {radius_m}")
    if not 1 <= count <= 20_000:
        raise TwinError(f"count must lie in [1, 20000], not {count}")
    chance = np.random.default_rng(whole_seed(seed))
    radii = chance.uniform(*radius_m, count)
    centers = _apart(radii, size_m, chance)
    grain, relief, _ = texture(size_m, roughness_m, min(20e-9, size_m / 50), 0.7, seed)
    cell = max(2 * radius_m[1], size_m / 256)
    columns = int(np.ceil(size_m / cell))
    first, order = _bins(centers, radii, cell, columns, -size_m / 2)

    def height(x: Array, y: Array) -> Array:
        from tasks_lib.instruments.twin import _kernels

        balls = _kernels.spheres(x, y, centers, radii, first, order, cell, columns, -size_m / 2)
        return np.maximum(grain(x, y), balls)

    return Sample(
        "nanoparticles",
        (size_m, size_m),
        truths(
            kind="nanoparticles", particles=count, mean_height_m=float(2 * radii.mean()),
            std_height_m=float(2 * radii.std()), smallest_height_m=float(2 * radii.min()),
            largest_height_m=float(2 * radii.max()), roughness_m=roughness_m, friction=friction,
        ),
        float(2 * radii.max()) + relief,
        np.inf,
        height,
        friction,
    )  # fmt: skip


def _apart(radii: Array, size_m: float, chance: np.random.Generator) -> Array:
    """Centres of spheres that do not touch, all of them inside the sample."""
    centers = np.empty((radii.size, 2))
    for at, radius in enumerate(radii):
        for _ in range(400):
            place = chance.uniform(-0.5, 0.5, 2) * (size_m - 2 * radius)
            gaps = np.hypot(*(centers[:at] - place).T) - radii[:at] - radius
            if not (gaps < 0.2 * radius).any():
                centers[at] = place
                break
        else:
            raise TwinError(f"no room for {radii.size} particles on {size_m:g} m: take fewer or smaller ones")
    return centers


def _bins(centers: Array, radii: Array, cell: float, columns: int, origin: float) -> tuple[Indices, Indices]:
    """List for each cell of a square lattice the spheres that reach into it."""
    low = np.clip(((centers - radii[:, None] - origin) / cell).astype(int), 0, columns - 1)
    high = np.clip(((centers + radii[:, None] - origin) / cell).astype(int), 0, columns - 1)
    held: list[list[int]] = [[] for _ in range(columns * columns)]
    for one, ((left, bottom), (right, top)) in enumerate(zip(low, high, strict=True)):
        for row in range(bottom, top + 1):
            for column in range(left, right + 1):
                held[row * columns + column].append(one)
    first = np.concatenate([[0], np.cumsum([len(some) for some in held])]).astype(np.int64)
    return first, np.array([one for some in held for one in some], dtype=np.int64)
