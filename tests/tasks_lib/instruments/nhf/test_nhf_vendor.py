"""The vendor's two readers are the standard: where they are installed, their values are ours."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from tasks_lib.instruments.frame import Z_AXIS, Frame
from tasks_lib.instruments.nhf import read_nhf, write_nhf


def nhf_reader():
    reason = "nanosurf 1.14, which has the vendor's nhf_reader, is not installed"
    return pytest.importorskip("nanosurf.lib.util.nhf_reader", reason=reason, exc_type=ImportError)


def test_the_vendors_reader_has_our_values_of_its_recorded_file(vendor_file: Path) -> None:
    ours = read_nhf(vendor_file)
    compared = 0
    with nhf_reader().NHFFileReader(vendor_file) as theirs:
        for (name, way), channel in ours.channels.items():
            if not channel.unit:  # it cannot read channels without a calibration
                continue
            segment = theirs.measurements[0].segment[way.value.capitalize()]
            their = segment.read_channel(name)
            assert np.asarray(their.dataset).tobytes() == channel.data.tobytes()
            assert their.unit == channel.unit
            compared += 1
    assert compared == 8
    frame = ours.frame()
    assert (frame.scan.points, frame.scan.lines, frame.gains.i, frame.complete) == (100, 100, 25000, True)
    alike = np.corrcoef(frame.data(Z_AXIS).ravel(), frame.data(Z_AXIS, "backward").ravel())[0, 1]
    assert alike > 0.9  # backward lines are stored with x rising
    assert ours.others[0] == "Forward NMA Deflection"


@pytest.mark.parametrize("version", ["1.1", "2.0"])
def test_the_vendors_reader_takes_what_we_write(make_frame: Callable[..., Frame], tmp_path: Path, version) -> None:
    path = tmp_path / "a.nhf"
    path.write_bytes(write_nhf(make_frame(), version=version))
    ours = read_nhf(path)
    with nhf_reader().NHFFileReader(path) as theirs:
        measurement = theirs.measurements[0]
        assert measurement.measurement_type.name == "Image"
        for (name, way), channel in ours.channels.items():
            their = measurement.segment[way.value.capitalize()].read_channel(name, as_matrix=True)
            np.testing.assert_array_equal(np.asarray(their.dataset)[::-1], channel.data)
            assert their.unit == channel.unit


@pytest.mark.parametrize("version", ["1.1", "2.0"])
def test_nsfopen_takes_what_we_write(make_frame: Callable[..., Frame], tmp_path: Path, version) -> None:
    reader = pytest.importorskip("NSFopen.read", reason="NSFopen is not installed (extra `test`)")
    path = tmp_path / "a.nhf"
    # It turns points and lines round in version 1, so that only a square comes out right.
    path.write_bytes(write_nhf(make_frame(lines=8, points=8), version=version))
    theirs = reader.read(str(path))
    for (name, way), channel in read_nhf(path).channels.items():
        their = theirs.data["Image", way.value.capitalize(), name]
        # It places code 0 at 0; the vendor's other reader, and we, half a code away in version 1.
        step = 2 * 8 * np.abs(channel.data).max() / 2**32
        np.testing.assert_allclose(their, channel.data, rtol=0, atol=1.01 * step)
    assert theirs.param["z_ctrl_i_gain"] == 6623
