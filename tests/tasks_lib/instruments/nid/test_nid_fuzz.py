"""Whatever the bytes are: NidError or a file, and no more memory than the bytes warrant."""

from __future__ import annotations

import tracemalloc
from collections.abc import Callable
from datetime import datetime

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tasks_lib.instruments.frame import Channel, Direction, Frame, Gains, ScanSettings
from tasks_lib.instruments.nid import Lever, NidError, read_nid, sanity_report, write_nid
from tasks_lib.instruments.nid._header import MAX_HEADER_LINES

NASTY = [
    "", "0", "-1", "1", "2", "8", "16", "31", "32", "64", "1000000000", "4294967297", "999999999999999999", "9" * 5000,
    "nan", "inf", "-inf", "1e308", "-1e308", "1e-320", "1e400", "1e99999", "1,2", "L[1]*[]", "L[-5]*[]", "L[x]*[]",
    "D[nan]*[V]", "D[1e308]*[N]", "D[1e-308]*[V]", "D[0]*[V]", "V[1]*[m]", "V[1,2]*[m]", "V[1e308,1e308,1e308]*[m,m,m]",
    "V[,,]*[,,]", "S[]*[]", "B[7]*[]", "Scan forward", "Scan backward", "Spec forward", "Up", "Down", "m", "nm", "°",
    "%", "0,Channel0,Deflection,V,1e-308,0", "5,TipSignalDC,Deflection,m,1e308,0", "DataSet-0:0", "DataSet-1:1", "#!",
    "[x]", "13-06-0000", "99-99-9999", "٣", "\x00", "=", "=====", "]*[",
]  # fmt: skip


def build() -> bytes:
    scan = ScanSettings(width_m=1e-6, height_m=1e-6, points=8, lines=6, time_per_line_s=0.3)
    data = np.random.default_rng(3).normal(0, 1e-8, (6, 8))
    keys = [(name, way) for way in Direction for name in ("Z-Axis", "Deflection")]
    frame = Frame(
        channels={key: Channel(*key, "m", data) for key in keys}, scan=scan, gains=Gains(p=100, i=2000, d=10),
        setpoint=0.1, mode="Lateral Force", lever="ContAl-G", lines_done=6, engaged=True, notes={"seed": "5"},
        taken_at=datetime(2025, 6, 13, 20, 16, 8),  # noqa: DTZ001 - files have no zone
    )  # fmt: skip
    lever = Lever(manufacturer="X", spring_constant_n_per_m=0.2, resonance_hz=13e3, deflection_m_per_v=8e-8)
    return write_nid(frame, lever=lever)


WHOLE = build()
START = WHOLE.index(b"#!")
LINES = WHOLE[:START].decode().split("\r\n")
VALUED = [index for index, line in enumerate(LINES) if "=" in line]


def refusal(call: Callable[[], object]) -> NidError | None:
    """Return what a call raised; anything but NidError escapes and fails the test."""
    try:
        call()
    except NidError as error:
        return error
    return None


def use_all_of(content: bytes) -> bool:
    """Read a file and everything that hangs on it; return whether it was taken."""
    error = refusal(lambda: read_nid(content))
    if error is not None:
        assert error.byte is not None
        assert 0 <= error.byte <= len(content)
        return False
    nid = read_nid(content)
    for channel in nid.channels:
        assert channel.data.shape == channel.codes.shape
        assert np.isfinite(channel.data).all()
    assert sum(channel.codes.nbytes for channel in nid.channels) <= len(content)
    parts = (
        nid.frame,
        lambda: sanity_report(nid),
        lambda: [dict(nid.header[one]) for one in nid.header],
        lambda: [(one.x, one.y, one.line_points) for one in nid.channels],
    )
    for part in parts:
        error = refusal(part)
        assert error is None or error.byte is None or 0 <= error.byte <= len(content)
    return True


def test_the_unchanged_file_is_taken():
    assert use_all_of(WHOLE)


@settings(max_examples=250, deadline=None)
@given(st.lists(st.tuples(st.sampled_from(VALUED), st.sampled_from(NASTY)), min_size=1, max_size=3))
def test_values_of_the_header_replaced_by_nasty_ones(changes):
    lines = list(LINES)
    for index, value in changes:
        lines[index] = f"{lines[index].partition('=')[0]}={value}"
    use_all_of("\r\n".join(lines).encode() + WHOLE[START:])


@settings(max_examples=120, deadline=None)
@given(st.data())
def test_lines_of_the_header_dropped_doubled_and_moved(data):
    lines = list(LINES)
    for _ in range(data.draw(st.integers(1, 4))):
        line = lines[data.draw(st.integers(0, len(lines) - 1))]
        action = data.draw(st.sampled_from(["drop", "double", "move"]))
        if action != "double":
            lines.remove(line)
        if action != "drop":
            lines.insert(data.draw(st.integers(0, len(lines))), line)
    use_all_of("\r\n".join(lines).encode() + WHOLE[START:])


@settings(max_examples=120, deadline=None)
@given(st.lists(st.tuples(st.integers(0, len(WHOLE) - 1), st.integers(0, 255)), min_size=1, max_size=8))
def test_bytes_flipped_anywhere(changes):
    content = bytearray(WHOLE)
    for place, value in changes:
        content[place] = value
    use_all_of(bytes(content))


@settings(max_examples=120, deadline=None)
@given(st.integers(0, len(WHOLE)), st.integers(0, len(WHOLE)), st.binary(max_size=40))
def test_parts_cut_out_and_others_put_in(first, second, between):
    use_all_of(WHOLE[: min(first, second)] + between + WHOLE[max(first, second) :])


@settings(max_examples=120, deadline=None)
@given(st.binary(max_size=400), st.booleans())
def test_bytes_of_nothing_in_particular(noise, marked):
    use_all_of(b"[DataSet]\r\n" + noise + b"\n#!" + noise if marked else noise)


HEADER = "\r\n".join(LINES)


def claims(*changes: tuple[str, str]) -> bytes:
    header = HEADER
    for old, new in changes:
        assert old in header
        header = header.replace(old, new)
    return header.encode() + WHOLE[START:]


HOSTILE: dict[str, Callable[[], bytes]] = {
    "points 1e9": lambda: claims(("Points=8", "Points=1000000000")),
    "points and lines 1e9": lambda: claims(("Points=8", "Points=1000000000"), ("Lines=6", "Lines=1000000000")),
    "points and lines 9e17": lambda: claims(("Points=8", f"Points=9{'0' * 17}"), ("Lines=6", f"Lines=9{'0' * 17}")),
    "groups 1e9": lambda: claims(("GroupCount=2", "GroupCount=1000000000")),
    "channels 1e9": lambda: claims(("Gr0-Count=2", "Gr0-Count=1000000000")),
    "channels listed 40,000 times": lambda: claims(
        ("Gr0-Count=2", "Gr0-Count=1000000"),
        ("SetInfos=", "".join(f"Gr0-Ch{number}=DataSet-0:0\r\n" for number in range(4, 40_000)) + "SetInfos="),
    ),
    "half a million digits": lambda: claims(("Points=8", f"Points={'9' * 500_000}")),
    "a value of a megabyte": lambda: claims(("ContAl-G", "x" * 1_000_000)),
    "a vector of a million": lambda: claims(("ScanTime=V[", f"ScanTime=V[{'1,' * 1_000_000}")),
    "a header without end": lambda: HEADER.encode() + b"y=1\r\n" * 2_000_000,
    "ten million lines": lambda: b"\n" * 10_000_000 + b"#!",
    "many sections": lambda: b"".join(b"[%d]\n" % number for number in range(MAX_HEADER_LINES - 10)) + b"#!",
    "many keys": lambda: b"[a]\n" + b"".join(b"%d=\n" % number for number in range(MAX_HEADER_LINES - 10)) + b"#!",
    "a mebibyte of brackets": lambda: b"[" * 2**20 + b"]\n#!",
}


@pytest.mark.parametrize("name", HOSTILE)
def test_no_header_makes_the_reader_allocate_more_than_its_bytes_warrant(name):
    content = HOSTILE[name]()
    tracemalloc.start()
    try:
        use_all_of(content)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    # A line of the header costs some hundred bytes as a key and a value.
    assert peak < 2**20 + 24 * len(content) + 400 * min(content.count(b"\n"), MAX_HEADER_LINES)
    assert peak < 80 * 2**20


def test_reading_takes_a_few_times_the_size_of_the_data():
    scan = ScanSettings(width_m=1e-6, height_m=1e-6, points=512, lines=512, time_per_line_s=0.3)
    data = np.random.default_rng(3).normal(0, 1e-8, (512, 512))
    channel = Channel("Z-Axis", Direction.FORWARD, "m", data)
    frame = Frame(
        channels={("Z-Axis", Direction.FORWARD): channel}, scan=scan, gains=Gains(p=1, i=1), setpoint=0.1,
        mode="Lateral Force", lever="ContAl-G", lines_done=512,
    )  # fmt: skip
    content = write_nid(frame)
    tracemalloc.start()
    nid = read_nid(content)
    described = tracemalloc.get_traced_memory()[1]
    nid.channels[0].data  # noqa: B018 - decodes
    decoded = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert described < 200_000  # the header alone: samples are laid over the file's bytes
    assert decoded < 200_000 + 2.2 * len(content)
