"""TIFF files and selections: those that ImageJ saved, those that tifffile wrote, and damaged ones."""

from __future__ import annotations

import contextlib
import io
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import roifile
import tifffile
from hypothesis import given, settings
from hypothesis import strategies as st
from PIL import Image

from tasks_lib.evaluation import METRICS, CallError, Seen, Unreadable
from tasks_lib.evaluation.readers import rois, tiff

See = Callable[..., Seen]
Bytes = Callable[[str], bytes]
GOOD = Path(__file__).parents[2] / "fixtures" / "evaluation" / "good"


def written(values: np.ndarray[Any, Any], **rest: Any) -> bytes:
    out = io.BytesIO()
    tifffile.imwrite(out, values, **rest)
    return out.getvalue()


def test_what_the_program_saved(see: See, good: Bytes) -> None:
    data = good("dots.tif")
    assert see("tiff", "a.tif", data).value == {
        "frames": 1, "width": 64, "height": 48, "samples": 1, "type": "uint16", "program": "ImageJ 1.53t", "unit": "nm",
        "pixel-width": 0.5, "pixel-height": 0.5, "frame-distance": None, "value-unit": None,
        "display-range": [100.0, 900.0],
    }  # fmt: skip
    seen = see("tiff", "a.tif", data, what="pixel-width")
    assert METRICS["number"].function(seen, 5.0, tolerance=1e-9, unit="Å").passed
    assert see("tiff", "a.tif", data, what="roi", field="type").value == "oval"
    assert see("tiff", "a.tif", data, what="overlay", field="type").value == ["rectangle", "line"]
    (line,) = see("tiff", "a.tif", data, what="overlay", type="line").value
    assert line["points"] == [[4.0, 40.0], [60.0, 8.0]]
    (box,) = see("tiff", "a.tif", data, what="overlay", type="rectangle").value
    assert (box["x"], box["y"], box["width"], box["height"]) == (10, 10, 8, 8)


def test_its_measurements_agree_with_the_pixels(see: See, good: Bytes) -> None:
    areas = see("table", "Results.csv", good("Results.csv"), column="Area").value
    total = see("tiff", "a.tif", good("dots.tif"), what="sum").value
    assert sum(areas) == pytest.approx(total / 1000 * 0.5**2)
    assert see("tiff", "a.tif", good("dots.tif"), what="mean", region=[20, 34, 12, 6]).value == 1000
    assert see("tiff", "a.tif", good("dots.tif"), what="rms", region=[20, 34, 12, 6]).value == 0


def test_a_stack(see: See, good: Bytes) -> None:
    data = good("stack.tif")
    facts = see("tiff", "a.tif", data).value
    assert (facts["frames"], facts["unit"], facts["pixel-width"], facts["frame-distance"]) == (3, "micron", 0.25, 2.0)
    for frame in range(3):
        picture = Image.open(io.BytesIO(data))
        picture.seek(frame)
        assert see("tiff", "a.tif", data, what="mean", frame=frame).value == pytest.approx(np.asarray(picture).mean())
    with pytest.raises(Unreadable, match="no frame 3: the TIFF has 3"):
        see("tiff", "a.tif", data, what="mean", frame=3)


def test_selections(see: See, good: Bytes) -> None:
    (row,) = see("imagej-roi", "a.roi", good("triangle.roi")).value
    assert (row["type"], row["points"]) == ("polygon", [[2, 2], [10, 3], [8, 12]])
    named = roifile.ImagejRoi.frompoints([[1, 2], [3, 5.5]])
    named.name = "edge"
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as archive:
        archive.writestr("0001.roi", good("triangle.roi"))
        archive.writestr("0002.roi", named.tobytes())
        archive.writestr("readme.txt", b"x")
    assert see("imagej-roi", "RoiSet.zip", out.getvalue(), field="name").value == ["0001", "edge"]
    with pytest.raises(CallError):
        see("imagej-roi", "a.roi", good("triangle.roi"), field="colour")


def test_overlays_and_units_of_another_writer(see: See) -> None:
    text = roifile.ImagejRoi()
    text.roitype, text.subtype = roifile.ROI_TYPE.RECT, roifile.ROI_SUBTYPE.TEXT
    text.version, text.text, text.name, text.stroke_color = 227, "20 nm\n", "|SB|", b"\xff\xff\xff\x00"
    text.left, text.top, text.right, text.bottom = 5, 6, 25, 16
    data = written(
        np.arange(48, dtype=np.uint16).reshape(6, 8), imagej=True, resolution=(4.0, 2.0),
        metadata={"unit": "\\u00B5m", "min": 3.0, "max": 20.0, "Overlays": [text.tobytes()]},
    )  # fmt: skip
    facts = see("tiff", "a", data).value
    assert (facts["unit"], facts["pixel-width"], facts["pixel-height"]) == ("µm", 0.25, 0.5)
    assert facts["display-range"] == [3.0, 20.0]
    (row,) = see("tiff", "a", data, what="overlay").value
    assert (row["type"], row["text"], row["name"], row["stroke-colour"]) == ("text", "20 nm", "|SB|", "#ffff00")
    assert see("tiff", "a", data, what="slope-x").value == pytest.approx(1)
    assert see("tiff", "a", data, what="slope-y").value == pytest.approx(8)


def test_no_calibration_is_no_value(see: See) -> None:
    data = written(np.zeros((4, 4), np.uint8), metadata=None)
    seen = see("tiff", "a", data, what="pixel-width")
    assert (seen.value, seen.note) == (None, "the picture has no calibration of lengths")
    printed = written(np.zeros((4, 4), np.uint8), metadata=None, resolution=(300, 300), resolutionunit=2)
    assert see("tiff", "a", printed, what="pixel-width") == Seen(1 / 300, unit="inch")


@pytest.mark.parametrize("compression", [None, "tiff_lzw", "tiff_deflate", "packbits", "jpeg"])
def test_colours_and_compression(see: See, compression: str | None) -> None:
    values = np.zeros((16, 16, 3), np.uint8)
    values[..., 0] = 90
    out = io.BytesIO()
    Image.fromarray(values).save(out, "TIFF", compression=compression)
    assert see("tiff", "a", out.getvalue(), what="samples").value == 3
    assert see("tiff", "a", out.getvalue(), what="mean").value == pytest.approx(30, abs=2)


def test_a_large_stack_is_one_page(see: See) -> None:
    # Beyond 4 GB ImageJ writes one page and all frames behind it; a small file of that form.
    frames = np.arange(3 * 4 * 5, dtype=np.uint16).reshape(3, 4, 5)
    said = "ImageJ=1.53t\nimages=3\nslices=3\n"
    one = written(frames[0], metadata=None, description=said, byteorder=">")
    assert one.endswith(frames[0].astype(">u2").tobytes())
    data = one + frames[1:].astype(">u2").tobytes()
    assert see("tiff", "a", data, what="frames").value == 3
    assert see("tiff", "a", data, what="mean", frame=2).value == frames[2].mean()
    with pytest.raises(Unreadable, match="truncated"):
        see("tiff", "a", data[:-30], what="mean", frame=2)


@pytest.mark.parametrize(
    ("arguments", "error", "reason"),
    [
        ({"what": "colour"}, CallError, "what is one of"),
        ({"what": "overlay", "field": "colour"}, CallError, "field one of"),
        ({"what": "mean", "region": [1]}, CallError, "region"),
        ({"what": "mean", "region": [60, 0, 5, 5]}, Unreadable, "does not lie in the picture of 64 x 48"),
    ],
)
def test_what_is_not_there(see: See, good: Bytes, arguments: Any, error: type[Exception], reason: str) -> None:
    with pytest.raises(error, match=reason):
        see("tiff", "a.tif", good("dots.tif"), **arguments)
    with pytest.raises(Unreadable, match="nothing is selected"):
        see("tiff", "a.tif", good("stack.tif"), what="roi")


def test_what_claims_to_be_huge(see: See) -> None:
    data = bytearray(written(np.zeros((4, 4), np.uint8), metadata=None))
    at = data.index((256).to_bytes(2, "little"))  # tag ImageWidth
    data[at + 2 : at + 12] = (4).to_bytes(2, "little") + (1).to_bytes(4, "little") + (2**31).to_bytes(4, "little")
    with pytest.raises(Unreadable, match="is not read"):
        see("tiff", "a", bytes(data), what="mean")


@pytest.mark.parametrize("part", [0.5, 0.9, 1.0])
def test_a_file_whose_pixels_are_cut_off_has_no_calibration_either(part: float) -> None:
    # ImageJ writes calibration and overlay before the pixels.
    whole = written(np.arange(60_000, dtype=np.uint16).reshape(200, 300), imagej=True, metadata={"unit": "nm"})
    end = int(len(whole) * part) - (part == 1.0)
    with pytest.raises(Unreadable, match="truncated"):
        tiff.read_tiff(whole[:end])
    assert tiff.read_tiff(whole)["width"] == 300


def test_an_archive_that_grows_is_refused() -> None:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("a.roi", b"Iout" + bytes(rois.LARGEST_ROI + 10))
    with pytest.raises(Unreadable, match="more than the 4194304 bytes"):
        rois.read_rois(out.getvalue())
    with pytest.raises(Unreadable, match="holds no selection"):
        rois.read_rois(b"PK\x05\x06" + bytes(18))


@given(data=st.data(), name=st.sampled_from(["dots.tif", "stack.tif"]))
@settings(max_examples=120, deadline=None)
def test_any_tiff_is_read_or_a_reason(data: st.DataObject, name: str) -> None:
    changed = bytearray((GOOD / name).read_bytes())
    for _ in range(data.draw(st.integers(1, 4))):
        at = data.draw(st.integers(0, 700))
        changed[at : at + data.draw(st.integers(0, 5))] = data.draw(st.binary(max_size=5))
    for read in (tiff.read_tiff, tiff.measure):
        with contextlib.suppress(Unreadable):
            read(bytes(changed))


@given(data=st.data())
@settings(max_examples=150, deadline=None)
def test_any_selection_is_read_or_a_reason(data: st.DataObject) -> None:
    changed = bytearray((GOOD / "triangle.roi").read_bytes())
    for _ in range(data.draw(st.integers(1, 5))):
        at = data.draw(st.integers(4, len(changed) - 1))
        changed[at : at + data.draw(st.integers(0, 4))] = data.draw(st.binary(max_size=4))
    with contextlib.suppress(Unreadable):
        rois.read_rois(bytes(changed))
