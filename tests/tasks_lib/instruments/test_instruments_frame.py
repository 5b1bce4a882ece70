"""Frames: what they say of themselves, also in another process."""

from __future__ import annotations

import pickle
from types import MappingProxyType

import numpy as np
import pytest

from tasks_lib.instruments.frame import Z_AXIS, Channel, Direction, Frame, Gains, ScanSettings

SCAN = ScanSettings(width_m=1e-6, height_m=5e-7, points=4, lines=2, time_per_line_s=0.5)


def frame() -> Frame:
    z = np.arange(8.0).reshape(2, 4)
    channels = {(Z_AXIS, Direction.FORWARD): Channel(Z_AXIS, Direction.FORWARD, "m", z)}
    return Frame(
        MappingProxyType(channels), SCAN, Gains(p=1, i=2), 0.3, "Lateral Force", "ContAl-G", 1, source="twin",
        notes=MappingProxyType({"sample": "grid"}),
    )  # fmt: skip


def test_a_frame_goes_to_another_process_and_stays_read_only() -> None:
    sent = pickle.loads(pickle.dumps(frame()))  # noqa: S301
    assert sent.notes == {"sample": "grid"}
    assert (sent.scan, sent.gains, sent.lines_done, sent.source) == (SCAN, Gains(p=1, i=2), 1, "twin")
    np.testing.assert_array_equal(sent.data(Z_AXIS), frame().data(Z_AXIS))
    with pytest.raises(TypeError):
        sent.channels["x"] = 1


def test_sizes_and_times_follow_from_the_settings() -> None:
    assert SCAN.pixel_m == (2.5e-7, 2.5e-7)
    assert SCAN.frame_time_s == 2.0
    assert not frame().complete


def test_a_channel_that_is_not_there_is_named_with_those_that_are() -> None:
    with pytest.raises(KeyError, match="twin has no channel Z-Axis backward; it has: Z-Axis forward"):
        frame().data(Z_AXIS, "backward")
    with pytest.raises(ValueError, match="sideways"):
        frame().data(Z_AXIS, "sideways")


@pytest.mark.parametrize("wrong", [{"width_m": 0}, {"points": 1}, {"lines": 10**6}, {"rotation_deg": float("nan")}])
def test_settings_that_no_scan_has_are_refused(wrong: dict) -> None:
    with pytest.raises(ValueError, match=next(iter(wrong))):
        ScanSettings(**(SCAN.model_dump() | wrong))
    with pytest.raises(ValueError, match="p"):
        Gains(p=-1, i=1)
