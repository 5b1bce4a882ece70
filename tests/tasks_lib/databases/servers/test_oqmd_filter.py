"""The filter language of OQMD: what it means, what it refuses, and that no text can break it."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tasks_lib.databases.servers.oqmd_filter import DEEPEST_FILTER, MOST_COMPARISONS, OqmdFilterError, parse

HEMATITE = {
    "elements": ("Fe", "O"),
    "ntypes": 2,
    "natoms": 10,
    "volume": 100.0,
    "delta_e": -1.6,
    "stability": 0.0,
    "band_gap": None,
    "spacegroup": "R-3c",
    "prototype": "A2B3_hR10_167_c_e",
    "strukturbericht": "D5_1",
    "composition_generic": "A2B3",
}


@pytest.mark.parametrize(
    ("text", "holds"),
    [
        ("element=Fe AND element=O", True),
        ("element=Fe & element=Ti", False),
        ("element!=Ti", True),
        ("element_set=(Fe-Mn),O", True),
        ("element_set=Fe,~O", False),
        ("element_set=Al-Fe-Ti", True),
        ("element_set=~(Al-Ti)", True),
        ("( element=Ti OR element=Fe ) AND natoms<11", True),
        ("element=Ti OR element=Fe AND natoms<3", False),
        ("element=Fe OR element=Ti AND natoms<3", True),
        ("natoms<=10 AND natoms>=10 AND natoms=10 AND natoms!=9", True),
        ("natoms<10 | natoms>10", False),
        ("volume>9.9e1 AND volume<1.001E+2", True),
        ("delta_e<-1.5", True),
        ("delta_e>-1.5", False),
        ("stability=0", True),
        ("spacegroup=R-3c", True),
        ('spacegroup="R-3c"', True),
        ("spacegroup!=Fm-3m", True),
        ("prototype=D5_1", True),
        ("prototype=A2B3_hR10_167_c_e", True),
        ("prototype!=D5_1", False),
        ("generic=A2B3 AND ntypes=2", True),
        ("NOT element=Ti", True),
        ("~~element=Fe", True),
        ("element = Fe", True),
    ],
)
def test_a_filter_means_what_it_says(text: str, holds: bool) -> None:
    assert parse(text).matches(HEMATITE) is holds


@pytest.mark.parametrize("text", ["band_gap>1", "band_gap<1", "band_gap!=1", "NOT band_gap>1", "~(band_gap<1)"])
def test_a_missing_value_is_found_neither_by_a_comparison_nor_by_its_negation(text: str) -> None:
    assert not parse(text).matches(HEMATITE)


def test_a_missing_value_does_not_decide_where_another_comparison_does() -> None:
    assert parse("band_gap>1 OR ntypes=2").matches(HEMATITE)
    assert parse("NOT (band_gap>1 AND ntypes=3)").matches(HEMATITE)


def test_stability_zero_finds_what_lies_below_the_hull_of_the_others() -> None:
    assert parse("stability=0").matches({**HEMATITE, "stability": -0.05})
    assert not parse("stability=0").matches({**HEMATITE, "stability": 0.05})


@pytest.mark.parametrize(
    ("text", "word"),
    [
        ("", "character"),
        ("element=", "character"),
        ("element=Fe AND", "character"),
        ("element=Fe and element=O", "and element"),
        ("colour=red", "colour"),
        ("volume=big", "big"),
        ("element<Fe", "<Fe"),
        ("(element=Fe", "character"),
        ("element_set=Fe,,O", ",O"),
        ("volume>1; import os", "; import"),
        ("~" * 60 + "ntypes=2", "levels deep"),
        ("(~" * 60 + "ntypes=2" + ")" * 60, "levels deep"),
        (" OR ".join(["ntypes=2"] * 501), "comparisons"),
        ("element_set=" + ",".join(["Fe"] * 501), "comparisons"),
        ("x" * 8_001, "characters"),
    ],
)
def test_what_is_no_filter_is_refused_with_the_place(text: str, word: str) -> None:
    with pytest.raises(OqmdFilterError, match=word.replace("(", r"\(")):
        parse(text)


def test_plain_parentheses_cost_nothing() -> None:
    assert parse("(" * 500 + "ntypes=2" + ")" * 500).depth == 1


@given(st.text(max_size=200))
def test_any_text_is_a_filter_or_an_error_with_advice(text: str) -> None:
    try:
        found = parse(text)
    except OqmdFilterError as error:
        said = str(error)
    else:
        said = str(found.matches(HEMATITE))
    assert 0 < len(said) < 1_000


_NUMBERS = st.sampled_from(["ntypes", "natoms", "volume", "delta_e", "band_gap"])
_LEAVES = st.one_of(
    st.builds(
        lambda name, sign, value: (f"{name}{sign}{value}", _compare(name, sign, float(value))),
        _NUMBERS,
        st.sampled_from(["<", "<=", ">", ">=", "=", "!="]),
        st.integers(-3, 110),
    ),
    st.sampled_from(["Fe", "O", "Ti"]).map(lambda one: (f"element={one}", one in HEMATITE["elements"])),
)


def _compare(name: str, sign: str, wanted: float) -> bool | None:
    value: Any = HEMATITE[name]
    if value is None:
        return None
    return {
        "<": value < wanted,
        "<=": value <= wanted,
        ">": value > wanted,
        ">=": value >= wanted,
        "=": value == wanted,
        "!=": value != wanted,
    }[sign]


def _kleene_and(a: bool | None, b: bool | None) -> bool | None:
    return False if a is False or b is False else None if a is None or b is None else True


def _kleene_not(a: bool | None) -> bool | None:
    return None if a is None else not a


_TREES = st.recursive(
    _LEAVES,
    lambda inner: st.one_of(
        st.tuples(inner, inner).map(lambda ab: (f"({ab[0][0]} AND {ab[1][0]})", _kleene_and(ab[0][1], ab[1][1]))),
        st.tuples(inner, inner).map(
            lambda ab: (
                f"({ab[0][0]} | {ab[1][0]})",
                _kleene_not(_kleene_and(_kleene_not(ab[0][1]), _kleene_not(ab[1][1]))),
            )
        ),
        inner.map(lambda a: (f"NOT ({a[0]})", _kleene_not(a[1]))),
    ),
    max_leaves=12,
)


@given(_TREES)
def test_every_filter_agrees_with_logic_of_three_values(tree: tuple[str, bool | None]) -> None:
    text, truth = tree
    found = parse(text)
    assert found.matches(HEMATITE) is (truth is True)
    assert found.depth <= DEEPEST_FILTER
    assert found.comparisons <= MOST_COMPARISONS
