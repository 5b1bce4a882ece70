"""Flakes of graphene: count the layers of each, go to the thinnest, and count again there."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from tasks_lib.instruments.analysis import (
    GRAPHENE_LAYER_M,
    PLANE,
    AnalysisError,
    Flake,
    count_layers,
    find_flakes,
    ground_mask,
    roughness,
)
from tasks_lib.instruments.experiments.geometry import both_ways, height_channel, mean_height, scanner_place, zoom
from tasks_lib.instruments.experiments.procedure import ExperimentError, FrameOrder, Procedure, taken, use
from tasks_lib.instruments.experiments.report import Finding, Quantity, Report, Series, mean_of
from tasks_lib.instruments.frame import Frame, Samples

# Few and tall, as across a step: the substrate is alike over some distance.
_BANDS = 4


@dataclass(frozen=True)
class GrapheneLayers:
    """Count, choose, zoom, count.

    Attributes
    ----------
    margin : float
        Side of the zoomed frame by the longer side of the flake: room for the substrate that it is measured from.
    points : int
        Of the zoomed frame, and its lines.
    repeats : int
        Zoomed frames.
    min_pixels : int
        Smallest flake of the overview that counts.
    lift_share : float
        Standard uncertainty, by the roughness of the substrate, of how much more the blunt tip lifts the rough
        substrate than the smoother flake.
    layer_m, first_layer_offset_m : float
        As in `count_layers`.
    """

    margin: float = 2.0
    points: int = 128
    repeats: int = 2
    min_pixels: int = 40
    lift_share: float = 0.05
    layer_m: float = GRAPHENE_LAYER_M
    first_layer_offset_m: float = 0.0
    name: str = "graphene-layers"
    leaves: frozenset[str] = frozenset()
    same_place: bool = True

    def plan(self) -> tuple[FrameOrder, ...]:
        """Return the overview; the zoomed frames depend on it."""
        return (FrameOrder(name="overview", purpose="find the flakes"),)

    def steps(self) -> Procedure:
        """Count, choose, zoom, count."""
        (order,) = self.plan()
        overview = yield from taken(order)
        flakes = self._flakes(mean_height(overview, order.name), overview, order.name)
        chosen = _thinnest(flakes, order.name)
        uses = [use(order, overview)]
        values = zoom(overview.scan, chosen.grain.box_m, self.margin) | {"points": self.points, "lines": self.points}
        thickness: list[list[float]] = []
        rough: list[float] = []
        for number in range(1, self.repeats + 1):
            order = FrameOrder(name=f"thinnest-{number}", purpose="count the thinnest flake again", values=values)
            frame = yield from taken(order)
            uses.append(use(order, frame))
            middle = self._middle(frame, max(overview.scan.pixel_m), order.name)
            thickness += [self._bands(z, middle, frame, order.name) for z in both_ways(frame, order.name)]
            rough.append(_ground_roughness(mean_height(frame, order.name), frame))
            values = {}
        # Bands see other parts of the flake; frames and directions see the same part again, with other noise.
        by_band = [float(one) for one in np.mean(thickness, axis=0)]
        basis = (
            f"{_BANDS} bands on {height_channel(frame)}, {self.lift_share:.0%} of the substrate's roughness; no z scale"
        )
        thick = mean_of("thickness", by_band, "m", basis, also=self.lift_share * float(np.mean(rough)))
        exact = (thick.value - self.first_layer_offset_m) / self.layer_m
        layers = max(0, math.floor(exact + 0.5))
        place = scanner_place(overview.scan, chosen.grain.center_m)
        remarks = []
        if layers != chosen.count.layers:
            remarks.append(f"the overview counts {chosen.count.layers} layers, the zoomed frames {layers}")
        if cut := sum(one.grain.at_rim for one in flakes):
            remarks.append(f"cut by the rim of the overview and not considered: {cut}")
        return Report(
            experiment=self.name,
            quantities=(thick, *_center(overview, place)),
            findings=(
                Finding(
                    name="layers", value=layers, margin=0.5 - abs(exact - layers),
                    basis=f"thickness over {self.layer_m:g} m; the margin is the distance to the next half, in layers",
                ),
            ),
            frames=tuple(uses),
            series=(
                Series(
                    name="flakes of the overview",
                    columns=("layers", "exact layers", "thickness / m", "x / m", "y / m", "area / m²", "cut by rim"),
                    rows=tuple(_row(one, overview) for one in flakes),
                ),
            ),
            remarks=tuple(remarks),
        )  # fmt: skip

    def _flakes(self, z: Samples, frame: Frame, name: str) -> tuple[Flake, ...]:
        try:
            return find_flakes(
                z, frame.scan.pixel_m, min_pixels=self.min_pixels, layer_m=self.layer_m,
                first_layer_offset_m=self.first_layer_offset_m,
            )  # fmt: skip
        except AnalysisError as error:
            raise ExperimentError(f"frame {name} ({frame.source}): {error}") from error

    def _middle(self, frame: Frame, seen_m: float, name: str) -> Flake:
        """Return the flake that the frame was made for: the largest, whole.

        It is looked for as coarsely as it was seen before: closer, the roughness of the substrate stands out, and tears
        a single layer to pieces.
        """
        from scipy.ndimage import gaussian_filter

        sigma = [max(1.0, seen_m / pixel / 2) for pixel in frame.scan.pixel_m]
        flakes = self._flakes(gaussian_filter(mean_height(frame, name), sigma[::-1], mode="nearest"), frame, name)
        if not flakes:
            raise ExperimentError(f"frame {name} ({frame.source}) holds no flake: the stage moved since the overview")
        largest = max(flakes, key=lambda one: one.grain.pixels)
        if largest.grain.at_rim:
            raise ExperimentError(
                f"frame {name} ({frame.source}) cuts its flake: wait until drift and creep died out, or take a wider "
                "margin"
            )
        return largest

    def _bands(self, z: Samples, flake: Flake, frame: Frame, name: str) -> list[float]:
        """Return the thickness in each of the bands that the flake is cut into."""
        from scipy.ndimage import binary_closing, binary_dilation, binary_erosion, binary_fill_holes

        # A thin flake has holes where its roughness dips below the threshold: to leave them out would favour heights.
        solid = binary_fill_holes(binary_closing(flake.mask, iterations=2) | flake.mask)
        core = binary_erosion(solid, iterations=3)
        rows = np.flatnonzero(core.any(axis=1))
        if rows.size < 2 * _BANDS:
            raise ExperimentError(f"frame {name} ({frame.source}): the flake has {rows.size} lines: zoom closer")
        substrate = ground_mask(z) & ~binary_dilation(solid, iterations=3)
        try:
            return [
                count_layers(z[part], core[part], substrate[part], layer_m=self.layer_m).thickness_m
                for part in np.array_split(rows, _BANDS)
            ]
        except AnalysisError as error:
            raise ExperimentError(f"frame {name} ({frame.source}): {error}") from error


def _thinnest(flakes: tuple[Flake, ...], name: str) -> Flake:
    """Return the thinnest of the flakes that are seen whole."""
    whole = [one for one in flakes if not one.grain.at_rim]
    if not whole:
        raise ExperimentError(
            f"frame {name} holds no whole flake ({len(flakes)} at its rim): move the stage, or take a larger frame"
        )
    return whole[0]


def _ground_roughness(z: Samples, frame: Frame) -> float:
    return roughness(z, frame.scan.pixel_m, PLANE, ground_mask(z)).sq_m


def _center(overview: Frame, place: tuple[float, float]) -> tuple[Quantity, Quantity]:
    """Return where the flake lies; a centroid cannot be trusted to better than a part of a pixel."""
    pixel = max(overview.scan.pixel_m)
    basis = "half a pixel of the overview; the linearity of the scanner is not in it"
    x, y = (
        Quantity(name=f"center {axis}", value=at, unit="m", uncertainty=pixel / 2, basis=basis)
        for axis, at in zip("xy", place, strict=True)
    )
    return x, y


def _row(flake: Flake, overview: Frame) -> tuple[float | str, ...]:
    x, y = scanner_place(overview.scan, flake.grain.center_m)
    count = flake.count
    return (
        float(count.layers), count.exact_layers, count.thickness_m, x, y, flake.grain.area_m2,
        "yes" if flake.grain.at_rim else "no",
    )  # fmt: skip
