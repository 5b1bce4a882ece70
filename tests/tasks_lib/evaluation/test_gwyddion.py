"""Files of Gwyddion: those that the program saved, those that an independent library wrote, and damaged ones."""

from __future__ import annotations

import contextlib
import struct
from collections.abc import Callable
from pathlib import Path
from typing import Any

import gwyfile
import numpy as np
import pytest
from gwyfile.objects import GwyContainer, GwyDataField, GwyObject, GwySIUnit
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from tasks_lib.evaluation import CallError, Seen, Unreadable
from tasks_lib.evaluation.readers import _gwy
from tasks_lib.evaluation.readers.fields import STATISTICS, statistics
from tasks_lib.evaluation.readers.gwyddion import grains, measure, read_gwy, read_log_line

See = Callable[..., Seen]
Bytes = Callable[[str], bytes]
GOOD = Path(__file__).parents[2] / "fixtures" / "evaluation" / "good"
SAVED = ("dots-marked.gwy", "diag-fft.gwy")


def packed(container: GwyObject) -> bytes:
    return b"GWYP" + container.serialize()


def field(values: np.ndarray[Any, Any], size: tuple[float, float] = (1e-7, 2e-7), z: str = "m") -> GwyObject:
    units = {"si_unit_xy": GwySIUnit(unitstr="m"), "si_unit_z": GwySIUnit(unitstr=z)}
    return GwyDataField(values, xreal=size[0], yreal=size[1], **units)


def one_channel(values: np.ndarray[Any, Any], **more: Any) -> bytes:
    container = GwyContainer()
    container["/0/data"] = field(values)
    container["/0/data/title"] = "Height"
    for name, value in more.items():
        container["/0/" + name.replace("_", "/")] = value
    return packed(container)


def test_what_the_program_saved(see: See, good: Bytes) -> None:
    data = good("dots-marked.gwy")
    (row,) = see("gwyddion", "a.gwy", data).value
    assert (row["title"], row["width"], row["height"], row["xy-unit"], row["z-unit"]) == ("Height", 48, 48, "m", "m")
    assert row["operations"] == ["level", "fix_zero", "grain_mark"]
    assert see("gwyddion", "a.gwy", data, what="x-size") == Seen(4.8e-7, unit="m")
    assert see("gwyddion", "a.gwy", data, what="pixel-width").value == pytest.approx(1e-8)
    assert see("gwyddion", "a.gwy", data, what="min").value == 0
    assert see("gwyddion", "a.gwy", data, what="grains").value == 5
    assert see("gwyddion", "a.gwy", data, what="log", function="grain_mark", argument="height").value == 0.5
    assert see("gwyddion", "a.gwy", data, what="log", function="grain_mark", argument="isheight").value is True
    assert see("gwyddion", "a.gwy", data, what="selection").value[0] == pytest.approx(
        [2.625e-8, 1.0625e-7, 4.3875e-7, 1.0625e-7]
    )
    assert see("gwyddion", "a.gwy", data, what="palette").value == "Gray"
    assert see("gwyddion", "a.gwy", data, what="range").value is None
    # "Level" fits a plane, so what is left has no slope, whatever the tilt was (2e-3 before).
    for slope in ("slope-x", "slope-y"):
        assert abs(see("gwyddion", "a.gwy", data, what=slope).value) < 1e-12
    (graph,) = see("gwyddion", "a.gwy", data, what="graphs").value
    assert (graph["title"], graph["curves"], graph["x-unit"]) == ("Profiles", ["Profile 1"], "m")
    rows = see("gwyddion", "a.gwy", data, what="curve", curve="Profile 1").value["rows"]
    assert len(rows) == 42
    assert max(y for _, y in rows) == pytest.approx(3.07e-9, rel=0.01)


def test_a_transform_is_a_channel_of_its_own(see: See, good: Bytes) -> None:
    data = good("diag-fft.gwy")
    assert [row["title"] for row in see("gwyddion", "a.gwy", data).value] == ["", "FFT Modulus 1"]
    with pytest.raises(Unreadable, match="2 channels are the only one where one is due; the file has: 0: ''; 1: 'FFT"):
        see("gwyddion", "a.gwy", data, what="mean")
    assert see("gwyddion", "a.gwy", data, what="xy-unit", channel="fft modulus 1").value == "m^-1"
    assert see("gwyddion", "a.gwy", data, what="palette", channel=1).value == "DFit"
    assert see("gwyddion", "a.gwy", data, what="range-type", channel=1).value == "automatic"
    assert see("gwyddion", "a.gwy", data, what="operations", channel=1).value == ["fft"]
    # Gwyddion's own summary of this mask: 3 grains on 4 nm^2, two of the pixels touch at a corner only.
    assert see("gwyddion", "a.gwy", data, what="grains", channel=0).value == 3
    areas = see("gwyddion", "a.gwy", data, what="grain-areas", channel=0)
    assert (areas.value, areas.unit) == (pytest.approx([1e-18, 1e-18, 2e-18]), "m^2")
    with pytest.raises(Unreadable, match="channel 1 has no mask"):
        see("gwyddion", "a.gwy", data, what="grains", channel=1)


@pytest.mark.parametrize("name", SAVED)
def test_an_independent_library_reads_the_same(good: Bytes, name: str) -> None:
    theirs = gwyfile.load(str(GOOD / name))

    def compare(ours: _gwy.GwyObject, other: Any) -> None:
        assert list(ours.parts) == list(other)
        for key, value in ours.parts.items():
            if isinstance(value, _gwy.GwyObject):
                compare(value, other[key])
            elif isinstance(value, list) and value and isinstance(value[0], _gwy.GwyObject):
                for pair in zip(value, other[key], strict=True):
                    compare(*pair)
            else:
                assert np.array_equal(value, other[key]), key

    compare(_gwy.parse(good(name)), theirs)


def test_regions_and_masks(see: See) -> None:
    values = np.zeros((20, 30))
    values[5:10, 10:20] = 4e-9
    marks = (values > 0).astype(float)
    data = one_channel(values, mask=field(marks))
    assert see("gwyddion", "a", data, what="mean", region=[10, 5, 10, 5]) == Seen(4e-9, unit="m")
    assert see("gwyddion", "a", data, what="rms", region=[10, 5, 10, 5]).value == 0
    assert see("gwyddion", "a", data, what="max", masked="outside").value == 0
    assert see("gwyddion", "a", data, what="mean", masked="inside").value == pytest.approx(4e-9)
    assert see("gwyddion", "a", data, what="masked-share").value == pytest.approx(50 / 600)
    missing = see("gwyddion", "a", data, what="skew", region=[0, 0, 2, 2])
    assert (missing.value, "flat" in missing.note) == (None, True)
    with pytest.raises(Unreadable, match="does not lie in the picture of 30 x 20 pixels"):
        see("gwyddion", "a", data, what="mean", region=[20, 0, 11, 2])


def test_slopes_have_the_units_of_the_file(see: See) -> None:
    y, x = np.mgrid[0:20, 0:30]
    data = one_channel(3e-9 * x - 1e-9 * y)
    slope = see("gwyddion", "a", data, what="slope-x")
    assert (slope.value, slope.unit) == (pytest.approx(3e-9 / (1e-7 / 30)), None)
    assert see("gwyddion", "a", data, what="slope-y").value == pytest.approx(-1e-9 / (2e-7 / 20))
    container = GwyContainer()
    container["/0/data"] = field(x * 1.0, z="V")
    assert see("gwyddion", "a", packed(container), what="slope-x").unit == "V/m"


def test_display_range_and_palette(see: See) -> None:
    container = GwyContainer()
    container["/3/data"] = field(np.ones((4, 4)))
    container["/3/base/palette"] = "Sky"
    container["/3/base/range-type"] = np.int32(1)
    container.typecodes["/3/base/range-type"] = "i"
    container["/3/base/min"], container["/3/base/max"] = -1e-9, 2e-9
    data = packed(container)
    assert see("gwyddion", "a", data, what="range") == Seen([-1e-9, 2e-9], unit="m")
    assert see("gwyddion", "a", data, what="range-type").value == "fixed"
    assert see("gwyddion", "a", data, what="palette").value == "Sky"
    assert see("gwyddion", "a", data, what="number").value == 3


@pytest.mark.parametrize(
    ("arguments", "error", "reason"),
    [
        ({"what": "colour"}, CallError, "what is one of"),
        ({"what": "mean", "region": [1, 2]}, CallError, "region"),
        ({"what": "mean", "masked": "left"}, CallError, "masked"),
        ({"what": "log", "argument": "height"}, CallError, "needs the function"),
        ({"what": "mean", "channel": 9}, Unreadable, "0 channels are the 9"),
        ({"what": "mean", "channel": "Phase"}, Unreadable, "0 channels are the 'Phase'"),
        ({"what": "selection", "selection": "ellipse"}, Unreadable, "it has: line"),
        ({"what": "curve", "graph": 2}, Unreadable, "0 graphs are the 2"),
        ({"what": "log", "function": "fft", "argument": "window"}, Unreadable, "fft was never called"),
        ({"what": "log", "function": "level", "argument": "window"}, Unreadable, "level has no argument 'window'"),
    ],
)
def test_what_is_not_there(
    see: See, good: Bytes, arguments: dict[str, Any], error: type[Exception], reason: str
) -> None:
    with pytest.raises(error, match=reason):
        see("gwyddion", "a.gwy", good("dots-marked.gwy"), **arguments)


def test_lines_of_the_log() -> None:
    assert read_log_line('file::load(name="a, b=\\"c\\".txt", n=-3, x=1e-9, on=True)@2026-01-02 03:04:05Z') == {
        "kind": "file",
        "function": "load",
        "arguments": {"name": 'a, b="c".txt', "n": -3, "x": 1e-9, "on": True},
    }
    assert read_log_line("proc::facet-level()@2026-01-02 03:04:05Z")["function"] == "facet-level"
    assert read_log_line("free text")["function"] == "free text"
    assert read_log_line("proc::f(" + "a" * 10**6 + ")@x")["arguments"] == {}


def part(name: str, sign: str, data: bytes) -> bytes:
    return name.encode() + b"\0" + sign.encode() + data


def thing(kind: str, *parts: bytes) -> bytes:
    body = b"".join(parts)
    return kind.encode() + b"\0" + struct.pack("<I", len(body)) + body


def deep(levels: int) -> bytes:
    inner = thing("A")
    for _ in range(levels):
        inner = thing("A", part("a", "o", inner))
    return inner


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (b"GWYO" + thing("GwyContainer"), "does not start with 'GWYP'"),
        (b"GWYP", "a text has no end"),
        (b"GWYP" + thing("GwyContainer"), "neither|no image channel and no graph"),
        (b"GWYP" + thing("GwyContainer") + b"x", "1 bytes stand behind its end"),
        (b"GWYP" + thing("GwyContainer", part("a", "i", b"\0\0\0\0")) [:-1], "truncated"),
        (b"GWYP" + thing("C", part("a", "b", b"\0"), part("a", "b", b"\0")), "'a' stands twice"),
        (b"GWYP" + thing("C", part("a", "D", struct.pack("<I", 2**32 - 1))), "34359738360 bytes are due"),
        (b"GWYP" + thing("C", part("a", "S", struct.pack("<I", 2**31))), "more than 100000 parts"),
        (b"GWYP" + thing("C", part("a", "x", b"")), "'x' is no type"),
        (b"GWYP" + thing("C", part("a", "s", b"\xff\0")), "not UTF-8"),
        (b"GWYP" + deep(200_000 // 8), "more than 20 deep"),
        (b"GWYP" + thing("GwyContainer", part("/0/data", "o", thing("GwyDataField"))), "no size in pixels"),
    ],
)  # fmt: skip
def test_what_is_no_file_of_gwyddion(data: bytes, reason: str) -> None:
    with pytest.raises(Unreadable, match=reason):
        read_gwy(data)


def test_a_field_must_hold_what_it_says(see: See) -> None:
    short = thing(
        "GwyDataField",
        part("xres", "i", struct.pack("<i", 40_000)),
        part("yres", "i", struct.pack("<i", 40_000)),
        part("xreal", "d", struct.pack("<d", 1.0)),
        part("yreal", "d", struct.pack("<d", 1.0)),
        part("data", "D", struct.pack("<Id", 1, 0.0)),
    )
    with pytest.raises(Unreadable, match="says 40000 x 40000 pixels and holds 1"):
        see("gwyddion", "a", b"GWYP" + thing("GwyContainer", part("/0/data", "o", short)))
    data = one_channel(np.ones((4, 4)), mask=field(np.ones((4, 5))))
    with pytest.raises(Unreadable, match="5 x 4 pixels, the channel has another size"):
        grains(data, 0)
    bad = one_channel(np.ones((4, 4)))
    with pytest.raises(Unreadable, match="which is no size"):
        read_gwy(bad.replace(struct.pack("<d", 1e-7), struct.pack("<d", float("nan"))))


def test_no_statistics_of_what_is_no_number() -> None:
    values = np.ones((4, 4))
    values[1, 1] = np.nan
    assert set(measure(one_channel(values), 0).values()) == {None}
    assert statistics(values, keep=np.zeros((4, 4), dtype=bool))["mean"] is None


@given(values=arrays(np.float64, (5, 7), elements=st.floats(-1e200, 1e200)), factor=st.floats(1e-12, 1e12))
@settings(max_examples=150, deadline=None)
def test_statistics_agree_with_scipy(values: np.ndarray[Any, Any], factor: float) -> None:
    from scipy import stats

    found = statistics(values, (factor, factor))
    scaled = values / (np.abs(values).max() or 1)
    spread = float(np.std(scaled))
    assert found["mean"] == pytest.approx(
        float(np.mean(scaled)) * (np.abs(values).max() or 1), abs=1e-12 * np.abs(values).max()
    )
    assert found["rms"] == pytest.approx(
        spread * (np.abs(values).max() or 1), rel=1e-6, abs=1e-12 * np.abs(values).max()
    )
    if spread > 1e-3:
        assert found["skew"] == pytest.approx(float(stats.skew(scaled.ravel())), abs=1e-6)
        assert found["kurtosis"] == pytest.approx(float(stats.kurtosis(scaled.ravel())), abs=1e-6)
    assert set(found) == set(STATISTICS)


@given(data=st.data(), name=st.sampled_from(SAVED))
@settings(max_examples=150, deadline=None)
def test_any_file_is_read_or_a_reason(data: st.DataObject, name: str) -> None:
    changed = bytearray((GOOD / name).read_bytes())
    # The pixels are most of a file; damage is aimed at what stands between them.
    spots = [at for at in range(0, len(changed), 1) if changed[at : at + 4].isalpha()] or [0]
    for _ in range(data.draw(st.integers(1, 4))):
        at = min(data.draw(st.sampled_from(spots)) + data.draw(st.integers(-8, 12)), len(changed) - 1)
        changed[max(at, 0) : max(at, 0) + data.draw(st.integers(0, 6))] = data.draw(st.binary(max_size=6))
    with contextlib.suppress(Unreadable):
        for row in read_gwy(bytes(changed))["channels"]:  # type: ignore[union-attr]
            measure(bytes(changed), row["number"])  # type: ignore[index, arg-type]


@given(junk=st.binary(max_size=300))
def test_any_bytes_behind_the_magic_are_a_reason(junk: bytes) -> None:
    with contextlib.suppress(Unreadable):
        read_gwy(b"GWYP" + junk)
