"""Where the tip is and which pixel a tick counts for; the profile that it meets there."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tasks_lib.instruments.frame import ScanSettings
from tasks_lib.instruments.twin.errors import TwinError, finite
from tasks_lib.instruments.twin.presets import Lever, Preset
from tasks_lib.instruments.twin.samples import Sample

Array = NDArray[np.float64]
TIP_ROWS = 4  # rows of the footprint of the tip to either side of a line, at most
MIN_SIZE_M = 1e-9  # below it the footprint of the tip would be millions of places wide
MAX_TICKS = 2_000_000  # of a pass


@dataclass(frozen=True, eq=False)
class Path:
    """The passes of a line: `place` and `pixel` of trace and retrace by tick, on a profile at the places `along`."""

    along: Array
    spacing: float
    place: tuple[Array, Array]
    pixel: tuple[NDArray[np.int64], NDArray[np.int64]]


def path(scan: ScanSettings, preset: Preset) -> Path:
    """Lay out the passes of a line.

    Commanded x(f) = f L - L/2 with f in [-ov, 1 + ov]. The tip lags by v τ once a pass has settled, and deviates by
    4 h L f (1 - f) at mid-line against the direction of motion. After a turn the lag reaches its new value as
    1 - 2 exp(-t/τ): the answer of a first-order system to a triangle wave.
    """
    ticks = round(scan.time_per_line_s * preset.sample_rate_hz)
    over = scan.overscan_percent / 100
    if ticks < scan.points * (1 + 2 * over):
        least = scan.points * (1 + 2 * over) / preset.sample_rate_hz
        raise TwinError(
            f"time_per_line_s {scan.time_per_line_s:g} is too short for {scan.points} points: the loop of "
            f"{preset.name} ticks at {preset.sample_rate_hz:g} Hz, so {least:.3g} s at least"
        )
    if ticks > MAX_TICKS:
        raise TwinError(f"time_per_line_s {scan.time_per_line_s:g} is too long for the twin: {ticks} ticks by line")
    width, sign = scan.width_m, np.array([[1.0], [-1.0]])
    rising = -over + (1 + 2 * over) * (np.arange(ticks) + 0.5) / ticks
    share = np.stack([rising, 1.0 - rising])
    inside = np.clip(share, 0.0, 1.0)
    time = (np.arange(ticks) + 0.5) / preset.sample_rate_hz
    speed = width * (1 + 2 * over) / scan.time_per_line_s
    lag = speed * preset.lag_s * (1 - 2 * np.exp(-time / preset.lag_s)) if preset.lag_s else 0.0
    x = (share - 0.5) * width - sign * (4 * preset.hysteresis * width * inside * (1 - inside) + lag)
    spacing = width / np.clip(4 * scan.points, 512, max(4096, scan.points))
    low, high = float(x.min()), float(x.max())
    along = low + spacing * np.arange(int(np.ceil((high - low) / spacing)) + 2)
    column = np.floor(share * scan.points).astype(np.int64)
    from_middle = np.abs(share * scan.points - column - 0.5)
    # Half a tick more than the averaged share, so that every pixel gets a sample.
    averaged = from_middle <= 0.5 * (preset.averaged_share + scan.points * (1 + 2 * over) / ticks) + 1e-9
    pixel = np.where(averaged & (share >= 0) & (share < 1), column, -1)
    place = (x - low) / spacing
    return Path(along, float(spacing), (place[0], place[1]), (pixel[0], pixel[1]))


def check_place(scan: ScanSettings, sample: Sample) -> None:
    """Refuse a scan that leaves the sample, is smaller than `MIN_SIZE_M`, or whose numbers are no numbers."""
    for name, value in (
        ("center_x_m", scan.center_x_m), ("center_y_m", scan.center_y_m), ("width_m", scan.width_m),
        ("height_m", scan.height_m), ("time_per_line_s", scan.time_per_line_s),
    ):  # fmt: skip
        finite(value, name)
    for name, value in (("width_m", scan.width_m), ("height_m", scan.height_m)):
        if value < MIN_SIZE_M:
            raise TwinError(f"{name} must be {MIN_SIZE_M:g} m at least, not {value:g}")
    for name, value in (("slope_x_deg", scan.slope_x_deg), ("slope_y_deg", scan.slope_y_deg)):
        if abs(finite(value, name)) > 30:
            raise TwinError(f"{name} must lie within ±30°, not {value}")
    turn = np.radians(finite(scan.rotation_deg, "rotation_deg"))
    half_x = scan.width_m * (0.5 + scan.overscan_percent / 100)
    half_y = scan.height_m / 2
    reach_x = abs(half_x * np.cos(turn)) + abs(half_y * np.sin(turn)) + abs(scan.center_x_m)
    reach_y = abs(half_x * np.sin(turn)) + abs(half_y * np.cos(turn)) + abs(scan.center_y_m)
    for axis, reach, size in (("x", reach_x, sample.size_m[0]), ("y", reach_y, sample.size_m[1])):
        if reach > size / 2 * (1 + 1e-9):
            raise TwinError(
                f"the scan reaches {reach:.4g} m from the centre along {axis}, and the sample {sample.name} ends at "
                f"{size / 2:.4g} m: take a smaller scan, or move it towards the centre"
            )


@dataclass(frozen=True, eq=False)
class Tip:
    """The footprint of the tip on the raster of a profile: heights above the apex, rows across the line."""

    rows: Array  # distance of each row from the line
    heights: Array  # (rows, columns), infinite beyond the reach

    @property
    def sharp(self) -> bool:
        """Whether the tip is below the raster, so that the profile is the surface."""
        return self.heights.size == 1


def tip(lever: Lever, sample: Sample, spacing: float) -> Tip:
    """Cut the tip off where it can no longer touch a surface of this relief and slope."""
    radius, slope = lever.tip_radius_m, 1 / np.tan(np.radians(lever.tip_half_angle_deg))
    joint = min(radius * slope, radius / np.tan(np.radians(lever.tip_half_angle_deg)))
    height = joint**2 / (2 * radius)
    relief = sample.relief_m
    reach = np.sqrt(2 * radius * relief) if relief < height else joint + (relief - height) / slope
    if sample.steepest < slope:
        reach = min(reach, 2 * radius * sample.steepest)
    if reach < spacing:
        return Tip(np.zeros(1), np.zeros((1, 1)))
    columns = int(np.ceil(reach / spacing))
    side = min(columns, TIP_ROWS)
    rows = np.linspace(-reach, reach, 2 * side + 1)
    far = np.hypot(*np.meshgrid(spacing * np.arange(-columns, columns + 1), rows))
    heights = np.where(far <= joint, far**2 / (2 * radius), height + (far - joint) * slope)
    return Tip(rows, np.where(far <= reach * 1.0001, heights, np.inf))
