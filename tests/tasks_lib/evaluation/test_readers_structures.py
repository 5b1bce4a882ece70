"""The faults of structure files that people in the field meet, and hostile ones."""

from __future__ import annotations

import contextlib
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
        ("no-symbols.vasp", "poscar", "without the element symbols"),
        ("cut-coordinates.vasp", "poscar", "cannot be read"),
        ("shared-site-over-one.cif", "cif", "cannot be read: .*[Oo]ccupanc"),
        ("rutile.vasp", "cif", "0 data blocks"),
        ("rutile.cif", "poscar", "line 2 is 'data_TiO2'"),
        ("rutile.vasp", "cjson", "holds no crystal"),
    ],
)
def test_faults_are_told(good: Bytes, bad: Bytes, name: str, form: str, reason: str) -> None:
    data = good(name) if name.startswith("rutile") else bad(name)
    with pytest.raises(Unreadable, match=reason):
        read_structure(data, form)


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
