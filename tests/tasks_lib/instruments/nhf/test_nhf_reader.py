"""What a file says is what comes back; what it does not say is named."""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

import h5py
import numpy as np
import pytest

from tasks_lib.instruments.frame import DEFLECTION, Z_AXIS, Direction, Frame, Gains
from tasks_lib.instruments.nhf import NhfError, NhfSettings, read_nhf, write_nhf

from .conftest import LEVER

VERSIONS = ("1.1", "2.0")
SEGMENT = {"1.1": "measurement_0/segment_0", "2.0": "group_0000/subgroup_0000"}


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("way", ["up", "down"])
def test_a_frame_comes_back_whole(make_frame: Callable[..., Frame], version, way) -> None:
    frame = make_frame(scan_direction=way)
    back = read_nhf(write_nhf(frame, version=version, lever=LEVER)).frame()
    assert back.scan == frame.scan
    assert (back.gains, back.setpoint, back.mode, back.lever) == (Gains(p=0, i=6623), 0.1, "Static Force", LEVER.name)
    assert (back.lines_done, back.complete, back.engaged) == (6, True, None)
    assert (back.taken_at, back.notes["taken at"]) == (frame.taken_at, "UTC")
    assert set(back.channels) == set(frame.channels)
    for key, channel in frame.channels.items():
        found = back.channels[key]
        assert (found.unit, found.data.dtype, found.data.shape) == (channel.unit, np.float64, (6, 8))
        step = 16 * np.abs(channel.data).max() / 2**32
        np.testing.assert_allclose(found.data, channel.data, rtol=0, atol=0.51 * step)


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize(("way", "there"), [("up", slice(None, 2)), ("down", slice(4, None))])
def test_lines_that_were_not_scanned_are_missing(make_frame: Callable[..., Frame], version, way, there) -> None:
    whole = make_frame(scan_direction=way)
    absent = np.ones(6, bool)
    absent[there] = False
    for one in whole.channels.values():
        one.data[absent] = np.nan
    stopped = make_frame(scan_direction=way, lines_done=2, channels=whole.channels)
    back = read_nhf(write_nhf(stopped, version=version)).frame()
    assert (back.lines_done, back.complete) == (2, False)
    for one in back.channels.values():
        assert np.isnan(one.data).all(axis=1).tolist() == absent.tolist()
        assert np.isfinite(one.data[there]).all()


def test_what_is_no_image_of_the_frame_is_named_and_left(changed: Callable[..., bytes]) -> None:
    def more(file: h5py.File) -> None:
        wave = file["measurement_0/segment_0"].create_dataset("dataset_9", data=np.zeros(3 * 48, "<i2"))
        wave.attrs["name"] = "Wave"
        other = file["measurement_0"].create_group("segment_2")
        other.attrs["name"] = "Calibration"

    nhf = read_nhf(changed(more))
    assert nhf.others == ("Calibration", "Forward Wave")
    assert nhf.channel("Topography", "backward").unit == "m"
    with pytest.raises(KeyError, match=r"no channel Wave forward; it has: Deflection"):
        nhf.channel("Wave")


def test_the_newest_of_several_images_counts(changed: Callable[..., bytes]) -> None:
    def two(file: h5py.File) -> None:
        file.copy("measurement_0", "measurement_10")
        file.copy("measurement_0", "measurement_9")
        for name, hour in (("0", 8), ("9", 10), ("10", 9)):
            file[f"measurement_{name}"].attrs["name"] = f"Image {name}"
            file[f"measurement_{name}"].attrs["created"] = f"2025-06-13T{hour:02d}:00:00.000Z"

    nhf = read_nhf(changed(two))
    assert (nhf.name, nhf.settings.taken_at) == ("Image 9", datetime(2025, 6, 13, 10, tzinfo=UTC))


def test_a_force_as_setpoint_becomes_volts_by_the_probes_constants(changed: Callable[..., bytes]) -> None:
    def newtons(file: h5py.File) -> None:
        file["measurement_0"].attrs["z_ctrl_setpoint_value"] = 2.4e-8
        file["measurement_0"].attrs["z_ctrl_setpoint_unit"] = "N"

    frame = read_nhf(changed(newtons)).frame()
    assert frame.setpoint == pytest.approx(2.4e-8 / 3.0 / 8e-8)
    assert frame.notes["setpoint in the file"] == "2.4e-08 N"

    def unknown(file: h5py.File) -> None:
        newtons(file)
        del file["measurement_0"].attrs["spm_probe_calibration_spring_constant"]

    with pytest.raises(NhfError, match="z_ctrl_setpoint_value in volts or percent"):
        read_nhf(changed(unknown)).frame()


def test_what_the_file_does_not_say_comes_from_the_program_or_is_named(changed: Callable[..., bytes]) -> None:
    def few(file: h5py.File) -> None:
        for name in ("z_ctrl_i_gain", "image_line_rate", "image_scan_direction", "image_number_of_lines_acquired"):
            del file["group_0000"].attrs[name]

    nhf = read_nhf(changed(few, "2.0"))
    assert nhf.lines_done == 6  # counted, as version 2 marks what is missing
    with pytest.raises(NhfError, match="image_scan_direction, image_line_rate, z_ctrl_i_gain, which a frame needs"):
        nhf.frame()
    frame = nhf.frame(NhfSettings(i_gain=5, line_rate_hz=4.0, direction="down", width_m=9.0))
    assert (frame.gains.i, frame.scan.time_per_line_s, frame.scan.direction) == (5, 0.125, "down")
    assert frame.scan.width_m == 1e-6  # the file counts where it says


def test_version_two_may_hold_settings_as_json_and_sizes_on_the_segment(changed: Callable[..., bytes]) -> None:
    def moved(file: h5py.File) -> None:
        group = file["group_0000"]
        for name in ("image_points_per_line", "image_number_of_lines", "image_size_x", "image_size_y"):
            del group.attrs[name]
        rate = group.attrs.pop("image_line_rate") if hasattr(group.attrs, "pop") else group.attrs["image_line_rate"]
        if "image_line_rate" in group.attrs:
            del group.attrs["image_line_rate"]
        held = {"property": {"image_line_rate": {"value": float(rate), "unit": "Hz"}, "x": 3}}
        file[SEGMENT["2.0"]].attrs["scan_configuration"] = json.dumps(held)

    scan = read_nhf(changed(moved, "2.0")).frame().scan
    assert (scan.points, scan.lines, scan.width_m, scan.height_m, scan.time_per_line_s) == (8, 6, 1e-6, 7.5e-7, 0.25)


def _attr(path: str, name: str, value: object) -> Callable[[h5py.File], None]:
    def work(file: h5py.File) -> None:
        file[path].attrs[name] = value

    return work


def _without(path: str, name: str) -> Callable[[h5py.File], None]:
    return lambda file: file[path].attrs.__delitem__(name)


def _dataset(path: str, **options: object) -> Callable[[h5py.File], None]:
    def work(file: h5py.File) -> None:
        about = dict(file[path].attrs)
        del file[path]
        made = file.create_dataset(path, **options)
        for name, value in about.items():
            made.attrs[name] = value

    return work


TOPO = "measurement_0/segment_0/dataset_0"
WRONG: dict[str, tuple[Callable[[h5py.File], object], str]] = {
    "no version": (_without("/", "nsf_file_version_major"), "this is no file of Nanosurf Studio"),
    "another version": (_attr("/", "nsf_file_version_major", np.uint32(3)), r"version 3\.1; those that are read"),
    "a version that is text": (_attr("/", "nsf_file_version_major", "1"), "nsf_file_version_major: is no finite"),
    "no image": (_attr("measurement_0", "measurement_type", "spectroscopy_grid"), "spectroscopy_grid"),
    "no segments": (_attr("measurement_0/segment_0", "name", "Up"), "Deflection: has no|Topography|channel|Up"),
    "no points": (_without("measurement_0", "image_points_per_line"), "6 lines of None points are no image"),
    "a billion points": (_attr("measurement_0", "image_points_per_line", np.uint32(10**9)), "are no image"),
    "half a line": (_attr("measurement_0", "image_number_of_lines", 5.5), "is no whole number"),
    "negative lines": (_attr("measurement_0", "image_number_of_lines", np.int32(-6)), "is no whole number"),
    "more lines than there are": (
        _attr("measurement_0", "image_number_of_lines_acquired", np.uint32(7)),
        "7 of 6 lines were acquired",
    ),
    "a size of NaN": (_attr("measurement_0", "image_size_x", np.nan), "image_size_x: is no finite number"),
    "a gain of text": (_attr("measurement_0", "z_ctrl_i_gain", "many"), "z_ctrl_i_gain: is no finite number"),
    "a gain of many": (_attr("measurement_0", "z_ctrl_i_gain", np.arange(10)), r"z_ctrl_i_gain: has shape \(10,\)"),
    "a name that is a number": (_attr(TOPO, "name", np.uint32(5)), "name: is no text"),
    "too few samples": (_dataset(TOPO, data=np.zeros(47, "<i4")), r"Forward/Topography: has 47 samples, not 6 lines"),
    "a turned image": (_dataset(TOPO, data=np.zeros((8, 6), "<i4")), r"Topography: has shape \(8, 6\), not \(6, 8\)"),
    "other samples than said": (_dataset(TOPO, data=np.zeros(48, "<f4")), "stored as float32, and is said to be int32"),
    "samples of texts": (_dataset(TOPO, data=np.array([b"a"] * 48)), r"Topography: is stored as \|S1"),
    "an unknown kind": (_attr(TOPO, "dataset_element_type", np.uint32(8)), "dataset_element_type: is 8, and none of"),
    "half a calibration": (_without(TOPO, "base_calibration_max"), "base_calibration_min: is missing"),
    "an endless calibration": (_attr(TOPO, "base_calibration_max", np.inf), "is no finite number"),
    "a calibration beyond floats": (
        lambda file: (
            _attr(TOPO, "base_calibration_max", 1.7e308)(file),
            _attr(TOPO, "base_calibration_min", -1.7e308)(file),
        ),
        "is not finite",
    ),
    "twice the same channel": (
        _attr("measurement_0/segment_0/dataset_1", "name", "Topography"),
        "Forward/Topography: occurs twice",
    ),
    "a way out of the file": (
        lambda file: file["measurement_0"].__setitem__("segment_7", h5py.ExternalLink("/etc/passwd", "/")),
        r"measurement_0/segment_7: is a link \(ExternalLink\), and is not followed",
    ),
    "a soft link": (
        lambda file: file["measurement_0/segment_0"].__setitem__("dataset_7", h5py.SoftLink("/measurement_0")),
        r"dataset_7: is a link \(SoftLink\)",
    ),
    "samples outside the file": (
        _dataset(TOPO, shape=(48,), dtype="<i4", external=[("/etc/passwd", 0, 192)]),
        "Topography: keeps its samples outside the file",
    ),
    "samples that are another's": (
        lambda file: _virtual(file),
        "Topography: keeps its samples outside the file",
    ),
    "a chunk that claims gigabytes": (
        _dataset(TOPO, shape=(48,), dtype="<i4", maxshape=(None,), chunks=(2**28,)),
        r"claims 2147483648 bytes of samples",
    ),
    "a filter that is not read": (
        _dataset(TOPO, data=np.zeros(48, "<i4"), compression="lzf"),
        "stored through filters",
    ),
}


def _virtual(file: h5py.File) -> None:
    about = dict(file[TOPO].attrs)
    del file[TOPO]
    layout = h5py.VirtualLayout(shape=(48,), dtype="<i4")
    layout[:] = h5py.VirtualSource("/etc/passwd", "x", shape=(48,))
    made = file.create_virtual_dataset(TOPO, layout)
    for name, value in about.items():
        made.attrs[name] = value


@pytest.mark.parametrize("what", WRONG)
def test_a_broken_or_hostile_file_is_refused_by_name(changed: Callable[..., bytes], what: str) -> None:
    work, rule = WRONG[what]
    content = changed(work)
    if what == "no segments":  # the other segment is still one
        content = changed(lambda file: (work(file), _attr("measurement_0/segment_1", "name", "Down")(file)))
        rule = "has no segment named Forward or Backward"
    with pytest.raises(NhfError, match=rule) as caught:
        read_nhf(content, name="bad.nhf").frame()
    assert str(caught.value).startswith("bad.nhf: ")


def test_compressed_channels_are_read_and_those_that_burst_are_not(changed: Callable[..., bytes]) -> None:
    import zlib

    codes = np.arange(48, dtype="<i4").reshape(-1)
    packed = _dataset(TOPO, data=codes, chunks=(48,), compression="gzip", shuffle=True)
    plain = read_nhf(changed(_dataset(TOPO, data=codes))).channel("Topography").data
    np.testing.assert_array_equal(read_nhf(changed(packed)).channel("Topography").data, plain)

    def bomb(file: h5py.File) -> None:
        packed(file)
        file[TOPO].id.write_direct_chunk((0,), zlib.compress(bytes(2**24), 9))

    with pytest.raises(NhfError, match="block 0 unpacks to more than its 192 bytes"):
        read_nhf(changed(bomb))


def test_what_is_no_file_of_this_kind(tmp_path: Path, make_frame: Callable[..., Frame]) -> None:
    whole = write_nhf(make_frame())
    for content in (b"", b"[DataSet]", b"\x89HDF\r\n\x1a\n" + bytes(100), whole[: len(whole) // 2]):
        with pytest.raises(NhfError, match=r"x\.nhf: file: cannot be read"):
            read_nhf(content, name="x.nhf")
    with pytest.raises(OSError, match=r"none\.nhf"):
        read_nhf(tmp_path / "none.nhf")
    path = tmp_path / "a.nhf"
    path.write_bytes(whole)
    assert read_nhf(path).frame().source == "a.nhf"


def test_what_cannot_be_written(make_frame: Callable[..., Frame]) -> None:
    frame = make_frame()
    with pytest.raises(NhfError, match="no channel to write"):
        write_nhf(make_frame(channels={}))
    with pytest.raises(NhfError, match="forward Z-Axis: a value lies beyond the range"):
        write_nhf(frame, ranges={Z_AXIS: (0.0, 1e-9)})
    with pytest.raises(NhfError, match="is empty or not finite"):
        write_nhf(frame, ranges={DEFLECTION: (1.0, 1.0)})
    frame.data(DEFLECTION, Direction.BACKWARD)[2, 2] = np.nan
    with pytest.raises(NhfError, match="backward Deflection: a scanned line has missing samples"):
        write_nhf(frame)
