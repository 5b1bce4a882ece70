"""Recorded files, where they are at hand, and frames made here."""

from __future__ import annotations

import importlib.util
from collections.abc import Callable
from datetime import datetime
from pathlib import Path

import numpy as np
import pytest

from tasks_lib.instruments.frame import DEFLECTION, FRICTION, Z_AXIS, Channel, Direction, Frame, Gains, ScanSettings

# Tests are made of these files before there are fixtures.
SHARED = Path(__file__).resolve().parents[5] / "shared" / "data" / "nid"


def recorded_files() -> list[Path]:
    """Files of a real microscope beside the repository, and those that come with NSFopen."""
    spec = importlib.util.find_spec("NSFopen")
    examples = Path(spec.origin).parent / "example" if spec and spec.origin else None
    return sorted(SHARED.glob("*.nid")) + (sorted(examples.rglob("*.nid")) if examples else [])


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    if "recorded_file" in metafunc.fixturenames:
        names = [pytest.param(path, id=f"{path.parent.name}-{path.stem}") for path in recorded_files()]
        skip = pytest.mark.skip(reason="neither the shared .nid files nor NSFopen's examples are at hand")
        metafunc.parametrize("recorded_file", names or [pytest.param(None, marks=skip)])


@pytest.fixture
def example_file() -> Callable[[str], Path]:
    """Find a file that NSFopen brings along."""

    def find(name: str) -> Path:
        for path in recorded_files():
            if path.name == name:
                return path
        pytest.skip(f"NSFopen, which brings {name} along, is not installed")

    return find


@pytest.fixture
def make_frame() -> Callable[..., Frame]:
    """Build a frame of smooth channels; keyword arguments replace its fields."""

    def make(lines: int = 6, points: int = 8, **changed: object) -> Frame:
        direction = changed.pop("scan_direction", "up")
        scan = ScanSettings(
            width_m=1e-6, height_m=7.5e-7, points=points, lines=lines, time_per_line_s=0.3, center_x_m=-2e-6,
            center_y_m=3e-6, rotation_deg=12.5, slope_x_deg=0.625, slope_y_deg=-0.44, overscan_percent=5.0,
            direction=direction,
        )  # fmt: skip
        y, x = np.mgrid[0:lines, 0:points]
        channels = {}
        for name, unit, size in ((Z_AXIS, "m", 4e-8), (DEFLECTION, "V", 0.2), (FRICTION, "V", 0.01)):
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


@pytest.fixture
def swap() -> Callable[[bytes, str, str], bytes]:
    """Replace the first occurrence of a text in a file's header; the text must be there."""

    def replace(content: bytes, old: str, new: str) -> bytes:
        assert old.encode() in content, old
        return content.replace(old.encode(), new.encode(), 1)

    return replace
