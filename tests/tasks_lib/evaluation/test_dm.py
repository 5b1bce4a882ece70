"""Files of DigitalMicrograph: written by nionswift-io, which programs read, and by hand, whole and damaged."""

from __future__ import annotations

import contextlib
import io
import struct
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tasks_lib.evaluation import METRICS, CallError, Seen, Unreadable
from tasks_lib.evaluation.readers import dm
from tasks_lib.evaluation.readers._dm_tags import parse

with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    from nion.data import Calibration, DataAndMetadata
    from nionswift_plugin.DM_IO import dm3_image_utils, parse_dm3

See = Callable[..., Seen]


def saved(values: np.ndarray[Any, Any], version: int = 3, unit: str = "nm", **metadata: Any) -> bytes:
    out = io.BytesIO()
    lengths = [Calibration.Calibration(-1.5, 0.02, unit), Calibration.Calibration(0.5, 0.04, unit)][-values.ndim :]
    data = DataAndMetadata.new_data_and_metadata(
        values,
        dimensional_calibrations=lengths,
        intensity_calibration=Calibration.Calibration(10.0, 2.0, "e"),
        metadata=metadata,
    )
    dm3_image_utils.save_image(data, out, version)
    return out.getvalue()


def tree(version: int = 3, **tags: Any) -> bytes:
    out = io.BytesIO()
    parse_dm3.dm_write_header(out, version, tags)
    return out.getvalue()


def picture(values: np.ndarray[Any, Any], **more: Any) -> dict[str, Any]:
    return {"ImageData": dm3_image_utils.ndarray_to_imagedatadict(values), **more}


PLAIN = np.arange(48, dtype=np.float32).reshape(6, 8)


@pytest.mark.parametrize("version", [3, 4])
def test_calibration_and_statistics(see: See, version: int) -> None:
    data = saved(PLAIN, version)
    (row,) = see("dm", "a.dm3", data).value
    assert (row["width"], row["height"], row["frames"], row["type"]) == (8, 6, 1, "float32")
    seen = see("dm", "a.dm3", data, what="pixel-width")
    assert METRICS["number"].function(seen, 0.4, tolerance=1e-9, unit="Å").passed
    assert see("dm", "a.dm3", data, what="pixel-height") == Seen(0.02, unit="nm")
    assert see("dm", "a.dm3", data, what="x-offset").value == pytest.approx(0.5)
    assert see("dm", "a.dm3", data, what="y-offset").value == pytest.approx(-1.5)
    mean = see("dm", "a.dm3", data, what="mean")
    assert (mean.value, mean.unit) == (pytest.approx(2 * PLAIN.mean() + 10), "e")
    assert see("dm", "a.dm3", data, what="max", region=[0, 0, 3, 2]).value == 2 * 10 + 10
    assert see("dm", "a.dm3", data, what="slope-y").value == pytest.approx(2 * 8)


@pytest.mark.parametrize("version", [3, 4])
@pytest.mark.parametrize("kind", ["i1", "i2", "u2", "i4", "u4", "f4", "f8", "c8", "c16"])
def test_pixels_of_every_type_agree_with_another_reader(version: int, kind: str) -> None:
    values = (np.arange(20).reshape(4, 5) * 3).astype(kind)
    if kind.startswith("c"):
        values = values + 1j * values
    data = saved(values, version)
    theirs = dm3_image_utils.load_image(io.BytesIO(data)).data
    wanted = np.abs(theirs).astype(float) * 2 + 10
    found = dm.measure(data, 0)
    assert found["mean"] == pytest.approx(wanted.mean(), rel=1e-6)
    assert found["rms"] == pytest.approx(wanted.std(), rel=1e-5)
    assert found["slope-x"] == pytest.approx(wanted[0, 1] - wanted[0, 0], rel=1e-5)


def test_colours_stacks_and_curves(see: See) -> None:
    colours = np.zeros((4, 5, 3), np.uint8)
    colours[..., 1] = 30
    data = tree(ImageList=[picture(colours)])
    assert see("dm", "a", data, what="type").value == "rgb"
    assert see("dm", "a", data, what="mean").value == 10
    stack = np.stack([np.full((4, 5), at, np.int16) for at in (1, 7)])
    data = tree(ImageList=[picture(stack)])
    assert see("dm", "a", data, what="frames").value == 2
    assert see("dm", "a", data, what="mean", frame=1).value == 7
    with pytest.raises(Unreadable, match="no frame 2: image 0 has 2"):
        see("dm", "a", data, what="mean", frame=2)
    line = saved(np.array([1, 5, 3], np.float32))
    assert np.allclose(see("dm", "a", line, what="curve").value["rows"], [[0.5, 12], [0.54, 20], [0.58, 16]])
    with pytest.raises(Unreadable, match="no curve: it has 4 rows"):
        see("dm", "a", data, what="curve")


def test_thumbnails_display_and_annotations(see: See) -> None:
    drawn = [
        {"AnnotationType": 31, "Rectangle": (10.0, 20.0, 14.0, 60.0)},
        {"AnnotationType": 13, "Rectangle": (1.0, 2.0, 3.0, 4.0), "Text": "grain 1"},
        {"AnnotationType": 777},
    ]
    shown = {"ImageSource": 0, "AnnotationType": 20, "ImageDisplayInfo": {"LowLimit": 1.5, "HighLimit": 40.0}}
    data = tree(
        Thumbnails=[{"ImageIndex": 0}],
        ImageList=[picture(np.zeros((2, 2), np.int16)), picture(PLAIN, Name="HAADF")],
        ImageSourceList=[{"ImageRef": 1, "ClassName": "ImageSource:Simple"}],
        DocumentObjectList=[{**shown, "AnnotationGroupList": drawn}],
    )
    (row,) = see("dm", "a", data).value
    assert (row["name"], row["display-range"]) == ("HAADF", [1.5, 40.0])
    assert row["annotations"] == [
        {"type": "scale-bar", "text": "", "box": [20.0, 10.0, 40.0, 4.0]},
        {"type": "text", "text": "grain 1", "box": [2.0, 1.0, 2.0, 2.0]},
        {"type": "777", "text": "", "box": None},
    ]
    assert see("dm", "a", data, what="pixel-width").value is None
    assert see("dm", "a", data, what="max", image="HAADF").value == 47
    with pytest.raises(Unreadable, match="0 images are the 'BF' where one is due; the file has: 0: 'HAADF'"):
        see("dm", "a", data, what="max", image="BF")


def test_tags(see: See) -> None:
    info = {"Voltage": 200000.0, "Name": "µ-STEM", "Corrected": True, "Stage": (1.0, 2.5)}
    data = saved(PLAIN, 4, **{"Microscope Info": info})
    at = "/ImageList/0/ImageTags/Microscope Info/"
    assert see("dm", "a", data, what="tag", tag=at + "Voltage").value == 200000.0
    assert see("dm", "a", data, what="tag", tag=at + "Name").value == "µ-STEM"
    assert see("dm", "a", data, what="tag", tag=at + "Corrected").value is True
    assert see("dm", "a", data, what="tag", tag=at + "Stage").value == [1.0, 2.5]
    assert see("dm", "a", data, what="tag", tag="/ImageList/0/ImageData/Dimensions/0").value == 8
    with pytest.raises(Unreadable, match=r"no tag 'Gun' of .*; there are: Corrected, Name, Stage, Voltage"):
        see("dm", "a", data, what="tag", tag=at + "Gun")
    with pytest.raises(Unreadable, match="is a group of 1"):
        see("dm", "a", data, what="tag", tag="/ImageList")
    with pytest.raises(CallError):
        see("dm", "a", data, what="tag")
    with pytest.raises(CallError):
        see("dm", "a", data, what="colour")


def test_a_file_with_the_other_byte_order() -> None:
    values = np.arange(6, dtype=">i2")

    def entry(kind: int, name: bytes, body: bytes) -> bytes:
        return struct.pack(">BH", kind, len(name)) + name + body

    def group(*entries: bytes) -> bytes:
        return struct.pack(">BBI", 1, 0, len(entries)) + b"".join(entries)

    def number(value: int) -> bytes:
        return b"%%%%" + struct.pack(">IIi", 1, 3, value)

    pixels = b"%%%%" + struct.pack(">IIII", 3, 20, 2, 6) + values.tobytes()
    inner = group(
        entry(21, b"Data", pixels),
        entry(21, b"DataType", number(1)),
        entry(20, b"Dimensions", group(entry(21, b"", number(3)), entry(21, b"", number(2)))),
    )
    listed = group(entry(20, b"", group(entry(20, b"ImageData", inner))))
    data = struct.pack(">III", 3, 0, 0) + group(entry(20, b"ImageList", listed)) + bytes(8)
    assert dm.measure(data, 0)["mean"] == 2.5


HEAD = struct.pack(">III", 3, 0, 1)


def raw(*tags: bytes) -> bytes:
    return HEAD + struct.pack(">BBI", 1, 0, len(tags)) + b"".join(tags)


def deep(levels: int) -> bytes:
    return HEAD + b"".join(struct.pack(">BBIBH", 0, 0, 1, 20, 0) for _ in range(levels))


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (b"\0\0\0\5" + bytes(40), "no DigitalMicrograph file of version 3 or 4"),
        (struct.pack(">III", 3, 0, 7) + bytes(12), "the byte order is 7"),
        (HEAD + bytes(12), "holds no named tags"),
        (raw(b"\x15\0\1a") + bytes(2), "bytes are due"),
        (raw(b"\x15\0\1a%%%%" + struct.pack(">I", 2**31)), "a type of 2147483648 numbers"),
        (raw(b"\x15\0\1a%%%%" + struct.pack(">IIII", 3, 20, 7, 2**32 - 1)), "34359738360 bytes are due"),
        (raw(b"\x15\0\1a%%%%" + struct.pack(">II", 1, 99)), r"\[99\] is no type"),
        (raw(b"\x15\0\1a%%%%" + struct.pack(">IIII", 3, 20, 99, 1)), "99 is no type of a number"),
        (raw(b"\x15\0\1a%%%%" + struct.pack(">IIII", 3, 15, 0, 9)), "another length than it says"),
        (raw(b"\x15\0\1a####"), "without its mark"),
        (raw(b"\x99\0\1a" + bytes(9)), "153 is no kind of a tag"),
        (raw(*[b"\x15\0\1a%%%%" + struct.pack(">IIi", 1, 3, 0)] * 2), "'a' stands twice"),
        (HEAD + struct.pack(">BBI", 1, 0, 2**32 - 1) + bytes(12), "more than 300000 tags"),
        (deep(100_000), "more than 40 deep"),
        (tree(Other={"a": 1}), "holds no image"),
        (tree(ImageList=[{"Name": "x"}]), "no pixels of a known type"),
    ],
)  # fmt: skip
def test_what_is_no_such_file(data: bytes, reason: str) -> None:
    with pytest.raises(Unreadable, match=reason):
        dm.read_dm(data)


def test_an_image_must_hold_what_it_says() -> None:
    part = picture(PLAIN)
    part["ImageData"]["Dimensions"] = [80_000, 80_000]
    with pytest.raises(Unreadable, match="says 80000 x 80000 pixels of float32 and holds 192 bytes"):
        dm.read_dm(tree(ImageList=[part]))
    part["ImageData"]["Dimensions"] = [8, 6, 1, 1]
    with pytest.raises(Unreadable, match="no picture and no stack"):
        dm.read_dm(tree(ImageList=[part]))


@given(data=st.data(), version=st.sampled_from([3, 4]))
@settings(max_examples=250, deadline=None)
def test_any_file_is_read_or_a_reason(data: st.DataObject, version: int) -> None:
    whole = saved(PLAIN[:2, :2], version, Info={"Name": "x", "Stage": (1.0, 2.0)})
    changed = bytearray(whole)
    for _ in range(data.draw(st.integers(1, 5))):
        at = data.draw(st.integers(4, len(changed) - 1))
        changed[at : at + data.draw(st.integers(0, 4))] = data.draw(st.binary(max_size=4))
    for read in (dm.read_dm, lambda found: dm.measure(found, 0), lambda found: dm.read_tag(found, "/ImageList/0")):
        with contextlib.suppress(Unreadable):
            read(bytes(changed))


@given(values=st.lists(st.floats(-1e6, 1e6, width=32), min_size=1, max_size=12), version=st.sampled_from([3, 4]))
@settings(max_examples=60, deadline=None)
def test_what_another_library_wrote_is_read(values: list[float], version: int) -> None:
    data = saved(np.array([values], np.float32), version)
    assert parse(data)["ImageList"][0]["ImageData"]["Dimensions"] == [len(values), 1]
    found = dm.measure(data, 0)["max"]
    assert found == pytest.approx(2 * max(values) + 10, rel=1e-6, abs=1e-6)
