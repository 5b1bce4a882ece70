"""One number, spelt as the Materials Project's client spells it."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tasks_lib.databases.identifiers import FIRST_NUMBER, MP_LAST_NUMERIC, mp_alpha_id, mp_id, mp_number


@pytest.mark.parametrize(
    ("number", "alpha"),
    [(0, "mp-a"), (25, "mp-z"), (26, "mp-ba"), (149, "mp-ft"), (3347530, "mp-hilze"), (9000001, "mp-tsbpx")],
)
def test_letters_are_those_of_the_client(number, alpha):
    assert mp_alpha_id(number) == alpha
    assert mp_number(alpha) == number


@given(st.integers(min_value=0, max_value=10**12), st.integers(min_value=0, max_value=12))
def test_both_spellings_read_back(number, padding):
    assert mp_number(mp_id(number)) == mp_number(mp_alpha_id(number, padding)) == number
    assert len(mp_alpha_id(number, padding)) >= padding + 3


@pytest.mark.parametrize(
    "wrong", ["", "mp-", "mp-12a", "mp-Ft", "mp--1", "mvc-12", "mp-1 ", "mp-1\n", "9" * 16, "mp-é"]
)
def test_other_text_is_no_id(wrong):
    with pytest.raises(ValueError, match="a Materials Project id is"):
        mp_number(wrong)


def test_the_range_is_beyond_the_real_one():
    assert FIRST_NUMBER > 2 * MP_LAST_NUMERIC


def test_the_client_agrees():
    mpid = pytest.importorskip("emmet.core.mpid", reason="emmet-core is not installed")
    for number in (149, MP_LAST_NUMERIC, MP_LAST_NUMERIC + 1, FIRST_NUMBER, FIRST_NUMBER + 499):
        assert str(mpid.AlphaID(mp_id(number))) == mp_alpha_id(number)
        assert mpid.MPID(mp_id(number)) == mp_id(number)
    assert mpid.AlphaID._cut_point == MP_LAST_NUMERIC
