"""Friction and roughness against load: a frame for each setpoint, and the line through the friction of its terraces."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from tasks_lib.instruments.analysis import (
    PLANE,
    ROWS,
    AnalysisError,
    FrictionSignal,
    LateralCalibration,
    Mask,
    frame_friction,
    roughness,
)
from tasks_lib.instruments.experiments.geometry import mean_height
from tasks_lib.instruments.experiments.procedure import ExperimentError, FrameOrder, Procedure, taken, use
from tasks_lib.instruments.experiments.regression import Line, line_by_bands_or_pairs
from tasks_lib.instruments.experiments.report import FrameUse, Quantity, Report, Series
from tasks_lib.instruments.frame import Z_AXIS, Frame, Samples

# Friction farther than this many robust standard deviations from the median is an edge's.
_EDGE = 3.0
# The same with another choice that is as good; what it changes is part of the uncertainty.
_OTHER_EDGE = 4.0
# Samples round an edge that are not counted as terrace either: the tip feels it a little before and after.
_GUARD = 2
# Where noise outweighs the surface, bands are independent, and few of them know badly their scatter and the weights
# that follow from it. Where the surface is alike over some distance, as on recorded graphite, pairs of bands count.
_BANDS = 16
# An edge that runs along the lines may cover whole bands; so many have to be left.
_LEAST_BANDS = 6

SWEEP_V = (0.2, 0.4, 0.6, 0.8, 1.0)


@dataclass(frozen=True)
class FrictionAgainstLoad:
    """The setpoint sweep.

    The load is the setpoint less the deflection of the free lever; newtons on either axis come from a calibration
    alone.

    Attributes
    ----------
    setpoints_v : tuple of float
        At least two.
    free_deflection_v : float or None
        Signal of the lever in the air. Without it the load's zero is unknown, and the line is given at a setpoint
        of 0 only.
    newton_per_volt : float or None
        Normal force by volt of deflection: spring constant times sensitivity.
    calibration : LateralCalibration or None
        Lateral force by volt.
    """

    setpoints_v: tuple[float, ...] = SWEEP_V
    free_deflection_v: float | None = None
    newton_per_volt: float | None = None
    calibration: LateralCalibration | None = None
    name: str = "friction-load"
    leaves: frozenset[str] = frozenset()
    same_place: bool = True

    def plan(self) -> tuple[FrameOrder, ...]:
        """Return a frame for each setpoint, from the lowest on, so that wear comes last."""
        return tuple(
            FrameOrder(
                name=f"load-{number}", purpose=f"friction at a setpoint of {volt:g} V", values={"setpoint": volt}
            )
            for number, volt in enumerate(sorted(self.setpoints_v), 1)
        )

    def steps(self) -> Procedure:
        """Sweep, and fit."""
        orders = self.plan()
        if len(set(self.setpoints_v)) < 2:
            raise ExperimentError(f"friction against load needs two setpoints at least, not {self.setpoints_v}")
        uses: list[FrameUse] = []
        points: list[LoadPoint] = []
        for order in orders:
            frame = yield from taken(order)
            uses.append(use(order, frame))
            points.append(load_point(frame, order.name))
        return self._report(tuple(uses), points)

    def _report(self, uses: tuple[FrameUse, ...], points: list[LoadPoint]) -> Report:
        bands = np.array([one.bands_v for one in points])
        seen = np.isfinite(bands).all(axis=0)
        if seen.sum() < _LEAST_BANDS:
            raise ExperimentError(
                f"only {seen.sum()} of {_BANDS} bands have a terrace in all {len(points)} frames: scan a flatter"
                " place, or turn the scan across the edge"
            )
        line = line_by_bands_or_pairs([one.setpoint_v for one in points], bands[:, seen], _LEAST_BANDS)
        remarks = []
        if line.points == 2:
            remarks.append("two setpoints: nothing checks that the line is straight")
        elif line.birge > 1:
            remarks.append(f"the points scatter {line.birge:.2f} times as much as their errors: errors were widened")
        return Report(
            experiment=self.name,
            quantities=tuple(self._quantities(_widened(line, points))),
            frames=uses,
            series=(_series(points),),
            remarks=tuple(remarks),
        )

    def _quantities(self, line: Line) -> Iterator[Quantity]:
        basis = (
            f"weighted lines through the terrace friction of at most {_BANDS} bands; their scatter, choice of terraces"
        )

        def found(name: str, value: float, unit: str, error: float, more: str = "") -> Quantity:
            return Quantity(
                name=name, value=value, unit=unit, uncertainty=error, coverage=line.coverage, basis=basis + more
            )

        yield found("slope", line.slope, "V/V", line.slope_error)
        zero = "; the load is not 0 there unless the free lever shows 0 V"
        yield found("friction at setpoint 0", line.intercept, "V", line.intercept_error, zero)
        if self.free_deflection_v is not None:
            value, error = line.at(self.free_deflection_v)
            yield found("adhesion intercept", value, "V", error, "; load 0")
            root, error = line.root()
            pull = self.free_deflection_v - root
            yield found("adhesion in deflection", pull, "V", error)
            if self.newton_per_volt is not None:
                exact = "; normal calibration taken as exact"
                yield found("adhesion", pull * self.newton_per_volt, "N", error * self.newton_per_volt, exact)
        if self.newton_per_volt is not None and self.calibration is not None:
            factor = self.calibration.newton_per_volt / self.newton_per_volt
            error = math.hypot(
                line.slope_error, line.slope * self.calibration.uncertainty / self.calibration.newton_per_volt
            )
            source = f"; lateral calibration: {self.calibration.source}; normal one taken as exact"
            yield found("coefficient of friction", line.slope * factor, "1", error * factor, source)


def _widened(line: Line, points: list[LoadPoint]) -> Line:
    """Add what the choice of the terraces changes: a factor that all frames share, read as half a rectangle."""
    share = max(one.mask_share for one in points) / math.sqrt(3)
    return replace(
        line,
        slope_error=math.hypot(line.slope_error, share * line.slope),
        intercept_error=math.hypot(line.intercept_error, share * line.intercept),
        covariance=line.covariance + share**2 * line.slope * line.intercept,
    )


@dataclass(frozen=True, eq=False)
class LoadPoint:
    """What one frame of the sweep says.

    Attributes
    ----------
    bands_v : array of shape (16,)
        Mean friction of the terraces in each band of lines; NaN where it has none.
    terrace_v, terrace_error_v : float
        Mean friction of the terraces and its standard error from the scatter of bands of lines.
    mean_v, mean_error_v : float
        Mean of the whole frame, edges included: what the published experiment reports.
    terrace_share : float
        Share of the samples that count as terrace.
    mask_share : float
        How much the mean changes with another choice of the terraces, by the mean.
    sa_m, sq_m, sq_rows_m : float
        Roughness after a plane, and after lines.
    """

    setpoint_v: float
    bands_v: Samples
    terrace_v: float
    terrace_error_v: float
    mean_v: float
    mean_error_v: float
    terrace_share: float
    mask_share: float
    sa_m: float
    sq_m: float
    sq_rows_m: float


def load_point(frame: Frame, name: str) -> LoadPoint:
    """Measure friction and roughness of a frame.

    Terraces are where the friction lies within 3 robust standard deviations of its median, two samples round the rest
    left out: edges resist several times as much, and a few lines of them would tilt a mean.

    Raises
    ------
    ExperimentError
        If the frame has no friction signal, or hardly a terrace.
    """
    try:
        whole = frame_friction(frame)
        terraces = terrace_mask(whole.signal_v)
        flat = frame_friction(frame, terraces)
        other = frame_friction(frame, terrace_mask(whole.signal_v, _OTHER_EDGE))
        height = mean_height(frame, name) if (Z_AXIS, "forward") not in frame.channels else frame.data(Z_AXIS)
        plane, rows = (roughness(height, frame.scan.pixel_m, one) for one in (PLANE, ROWS))
    except AnalysisError as error:
        raise ExperimentError(f"frame {name} ({frame.source}): {error}") from error
    bands = _bands(flat, name)
    return LoadPoint(
        setpoint_v=frame.setpoint,
        bands_v=bands,
        terrace_v=flat.mean_v,
        terrace_error_v=_error(bands),
        mean_v=whole.mean_v,
        mean_error_v=_error(_bands(whole, name)),
        terrace_share=flat.samples / whole.samples,
        mask_share=abs(other.mean_v - flat.mean_v) / abs(flat.mean_v),
        sa_m=plane.sa_m,
        sq_m=plane.sq_m,
        sq_rows_m=rows.sq_m,
    )


def terrace_mask(signal_v: Samples, edge_sigma: float = _EDGE) -> Mask:
    """Return the samples of a friction map that no edge disturbs: farther than `edge_sigma` from the median is edge."""
    from scipy.ndimage import binary_dilation, binary_opening

    middle = float(np.median(signal_v))
    sigma = 1.4826 * float(np.median(np.abs(signal_v - middle)))
    edge = np.abs(signal_v - middle) > edge_sigma * sigma
    # Single samples are tails of the noise; an edge is a run of them.
    runs = binary_opening(edge, np.ones((2, 1), bool)) | binary_opening(edge, np.ones((1, 2), bool))
    mask: Mask = ~(binary_dilation(runs, iterations=_GUARD) | edge)
    return mask


def _bands(found: FrictionSignal, name: str) -> Samples:
    """Return the mean of each band of neighbouring lines: bands are less alike than lines are."""
    parts = [part[np.isfinite(part)] for part in np.array_split(found.signal_v, _BANDS, axis=0)]
    if (there := sum(part.size > 0 for part in parts)) < _LEAST_BANDS:
        raise ExperimentError(f"frame {name}: only {there} of {_BANDS} bands have a terrace: scan a flatter place")
    return np.array([part.mean() if part.size else np.nan for part in parts])


def _error(bands: Samples) -> float:
    there = bands[np.isfinite(bands)]
    return float(there.std(ddof=1)) / math.sqrt(there.size)


def _series(points: list[LoadPoint]) -> Series:
    return Series(
        name="load",
        columns=(
            "setpoint / V", "terrace friction / V", "standard error / V", "mean friction / V", "its standard error / V",
            "terrace share", "Sa plane / m", "Sq plane / m", "Sq lines / m",
        ),
        rows=tuple(
            (
                one.setpoint_v, one.terrace_v, one.terrace_error_v, one.mean_v, one.mean_error_v, one.terrace_share,
                one.sa_m, one.sq_m, one.sq_rows_m,
            )
            for one in points
        ),
    )  # fmt: skip
