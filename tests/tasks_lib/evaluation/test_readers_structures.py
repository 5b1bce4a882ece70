"""The faults of structure files that people in the field meet, and hostile ones."""

from __future__ import annotations

import codecs
import contextlib
import re
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tasks_lib.evaluation import Seen, Unreadable
from tasks_lib.evaluation._cage import caged
from tasks_lib.evaluation.readers.structures import read_structure

Bytes = Callable[[str], bytes]
See = Callable[..., Seen]


@pytest.mark.parametrize(
    ("name", "form"), [("rutile.cif", "cif"), ("rutile.vasp", "poscar"), ("rutile.cjson", "cjson")]
)
def test_three_formats_of_one_crystal(good: Bytes, name: str, form: str) -> None:
    found = read_structure(good(name), form, symmetry=True)
    assert (found["formula"], found["reduced-formula"], found["sites"]) == ("Ti2O4", "TiO2", 6)
    assert found["elements"] == ["O", "Ti"]
    assert found["space-group"] == 136
    assert found["volume"] == pytest.approx(62.449, abs=1e-3)
    assert found["density"] == pytest.approx(4.248, abs=2e-3)


@pytest.mark.parametrize(
    ("name", "form", "reason"),
    [
        ("label-before-flags.vasp", "poscar", "line 10 of the POSCAR has 'C' where a selective-dynamics flag"),
        (
            "empty-first-line.vasp",
            "poscar",
            "line 1 of a POSCAR is the comment and line 2 the scale: line 2 is 'silicon'",
        ),
        ("no-symbols.vasp", "poscar", "without the element symbols"),
        ("cut-coordinates.vasp", "poscar", "cannot be read"),
        ("thin-cell.vasp", "poscar", "cell edge c is 1e-08 Å"),
        ("thin-cell.cif", "cif", "cell edge c is 1e-08 Å"),
        ("occupancy.cif", "cif", "occupancy 1.556"),
        ("shared-site-over-one.cif", "cif", "cannot be read: .*[Oo]ccupanc"),
        ("lost-hydrogen.cif", "cif", "differs from _chemical_formula_sum 'H2 O1'"),
        ("two-blocks.cif", "cif", r"2 data blocks \(one, two\)"),
        ("rutile.vasp", "cif", "0 data blocks"),
        ("rutile.cif", "poscar", "line 2 is 'data_TiO2'"),
        ("rutile.vasp", "cjson", "holds no crystal"),
    ],
)
def test_faults_are_told(good: Bytes, bad: Bytes, name: str, form: str, reason: str) -> None:
    data = good(name) if name.startswith("rutile") else bad(name)
    with pytest.raises(Unreadable, match=reason):
        read_structure(data, form)


@pytest.mark.parametrize(
    "change",
    [
        lambda data: codecs.BOM_UTF8 + data,
        lambda data: data.replace(b"\n", b"\r\n"),
        lambda data: "# Vermeß-Gerät\n".encode("latin-1") + data,
    ],
    ids=["bom", "crlf", "latin-1"],
)
def test_encodings_of_a_cif(good: Bytes, change: Callable[[bytes], bytes]) -> None:
    assert read_structure(change(good("rutile.cif")), "cif")["formula"] == "Ti2O4"


def test_selective_dynamics_with_the_label_behind(bad: Bytes) -> None:
    mended = re.sub(rb"C (T T [TF])", rb"\1 C", bad("label-before-flags.vasp"))
    assert read_structure(mended, "poscar")["sites"] == 2


@pytest.mark.parametrize("share", [0.3, 0.5, 0.7, 0.9])
def test_a_truncated_cif_is_no_structure(good: Bytes, share: float) -> None:
    data = good("rutile.cif")
    with pytest.raises(Unreadable):
        read_structure(data[: int(len(data) * share)], "cif")


@pytest.mark.parametrize("form", ["cif", "poscar", "cjson"])
@given(data=st.binary(max_size=150))
@settings(max_examples=40, deadline=None)
def test_any_bytes_are_a_reason(form: str, data: bytes) -> None:
    with pytest.raises(Unreadable):
        read_structure(data, form)


@pytest.mark.parametrize(
    ("name", "form"), [("rutile.cif", "cif"), ("rutile.vasp", "poscar"), ("rutile.cjson", "cjson")]
)
@given(data=st.data())
@settings(max_examples=40, deadline=None)
def test_a_damaged_file_is_a_structure_or_a_reason(name: str, form: str, data: st.DataObject) -> None:
    whole = bytearray((Path(__file__).parents[2] / "fixtures" / "evaluation" / "good" / name).read_bytes())
    for _ in range(3):
        at = data.draw(st.integers(0, len(whole) - 1))
        whole[at : at + data.draw(st.integers(0, 8))] = data.draw(st.binary(max_size=8))
    with contextlib.suppress(Unreadable):
        caged("structures.read_structure", bytes(whole), form=form)


def test_the_format_is_known_by_name_and_by_content(see: See, good: Bytes) -> None:
    for path, name in (
        ("out/a.cif", "rutile.cif"),
        ("POSCAR", "rutile.vasp"),
        ("CONTCAR_final", "rutile.vasp"),
        ("a.txt", "rutile.cif"),
        ("b.txt", "rutile.vasp"),
        ("c.txt", "rutile.cjson"),
    ):
        assert see("structure", path, good(name), what="formula").value == "Ti2O4"


def test_parts_have_units(see: See, good: Bytes) -> None:
    assert see("structure", "a.cif", good("rutile.cif"), what="volume").unit == "Å^3"
    assert see("structure", "a.cif", good("rutile.cif"), what="space-group-symbol").value == "P4_2/mnm"


def test_the_whole_structure_is_shown_in_short(see: See, good: Bytes) -> None:
    seen = see("structure", "a.cif", good("rutile.cif"))
    assert "structure" in seen.value
    assert "structure" not in seen.shown
