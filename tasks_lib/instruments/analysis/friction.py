"""Friction from the lateral signal: volts, and newtons only through a calibration."""

from __future__ import annotations

import math
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import ArrayLike

from tasks_lib.instruments.analysis._field import AnalysisError, as_image, same_shape, usable
from tasks_lib.instruments.frame import FRICTION, Direction, Frame, Samples


@dataclass(frozen=True, slots=True)
class LateralCalibration:
    """What one volt of the lateral signal is worth.

    Attributes
    ----------
    newton_per_volt : float
        Lateral force per volt, N/V, greater than 0.
    uncertainty : float
        Its standard uncertainty, N/V.
    source : str
        Method and date, for example ``wedge method on TGF11``; a force without it could not be traced.
    """

    newton_per_volt: float
    uncertainty: float
    source: str

    def __post_init__(self) -> None:
        if not (math.isfinite(self.newton_per_volt) and self.newton_per_volt > 0):
            raise AnalysisError(f"a lateral calibration is a positive number of N/V; it is {self.newton_per_volt}")
        if not (math.isfinite(self.uncertainty) and self.uncertainty >= 0):
            raise AnalysisError(f"the uncertainty of a calibration is at least 0 N/V; it is {self.uncertainty}")
        if not self.source.strip():
            raise AnalysisError("a lateral calibration names its source: the method and the date")


@dataclass(frozen=True, eq=False, slots=True)
class FrictionForce:
    """Friction in newtons, with the calibration that made it so.

    Attributes
    ----------
    force_n : Samples
        Map of the friction force; NaN where it is not known or masked out.
    mean_n, standard_error_n, uncertainty_n : float
        Mean, its standard error from the scatter of the lines, and both that and the calibration's uncertainty
        combined in quadrature; newtons.
    calibration : LateralCalibration
    """

    force_n: Samples
    mean_n: float
    standard_error_n: float
    uncertainty_n: float
    calibration: LateralCalibration
    unit: str = field(default="N", init=False)


@dataclass(frozen=True, eq=False, slots=True)
class FrictionSignal:
    """Half the difference of the lateral signal, in volts; no force until it is calibrated.

    Attributes
    ----------
    signal_v : Samples
        Map of ½ (forward - backward); NaN where it is not known or masked out.
    mean_v : float
        Mean over the samples that count.
    standard_error_v : float
        Standard error of the mean from the scatter of the line means (neighbours in a line are not independent);
        NaN with fewer than two lines.
    samples : int
        Samples that count.
    """

    signal_v: Samples
    mean_v: float
    standard_error_v: float
    samples: int
    unit: str = field(default="V", init=False)

    def calibrated(self, calibration: LateralCalibration) -> FrictionForce:
        """Turn the signal into a force: F = calibration · ½ (forward - backward)."""
        factor = calibration.newton_per_volt
        scatter = factor * self.standard_error_v
        known = [part for part in (scatter, self.mean_v * calibration.uncertainty) if math.isfinite(part)]
        return FrictionForce(
            force_n=factor * self.signal_v,
            mean_n=factor * self.mean_v,
            standard_error_n=scatter,
            uncertainty_n=math.hypot(*known),
            calibration=calibration,
        )


def friction(forward_v: ArrayLike, backward_v: ArrayLike, where: ArrayLike | None = None) -> FrictionSignal:
    """Take half the difference of the lateral signal of trace and retrace.

    Friction turns its sign with the direction, V± = V₀ ± V_f; an offset of the detector and the coupling of the
    slope do not. So V_f = ½ (V_forward - V_backward).

    Parameters
    ----------
    forward_v, backward_v : arrays of shape (lines, points)
        Lateral signal in volts, both with x rising.
    where : boolean array, optional
        Samples that count, for example one terrace.

    Returns
    -------
    FrictionSignal
        In volts. `FrictionSignal.calibrated` turns it into newtons.

    Raises
    ------
    AnalysisError
        If the shapes differ or no sample counts.

    Notes
    -----
    Source: Ogletree, Carpick, Salmeron, Rev. Sci. Instrum. 67 (1996) 3298, half width of the friction loop.
    """
    forward, backward = as_image(forward_v, what="the forward signal"), as_image(backward_v, what="the backward signal")
    same_shape(forward, backward, "forward and backward signal")
    half = 0.5 * (forward - backward)
    keep = usable(half, where, what="the friction signal")
    signal = np.where(keep, half, np.nan)
    lines = np.array([row[use].mean() for row, use in zip(half, keep, strict=True) if use.any()])
    error = float(lines.std(ddof=1) / math.sqrt(lines.size)) if lines.size > 1 else math.nan
    return FrictionSignal(signal, float(half[keep].mean()), error, int(np.count_nonzero(keep)))


def frame_friction(frame: Frame, where: ArrayLike | None = None) -> FrictionSignal:
    """Take the friction signal of a frame's lateral channel.

    Raises
    ------
    AnalysisError
        If the frame has no such channel in both directions, or the channel is not in volts.
    """
    missing = [way for way in Direction if (FRICTION, way) not in frame.channels]
    if missing:
        raise AnalysisError(
            f"{frame.source or 'the frame'} has no channel {FRICTION} {' and '.join(missing)}; friction needs both "
            "directions: scan in lateral force mode"
        )
    forward, backward = (frame.channels[FRICTION, way] for way in Direction)
    for channel in (forward, backward):
        if channel.unit != "V":
            raise AnalysisError(
                f"{FRICTION} {channel.direction} of {frame.source or 'the frame'} is in {channel.unit!r}; a friction "
                "signal is in volts: give it before any calibration"
            )
    return friction(forward.data, backward.data, where)
