"""From a place in a frame to the coordinates of the scanner, and the frame around it."""

from __future__ import annotations

import math

import numpy as np

from tasks_lib.instruments.experiments.procedure import ExperimentError
from tasks_lib.instruments.frame import Z_AXIS, Z_SENSOR, Direction, Frame, Samples, ScanSettings
from tasks_lib.instruments.protocol import Value


def scanner_place(scan: ScanSettings, place_m: tuple[float, float]) -> tuple[float, float]:
    """Return where a place of a frame lies for the scanner.

    Parameters
    ----------
    scan : ScanSettings
        Of the frame.
    place_m : (float, float)
        From the lower left corner of the frame along its own axes, in metres.

    Returns
    -------
    (float, float)
        Centre + R(rotation) · (place - half of the frame), metres. `rotation_deg` counts counterclockwise.
    """
    along, across = place_m[0] - scan.width_m / 2, place_m[1] - scan.height_m / 2
    turn = math.radians(scan.rotation_deg)
    return (
        scan.center_x_m + math.cos(turn) * along - math.sin(turn) * across,
        scan.center_y_m + math.sin(turn) * along + math.cos(turn) * across,
    )


def zoom(scan: ScanSettings, box_m: tuple[float, float, float, float], margin: float) -> dict[str, Value]:
    """Return the values for a square frame around a box, at the rotation of the frame it was seen in.

    Parameters
    ----------
    scan : ScanSettings
        Of the frame in which the box was seen.
    box_m : (x₀, y₀, x₁, y₁)
        From the lower left corner of that frame, metres.
    margin : float
        Side of the new frame by the longer side of the box.
    """
    left, low, right, high = box_m
    x, y = scanner_place(scan, ((left + right) / 2, (low + high) / 2))
    side = margin * max(right - left, high - low)
    return {"center_x_m": x, "center_y_m": y, "width_m": side, "height_m": side}


def height_channel(frame: Frame) -> str:
    """Return the channel to measure heights by: the z sensor where there is one, which no hysteresis of z bends."""
    return Z_SENSOR if all((Z_SENSOR, way) in frame.channels for way in Direction) else Z_AXIS


def both_ways(frame: Frame, name: str) -> tuple[Samples, Samples]:
    """Return trace and retrace of the height.

    Raises
    ------
    ExperimentError
        If the frame lacks one of them.
    """
    try:
        channel = height_channel(frame)
        return frame.data(channel), frame.data(channel, Direction.BACKWARD)
    except KeyError as error:
        raise ExperimentError(f"frame {name}: {error.args[0]}: record both directions") from None


def mean_height(frame: Frame, name: str) -> Samples:
    """Return the mean of trace and retrace, in which the lag of the tip cancels.

    Raises
    ------
    ExperimentError
        If the frame lacks one of them.
    """
    trace, retrace = both_ways(frame, name)
    mean: Samples = np.mean([trace, retrace], axis=0)
    return mean
