"""Layered crystals: steps of graphite and flakes of graphene."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from tasks_lib.instruments.twin.errors import TwinError, whole_seed, within
from tasks_lib.instruments.twin.samples._rough import texture
from tasks_lib.instruments.twin.samples._sample import Array, Sample, logistic, not_negative, positive, truths

LAYER_M = 0.335e-9  # distance of the layers of graphite


def hopg_steps(
    *,
    size_m: float = 1.2e-6,
    layers: Sequence[int] = (2,),
    layer_m: float = LAYER_M,
    width_m: float = 4e-9,
    direction_deg: float = 0.0,
    roughness_m: float = 0.02e-9,
    friction: float = 0.006,
    seed: int = 0,
) -> Sample:
    """Return a terraced surface; step n goes up (or down) by ``layers[n]`` layers.

    The steps are straight and nearly parallel: `direction_deg` is the direction in which they are crossed, each turned
    by up to 6° more, and they share out the middle 80 % of the sample.

    Raises
    ------
    TwinError
        If there is no step, one of 0 layers or of more than 1000, or a length is not above 0.
    """
    positive(size_m=size_m, layer_m=layer_m, width_m=width_m)
    not_negative(friction=friction)
    within(direction_deg, -180, 180, "direction_deg")
    if not layers or any(one == 0 or abs(one) > 1000 for one in layers):
        raise TwinError(f"layers must list one step or more, each of 1 to 1000 layers up or down, not {list(layers)}")
    chance = np.random.default_rng(whole_seed(seed))
    angle = np.radians(direction_deg) + chance.uniform(-0.1, 0.1, len(layers))
    slot = 0.8 * size_m / len(layers)
    place = -0.4 * size_m + slot * (np.arange(len(layers)) + chance.uniform(0.3, 0.7, len(layers)))
    grain, relief, slope = texture(size_m, roughness_m, size_m / 40, 0.8, seed)

    def height(x: Array, y: Array) -> Array:
        out = grain(x, y)
        for one, turn, at in zip(layers, angle, place, strict=True):
            out += one * layer_m * logistic((x * np.cos(turn) + y * np.sin(turn) - at) * (4 / width_m))
        return out

    tallest = max(abs(one) for one in layers) * layer_m
    found: dict[str, float | int | str] = {"kind": "hopg steps", "steps": len(layers), "layer_m": layer_m}
    for number, (one, turn, at) in enumerate(zip(layers, angle, place, strict=True), 1):
        found |= {
            f"step_{number}_layers": int(one), f"step_{number}_height_m": one * layer_m,
            f"step_{number}_at_m": float(at), f"step_{number}_direction_deg": float(np.degrees(turn)),
        }  # fmt: skip
    found |= {"roughness_m": roughness_m, "friction": friction}
    span = sum(abs(one) for one in layers) * layer_m
    return Sample("HOPG", (size_m, size_m), truths(**found), span + relief, tallest / width_m + slope, height, friction)


@dataclass(frozen=True)
class _Flake:
    """A convex polygon: the places where every `normals @ place < reach`."""

    layers: int
    x: float
    y: float
    radius: float
    normals: Array
    reach: Array

    def depth(self, x: Array, y: Array) -> Array:
        """How far a place lies inside the edge, in metres; negative outside."""
        inside = np.full(x.size, np.inf)
        for (a, b), reach in zip(self.normals, self.reach, strict=True):
            np.minimum(inside, reach - a * (x - self.x) - b * (y - self.y), out=inside)
        return inside


def graphene_flakes(
    *,
    size_m: float = 12e-6,
    layers: Sequence[int] = (1, 2, 3, 5, 10),
    layer_m: float = LAYER_M,
    edge_m: float = 10e-9,
    roughness_m: float = 0.15e-9,
    substrate_friction: float = 0.3,
    flake_friction: float = 0.02,
    seed: int = 0,
) -> Sample:
    """Return separate polygonal flakes of the given numbers of layers on an oxidised silicon wafer.

    The truth lists each flake's layers, thickness, centre and inner radius, and which flake is the thinnest. The
    roughness of the wafer shows through thin flakes and fades over 10 layers.

    Raises
    ------
    TwinError
        If there is no flake, one of less than 1 layer or of more than 1000, or the flakes find no room.
    """
    positive(size_m=size_m, layer_m=layer_m, edge_m=edge_m)
    not_negative(substrate_friction=substrate_friction, flake_friction=flake_friction)
    if not 1 <= len(layers) <= 64 or any(not 1 <= one <= 1000 for one in layers):
        raise TwinError(f"layers must list 1 to 64 flakes, each of 1 to 1000 layers, not {list(layers)}")
    flakes = _scatter(layers, size_m, np.random.default_rng(whole_seed(seed)))
    grain, relief, slope = texture(size_m, roughness_m, 30e-9 if size_m < 30e-6 else size_m / 1000, 0.8, seed)

    def height(x: Array, y: Array) -> Array:
        base = grain(x, y)
        for one in flakes:
            covered = logistic(one.depth(x, y) * (4 / edge_m))
            base = base * (1 - covered * min(one.layers / 10, 1.0)) + covered * one.layers * layer_m
        return base

    def friction(x: Array, y: Array) -> Array:
        out = np.full(x.size, substrate_friction)
        for one in flakes:
            out[one.depth(x, y) > 0] = flake_friction
        return out

    thinnest = min(range(len(flakes)), key=lambda at: flakes[at].layers) + 1
    found: dict[str, float | int | str] = {
        "kind": "graphene flakes", "flakes": len(flakes), "layer_m": layer_m, "thinnest_flake": thinnest,
        "thinnest_layers": flakes[thinnest - 1].layers,
    }  # fmt: skip
    for number, one in enumerate(flakes, 1):
        found |= {
            f"flake_{number}_layers": one.layers, f"flake_{number}_thickness_m": one.layers * layer_m,
            f"flake_{number}_center_x_m": one.x, f"flake_{number}_center_y_m": one.y,
            f"flake_{number}_inner_radius_m": float(one.reach.min()),
        }  # fmt: skip
    found |= {
        "roughness_m": roughness_m, "substrate_friction": substrate_friction, "flake_friction": flake_friction
    }  # fmt: skip
    tallest = max(one.layers for one in flakes) * layer_m
    return Sample(
        "graphene on SiO2", (size_m, size_m), truths(**found), tallest + relief, tallest / edge_m + slope, height,
        friction,
    )  # fmt: skip


def _scatter(layers: Sequence[int], size_m: float, chance: np.random.Generator) -> list[_Flake]:
    """Put polygons where no two touch: the radius shrinks with their number, and each has a thousand tries."""
    widest = 0.32 * size_m / np.sqrt(len(layers) + 1)
    flakes: list[_Flake] = []
    for one in layers:
        radius = float(widest * chance.uniform(0.6, 1.0))
        for _ in range(1000):
            x, y = (float(at) for at in chance.uniform(-0.5, 0.5, 2) * (size_m - 2.6 * radius))
            if all(np.hypot(x - other.x, y - other.y) > 1.2 * (radius + other.radius) for other in flakes):
                break
        else:
            raise TwinError(f"no room for {len(layers)} flakes on {size_m:g} m: take fewer, or another seed")
        corners = int(chance.integers(4, 8))
        turn = chance.uniform(0, 2 * np.pi) + 2 * np.pi * np.arange(corners) / corners
        # 0.5 to 0.7 of the radius: the corners of the polygon stay within it.
        reach = radius * chance.uniform(0.5, 0.7, corners)
        flakes.append(_Flake(int(one), x, y, radius, np.stack([np.cos(turn), np.sin(turn)], axis=1), reach))
    return flakes
