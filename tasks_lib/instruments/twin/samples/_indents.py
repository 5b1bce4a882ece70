"""Hardness indents: the print that an indenter leaves."""

from __future__ import annotations

from typing import Literal, get_args

import numpy as np

from tasks_lib.instruments.twin.errors import TwinError, within
from tasks_lib.instruments.twin.samples._rough import texture
from tasks_lib.instruments.twin.samples._sample import Array, Sample, not_negative, positive, truths, turned

Indenter = Literal["Vickers", "Berkovich", "Knoop", "cube corner", "sphere"]
# Sides of the pyramid, and the angle between its axis and a face.
PYRAMIDS = {"Vickers": (4, 68.0), "Berkovich": (3, 65.27), "cube corner": (3, 35.264)}
# Knoop: edge angles 172.5° and 130°, so half the long and half the short diagonal by depth.
KNOOP = (np.tan(np.radians(172.5 / 2)), np.tan(np.radians(130.0 / 2)))


def indent(
    kind: Indenter,
    *,
    size_m: float = 70e-6,
    depth_m: float = 2e-6,
    recovery: float = 0.0,
    blunting_m: float = 0.0,
    ball_radius_m: float = 10e-6,
    pile_up: float = 0.0,
    rotation_deg: float = 10.0,
    center_m: tuple[float, float] = (0.0, 0.0),
    roughness_m: float = 4e-9,
    friction: float = 0.3,
    seed: int = 0,
) -> Sample:
    """Return a surface with the print of one indenter.

    Faces: max over the faces of the distance along the face normal, by the cotangent of the angle between axis and
    face. Under load the print is `depth_m` / (1 - `recovery`) deep; unloading lets its depth recover and leaves the
    outline, so the area by depth squared grows by 1 / (1 - recovery)². `blunting_m` rounds the apex: the print is a
    hyperboloid that approaches the faces. `pile_up` is the height of the rim by depth.

    Parameters
    ----------
    depth_m : float
        Depth of the print below the flat surface, after recovery.
    ball_radius_m : float
        Radius of the sphere; the pyramids ignore it.

    Raises
    ------
    TwinError
        If `kind` is unknown, a number is out of its range or the print is larger than the sample.
    """
    if kind not in get_args(Indenter):
        raise TwinError(f"there is no indenter {kind!r}; there are: {', '.join(get_args(Indenter))}")
    positive(size_m=size_m, depth_m=depth_m, ball_radius_m=ball_radius_m)
    not_negative(blunting_m=blunting_m, friction=friction)
    within(recovery, 0.0, 0.9, "recovery")
    within(pile_up, 0.0, 0.5, "pile_up")
    within(rotation_deg, -180, 180, "rotation_deg")
    full = depth_m / (1 - recovery)
    if kind == "sphere" and full >= ball_radius_m:
        raise TwinError(f"a ball of radius {ball_radius_m:g} m leaves no print {full:g} m deep: take a larger ball")
    reach, area = _outline(kind, full, ball_radius_m)
    if reach + max(abs(at) for at in center_m) > size_m / 2:
        raise TwinError(
            f"a {kind} print {depth_m:g} m deep reaches {reach:g} m from its centre: no room on {size_m:g} m"
        )
    grain, relief, slope = texture(size_m, roughness_m, min(400e-9, size_m / 50), 0.8, seed)

    def height(x: Array, y: Array) -> Array:
        u, v = turned(x - center_m[0], y - center_m[1], rotation_deg)
        above = _above_apex(kind, u, v, ball_radius_m)
        if blunting_m and kind != "sphere":
            # Rounded at the apex, unchanged at the outline.
            above = full * (np.hypot(above, blunting_m) - blunting_m) / (np.hypot(full, blunting_m) - blunting_m)
        share = above / full
        out = np.minimum(share - 1.0, 0.0) * depth_m
        if pile_up:
            out += np.where(share > 1, pile_up * depth_m * (share - 1) / 0.15 * np.exp(1 - (share - 1) / 0.15), 0.0)
        return out + grain(x, y)

    steep = {"Knoop": 1 / KNOOP[1], "sphere": reach / np.sqrt(max(ball_radius_m**2 - reach**2, 1e-30))}
    face = steep[kind] if kind in steep else 1 / np.tan(np.radians(PYRAMIDS[kind][1]))
    return Sample(
        f"{kind} indent",
        (size_m, size_m),
        truths(
            kind="indent", indenter=kind, depth_m=depth_m, loaded_depth_m=full, recovery=recovery,
            projected_area_m2=area, area_by_depth_squared=area / depth_m**2, center_x_m=center_m[0],
            center_y_m=center_m[1], rotation_deg=rotation_deg, pile_up_m=pile_up * depth_m, roughness_m=roughness_m,
            friction=friction,
        ),
        depth_m * (1 + pile_up) + relief,
        float(face) * (2.0 + 20 * pile_up) + slope,
        height,
        friction,
    )  # fmt: skip


def _above_apex(kind: Indenter, u: Array, v: Array, radius: float) -> Array:
    """Height of the indenter's surface above its apex."""
    if kind == "Knoop":
        ridge: Array = np.abs(u) / KNOOP[0] + np.abs(v) / KNOOP[1]
        return ridge
    if kind == "sphere":
        square = u * u + v * v
        # Beyond the ball its surface goes on as a cone, so that the height is defined everywhere.
        return np.where(square < radius**2, radius - np.sqrt(np.maximum(radius**2 - square, 0)), np.sqrt(square))
    sides, face = PYRAMIDS[kind]
    turns = 2 * np.pi * np.arange(sides) / sides
    farthest = np.max([u * np.cos(turn) + v * np.sin(turn) for turn in turns], axis=0)
    out: Array = farthest / np.tan(np.radians(face))
    return out


def _outline(kind: Indenter, full: float, radius: float) -> tuple[float, float]:
    """Return how far the print reaches from its centre and its projected area, in m and m²."""
    if kind == "Knoop":
        return float(full * KNOOP[0]), float(2 * full**2 * KNOOP[0] * KNOOP[1])
    if kind == "sphere":
        square = 2 * radius * full - full**2
        return float(np.sqrt(square)), float(np.pi * square)
    sides, face = PYRAMIDS[kind]
    inner = full * np.tan(np.radians(face))
    return float(inner / np.cos(np.pi / sides)), float(sides * inner**2 * np.tan(np.pi / sides))
