from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime

import numpy as np
import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as npst

from tasks_lib.instruments.frame import Channel, Direction, Frame, Gains, ScanSettings
from tasks_lib.instruments.nid import Lever, NidError, read_nid, write_nid

SMALL = st.floats(-1e6, 1e6, allow_subnormal=False)
POSITIVE = st.floats(1e-12, 1e3)
WORDS = st.text(st.characters(categories=["L", "N", "P", "S"], exclude_characters="="), min_size=1, max_size=12)
UNITS = st.sampled_from(["m", "V", "N", "°", "A", "", "%"])


@st.composite
def frames(draw):
    lines, points = draw(st.integers(1, 6)), draw(st.integers(2, 7))
    scan = ScanSettings(
        width_m=draw(POSITIVE), height_m=draw(POSITIVE), points=points, lines=lines, time_per_line_s=draw(POSITIVE),
        center_x_m=draw(SMALL), center_y_m=draw(SMALL), rotation_deg=draw(SMALL), slope_x_deg=draw(SMALL),
        slope_y_deg=draw(SMALL), overscan_percent=draw(st.floats(0, 100)),
        direction=draw(st.sampled_from(["up", "down"])),
    )  # fmt: skip
    names = draw(st.lists(WORDS.filter(lambda word: word != "Topography"), min_size=1, max_size=3, unique=True))
    keys = draw(
        st.lists(st.tuples(st.sampled_from(names), st.sampled_from(Direction)), min_size=1, max_size=4, unique=True)
    )
    samples = npst.arrays(np.float64, (lines, points), elements=SMALL)
    channels = {(name, way): Channel(name, way, draw(UNITS), draw(samples)) for name, way in keys}
    return Frame(
        channels=channels, scan=scan, gains=Gains(p=draw(st.integers(0, 2**31 - 1)), i=draw(st.integers(0, 9000))),
        setpoint=draw(SMALL), mode=draw(st.sampled_from(["Lateral Force", "Dynamic Force", ""])), lever=draw(WORDS),
        lines_done=draw(st.integers(1, lines)), engaged=draw(st.sampled_from([True, False, None])),
        taken_at=draw(st.none() | st.datetimes().map(lambda one: one.replace(microsecond=0))),
        source=draw(WORDS), notes=draw(st.dictionaries(WORDS, WORDS, max_size=3)),
    )  # fmt: skip


@settings(max_examples=120, deadline=None)
@given(frames())
def test_a_frame_that_is_written_and_read_is_the_same_frame(frame):
    nid = read_nid(write_nid(frame))
    again = nid.frame()
    for field in ("scan", "gains", "setpoint", "mode", "lever", "lines_done", "engaged", "taken_at", "source", "notes"):
        assert getattr(again, field) == getattr(frame, field), field
    assert set(again.channels) == set(frame.channels)
    for key, channel in frame.channels.items():
        read = again.channels[key]
        assert read.unit == channel.unit
        widest = 16 * max(np.abs(channel.data).max(), 1 / 16)
        assert np.abs(read.data - channel.data).max() <= widest * 2.0**-33 * 1.01


@settings(max_examples=60, deadline=None)
@given(
    codes=npst.arrays(np.int32, (3, 4)),
    low=st.floats(-1e3, 1e3, allow_subnormal=False),
    extent=st.floats(1e-9, 1e4),
)
def test_every_code_comes_back_as_that_code(make_one, codes, low, extent):
    if abs(low) > 1e5 * extent:
        low %= extent  # the float's own steps would be coarser than the codes'
    data = (codes.astype(float) + 2**31) / 2**32 * extent + low
    high = low + extent
    nid = read_nid(write_nid(make_one(data), ranges={"Z-Axis": (low, high)}))
    np.testing.assert_array_equal(nid.channel("Z-Axis").codes, codes)


@pytest.fixture(scope="module")
def make_one():
    scan = ScanSettings(width_m=1e-6, height_m=1e-6, points=4, lines=3, time_per_line_s=0.1)

    def make(data):
        channel = Channel("Z-Axis", Direction.FORWARD, "m", data)
        return Frame(
            channels={("Z-Axis", Direction.FORWARD): channel}, scan=scan, gains=Gains(p=1, i=2), setpoint=0.1,
            mode="Static Force", lever="ContAl-G", lines_done=3,
        )  # fmt: skip

    return make


def as_nsfopen_has(name):
    """NSFopen takes the bytes for Latin-1, and a last byte that is a space there for a space."""
    return name.encode().decode("latin-1").rstrip()


@settings(max_examples=15, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(frames())
def test_nsfopen_reads_what_we_write_as_we_do(tmp_path, frame):
    # NSFopen joins frame and name by ';' and takes what stands between the first two.
    assume(not any(";" in name for name, _ in frame.channels))
    reader = pytest.importorskip("NSFopen.read", reason="NSFopen is not installed (extra `test`)")
    path = tmp_path / "written.nid"
    path.write_bytes(
        write_nid(
            frame, lever=Lever(manufacturer="X", spring_constant_n_per_m=2.5, resonance_hz=7e4, deflection_m_per_v=8e-8)
        )
    )
    theirs = reader.read(str(path), dataframe=False)
    ours = read_nid(path)
    assert theirs.param["Tip"]["Sensitivity"]["Value"] == pytest.approx(8e-8)
    assert theirs.param["Tip"]["Prop0"]["Value"] == 2.5
    assert theirs.param["Scan"]["range"]["Value"][:2] == [frame.scan.width_m, frame.scan.height_m]
    assert theirs.param["Scan"]["rotation"]["Value"][2] == frame.scan.rotation_deg
    found = {(name, way.lower()) for way in theirs.data["Image"] for name in theirs.data["Image"][way]}
    assert found == {(as_nsfopen_has(name), way.value) for name, way in frame.channels}
    for channel in ours.channels:
        their = theirs.data["Image"][channel.direction.capitalize()][as_nsfopen_has(channel.name)]
        assert their.tobytes() == channel.data.tobytes()


@pytest.mark.parametrize(("way", "done", "line"), [("up", 1, 0), ("up", 4, 3), ("down", 1, 5), ("down", 6, 0)])
def test_the_current_line_counts_up_or_down_with_the_scan(make_frame, way, done, line):
    nid = read_nid(write_nid(make_frame(scan_direction=way, lines_done=done)))
    assert {channel.current_line for channel in nid.channels} == {line}
    assert (nid.lines_done, nid.complete) == (done, done == 6)


@pytest.mark.parametrize(("way", "missing"), [("up", slice(2, None)), ("down", slice(0, 4))])
def test_lines_that_were_not_scanned_may_be_missing_and_become_the_middle_code(make_frame, way, missing):
    frame = make_frame(scan_direction=way, lines_done=2)
    for channel in frame.channels.values():
        channel.data[missing] = np.nan
    nid = read_nid(write_nid(frame))
    for channel in nid.channels:
        assert (channel.codes[missing] == 0).all()
        assert (channel.codes != 0).any()


def test_the_setpoint_of_dynamic_modes_is_in_percent(make_frame):
    assert read_nid(write_nid(make_frame(mode="Phase Contrast", setpoint=65.0))).settings.setpoint_unit == "%"
    assert read_nid(write_nid(make_frame())).settings.setpoint_unit == "V"


def test_a_frame_written_twice_gives_the_same_bytes(make_frame):
    assert write_nid(make_frame()) == write_nid(make_frame())


def test_what_cannot_be_written_is_refused_with_its_place(make_frame):
    frame = make_frame()
    cases = [
        (replace(frame, channels={}), "frame: the frame has no channel"),
        (replace(frame, lines_done=0), "frame: 0 of 6 lines were scanned"),
        (replace(frame, lines_done=7), "frame: 7 of 6 lines"),
        (replace(frame, taken_at=datetime(2025, 1, 1, tzinfo=UTC)), "taken_at has a zone"),
        (replace(frame, mode="a\nSetPoint=1"), r"header: .*Op\. mode.*cannot stand in the header"),
        (replace(frame, lever="a\r\n\r\n\r\n#!"), "cannot stand in the header"),
        (replace(frame, lever=" x"), "outer spaces"),
        (replace(frame, notes={"a=b": "c"}), "'=' in a key"),
        (replace(frame, notes={"a": "\x00"}), "control signs"),
        (replace(frame, notes={"a": "\udc80"}), "cannot stand in the header"),
        (replace(frame, notes={str(n): "" for n in range(100_000)}), "too many notes"),
        (replace(frame, notes={"long": "x" * 2**22}), "the header has"),
        (replace(frame, setpoint=float("nan")), "nan cannot stand in the header"),
        (replace(frame, gains=Gains(p=2**31, i=1)), "gain 2147483648"),
    ]
    for broken, rule in cases:
        with pytest.raises(NidError, match=rule):
            write_nid(broken)


def test_a_channel_that_cannot_be_written_is_named(make_frame):
    def with_data(data, name="Z-Axis", unit="m"):
        return make_frame(channels={(name, Direction.BACKWARD): Channel(name, Direction.BACKWARD, unit, data)})

    good = np.zeros((6, 8))
    hole = good.copy()
    hole[3, 5] = np.nan
    spike = good.copy()
    spike[2, 1] = np.inf
    for frame, rule in [
        (with_data(np.zeros((5, 8))), r"shape \(5, 8\) is not 6 lines of 8 points"),
        (with_data(hole), "line 3, sample 5 is missing"),
        (with_data(spike), r"(?s)range.*not finite"),
        (with_data(good, unit="nm"), "SI unit without a prefix"),
        (with_data(good, name="a\tb"), "cannot stand in the header"),
    ]:
        with pytest.raises(NidError, match=rule) as caught:
            write_nid(frame)
        assert caught.value.channel in ("Scan backward Z-Axis", "header")
        assert caught.value.byte is None
    spike[2, 1] = 1.0
    beyond = r"Scan backward Z-Axis: line 2, sample 1 is 1\.0, beyond the range -1e-06 to 1e-06"
    with pytest.raises(NidError, match=beyond):
        write_nid(with_data(spike), ranges={"Z-Axis": (-1e-6, 1e-6)})
    for empty in ((1.0, 1.0), (1.0, 0.0), (float("-inf"), 0.0), (-1.7e308, 1.7e308)):
        with pytest.raises(NidError, match="is empty or not finite"):
            write_nid(with_data(good), ranges={"Z-Axis": empty})
