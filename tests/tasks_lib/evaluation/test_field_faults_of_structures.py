"""Structure files that people in the field reported, each with the right value, and numbers that are none."""

from __future__ import annotations

import codecs
import json
import re
from collections.abc import Callable
from typing import Any

import pytest
from pymatgen.analysis.structure_matcher import StructureMatcher
from pymatgen.core.structure import Structure

from tasks_lib.evaluation import METRICS, Judgement, Seen, Unreadable
from tasks_lib.evaluation._cage import caged
from tasks_lib.evaluation.readers.structures import read_structure

Bytes = Callable[[str], bytes]
See = Callable[..., Seen]
FORMS = {"cif": "rutile.cif", "poscar": "rutile.vasp", "cjson": "rutile.cjson"}
ENCODINGS: dict[str, Callable[[bytes], bytes]] = {
    "bom": lambda data: codecs.BOM_UTF8 + data,
    "crlf": lambda data: data.replace(b"\n", b"\r\n"),
    "latin-1": lambda data: data.replace(b"TiO2", "TiO2 Vermeß-Gerät Å".encode("latin-1"), 1),
}


def refuse(data: bytes, form: str, reason: str) -> None:
    """Expect the refusal from the reader in its cage, where time and memory are limited."""
    with pytest.raises(Unreadable, match=reason):
        caged("structures.read_structure", data, form=form)


def tetragonal(c: float = 4.2, shift: float = 0.0, edge: float = 4.0) -> bytes:
    """Write a cell with two atoms; `shift` moves the second along c, Å."""
    rows = ["Direct", "0 0 0", f"0.5 0.5 {0.5 + shift / c}"]
    return "\n".join(["cell", "1.0", f"{edge} 0 0", f"0 {edge} 0", f"0 0 {c}", "Na Cl", "1 1", *rows, ""]).encode()


def match(see: See, seen: bytes, want: bytes) -> Judgement:
    one, other = (see("structure", "POSCAR", data) for data in (seen, want))
    judgement = METRICS["structure-match"].function(one, other.value)
    assert isinstance(judgement, Judgement)
    return judgement


def test_row_1_a_label_before_the_flags_is_an_error_and_behind_them_it_is_read(bad: Bytes) -> None:
    data = bad("label-before-flags.vasp")
    refuse(data, "poscar", "line 10 of the POSCAR has 'C' where a selective-dynamics flag T or F stands")
    assert read_structure(re.sub(rb"C (T T [TF])", rb"\1 C", data), "poscar")["sites"] == 2


def test_row_2_an_empty_first_line_is_told_by_number(bad: Bytes) -> None:
    reason = "line 1 of a POSCAR is the comment and line 2 the scale: line 2 is 'silicon'"
    refuse(bad("empty-first-line.vasp"), "poscar", reason)


def test_row_3_an_occupancy_above_one_is_quoted_and_not_rescaled(bad: Bytes) -> None:
    refuse(bad("occupancy.cif"), "cif", "a site has the occupancy 1.556, outside 0 to 1")
    refuse(bad("occupancy.cif").replace(b"1.556", b"nan"), "cif", "occupancy nan")
    assert read_structure(bad("occupancy.cif").replace(b"1.556", b"?"), "cif")["ordered"] is True


def test_row_4_hydrogen_that_is_only_implied_is_no_structure(bad: Bytes) -> None:
    ice = bad("lost-hydrogen.cif")
    refuse(ice, "cif", "differs from _chemical_formula_sum 'H2 O1': atoms are missing")
    unsaid = ice.replace(b"_chemical_formula_sum 'H2 O1'\n", b"")
    assert read_structure(unsaid, "cif")["formula"] == "O1"
    refuse(unsaid.replace(b"O1 O 0", b"Wat1 Wat 0"), "cif", "atoms without a place are missing")
    attached = unsaid.replace(b"occupancy\n", b"occupancy\n_atom_site_attached_hydrogens\n").replace(b"0 1", b"0 1 2")
    refuse(attached, "cif", "tells hydrogen atoms by a number or a name alone")


def test_row_5_two_data_blocks_are_both_named(bad: Bytes) -> None:
    refuse(bad("two-blocks.cif"), "cif", r"2 data blocks \(one, two\), one structure is expected")


@pytest.mark.parametrize(("name", "form"), [("thin-cell.vasp", "poscar"), ("thin-cell.cif", "cif")])
def test_row_6_a_cell_thinner_than_any_crystal_is_refused(bad: Bytes, name: str, form: str) -> None:
    refuse(bad(name), form, "cell edge c is 1e-08 Å")


@pytest.mark.parametrize("vector", ["3 3 1e-8", "3 3 0", "1.5 0 0"])
def test_row_6_a_flat_cell_with_long_edges_is_refused(vector: str) -> None:
    data = f"flat\n1.0\n3 0 0\n0 3 0\n{vector}\nSi\n1\nDirect\n0 0 0\n".encode()
    refuse(data, "poscar", r"Å\^3 an atom, it is flat")
    if "e" not in vector:
        refuse(data.replace(b"1.0", b"-27"), "poscar", "lie in one plane: the cell has no volume")


@pytest.mark.parametrize("form", sorted(FORMS))
@pytest.mark.parametrize("change", sorted(ENCODINGS))
def test_row_7_any_mark_encoding_and_line_end_is_read(good: Bytes, form: str, change: str) -> None:
    data = good(FORMS[form])
    if change == "latin-1" and form != "cif":
        data = data.replace(b"Ti2 O4", b"TiO2", 1).replace(b'"chemicalJson": 1', b'"chemicalJson": 1, "name": "TiO2"')
    changed = ENCODINGS[change](data)
    assert changed != data
    assert read_structure(changed, form)["formula"] == "Ti2O4"


def test_row_8_likeness_in_one_order_alone_is_none(see: See) -> None:
    # Found by a search over random cells: pymatgen aligns one atom of its first argument with those of the second.
    first = "pair\n1.0\n4.4 0 0\n0 4.5 0\n0 0 4.5\nNa Cl\n1 2\nDirect\n.78 .43 .31\n.29 .71 .74\n.51 .73 .87\n"
    second = "pair\n1.0\n4.62 0 0\n0 4.67 0\n0 0 4.39\nNa Cl\n1 2\nDirect\n.82 .38 .31\n.29 .67 .70\n.48 .71 .88\n"
    one, other = (Structure.from_str(text, fmt="poscar") for text in (first, second))
    matcher = StructureMatcher(ltol=0.05, stol=0.1, angle_tol=2.0, primitive_cell=False, scale=False)
    assert (matcher.fit(one, other), matcher.fit(other, one)) == (True, False)
    for seen, want in ((first, second), (second, first)):
        judged = match(see, seen.encode(), want.encode())
        assert not judged.passed
        assert "does not fit" in judged.why


def test_row_9_likeness_is_no_equivalence_and_its_distance_is_told(see: See) -> None:
    near, middle, far = tetragonal(shift=0.0), tetragonal(shift=0.5), tetragonal(shift=1.0)
    for seen, want in ((near, middle), (middle, near), (far, middle), (middle, far)):
        judged = match(see, seen, want)
        assert judged.passed
        distance = float(re.search(r"RMS distance ([0-9.]+)", judged.why)[1])  # type: ignore[index]
        # Each atom is a quarter of an ångström off, in units of the cube root of the volume per site.
        assert distance == pytest.approx(0.25 / (4 * 4 * 4.2 / 2) ** (1 / 3), abs=1e-4)
    assert not match(see, near, far).passed
    assert not match(see, far, near).passed


@pytest.mark.parametrize("value", ["nan", "NaN", "inf", "-inf", "1e400"])
@pytest.mark.parametrize("form", sorted(FORMS))
def test_row_13_coordinates_that_are_no_numbers_are_refused(good: Bytes, form: str, value: str) -> None:
    data = good(FORMS[form])
    if form == "cjson":
        tree = json.loads(data)
        tree["atoms"]["coords"]["3d"][4] = float(value)
        data = json.dumps(tree).encode()
    else:
        data = re.sub(rb"0\.19500000\d*", value.encode(), data, count=1)
    refuse(data, form, "no finite number|which are no place")


def zero_cell(data: bytes, form: str) -> bytes:
    if form == "cif":
        return re.sub(rb"(_cell_length_[abc]\s+)\S+", rb"\g<1>0.0", data)
    if form == "poscar":
        lines = data.split(b"\n")
        return b"\n".join([*lines[:2], *3 * [b"0 0 0"], *lines[5:]])
    tree = json.loads(data)
    tree["unitCell"] |= {"a": 0.0, "b": 0.0, "c": 0.0}
    return json.dumps(tree).encode()


@pytest.mark.parametrize("form", sorted(FORMS))
def test_row_13_a_lattice_of_zeros_is_refused(good: Bytes, form: str) -> None:
    refuse(zero_cell(good(FORMS[form]), form), form, "cell edge a is 0 Å, shorter than the 0.5 Å of any crystal")


@pytest.mark.parametrize("vector", [[0.0] * 9, [float("nan")] * 9, [float("inf"), 0, 0, 0, 4, 0, 0, 0, 4], [1.0]])
def test_vectors_of_a_cjson_are_checked_beside_its_edges(good: Bytes, vector: list[float]) -> None:
    tree = json.loads(good("rutile.cjson"))
    tree["unitCell"]["cellVectors"] = vector
    refuse(json.dumps(tree).encode(), "cjson", ".")


@pytest.mark.parametrize("angle", ["0", "180", "500", "-90", "nan"])
def test_angles_that_span_no_cell_are_refused(good: Bytes, angle: str) -> None:
    data = re.sub(rb"(_cell_angle_gamma\s+)\S+", rb"\g<1>" + angle.encode(), good("rutile.cif"))
    refuse(data, "cif", "cell angle gamma is .*, it must lie between 0° and 180°")
    tree: dict[str, Any] = json.loads(good("rutile.cjson"))
    tree["unitCell"]["gamma"] = float(angle)
    refuse(json.dumps(tree).encode(), "cjson", "cell angle gamma is")


def test_a_negative_scale_is_the_volume_for_the_cell_and_for_cartesian_positions() -> None:
    data = b"silicon\n-54\n3 0 0\n0 3 0\n0 0 3\nSi\n1\nCartesian\n1.5 1.5 1.5\n"
    found: dict[str, Any] = read_structure(data, "poscar")
    assert found["volume"] == pytest.approx(54)
    assert found["structure"]["sites"][0]["abc"] == pytest.approx([0.5, 0.5, 0.5])
    refuse(data.replace(b"-54", b"1 1 2"), "poscar", "three scale factors, one is read")
