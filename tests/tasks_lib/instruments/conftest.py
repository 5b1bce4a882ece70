"""Frames made here, for the rooms that write and read them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import datetime

import numpy as np
import pytest

from tasks_lib.instruments.frame import DEFLECTION, FRICTION, Z_AXIS, Channel, Direction, Frame, Gains, ScanSettings

_SIGNALS = {Z_AXIS: ("m", 4e-8), DEFLECTION: ("V", 0.2), FRICTION: ("V", 0.01)}


@pytest.fixture
def smooth_frame() -> Callable[..., Frame]:
    """Build a frame of smooth channels; keyword arguments replace its fields."""

    def make(
        lines: int = 6,
        points: int = 8,
        *,
        signals: Sequence[str] = tuple(_SIGNALS),
        time_per_line_s: float = 0.3,
        scan_direction: str = "up",
        **changed: object,
    ) -> Frame:
        scan = ScanSettings(
            width_m=1e-6, height_m=7.5e-7, points=points, lines=lines, time_per_line_s=time_per_line_s,
            center_x_m=-2e-6, center_y_m=3e-6, rotation_deg=12.5, slope_x_deg=0.625, slope_y_deg=-0.44,
            overscan_percent=5.0, direction=scan_direction,
        )  # type: ignore[arg-type]  # fmt: skip
        y, x = np.mgrid[0:lines, 0:points]
        channels = {}
        for name in signals:
            unit, size = _SIGNALS[name]
            for way in Direction:
                sign = 1 if way is Direction.FORWARD else -1
                data = size * (0.3 * y - 0.2 * x + sign * np.sin(0.7 * x + y))
                channels[name, way] = Channel(name, way, unit, data)
        fields: dict[str, object] = {
            "channels": channels, "scan": scan, "gains": Gains(p=209, i=6623, d=9), "setpoint": 0.1,
            "mode": "Lateral Force", "lever": "Multi75Al-G", "lines_done": lines,
            "taken_at": datetime(2025, 6, 13, 20, 16, 8), "source": "twin 17",  # noqa: DTZ001
        }  # fmt: skip
        return Frame(**{**fields, **changed})  # type: ignore[arg-type]

    return make
