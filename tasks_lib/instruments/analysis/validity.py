"""Whether a frame is worth analysing: engaged, complete, neither saturated nor constant."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tasks_lib.instruments.analysis._field import AnalysisError, without_spread
from tasks_lib.instruments.frame import DEFLECTION, Z_AXIS, Direction, Frame, Samples

#: Deflection farther from the setpoint than this share of it: the loop does not hold the tip on the sample.
_LOST_SHARE = 0.5
#: Share of the samples, and number, that must sit on one extreme before it counts as a limit.
_LIMIT_SHARE, _LIMIT_SAMPLES = 0.005, 4


@dataclass(frozen=True, slots=True)
class Validity:
    """What is wrong with a frame, if anything.

    Attributes
    ----------
    complete : bool
        Every line was scanned.
    engaged : bool or None
        The tip was in contact; None where neither the frame nor its deflection tells.
    constant : bool
        The height is one number, to the rounding of floats, in a direction.
    saturated : tuple of str
        Channels of which many samples sit on one extreme value: the signal ran into a limit.
    unscanned_lines : int
        Lines with samples that are not finite, or never scanned.
    problems : tuple of str
        One sentence for each thing that is wrong.
    """

    complete: bool
    engaged: bool | None
    constant: bool
    saturated: tuple[str, ...]
    unscanned_lines: int
    problems: tuple[str, ...]

    @property
    def valid(self) -> bool:
        """Whether nothing is wrong; an unknown engagement is not held against a frame."""
        return not self.problems


def frame_validity(frame: Frame, height: str = Z_AXIS) -> Validity:
    """Check a frame before anything is read from it.

    Engaged is what the frame says. Where it does not say, the median deflection of the scanned lines decides if it is
    in volts, as the setpoint is: farther than half the setpoint from it means that the loop does not hold the tip. A
    height that is constant is not engaged either: the actuator rests on a stop.

    Parameters
    ----------
    frame : Frame
        The frame.
    height : str
        Channel of the height.

    Returns
    -------
    Validity
        Findings and problems; nothing is raised for a bad frame.

    Raises
    ------
    AnalysisError
        If the frame has no such channel.
    """
    heights = [frame.channels[height, way].data for way in Direction if (height, way) in frame.channels]
    if not heights:
        have = ", ".join(sorted({name for name, _ in frame.channels})) or "none"
        raise AnalysisError(f"{frame.source or 'the frame'} has no channel {height}; it has: {have}")
    scanned = [_scanned(frame, one) for one in heights]
    gaps = max(int(np.count_nonzero(~np.isfinite(one).all(axis=1))) for one in heights)
    unscanned = max(gaps, frame.scan.lines - frame.lines_done)
    complete = frame.complete and unscanned == 0
    known = [one[np.isfinite(one)] for one in scanned]
    constant = any(one.size > 0 and without_spread(one) for one in known)
    engaged = frame.engaged if frame.engaged is not None else _engaged(frame, constant)
    saturated = tuple(
        f"{name} {way}"
        for (name, way), channel in sorted(frame.channels.items())
        if _at_limit(_scanned(frame, channel.data))
    )
    problems = []
    if not complete:
        problems.append(f"{unscanned} of {frame.scan.lines} lines are not scanned: scan the frame to its end")
    if not any(one.size for one in known):
        problems.append(f"{height} has no finite sample: nothing can be read from the frame")
    if engaged is False:
        problems.append("the tip was not engaged: approach, then scan again")
    if constant:
        problems.append(f"{height} is constant: the actuator rests on a stop or is not connected")
    if saturated:
        problems.append(f"{', '.join(saturated)} ran into a limit: reduce the range of the signal or move the stage")
    return Validity(complete, engaged, constant, saturated, unscanned, tuple(problems))


def _scanned(frame: Frame, data: Samples) -> Samples:
    if frame.complete:
        return data
    done = max(frame.lines_done, 0)
    return data[:done] if frame.scan.direction == "up" else data[data.shape[0] - done :]


def _engaged(frame: Frame, constant: bool) -> bool | None:
    if constant:
        return False
    for way in Direction:
        channel = frame.channels.get((DEFLECTION, way))
        if channel is None or channel.unit != "V" or frame.setpoint == 0:
            continue
        values = _scanned(frame, channel.data)
        values = values[np.isfinite(values)]
        if values.size:
            return abs(float(np.median(values)) - frame.setpoint) <= _LOST_SHARE * abs(frame.setpoint)
    return None


def _at_limit(data: Samples) -> bool:
    values = data[np.isfinite(data)]
    if values.size < _LIMIT_SAMPLES or without_spread(values):
        return False
    least = max(_LIMIT_SAMPLES, _LIMIT_SHARE * values.size)
    close = 1e-9 * float(np.ptp(values))
    return any(np.count_nonzero(np.abs(values - extreme) <= close) >= least for extreme in (values.min(), values.max()))
