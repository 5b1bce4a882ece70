from __future__ import annotations

import os
import re
from dataclasses import replace

import numpy as np
import pytest

from tasks_lib.instruments.frame import DEFLECTION, Z_AXIS, Z_SENSOR, Channel, Direction
from tasks_lib.instruments.nid import NidError, read_nid, sanity_report, write_nid
from tasks_lib.instruments.nid._header import MAX_HEADER_BYTES, MAX_HEADER_LINES
from tasks_lib.instruments.nid._reader import MAX_FILE_BYTES

CHANNEL = "[DataSet-0:0]\r\nVersion=2\r\nPoints=8\r\nLines=6\r\nFrame=Scan forward"
LAST = "Scan backward Friction force"


@pytest.fixture
def content(make_frame):
    return write_nid(make_frame())


def test_channels_are_found_by_name_and_direction(content):
    nid = read_nid(content)
    z = nid.channel(Z_AXIS, "backward")
    assert (z.name, z.direction, z.unit, z.data.shape, z.data.dtype) == (Z_AXIS, Direction.BACKWARD, "m", (6, 8), float)
    assert z.data is z.data  # decoded once
    with pytest.raises(KeyError, match="has no channel Scan forward Phase; it has: Scan forward Z-Axis, "):
        nid.channel("Phase")
    with pytest.raises(KeyError, match="2nd scan forward"):
        nid.channel(Z_AXIS, recorded="2nd scan")
    with pytest.raises(ValueError, match="sideways"):
        nid.channel(Z_AXIS, "sideways")


def test_the_header_gives_typed_values_and_the_text_itself(content):
    header = read_nid(content).header
    feedback = header["DataSet\\Parameters\\ZFeedback"]
    assert (feedback["PGain"].value, feedback["SetPoint"].value, feedback["SetPoint"].unit) == (209, 0.1, "V")
    assert feedback.text("SetPoint") == "D[0.1]*[V]"
    assert feedback.text("Nothing", "x") == "x"
    assert header.value("DataSet-Info", "Rotation").unit == "°"
    assert header.value("DataSet-Info", "nothing") is None
    assert header.value("nothing", "nothing") is None
    assert len(header) == len(list(header)) > 10
    place = header.byte_of("DataSet\\Parameters\\ZFeedback", "IGain")
    assert content[place:].startswith(b"IGain=L[6623]")
    assert content[header.byte_of("DataSet-1:2") :].startswith(b"[DataSet-1:2]")


def test_a_sample_is_found_in_the_file_by_its_byte(content):
    z = read_nid(content).channel(Z_AXIS, "backward")
    place = z.byte_of(4, 3)
    assert int.from_bytes(content[place : place + 4], "little", signed=True) == z.codes[4, 3]


@pytest.mark.parametrize("cut", [1, 4, 5, 8 * 4, 6 * 8 * 4 - 1])
def test_a_short_file_is_refused_with_channel_line_and_byte(content, cut):
    short = content[:-cut]
    with pytest.raises(NidError, match=re.escape(f"{LAST}, byte {len(short)}: 6 lines of 8 samples")) as caught:
        read_nid(short)
    assert (caught.value.channel, caught.value.byte) == (LAST, len(short))
    line, sample = divmod(6 * 8 - -(-cut // 4), 8)
    assert f"the file ends before line {line}, sample {sample} is whole" in str(caught.value)


def test_a_file_that_ends_within_an_earlier_channel_names_that_one(content):
    second = read_nid(content).channel(DEFLECTION)
    with pytest.raises(NidError, match="Scan forward Deflection, byte ") as caught:
        read_nid(content[: second.first_byte + 10])
    assert caught.value.byte == second.first_byte + 10
    with pytest.raises(NidError, match=r"Scan forward Z-Axis.*the file ends before line 0, sample 0 is whole"):
        read_nid(content[: content.index(b"#!") + 2])


def test_bytes_beyond_the_last_channel_are_refused(content):
    with pytest.raises(NidError, match=f"{LAST}, byte {len(content)}: 3 bytes follow"):
        read_nid(content + b"abc")


@pytest.mark.parametrize(
    ("old", "new", "rule"),
    [
        ("Lines=6", "Lines=1000000000", "file ends before line 36"),
        ("Points=8", "Points=1000000000", "file ends before line 0, sample 288"),
        ("Points=8", "Points=4294967297", "file ends before line 0"),  # 2^32 + 1: overflows 32 bits to 1
        ("Points=8", "Points=9223372036854775808", "Points: '9223372036854775808' is not an integer"),  # 2^63
        ("Points=8", "Points=999999999999999999", "file ends before line 0"),
        ("Points=8", "Points=-8", "Points: is -8; a channel has at least one"),
        ("Points=8", "Points=0", "Points: is 0"),
        ("Points=8", "Points=8.0", "Points: '8.0' is not an integer"),
        ("Points=8", "Points=", "Points: '' is not an integer"),
        ("Points=8", "Pionts=8", "Points: is missing"),
        ("Lines=6", "Lines=-6", "Lines: is -6"),
        ("Lines=6", "Lines=1_0", "Lines: '1_0' is not an integer"),
        ("SaveBits=32", "SaveBits=31", "SaveBits: is 31; only 16 and 32"),
        ("SaveBits=32", "SaveBits=64", "SaveBits: is 64"),
        ("SaveBits=32", "SaveBits=-32", "SaveBits: is -32"),
        ("SaveBits=32", "SaveBits=16", "follow the last channel's block"),
        ("SaveSign=Signed", "SaveSign=Unsigned", "SaveSign: is 'Unsigned'; only Signed"),
        ("SaveOrder=Intel", "SaveOrder=Motorola", "SaveOrder: is 'Motorola'"),
        ("SaveMode=Binary", "SaveMode=Text", "SaveMode: is 'Text'"),
        ("Dim2Range=", "Dim2Range=nan;", "Dim2Range: 'nan;.*is not a finite number"),
        ("Dim2Min=-", "Dim2Min=inf-", "Dim2Min: 'inf-.*is not a finite number"),
        ("Dim2Min=-", "Dim2Min=-9e999", "Dim2Min: .*is"),
        ("Dim2Range=", "Dim2Range=1e308", "Dim2Range"),
        ("CurLine=5", "CurLine=6", "CurLine: is 6; the channel has lines 0 to 5"),
        ("CurLine=5", "CurLine=-1", "CurLine: is -1"),
        ("Frame=Scan forward", "Frame=", "Frame: is missing"),
        ("Dim2Name=Z-Axis", "Dim2Name=", "Dim2Name: is missing"),
    ],
)  # fmt: skip
def test_a_channel_that_the_header_describes_wrongly_is_refused_with_its_place(content, swap, old, new, rule):
    start = content.index(b"[DataSet-0:0]")
    broken = content[:start] + swap(content[start:], old, new)
    with pytest.raises(NidError, match=rule) as caught:
        read_nid(broken, name="broken.nid")
    assert str(caught.value).startswith("broken.nid: ")
    assert "DataSet-0:0" in str(caught.value) or caught.value.channel.startswith("Scan ")
    assert caught.value.channel != "header"
    assert 0 <= caught.value.byte <= len(broken)


@pytest.mark.parametrize(
    ("old", "new", "rule"),
    [
        ("[DataSet]", "[Dataset]", r"section \[DataSet\], which lists the channels, is missing"),
        ("GroupCount=2", "GroupCount=1", "Gr1-Ch0: is beyond GroupCount"),
        ("GroupCount=2", "GroupCount=-1", "Gr0-Ch0: is beyond"),
        ("GroupCount=2", "GroupCount=two", "GroupCount: 'two' is not an integer"),
        ("Gr0-Count=3", "Gr0-Count=2", "Gr0-Ch2: is beyond"),
        ("Gr0-Count=3", "Gr0-Cuont=3", "Gr0-Count: is missing"),
        ("Gr0-Ch0=DataSet-0:0", "Gr0-Ch0=DataSet-9:9", r"Gr0-Ch0: section \[DataSet-9:9\] is missing"),
        ("[DataSet-1:0]", "[DataSet-0:0]", r"section \[DataSet-0:0\] occurs twice"),
        ("P-Gain=209", "Points=209", "key Points occurs twice in its section|is not"),
        ("[DataSet]\r\n", "", "a key stands before the first section"),
        ("[DataSet-Info]", "[DataSet-Info", "name is not closed"),
        ("Version=2", "Version 2", "neither"),
        ("Version=2", "=2", "neither"),
        ("Lateral Force", "\udcb5", "not UTF-8 here"),
        ("\r\n#!", "\r\n!!", "no line begins with '#!'"),
    ],
)
def test_a_broken_header_is_refused_with_its_place(content, old, new, rule):
    broken = content.replace(old.encode(), new.encode("utf-8", "surrogateescape"), 1)
    assert broken != content
    with pytest.raises(NidError, match=rule) as caught:
        sanity_report(read_nid(broken))
    assert caught.value.channel == "header"
    assert 0 <= caught.value.byte <= len(broken)


def test_the_place_of_a_duplicate_is_its_second_line_also_behind_signs_of_two_bytes(content):
    line = b"X-Slope=0.625 \xc2\xb0\r\n"
    broken = content.replace(line, line + line, 1)
    with pytest.raises(NidError, match="key X-Slope occurs twice") as caught:
        _ = read_nid(broken).settings
    assert caught.value.byte == broken.index(line) + len(line)


CURVES = b"".join(b"LineDim%d%s=1\r\n" % (line, key) for line in range(3) for key in (b"Range", b"Min", b"Points"))


def test_lines_of_curves_are_read_with_their_section(content):
    nid = read_nid(content.replace(b"SaveMode=", CURVES + b"SaveMode=", 1))
    section = nid.channels[0].described
    assert nid.channels[0].line_points == (1, 1, 1)
    assert [key for key in section if key.startswith("LineDim")] == [
        line.split("=")[0] for line in CURVES.decode().split()
    ]
    assert section["LineDim2Points"].value == 1
    assert "LineDim3Points" not in section
    with pytest.raises(NidError, match="LineDim3Points: is missing"):
        section.integer("LineDim3Points")


@pytest.mark.parametrize(
    ("line", "rule"),
    [
        (b"LineDim1Min=2", "key LineDim1Min occurs twice"),
        (b"Points=2", "key Points occurs twice"),
        (b"LineDim1", "neither"),
        (b"=1", "neither"),
    ],
)
@pytest.mark.parametrize(
    "ask", [sanity_report, lambda nid: nid.channels[0].line_points, lambda nid: len(nid.channels[0].described)]
)
def test_a_broken_line_among_curves_is_refused_when_they_are_asked_for(content, line, rule, ask):
    curves = CURVES.replace(b"LineDim2Min", line + b"\r\nLineDim2Min")
    broken = content.replace(b"SaveMode=", curves + b"SaveMode=", 1)
    with pytest.raises(NidError, match=rule) as caught:
        ask(read_nid(broken))
    assert broken[caught.value.byte :].startswith(line)


@pytest.mark.parametrize("source", [b"", b"#!", b"\n#!", b"[DataSet]\n#!", b"\x00" * 100, b"PK\x03\x04" * 50])
def test_what_is_no_nid_file_is_refused(source):
    with pytest.raises(NidError):
        read_nid(source)


def test_a_header_without_end_or_with_too_many_lines_is_refused_before_it_is_read():
    with pytest.raises(NidError, match="no line begins with '#!'") as caught:
        read_nid(b"[a]\n" + b"x" * (MAX_HEADER_BYTES + 10) + b"\n#!")
    assert caught.value.byte == MAX_HEADER_BYTES
    with pytest.raises(NidError, match=f"more than {MAX_HEADER_LINES} lines"):
        read_nid(b"\n" * (MAX_HEADER_LINES + 2) + b"#!")


def test_line_ends_of_other_systems_are_taken(content):
    start = content.index(b"#!")
    header, data = content[:start].replace(b"\r\n", b"\n"), content[start:]
    assert read_nid(header + data).frame().scan == read_nid(content).frame().scan


def test_a_marker_within_a_line_does_not_end_the_header(make_frame):
    frame = make_frame(notes={"odd": "a #! b"})
    assert read_nid(write_nid(frame)).frame().notes["odd"] == "a #! b"


def test_channels_of_the_same_name_are_numbered(content, swap):
    nid = read_nid(swap(content, "Dim2Name=Deflection", "Dim2Name=Z-Axis"))
    assert [channel.name for channel in nid.channels][:3] == ["Z-Axis", "Z-Axis2", "Friction force"]
    assert nid.channel("Z-Axis2").first_byte == nid.channel("Z-Axis").byte_of(6)
    assert nid.channel("Z-Axis2").unit == "V"


def test_channels_of_16_and_32_bits_may_stand_in_one_file(make_frame):
    frame = make_frame()
    wide = read_nid(write_nid(frame))
    narrow = wide.channels[0].codes >> 16
    content = write_nid(frame)
    first = wide.channels[0]
    mixed = (
        content[: first.first_byte] + narrow.astype("<i2").tobytes() + content[first.first_byte + first.codes.nbytes :]
    )
    mixed = mixed.replace(b"SaveBits=32", b"SaveBits=16", 1)
    nid = read_nid(mixed)
    assert nid.channels[0].data == pytest.approx(first.data, abs=first.extent / 2**15)
    np.testing.assert_array_equal(nid.channels[1].data, wide.channels[1].data)


def test_units_with_a_prefix_come_out_in_si(content, swap):
    plain = read_nid(content).channel(Z_AXIS)
    nid = read_nid(swap(content, "Dim2Unit=m", "Dim2Unit=nm"))
    channel = nid.channel(Z_AXIS)
    assert channel.unit == "m"
    np.testing.assert_allclose(channel.data, plain.data * 1e-9, rtol=1e-9, atol=1e-25)


def test_names_of_older_programs_become_todays_in_a_frame(make_frame):
    old = {("Topography", Direction.FORWARD), ("Z-Axis Sensor", Direction.FORWARD)}
    channels = {key: Channel(*key, "m", np.ones((6, 8))) for key in old}
    nid = read_nid(write_nid(make_frame(channels=channels)))
    assert {name for name, _ in nid.frame().channels} == {Z_AXIS, Z_SENSOR}
    assert {channel.name for channel in nid.channels} == {"Topography", "Z-Axis Sensor"}
    both = {**channels, (Z_AXIS, Direction.FORWARD): Channel(Z_AXIS, Direction.FORWARD, "m", np.ones((6, 8)))}
    kept = read_nid(write_nid(make_frame(channels=both))).frame()
    assert {name for name, _ in kept.channels} == {"Topography", Z_AXIS, Z_SENSOR}


@pytest.mark.parametrize(
    ("old", "new", "rule"),
    [
        ("Scan direction=Up", "Scan direction=Sideways", "does not give scan direction and current line"),
        ("CurLine=5", "CurLine_=5", "does not give scan direction and current line"),
        ("Dim0Range=1e-06", "Dim0Range=NaN", "Dim0Range: 'NaN' is not a finite number"),
        ("Dim0Range=1e-06", "Dim0Range=-1e-06", "are not those of|width_m"),
        ("Dim1Unit=m", "Dim1Unit=s", "size in metres|are not those of"),
        ("ScanTime=V[0.3,0.3,0.0]*[s,s,s]", "ScanTime=V[0.0,0.3,0.0]*[s,s,s]", "time_per_line_s: .*greater than 0"),
        ("ScanTime=V[0.3,0.3,0.0]*[s,s,s]", "ScanTime=V[0.3,0.3,0.0]*[m,s,s]", "ScanTime: has no value number 1 in s"),
        ("ScanTime=V[0.3", "ScanTime=V[nan", "ScanTime: 'nan' is not a finite number"),
        ("ScanRotation=V", "ScanRotation=D", "ScanRotation: "),
        ("ScanOffset=V[-2e-06,3e-06,0.0]*[m,m,m]", "ScanOffset=D[1]*[m]", "ScanOffset: has no value number 2"),
        ("SetPoint=D[0.1]*[V]", "SetPoint=S[x]*[]", "SetPoint: is not a number"),
        ("SetPoint=D[0.1]*[V]", "SetPoint=D[0.1]*[N]", "setpoint in volts or percent"),
        ("SetPoint=D[0.1]*[V]", "SetPoint=D[0.1]*[furlong]", "setpoint in volts or percent"),
        ("PGain=L[209]*[]", "PGain=L[-1]*[]", "PGain: a gain is an integer, zero or more"),
        ("PGain=L[209]*[]", "PGain=D[1.5]*[]", "PGain: a gain is an integer"),
        ("PGain=L[209]*[]", "PGain=L[x]*[]", "PGain: 'x' is not an integer"),
        ("OverScanSize=D[5.0]", "OverScanSize=D[101]", "overscan_percent"),
        ("Prop0=D[3.0]*[N/m]", "Prop0=D[3.0]*[N]", "Prop0: is not a number in N/m"),
        ("Deflection,m,", "Deflection,m,x", "In5: 'x.*is not a finite number"),
    ],
)
def test_a_setting_that_a_frame_needs_and_the_file_has_wrong_is_named(make_frame, swap, old, new, rule):
    from tasks_lib.instruments.nid import Lever

    lever = Lever(spring_constant_n_per_m=3.0, deflection_m_per_v=0.0 if "[N]" in new and "Set" in new else 8e-8)
    content = write_nid(make_frame(), lever=lever)
    broken = swap(content, old, new)
    if old.startswith("Scan direction"):
        assert read_nid(broken).settings.direction is None
    nid = read_nid(broken, name="odd.nid")
    with pytest.raises(NidError, match=rf"(?s)odd\.nid: .*({rule})"):
        nid.frame()


@pytest.mark.parametrize(
    ("date", "time"), [("2025-06-13", "20:16:08"), ("31-02-2025", "20:16:08"), ("06/13/2025", "8 PM"), ("", "")]
)
def test_a_date_in_another_form_is_left_as_text(content, swap, date, time):
    changed = swap(swap(content, "Date=13-06-2025", f"Date={date}"), "Time=20:16:08", f"Time={time}")
    nid = read_nid(changed)
    assert nid.settings.taken_at_local is None
    assert nid.frame().taken_at is None
    assert nid.header["DataSet-Info"].text("Date") == date


def test_the_date_is_day_first_and_has_no_zone(content):
    taken = read_nid(content).settings.taken_at_local
    assert (taken.day, taken.month, taken.tzinfo) == (13, 6, None)


def test_channels_of_different_size_make_no_frame(content, swap):
    start = content.index(b"[DataSet-1:1]")
    reshaped = swap(swap(content[start:], "Points=8", "Points=6"), "Lines=6", "Lines=8")
    nid = read_nid(content[:start] + reshaped)
    with pytest.raises(NidError, match=r"Scan backward Deflection, byte \d+: shape \(8, 6\)"):
        nid.frame()


def test_a_path_a_text_and_bytes_are_read_alike(tmp_path, content):
    path = tmp_path / "a.nid"
    path.write_bytes(content)
    for source in (path, str(path), content):
        assert read_nid(source).frame().scan.points == 8
    assert read_nid(path).source == "a.nid"
    assert read_nid(path, name="other").source == "other"


def test_missing_files_directories_devices_and_sparse_giants_are_refused_without_reading(tmp_path):
    with pytest.raises(FileNotFoundError):
        read_nid(tmp_path / "none.nid")
    with pytest.raises(OSError, match="directory"):
        read_nid(tmp_path)
    with pytest.raises(NidError, match="zero: file: is no regular file"):
        read_nid("/dev/zero")
    giant = tmp_path / "giant.nid"
    with giant.open("wb") as file:
        os.ftruncate(file.fileno(), MAX_FILE_BYTES + 1)
    with pytest.raises(NidError, match=f"at most {MAX_FILE_BYTES} are read"):
        read_nid(giant)


def test_a_frame_of_one_direction_is_written_and_read(make_frame):
    frame = make_frame()
    only = {key: channel for key, channel in frame.channels.items() if key[1] is Direction.BACKWARD}
    nid = read_nid(write_nid(replace(frame, channels=only)))
    assert {channel.direction for channel in nid.channels} == {Direction.BACKWARD}
    assert set(nid.frame().channels) == set(only)
