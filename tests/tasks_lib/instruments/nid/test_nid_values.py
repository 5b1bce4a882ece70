from __future__ import annotations

import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tasks_lib.instruments.nid._units import si_unit
from tasks_lib.instruments.nid._values import parse_value


@pytest.mark.parametrize(
    ("text", "value", "unit"),
    [
        ("L[209]*[]", 209, ""),
        ("B[0]*[]", False, ""),
        ("B[1]*[]", True, ""),
        ("D[0.1]*[V]", 0.1, "V"),
        ("D[23.5]*[nN]", 23.5e-9, "N"),
        ("D[10]*[°]", 10.0, "°"),
        ("D[65]*[%]", 65.0, "%"),
        ("D[3]*[N/m]", 3.0, "N/m"),
        ("V[8.90625e-06,8.67187e-06,0]*[m,m,m]", (8.90625e-06, 8.67187e-06, 0.0), ("m", "m", "m")),
        ("V[128,10,0]*[,,]", (128.0, 10.0, 0.0), ("", "", "")),
        ("V[1,2]*[µm,ms]", (1e-6, 2e-3), ("m", "s")),
        ("S[a]*[b]*[]", "a]*[b", ""),
        ("S[]*[]", "", ""),
        ("128 ", 128, ""),
        ("5e-05", 5e-05, ""),
        ("8.91µm", 8.91e-06, "m"),
        ("8.91μm", 8.91e-06, "m"),  # the Greek letter
        ("625m°", 0.625, "°"),
        ("-1.9 °", -1.9, "°"),
        ("100ms", 0.1, "s"),
        ("1.33 V", 1.33, "V"),
        ("170.147kHz", 170147.0, "Hz"),
        ("0.319214MHz", 319214.0, "Hz"),
        ("772fm/sqrt(Hz)", 772e-15, "m/sqrt(Hz)"),
        ("27.13 N/m", 27.13, "N/m"),
        ("65 %", 65.0, "%"),
        ("40 °C", 40.0, "°C"),
        ("43.5%", 43.5, "%"),
        ("0 m", 0.0, "m"),
        ("Lateral Force", "Lateral Force", ""),
        ("13-06-2025", "13-06-2025", ""),
        ("20:16:08", "20:16:08", ""),
        ("3.10.2.19", "3.10.2.19", ""),
        ("101-21-017.hed", "101-21-017.hed", ""),
        ("0,Channel0,Deflection,V,5,0", "0,Channel0,Deflection,V,5,0", ""),
        ("1e999", "1e999", ""),
        ("nan", "nan", ""),
        ("1_0", "1_0", ""),
        ("١٢", "١٢", ""),
        ("", "", ""),
    ],
)
def test_values_of_the_header_get_their_type_and_si_unit(text, value, unit):
    read = parse_value(text)
    assert (read.value, read.unit) == (value, unit)
    assert type(read.value) is type(value)


@pytest.mark.parametrize(
    "text",
    [
        "L[1.5]*[]", "L[]*[]", "L[1_000]*[]", "L[9999999999999999999]*[]", "D[abc]*[V]", "D[nan]*[V]", "D[-inf]*[V]",
        "D[1e400]*[V]", "D[1,2]*[V]", "B[2]*[]", "B[true]*[]", "V[1,2]*[m]", "V[1,nan]*[m,m]", "X[1]*[]",
    ],
)  # fmt: skip
def test_a_value_that_belies_its_type_is_refused(text):
    with pytest.raises(ValueError, match=r"is not|neither|too large|values and|none of"):
        parse_value(text)


@pytest.mark.parametrize(
    ("text", "power", "unit"),
    [("m", 0, "m"), ("mm", -3, "m"), ("min", 0, "min"), ("ms", -3, "s"), ("s", 0, "s"), ("%", 0, "%"), ("", 0, "")],
)
def test_a_prefix_is_taken_off_where_a_known_symbol_is_left(text, power, unit):
    assert si_unit(text) == (power, unit)


@settings(deadline=None)
@given(st.text(max_size=60))
def test_no_text_does_anything_but_get_a_type_or_a_value_error(text):
    try:
        read = parse_value(text)
    except ValueError:
        return
    values = read.value if isinstance(read.value, tuple) else (read.value,)
    assert all(math.isfinite(one) for one in values if not isinstance(one, str))


@settings(deadline=None)
@given(st.floats(allow_nan=False, allow_infinity=False), st.sampled_from(["V", "m", "°", "%", "N/m"]))
def test_the_shortest_decimals_of_a_float_come_back_as_that_float(value, unit):
    read = parse_value(f"D[{value!r}]*[{unit}]")
    assert read.value == value
    assert read.unit == unit
