"""How good a frame says its gains are: the published objective, and one that ringing does not fool."""

from __future__ import annotations

import math
from enum import StrEnum

import numpy as np

from tasks_lib.instruments.analysis import AnalysisError, frame_validity, trace_retrace_similarity
from tasks_lib.instruments.frame import AMPLITUDE, DEFLECTION, Z_AXIS, Direction, Frame, Samples
from tasks_lib.records import Record

# Ringing is some 0.04 of the setpoint and more where a loop is unstable and below 0.01 where it is not (docs/0014).
_RINGING_WEIGHT = 10.0


class Objective(StrEnum):
    """What a search maximises."""

    SSIM = "ssim"
    """The published one: similarity of trace and retrace as they are."""
    TRACKING = "tracking"
    """Similarity of levelled images, less the error of the loop and its ringing."""


class Tracking(Record):
    """The parts of an objective, from one frame.

    Attributes
    ----------
    ssim_levelled, ssim_raw : float
        Similarity of trace and retrace after levelling row by row, and as they are.
    error_share : float
        Root mean square of the loop's error, in units of the setpoint.
    explained : float
        R² between the error and the speed of the z actuator, 0 to 1: an integral loop moves as its error says, one
        that oscillates between two pixels shows errors that its motion does not explain.
    ringing : float
        The part of the typical error that is not explained: median(abs(error)) / setpoint * (1 - R²)².
    problems : tuple of str
        Why the frame cannot be judged; then the numbers are None.
    """

    ssim_levelled: float | None = None
    ssim_raw: float | None = None
    error_share: float | None = None
    explained: float | None = None
    ringing: float | None = None
    problems: tuple[str, ...] = ()

    def score(self, objective: Objective) -> float | None:
        """Return what the search maximises, None for a frame that cannot be judged."""
        if self.ssim_levelled is None or self.ssim_raw is None or self.error_share is None or self.ringing is None:
            return None
        if objective is Objective.SSIM:
            return self.ssim_raw
        return self.ssim_levelled - self.error_share - _RINGING_WEIGHT * self.ringing


def tracking(frame: Frame) -> Tracking:
    """Judge how well the loop followed the surface.

    Parameters
    ----------
    frame : Frame
        With the height and the deflection, or the amplitude, in both directions.

    Returns
    -------
    Tracking
        With `problems` and no numbers where the frame is not engaged, incomplete, constant, too small, or lacks a
        channel, a direction or finite samples.
    """
    try:
        found = frame_validity(frame)
        # Which sample an extreme sits on says nothing of the loop; a lost or unfinished frame does.
        if found.engaged is False or found.constant or not found.complete:
            return Tracking(problems=found.problems)
        alike = trace_retrace_similarity(frame.data(Z_AXIS), frame.data(Z_AXIS, Direction.BACKWARD))
        errors = {way: _relative_error(frame, way) for way in Direction}
    except (AnalysisError, KeyError) as error:
        return Tracking(problems=(str(error.args[0]),))
    explained = _explained(frame, errors)
    flat = np.concatenate([one.ravel() for one in errors.values()])
    return Tracking(
        ssim_levelled=alike.levelled,
        ssim_raw=alike.raw,
        error_share=float(np.sqrt(np.mean(flat**2))),
        explained=explained,
        ringing=float(np.median(np.abs(flat)) * (1 - explained) ** 2),
    )


def _relative_error(frame: Frame, way: Direction) -> Samples:
    """Return the error of the loop in units of the setpoint, in the order in which the tip went.

    In dynamic modes the setpoint is a share of an amplitude that the frame does not hold; the mean amplitude, which
    the loop keeps at the setpoint, stands for it.
    """
    name = DEFLECTION if (DEFLECTION, way) in frame.channels else AMPLITUDE
    signal = frame.data(name, way)
    if signal.shape != (frame.scan.lines, frame.scan.points) or not np.isfinite(signal).all():
        msg = f"{name} {way} has missing samples, so the error of the loop is not known: scan the frame anew"
        raise AnalysisError(msg)
    if name == DEFLECTION and (unit := frame.channels[name, way].unit) != "V":
        msg = f"{name} is in {unit!r} and the setpoint in volts: record the deflection in volts"
        raise AnalysisError(msg)
    setpoint = frame.setpoint if name == DEFLECTION else float(np.mean(signal))
    if setpoint == 0 or not math.isfinite(setpoint):
        msg = f"the setpoint is {setpoint:g}, so the error has no scale: set one that presses the lever"
        raise AnalysisError(msg)
    relative = (signal - setpoint) / abs(setpoint)
    return relative if way is Direction.FORWARD else relative[:, ::-1]


def _explained(frame: Frame, errors: dict[Direction, Samples]) -> float:
    moves, means = [], []
    for way, error in errors.items():
        z = frame.data(Z_AXIS, way)
        moves.append(np.diff(z if way is Direction.FORWARD else z[:, ::-1], axis=1).ravel())
        means.append(((error[:, 1:] + error[:, :-1]) / 2).ravel())
    move, mean = np.concatenate(moves), np.concatenate(means)
    if np.ptp(move) == 0 or np.ptp(mean) == 0:
        return 0.0
    return float(np.corrcoef(move, mean)[0, 1] ** 2)
