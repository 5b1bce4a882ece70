"""Frames made here, files changed at will, and the vendor's recorded file where the vendor's package is installed."""

from __future__ import annotations

import importlib.util
import io
from collections.abc import Callable
from pathlib import Path

import h5py
import pytest

from tasks_lib.instruments.frame import DEFLECTION, Z_AXIS, Frame, Gains
from tasks_lib.instruments.nhf import Lever, write_nhf

LEVER = Lever(
    name="Multi75Al-G", manufacturer="B", spring_constant_n_per_m=3.0, resonance_hz=75e3, deflection_m_per_v=8e-8
)


@pytest.fixture
def make_frame(smooth_frame: Callable[..., Frame]) -> Callable[..., Frame]:
    """Build a frame as Studio has it: an I gain alone, and no lateral force."""

    def make(*size: int, **changed: object) -> Frame:
        own = {
            "signals": (Z_AXIS, DEFLECTION), "time_per_line_s": 0.25, "gains": Gains(p=0, i=6623, d=0),
            "mode": "Static Force",
        }  # fmt: skip
        return smooth_frame(*size, **(own | changed))

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
