from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tasks_lib.evaluation.units import convert, is_missing, known_units, parse_number, parse_quantity, parse_unit

FINITE = st.floats(allow_nan=False, allow_infinity=False)


@pytest.mark.parametrize(
    ("value", "source", "target", "wanted"),
    [
        (1.0, "nm", "Å", 10.0),
        (1.0, "nm", "A\u030a", 10.0),
        (96.485, "kJ/mol", "eV/atom", 1.0),
        (1.0, "Ha", "eV", 27.2114),
        (1.0, "Å^3", "nm^3", 1e-3),
        (1.0, "Å³", "nm3", 1e-3),
        (1.0, "Å^-1", "nm⁻¹", 10.0),
        (1.0, "nm⁻²", "nm^-2", 1.0),
        (1.0, "g/cm^3", "kg/m^3", 1000.0),
        (180.0, "deg", "rad", math.pi),
        (50.0, "%", "1", 0.5),
        (2.0, "µm", "nm", 2000.0),
        (2.0, "μm", "um", 2.0),
    ],
)
def test_units_convert(value: float, source: str, target: str, wanted: float) -> None:
    converted = convert(value, source, target)
    assert converted == pytest.approx(wanted, rel=1e-4)


@pytest.mark.parametrize(("source", "target"), [("eV", "nm"), ("eV", "eV/atom"), ("furlong", "m"), ("Å^2", "Å^3")])
def test_other_kinds_do_not_convert(source: str, target: str) -> None:
    assert convert(1.0, source, target) is None


def test_an_unknown_unit_equals_only_itself() -> None:
    assert convert(3.0, "mAh/g", "mAh/g") == 3.0
    assert convert(3.0, "mAh/g", "Ah/kg") is None


@pytest.mark.parametrize("text", ["", "m^9*" * 100, "9" * 30, "^", "/", "m^^2", "2**9**9**9", "\x00", "m^99"])
def test_what_is_no_unit(text: str) -> None:
    assert parse_unit(text) is None


def test_a_unit_whose_factor_overflows_is_none() -> None:
    assert parse_unit("mol^9*mol^9") is None


@given(st.text(max_size=60))
def test_any_text_is_a_unit_or_none(text: str) -> None:
    unit = parse_unit(text)
    assert unit is None or (math.isfinite(unit.factor) and unit.factor > 0)


@given(FINITE.filter(lambda x: abs(x) < 1e200), st.sampled_from([n for _, names in known_units() for n in names]))
def test_conversion_to_itself_changes_nothing(value: float, unit: str) -> None:
    assert convert(value, unit, unit) == value


@given(FINITE)
def test_a_number_survives_repr(value: float) -> None:
    assert parse_number(repr(value)) == value


@given(FINITE)
def test_a_decimal_comma_is_read_where_it_is_asked_for(value: float) -> None:
    text = repr(value).replace(".", ",")
    assert parse_number(text, ",") == value
    assert "," not in text or parse_number(text) is None


@pytest.mark.parametrize(
    "text", ["nan", "inf", "1e999", "", "1,234.5", "0x10", "1_000", "１２", "--1", "1 2", "9" * 99]
)
def test_what_is_no_number(text: str) -> None:
    assert parse_number(text) is None


def test_whole_numbers_stay_whole() -> None:
    assert isinstance(parse_number("3"), int)
    assert isinstance(parse_number("3.0"), float)
    assert parse_number("−4") == -4


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("284.8 eV", (284.8, "eV")),
        ("284.8eV", (284.8, "eV")),
        ("284.8 [eV]", (284.8, "eV")),
        ("3", (3, None)),
        ("5.1 furlongs", (5.1, "furlongs")),
        ("12C", None),
        ("5th", None),
        ("284.8 eV or 285 eV", None),
        ("3 4", None),
        ("about 3", None),
    ],
)
def test_quantities(text: str, wanted: tuple[float, str | None] | None) -> None:
    assert parse_quantity(text) == wanted


@given(st.text(max_size=80))
def test_any_text_is_a_quantity_or_none(text: str) -> None:
    found = parse_quantity(text)
    assert found is None or math.isfinite(found[0])


@pytest.mark.parametrize("text", ["", " ", "NaN", "N/A", "-", "null", "-inf"])
def test_missing_values(text: str) -> None:
    assert is_missing(text)


def test_zero_is_not_missing() -> None:
    assert not is_missing("0")
