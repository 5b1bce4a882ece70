"""High resolution across a step: find the edge, turn the scan across it, zoom, and measure the height of a layer."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from tasks_lib.instruments.analysis import GRAPHENE_LAYER_M, AnalysisError, Levelling, level, two_level_fit
from tasks_lib.instruments.experiments.edge import Edge, find_edge, terraces
from tasks_lib.instruments.experiments.geometry import both_ways, height_channel, mean_height, scanner_place
from tasks_lib.instruments.experiments.procedure import ExperimentError, FrameOrder, Procedure, taken, use
from tasks_lib.instruments.experiments.report import Finding, Quantity, Report, Series, mean_of
from tasks_lib.instruments.frame import Frame, Samples, ScanSettings
from tasks_lib.instruments.protocol import Value

# Few and tall: a surface is alike over some distance, and bands below that would scatter less than they err.
_BANDS = 3
_BACKGROUND = Levelling("polynomial", 2)


@dataclass(frozen=True)
class StepEdge:
    """The edge of a layered crystal.

    Attributes
    ----------
    zoom : float
        Side of the fine frames by the side of the first.
    points : int
        Of the fine frames, and their lines.
    repeats : int
        Fine frames, at least one.
    guard : float
        What is left out at each side of the edge, by the side of the fine frame: the tip and the loop round it off.
    layer_m : float
        Height of one layer, to count with.
    z_scale_error : float
        Relative standard uncertainty of the z scale, by its calibration; 0 counts the scatter alone.
    """

    zoom: float = 0.4
    points: int = 128
    repeats: int = 2
    guard: float = 0.04
    layer_m: float = GRAPHENE_LAYER_M
    z_scale_error: float = 0.0
    name: str = "step-edge"
    leaves: frozenset[str] = frozenset()
    same_place: bool = True

    def plan(self) -> tuple[FrameOrder, ...]:
        """Return the overview; the fine frames depend on it."""
        return (FrameOrder(name="overview", purpose="find the edge"),)

    def steps(self) -> Procedure:
        """Find, zoom, measure."""
        (order,) = self.plan()
        frame = yield from taken(order)
        edge = find_edge(mean_height(frame, order.name), frame.scan.pixel_m, order.name)
        uses = [use(order, frame)]
        values = self.close_up(frame.scan, edge)
        heights: list[list[float]] = []
        roughness: list[float] = []
        channel = height_channel(frame)
        for number in range(1, self.repeats + 1):
            order = FrameOrder(name=f"edge-{number}", purpose="the edge in high resolution", values=values)
            frame = yield from taken(order)
            uses.append(use(order, frame))
            for z in both_ways(frame, order.name):
                heights.append(list(self._bands(z, frame, order.name)))
                roughness.append(_terrace_roughness(z, frame, order.name))
            values = {}
        # Bands see other parts of the surface; frames and directions see the same part again, with other noise.
        by_band = np.mean(heights, axis=0)
        rise = mean_of(
            "step height",
            [float(one) for one in by_band],
            "m",
            f"scatter of {_BANDS} bands across the edge, on {channel}; z scale {self.z_scale_error:.1%}",
            also=self.z_scale_error * abs(float(np.mean(by_band))),
        )
        layers = max(1, round(rise.value / self.layer_m))
        share = rise.value / self.layer_m - layers
        return Report(
            experiment=self.name,
            quantities=(
                Quantity(
                    name="layer height", value=rise.value / layers, unit="m", uncertainty=rise.uncertainty / layers,
                    coverage=rise.coverage, basis=f"step height over {layers} layers",
                ),
                rise,
                mean_of("terrace roughness Sq", roughness, "m", "scatter of the images; noise of z included"),
            ),
            findings=(
                Finding(
                    name="layers", value=layers, margin=0.5 - abs(share),
                    basis=f"step height over {self.layer_m:g} m; the margin is how far the next half is, in layers",
                ),
            ),
            frames=tuple(uses),
            series=(
                Series(
                    name="edge",
                    columns=("frame", *(f"band {number} / m" for number in range(1, _BANDS + 1))),
                    rows=tuple(
                        (f"edge-{at // 2 + 1} {('trace', 'retrace')[at % 2]}", *row)
                        for at, row in enumerate(heights)
                    ),
                ),
            ),
        )  # fmt: skip

    def close_up(self, scan: ScanSettings, edge: Edge) -> dict[str, Value]:
        """Return the values of a frame on the edge, turned so that the tip crosses it at a right angle."""
        x, y = edge.nearest()
        center_x, center_y = scanner_place(scan, (x + scan.width_m / 2, y + scan.height_m / 2))
        turned = (scan.rotation_deg + edge.angle_deg + 180) % 360 - 180
        side = self.zoom * min(scan.width_m, scan.height_m)
        return {
            "center_x_m": center_x, "center_y_m": center_y, "rotation_deg": turned, "width_m": side, "height_m": side,
            "points": self.points, "lines": self.points,
        }  # fmt: skip

    def _bands(self, z: Samples, frame: Frame, name: str) -> Iterator[float]:
        """Yield the height of the step in each band of lines."""
        edge = find_edge(z, frame.scan.pixel_m, name)
        upper, lower = terraces(edge, z.shape, frame.scan.pixel_m, self.guard * frame.scan.width_m)
        if edge.height_m < 0:
            upper, lower = lower, upper
        for rows in np.array_split(np.arange(z.shape[0]), _BANDS):
            try:
                yield two_level_fit(z[rows], upper[rows], lower[rows], degree=2).height
            except AnalysisError as error:
                raise ExperimentError(
                    f"frame {name} ({frame.source}), lines {rows[0]} to {rows[-1]}: {error}; the edge left the frame: "
                    "wait for the drift to die out, or take a wider zoom"
                ) from error


def _terrace_roughness(z: Samples, frame: Frame, name: str) -> float:
    """Sq of what is left of both terraces when background and step are subtracted."""
    edge = find_edge(z, frame.scan.pixel_m, name)
    upper, lower = terraces(edge, z.shape, frame.scan.pixel_m, 0.04 * frame.scan.width_m)
    flat = z - edge.height_m * upper
    keep = upper | lower
    rest = level(flat, _BACKGROUND, keep).z[keep]
    return math.sqrt(float(np.mean((rest - rest.mean()) ** 2)))
