"""The calibration grid."""

from __future__ import annotations

import numpy as np

from tasks_lib.instruments.twin.errors import within
from tasks_lib.instruments.twin.samples._rough import texture
from tasks_lib.instruments.twin.samples._sample import Array, Sample, logistic, not_negative, positive, truths, turned


def calibration_grid(
    *,
    size_m: float = 110e-6,
    pitch_m: float = 10e-6,
    depth_m: float = 80e-9,
    duty: float = 0.5,
    edge_m: float = 150e-9,
    rotation_deg: float = 0.0,
    roughness_m: float = 0.5e-9,
    friction: float = 0.3,
    seed: int = 0,
) -> Sample:
    """Return a square lattice of square pits, one of them centred on the origin.

    Parameters
    ----------
    duty : float
        Side of a pit at half depth by pitch.
    edge_m : float
        Width of a wall, from 12 % to 88 % of the depth.
    rotation_deg : float
        Angle of the lattice against the sample's axes, counterclockwise.

    Raises
    ------
    TwinError
        If a length is not above 0 or `duty` outside [0.05, 0.95].
    """
    positive(size_m=size_m, pitch_m=pitch_m, depth_m=depth_m, edge_m=edge_m)
    not_negative(friction=friction)
    within(duty, 0.05, 0.95, "duty")
    within(rotation_deg, -180, 180, "rotation_deg")
    grain, relief, slope = texture(size_m, roughness_m, min(200e-9, size_m / 50), 0.8, seed)

    def inside(along: Array) -> Array:
        from_middle = np.abs((along / pitch_m + 0.5) % 1.0 - 0.5) * pitch_m
        return logistic((duty * pitch_m / 2 - from_middle) / (edge_m / 4))

    def height(x: Array, y: Array) -> Array:
        u, v = turned(x, y, rotation_deg)
        return -depth_m * inside(u) * inside(v) + grain(x, y)

    return Sample(
        "calibration grid",
        (size_m, size_m),
        truths(
            kind="calibration grid", pitch_m=pitch_m, depth_m=depth_m, pit_side_m=duty * pitch_m,
            rotation_deg=rotation_deg, roughness_m=roughness_m, friction=friction,
        ),
        depth_m + relief,
        depth_m / edge_m + slope,
        height,
        friction,
    )  # fmt: skip
