"""Whatever the bytes are: NhfError or a file, and no more memory than a small file may take."""

from __future__ import annotations

import multiprocessing
import tracemalloc

import h5py
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tasks_lib.instruments.frame import Channel, Direction, Frame, Gains, ScanSettings
from tasks_lib.instruments.nhf import NhfError, read_nhf, read_nhf_apart, write_nhf
from tasks_lib.instruments.nhf._apart import _read


def build(version: str) -> bytes:
    scan = ScanSettings(width_m=1e-6, height_m=1e-6, points=8, lines=6, time_per_line_s=0.3)
    data = np.random.default_rng(3).normal(0, 1e-8, (6, 8))
    keys = [(name, way) for way in Direction for name in ("Z-Axis", "Deflection")]
    frame = Frame(
        channels={key: Channel(*key, "m", data) for key in keys}, scan=scan, gains=Gains(p=0, i=2000), setpoint=0.1,
        mode="Static Force", lever="ContAl-G", lines_done=6,
    )  # fmt: skip
    return write_nhf(frame, version=version)  # type: ignore[arg-type]


WHOLE = {version: build(version) for version in ("1.1", "2.0")}
FLIPS = st.lists(st.tuples(st.integers(0, 2**20), st.integers(0, 255)), min_size=1, max_size=6)


# Always the same bytes: on some others the HDF5 library never returns, which is what the process apart is for.
@settings(max_examples=300, deadline=None, derandomize=True)
@given(version=st.sampled_from(sorted(WHOLE)), flips=FLIPS, cut=st.one_of(st.none(), st.integers(0, 2**20)))
def test_flipped_and_cut_bytes(version: str, flips: list[tuple[int, int]], cut: int | None) -> None:
    content = bytearray(WHOLE[version])
    for place, value in flips:
        content[place % len(content)] = value
    kept = bytes(content if cut is None else content[: cut % len(content)])
    tracemalloc.start()
    try:
        read_nhf(kept).frame()
    except NhfError:
        pass
    finally:
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
    assert peak < 2**27


@pytest.mark.parametrize("pixels", [2**13, 2**14])
def test_a_claim_of_gigabytes_costs_nothing(tmp_path, pixels: int) -> None:
    path = tmp_path / "huge.nhf"
    path.write_bytes(WHOLE["1.1"])
    with h5py.File(path, "a") as file:
        measurement = file["measurement_0"]
        measurement.attrs["image_points_per_line"] = measurement.attrs["image_number_of_lines"] = np.uint32(pixels)
        for segment in (measurement["segment_0"], measurement["segment_1"]):
            about = dict(segment["dataset_0"].attrs)
            del segment["dataset_0"], segment["dataset_1"]
            # Nothing of it is stored: the library would make it up from the fill value.
            made = segment.create_dataset("dataset_0", shape=(pixels * pixels,), dtype="<i4", chunks=(1024,))
            made.attrs.update(about)
    assert path.stat().st_size < 2**17
    tracemalloc.start()
    with pytest.raises(NhfError, match=r"claims \d+ bytes of samples|are no image"):
        read_nhf(path)
    assert tracemalloc.get_traced_memory()[1] < 2**23
    tracemalloc.stop()


def torn() -> bytes:
    """A file on which the library hangs: the size of a text in the heap is wrong, and what follows has no length."""
    content = bytearray(WHOLE["1.1"])
    content[content.rindex(b"Deflection") - 8] = 1
    return bytes(content)


def test_a_file_on_which_the_library_hangs_is_given_up() -> None:
    with pytest.raises(NhfError, match=r"torn\.nhf: file: was not read within 4 s"):
        read_nhf_apart(torn(), name="torn.nhf", seconds=4)


def test_the_process_ends_by_itself_where_nobody_waits_any_more() -> None:
    context = multiprocessing.get_context("spawn")
    here, there = context.Pipe(duplex=False)
    process = context.Process(target=_read, args=(there, torn(), "torn.nhf", 1.0))
    process.start()
    process.join(60)
    assert process.exitcode == 1
    here.close()


def test_a_file_read_apart_is_the_same() -> None:
    ours, apart = read_nhf(WHOLE["2.0"], name="a"), read_nhf_apart(WHOLE["2.0"], name="a")
    assert (apart.settings, apart.lines_done, list(apart.channels)) == (ours.settings, 6, list(ours.channels))
    assert apart.frame().data("Z-Axis").tobytes() == ours.frame().data("Z-Axis").tobytes()
    with pytest.raises(NhfError, match=r"^x\.nhf: file: cannot be read") as caught:
        read_nhf_apart(b"", name="x.nhf")
    assert str(caught.value).count("x.nhf") == 1
