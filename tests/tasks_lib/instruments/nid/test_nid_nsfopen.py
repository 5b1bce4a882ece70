"""Nanosurf's own reader is the standard: its values are ours to the last bit."""

from __future__ import annotations

import numpy as np
import pytest

from tasks_lib.instruments.nid import read_nid

# NSFopen's word for what was recorded, by the file's own.
PLACES = {
    "Scan forward": ("Image", "Forward"),
    "Scan backward": ("Image", "Backward"),
    "Spec forward": ("Spec", "Forward"),
    "Spec backward": ("Spec", "Backward"),
    "Spectrum FFT": ("Sweep", "FFT"),
    "Spectrum Fit": ("Sweep", "Fit"),
}


def nanosurf(path, **options):
    reader = pytest.importorskip("NSFopen.read", reason="NSFopen is not installed (extra `test`)")
    return reader.read(str(path), **options)


def test_every_sample_is_that_of_nsfopen_to_the_last_bit(recorded_file):
    theirs = nanosurf(recorded_file, dataframe=False)
    compared = set()
    for channel in read_nid(recorded_file).channels:
        if channel.frame not in PLACES:
            continue
        kind, way = PLACES[channel.frame]
        their = theirs.data[kind][way][channel.name]
        if isinstance(their, list):  # curves, each cut to the points that were measured
            assert [len(line) for line in their] == list(channel.line_points)
            for line, ours in zip(their, channel.data, strict=True):
                assert np.asarray(line, float).tobytes() == ours[: len(line)].tobytes()
        else:
            assert their.tobytes() == channel.data.tobytes()
        assert channel.data.dtype == np.float64
        compared.add((kind, way, channel.name))
    assert compared == {
        (kind, way, name) for kind in theirs.data for way in theirs.data[kind] for name in theirs.data[kind][way]
    }


def test_settings_are_those_of_nsfopen_where_it_reads_them(recorded_file):
    ours, theirs = read_nid(recorded_file).settings, nanosurf(recorded_file, dataframe=False).param
    scan = theirs["Scan"]
    if scan["range"]:
        assert [ours.width_m, ours.height_m] == scan["range"]["Value"][:2]
        assert ours.time_per_line_s == scan["time/line"]["Value"][0]
        assert [ours.center_x_m, ours.center_y_m, ours.plane_z_m] == scan["offset"]["Value"]
        assert [ours.slope_y_deg, ours.slope_x_deg, ours.rotation_deg] == scan["rotation"]["Value"]
    tip = theirs["Tip"]
    if tip:
        assert ours.lever.name == tip["Name"]
        assert ours.lever.spring_constant_n_per_m == tip["Prop0"]["Value"]
        assert ours.lever.resonance_hz == tip["Prop1"]["Value"]


def test_the_header_has_the_sections_and_keys_that_nsfopen_finds(recorded_file):
    ours, theirs = read_nid(recorded_file).header, nanosurf(recorded_file, dataframe=False).param["HeaderDump"]
    assert {section: list(ours[section]) for section in ours} == {
        # NSFopen takes the bytes for Latin-1, so that µ and ° come out as two signs
        section.encode("latin-1").decode(): [key.encode("latin-1").decode() for key in keys if key]
        for section, keys in theirs.items()
    }
    for section in ours:
        dict(ours[section])  # every value has the type it claims
