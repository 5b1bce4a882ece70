"""Hostile text: nothing invisible, nothing reordered, nothing endless, no name that runs."""

import re
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tasks_lib.reporting._text import cap, paragraphs, redact_tree, safe_name, scrub, value_text, wanted_text

any_text = st.text(st.characters(), max_size=200)
BIDI = "\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069\u200e\u200f\u061c"


@pytest.mark.parametrize(
    ("raw", "shown"),
    [
        ("\x1b[31mred\x1b[0m", "␛[31mred␛[0m"),
        ("\x1b]0;title\x07", "␛]0;title␇"),
        ("safe\u202egpj.exe", "safe⟦U+202E⟧gpj.exe"),
        ("a\u200bb\ufeff", "a⟦U+200B⟧b⟦U+FEFF⟧"),
        ("progress 10 %\rprogress 99 %", "progress 10 %␍progress 99 %"),
        ("line\r\nnext\n\tindented", "line\nnext\n\tindented"),
        ("\x00\x7f\x9b", "␀␡⟦U+009B⟧"),
        ("tag\U000e0041", "tag⟦U+E0041⟧"),
        ("lone \ud800", "lone ⟦U+D800⟧"),
        ("1.54 Å, 2θ, C–O, 日本語, e\u0301", "1.54 Å, 2θ, C–O, 日本語, e\u0301"),
    ],
)
def test_scrub_shows_what_hides(raw, shown):
    assert scrub(raw) == shown


@given(any_text)
def test_scrubbed_text_has_no_control_and_no_direction_character(text):
    clean = scrub(text)
    assert not any(unicodedata.category(char) in {"Cc", "Cs"} and char not in "\n\t" for char in clean)
    assert not set(clean) & set(BIDI)
    clean.encode("utf-8")


@given(any_text)
def test_scrub_twice_is_scrub_once(text):
    assert scrub(scrub(text)) == scrub(text)


@given(any_text, st.integers(8, 100))
def test_cap_keeps_both_ends_and_says_how_much_is_missing(text, most):
    short = cap(text, most)
    if len(text) <= most:
        assert short == text
    else:
        assert short.startswith(text[: most - most // 4])
        assert short.endswith(text[len(text) - most // 4 :])
        assert f"{len(text) - most:,} characters left out" in short


def test_cap_of_a_megabyte_stays_small():
    assert len(cap("x" * 1_000_000, 16_000)) < 16_100


@pytest.mark.parametrize(
    ("path", "name"),
    [
        ("out/c1s.csv", "c1s.csv"),
        ("page.html", "page.html.txt"),
        ("figure.svg", "figure.svg.txt"),
        ("run.exe", "run.exe.txt"),
        ("../../etc/passwd", "passwd"),
        (".bashrc", "bashrc"),
        ("a\u202egpj.csv", "a_gpj.csv"),
        ("…", "_"),
        ("POSCAR", "POSCAR"),
    ],
)
def test_safe_names(path, name):
    assert safe_name(path) == name


@given(any_text)
def test_every_safe_name_is_plain_and_opens_as_data(path):
    name = safe_name(path)
    assert re.fullmatch(r"[A-Za-z0-9_][A-Za-z0-9._-]*", name)
    assert len(name) <= 84
    extension = name.lower().rpartition(".")[2] if "." in name else ""
    assert extension not in {"html", "htm", "svg", "js", "exe", "sh", "bat", "desktop", "lnk", "url", "xhtml"}


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        (None, "nothing"),
        ("", '""'),
        ("C 1s", "C 1s"),
        (284.8, "284.8"),
        (1e-7, "1e-07"),
        (True, "true"),
        (["a", 1], '["a", 1]'),
        ({"µ": 2}, '{"µ": 2}'),
    ],
)
def test_values_read_as_they_are(value, shown):
    assert value_text(value, lambda text: text) == shown


def test_secrets_are_taken_out_of_keys_and_values_of_any_depth():
    hidden = redact_tree({"a": ["sk-1234", {"sk-1234": 1}], "n": 3}, lambda text: text.replace("sk-1234", "[x]"))
    assert hidden == {"a": ["[x]", {"[x]": 1}], "n": 3}


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        ({"value": 284.8, "unit": "eV", "tolerance": 0.1}, "284.8 ± 0.1 eV"),
        ({"value": [284.8, 286.4], "unit": "eV", "tolerance": 0.1}, "[284.8, 286.4] eV ± 0.1 eV"),
        ({"value": 5.0, "unit": "nm", "relative": 0.02}, "5.0 nm ± 2 %"),
        ({"value": [1, 2], "relative": 0.08}, "[1, 2] ± 8 %"),
        ({"value": ["Gaussian"]}, '["Gaussian"]'),
        ({"value": 0, "tolerance": 0}, "0 ± 0"),
        ({"value": 1, "tolerance": "wide"}, "1"),
        ({"value": 1, "other": 2}, '{"value": 1, "other": 2}'),
        (None, "nothing"),
        ("C 1s", "C 1s"),
    ],
)
def test_what_was_wanted_reads_as_one_would_write_it(value, shown):
    assert wanted_text(value, lambda text: text) == shown


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("Open the file\nand fit it.\n\nThen save\nit.\n", ["Open the file and fit it.", "Then save it."]),
        ("Write:\n- a in Å\n- b in Å,\nas numbers", ["Write:\n- a in Å\n- b in Å, as numbers"]),
        ("Keys:\n1. open\n2. save", ["Keys:\n1. open\n2. save"]),
        ("Columns:\n    two_theta\n    intensity", ["Columns:\ntwo_theta\nintensity"]),
        ("", [""]),
    ],
)
def test_instructions_wrapped_by_hand_are_unwrapped(text, parts):
    assert paragraphs(text) == parts


@given(any_text)
def test_paragraphs_lose_no_word(text):
    assert " ".join(paragraphs(text)).split() == text.split()
