"""Frames made here, files changed at will, and the vendor's recorded file where the vendor's package is installed."""

from __future__ import annotations

import importlib.util
import io
from collections.abc import Callable
from datetime import datetime
from pathlib import Path

import h5py
import numpy as np
import pytest

from tasks_lib.instruments.frame import DEFLECTION, Z_AXIS, Channel, Direction, Frame, Gains, ScanSettings
from tasks_lib.instruments.nhf import Lever, write_nhf

LEVER = Lever(
    name="Multi75Al-G", manufacturer="B", spring_constant_n_per_m=3.0, resonance_hz=75e3, deflection_m_per_v=8e-8
)


@pytest.fixture
def make_frame() -> Callable[..., Frame]:
    """Build a frame of smooth channels; keyword arguments replace its fields."""

    def make(lines: int = 6, points: int = 8, **changed: object) -> Frame:
        direction = changed.pop("scan_direction", "up")
        scan = ScanSettings(
            width_m=1e-6, height_m=7.5e-7, points=points, lines=lines, time_per_line_s=0.25, center_x_m=-2e-6,
            center_y_m=3e-6, rotation_deg=12.5, slope_x_deg=0.625, slope_y_deg=-0.44, overscan_percent=5.0,
            direction=direction,
        )  # fmt: skip
        y, x = np.mgrid[0:lines, 0:points]
        channels = {}
        for name, unit, size in ((Z_AXIS, "m", 4e-8), (DEFLECTION, "V", 0.2)):
            for way in Direction:
                sign = 1 if way is Direction.FORWARD else -1
                data = size * (0.3 * y - 0.2 * x + sign * np.sin(0.7 * x + y))
                channels[name, way] = Channel(name, way, unit, data)
        fields: dict[str, object] = {
            "channels": channels, "scan": scan, "gains": Gains(p=0, i=6623, d=0), "setpoint": 0.1,
            "mode": "Static Force", "lever": "Multi75Al-G", "lines_done": lines,
            "taken_at": datetime(2025, 6, 13, 20, 16, 8), "source": "twin 17",  # noqa: DTZ001
        }  # fmt: skip
        return Frame(**{**fields, **changed})  # type: ignore[arg-type]

    return make


@pytest.fixture
def changed(make_frame: Callable[..., Frame]) -> Callable[..., bytes]:
    """Write a frame, let a function change the open file, and return its bytes."""

    def change(work: Callable[[h5py.File], object], version: str = "1.1", **fields: object) -> bytes:
        buffer = io.BytesIO(write_nhf(make_frame(**fields), version=version, lever=LEVER))  # type: ignore[arg-type]
        with h5py.File(buffer, "a") as file:
            work(file)
        return buffer.getvalue()

    return change


@pytest.fixture
def vendor_file() -> Path:
    """The recorded file that the vendor's package brings along."""
    spec = importlib.util.find_spec("nanosurf")
    found = sorted(Path(spec.origin).parent.rglob("SBS-PS_example_data.nhf")) if spec and spec.origin else []
    if not found:
        pytest.skip("nanosurf 1.14, which brings a recorded .nhf file along, is not installed")
    return found[0]
