from __future__ import annotations

import json
from urllib.parse import quote

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tasks_lib.models import Redactor


def test_every_form_of_a_secret_goes():
    secret = 'sk-"a/b+c\\d"-ö'
    hide = Redactor([secret])
    for form in (secret, quote(secret, safe=""), json.dumps(secret)):
        assert secret not in hide(f"<{form}>")
        assert "[redacted]" in hide(f"<{form}>")


def test_a_secret_within_a_secret_goes_as_a_whole():
    assert Redactor(["12345678", "12345678-and-more"])("x 12345678-and-more y") == "x [redacted] y"


@pytest.mark.parametrize("value", ["", "EMPTY", "ollama", "1234567"])
def test_short_values_are_place_holders(value):
    assert Redactor([value])(f"the word {value}") == f"the word {value}"


@pytest.mark.parametrize(
    "name",
    [
        "OPENAI_API_KEY",
        "MP_API_KEY",
        "apikey",
        "HF_TOKEN",
        "AWS_SECRET_ACCESS_KEY",
        "DB_PASSWORD",
        "GH_PAT",
        "CREDENTIALS",
    ],
)
def test_variables_that_sound_secret_are_found(name):
    assert Redactor.from_environment({name: "value-of-it-1"})("a value-of-it-1") == "a [redacted]"


@pytest.mark.parametrize(
    "name", ["PATH", "HOME", "KEYBOARD_LAYOUT", "TOKENIZERS_PARALLELISM", "MONKEY_BUSINESS", "COMPAT"]
)
def test_other_variables_are_left(name):
    assert Redactor.from_environment({name: "value-of-it-1"})("a value-of-it-1") == "a value-of-it-1"


def test_two_redactors_hide_what_either_hides_and_show_nothing():
    both = Redactor(["secret-one"]) | Redactor(["secret-two"])
    assert both("secret-one secret-two") == "[redacted] [redacted]"
    assert repr(both) == "Redactor(2 secrets)"


@given(st.lists(st.text(min_size=8), max_size=4), st.text(), st.text())
def test_no_secret_is_left_in_any_text(secrets, before, after):
    hide = Redactor(secrets)
    for secret in secrets:
        assert hide(before + secret + after).count("[redacted]") >= 1
