from __future__ import annotations

import json

import pytest
import yaml
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from tasks_lib.taskdefs._yaml import MAX_BYTES, MAX_DEPTH, YamlProblem, read_yaml

PLAIN = st.recursive(
    st.none() | st.booleans() | st.integers(-(10**12), 10**12) | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(st.characters(codec="utf-8", exclude_categories=["Cs", "Cc"]), max_size=20),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text("abcdef-", min_size=1), inner, max_size=3),
    max_leaves=12,
)  # fmt: skip


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("no", "no"),
        ("on", "on"),
        ("1:30", "1:30"),
        ("2026-04-01", "2026-04-01"),
        ("010", "010"),
        ("1_000", "1_000"),
        ("1e-3", 0.001),
        ("2.5E+3", 2500.0),
        (".5", 0.5),
        ("-7", -7),
        ("true", True),
        ("~", None),
        ("0.1 eV", "0.1 eV"),
        ("'12'", "12"),
        (".inf", ".inf"),
        (".nan", ".nan"),
        ("C 1s", "C 1s"),
    ],
)
def test_scalars_are_those_of_yaml_1_2(text, value):
    found = read_yaml(f"key: {text}\n".encode()).value["key"]
    assert found == value
    assert type(found) is type(value)


@pytest.mark.parametrize(
    ("text", "line", "value"),
    [
        ("a: 1\nb: 2\na: 3\n", 3, "key 'a' stands also in line 1"),
        ("a:\n  - {x: 1, x: 2}\n", 2, "key 'x' stands also in line 2"),
        ("a: &big [1]\nb: *big\n", 1, "an anchor or alias"),
        ("a: 1\nb: !!python/object/apply:os.system [ls]\n", 2, "tag tag:yaml.org,2002:python/object/apply:os.system"),
        ("a: !!float 3\n", 1, "tag tag:yaml.org,2002:float"),
        ("? [1, 2]\n: 3\n", 1, "a key that is a list or mapping"),
        ("a: [1\nb: 2\n", 2, "expected ',' or ']', but got ':'"),
        ("a: 1\n---\nb: 2\n", 2, "but found another document"),
        ("", 1, "an empty file"),
        ("# nothing\n", 1, "an empty file"),
        ("a: " + "9" * 5000 + "\n", 1, "a number of 5000 digits"),
        ("[" * (MAX_DEPTH + 1), 1, f"{MAX_DEPTH + 1} levels"),
        ("a: b\x00c\n", 1, "unacceptable character #x0000"),
        ("a: b\n\tc: d\n", 2, "found character '\\t' that cannot start any token"),
    ],
)
def test_what_is_refused_is_named_with_its_line(text, line, value):
    with pytest.raises(YamlProblem) as caught:
        read_yaml(text.encode())
    assert caught.value.line == line
    assert value in caught.value.value
    assert caught.value.fix


def test_a_billion_laughs_are_refused_before_anything_is_built():
    rows = ["a0: &a0 [lol, lol, lol, lol]"]
    rows += [f"a{n}: &a{n} [*a{n - 1}, *a{n - 1}, *a{n - 1}, *a{n - 1}]" for n in range(1, 40)]
    with pytest.raises(YamlProblem, match="line 1: an anchor or alias"):
        read_yaml("\n".join(rows).encode())


def test_the_size_is_capped():
    with pytest.raises(YamlProblem, match="keep the file below"):
        read_yaml(b"#" * (MAX_BYTES + 1))


def test_other_encodings_are_refused_with_their_line():
    with pytest.raises(YamlProblem, match="line 2: byte 0xc5: save the file as UTF-8"):
        read_yaml("a: 1\nb: Å\n".encode("latin-1"))


def test_lines_of_parts_and_of_what_is_around_a_missing_part():
    document = read_yaml(b"a: 1\nb:\n  - c: 2\n    d: [3,\n        4]\n")
    assert document.line(("b", 0, "d", 1)) == 5
    assert document.line(("b", 0, "missing", "deeper")) == 3
    assert document.line(("nowhere",)) == 1


@settings(deadline=None)
@given(PLAIN)
def test_json_is_read_as_json(value):
    # YAML 1.2 holds JSON; only characters that no YAML may hold unescaped are left out.
    text = json.dumps({"key": value}, ensure_ascii=False)
    assume(text.isprintable())
    assert read_yaml(text.encode()).value["key"] == value


@settings(deadline=None)
@given(st.binary(max_size=400) | st.text("ab: -[]{}&*!|>'\"\n\t#?,0.e", max_size=200).map(str.encode))
def test_any_bytes_are_read_or_refused(data):
    try:
        document = read_yaml(data)
    except YamlProblem as problem:
        line = problem.line
    else:
        line = document.line(())
        yaml.safe_dump(document.value)
    assert line >= 1
