"""Which indenter left an imprint: find it, zoom with a rim of unharmed surface, and compare with the ideal shapes."""

from __future__ import annotations

import math
from dataclasses import dataclass

from tasks_lib.instruments.analysis import (
    PLANE,
    AnalysisError,
    Grain,
    Indent,
    Indenter,
    analyse_indent,
    ground_mask,
    level,
    segment,
)
from tasks_lib.instruments.experiments.geometry import both_ways, height_channel, mean_height, scanner_place, zoom
from tasks_lib.instruments.experiments.procedure import ExperimentError, FrameOrder, Procedure, taken, use
from tasks_lib.instruments.experiments.report import Finding, FrameUse, Quantity, Report, Series, mean_of
from tasks_lib.instruments.frame import Frame, Samples

# Odds of 20 to 1, as `Indent.margin` counts.
_SAFE_MARGIN = 6.0
# Share of the depth at which the rim of an imprint is looked for: below pile-up and roughness.
_RIM = 0.1
# Relative standard uncertainty of A/h² by what every look shares.
_SECTION_SHARE = 0.03


@dataclass(frozen=True)
class IndenterIdentity:
    """Find, zoom, name.

    Attributes
    ----------
    margin : float
        Side of the zoomed frame by the longer side of the imprint; its border has to be unharmed surface.
    points : int
        Of the zoomed frames, and their lines.
    repeats : int
        Zoomed frames.
    """

    margin: float = 1.6
    points: int = 128
    repeats: int = 2
    name: str = "indenter"
    leaves: frozenset[str] = frozenset()
    same_place: bool = True

    def plan(self) -> tuple[FrameOrder, ...]:
        """Return the overview; the zoomed frames depend on it."""
        return (FrameOrder(name="overview", purpose="find the imprint"),)

    def steps(self) -> Procedure:
        """Find, zoom, name."""
        (order,) = self.plan()
        overview = yield from taken(order)
        print_ = deepest_pit(mean_height(overview, order.name), overview, order.name)
        uses = [use(order, overview)]
        values = zoom(overview.scan, print_.box_m, self.margin) | {"points": self.points, "lines": self.points}
        seen: list[Indent] = []
        for number in range(1, self.repeats + 1):
            order = FrameOrder(name=f"imprint-{number}", purpose="the imprint with a rim", values=values)
            frame = yield from taken(order)
            uses.append(use(order, frame))
            for z in both_ways(frame, order.name):
                try:
                    seen.append(analyse_indent(z, frame.scan.pixel_m))
                except AnalysisError as error:
                    raise ExperimentError(f"frame {order.name} ({frame.source}): {error}") from error
            values = {}
        return _report(self.name, seen, frame, scanner_place(overview.scan, print_.center_m), tuple(uses))


def deepest_pit(z: Samples, frame: Frame, name: str) -> Grain:
    """Return the pit that holds the deepest sample.

    Raises
    ------
    ExperimentError
        If there is none, or the rim of the frame cuts it.
    """
    try:
        flat = level(z, PLANE, ground_mask(z)).z
        found = segment(flat, frame.scan.pixel_m, "pit", threshold_m=_RIM * float(flat.min()), min_pixels=9)
    except AnalysisError as error:
        raise ExperimentError(f"frame {name} ({frame.source}): {error}") from error
    if not found.grains:
        raise ExperimentError(f"frame {name} ({frame.source}) holds no imprint: move the stage, or take more points")
    deepest = max(found.grains, key=lambda one: one.height_m)
    if deepest.at_rim:
        raise ExperimentError(f"frame {name} ({frame.source}) cuts the imprint: move the stage, or take a larger frame")
    return deepest


def _report(
    name: str, seen: list[Indent], frame: Frame, place: tuple[float, float], uses: tuple[FrameUse, ...]
) -> Report:
    shapes = {one.shape for one in seen}
    if shapes == {None}:
        best = min(seen, key=lambda one: min(one.misfits.values()))
        nearest = min(best.misfits, key=lambda one: (best.misfits[one], one))
        raise ExperimentError(
            f"frame {uses[-1].name} ({frame.source}): no ideal shape fits the imprint; the nearest, {nearest}, has "
            f"a misfit of {best.misfits[nearest]:.1f}: take more points, or check that the surface round it is unharmed"
        )
    # The misfits of independent looks add up, as logarithms of odds do; here the looks share the imprint, so the mean.
    misfits = {shape: math.fsum(one.misfits[shape] for one in seen) / len(seen) for shape in Indenter}
    nearest, second, *_ = sorted(misfits, key=lambda one: (misfits[one], one))
    margin = misfits[second] - misfits[nearest]
    remarks = []
    if len(shapes) > 1:
        named = ", ".join(sorted(shape or "none" for shape in shapes))
        remarks.append(f"the frames and directions disagree: {named}")
    if margin < _SAFE_MARGIN:
        remarks.append(f"not safe: {second} is nearly as likely (margin {margin:.1f}, {_SAFE_MARGIN:g} is safe)")
    return Report(
        experiment=name,
        quantities=tuple(_quantities(seen, nearest, frame)),
        findings=(
            Finding(
                name="indenter", value=nearest.value, margin=margin,
                basis=f"mean misfit of {len(seen)} looks; the margin is that of the runner-up, {second}, above it",
            ),
        ),
        frames=uses,
        series=(
            Series(
                name="looks",
                columns=(
                    "shape", "margin", "depth / m", "area / m²", "A/h²", "exponent", "aspect", "three-fold",
                    "four-fold", "orientation / °",
                ),
                rows=tuple(
                    (
                        one.shape or "none", one.margin, one.depth_m, one.area_m2, one.area_over_depth2, one.exponent,
                        one.aspect, one.three_fold, one.four_fold,
                        "round" if math.isnan(one.orientation_deg) else one.orientation_deg,
                    )
                    for one in seen
                ),
            ),
            Series(name="place of the imprint", columns=("x / m", "y / m"), rows=(place,)),
        ),
        remarks=tuple(remarks),
    )  # fmt: skip


def _quantities(seen: list[Indent], shape: Indenter, frame: Frame) -> list[Quantity]:
    channel = height_channel(frame)
    between = math.fsum(one.depth_uncertainty_m for one in seen) / len(seen)
    found = [
        mean_of(
            "depth", [one.depth_m for one in seen], "m",
            f"scatter of {len(seen)} looks on {channel}, roughness of the rim, and the apex between samples",
            also=between,
        ),
    ]  # fmt: skip
    if shape is not Indenter.SPHERE:
        found.append(
            mean_of(
                "area by depth squared", [one.area_over_depth2 for one in seen], "1",
                f"scatter of {len(seen)} looks; {_SECTION_SHARE:.0%} for sections through a raster and a lagging loop",
                also=_SECTION_SHARE * math.fsum(one.area_over_depth2 for one in seen) / len(seen),
            )
        )  # fmt: skip
    return found
