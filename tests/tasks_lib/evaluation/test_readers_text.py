from __future__ import annotations

import codecs
import contextlib
import json
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tasks_lib.evaluation import Unreadable
from tasks_lib.evaluation.readers import tables, text

JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(10**15), 10**15)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=12,
)
PLAIN = st.text(st.characters(min_codepoint=32, exclude_categories=("Cs", "Zl", "Zp", "Cc")), max_size=30)


@given(st.binary(max_size=200))
def test_any_bytes_are_text_or_a_reason(data: bytes) -> None:
    for read in (text.read_text, text.read_json, text.read_key_values, tables.read_table):
        with contextlib.suppress(Unreadable):
            read(data)


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "latin-1"])
def test_encodings(encoding: str) -> None:
    assert text.decode("µm: 5 Å²\r\nzwei\rdrei\n".replace("Å²", "å").encode(encoding)) == "µm: 5 å\nzwei\ndrei\n"


def test_utf_16_without_its_mark_is_binary() -> None:
    with pytest.raises(Unreadable, match="byte 1 is 0"):
        text.decode("ab".encode("utf-16-le"))


def test_a_mark_that_lies() -> None:
    with pytest.raises(Unreadable, match="starts as utf-8-sig"):
        text.decode(codecs.BOM_UTF8 + b"\xff\xff")


def test_text_beyond_the_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(text, "LARGEST_TEXT", 10)
    with pytest.raises(Unreadable, match="has 11 bytes, more than the 10"):
        text.decode(b"x" * 11)


@given(JSON)
def test_json_round_trip(tree: object) -> None:
    assert text.read_json(json.dumps(tree).encode()) == json.loads(json.dumps(tree))


@given(st.dictionaries(st.text(), JSON, min_size=1, max_size=4))
def test_a_pointer_finds_every_member(tree: dict[str, object]) -> None:
    for key, value in tree.items():
        pointer = "/" + key.replace("~", "~0").replace("/", "~1")
        assert text.read_json(json.dumps(tree).encode(), pointer) == value


@pytest.mark.parametrize(
    ("data", "pointer", "reason"),
    [
        (b"", "", "empty"),
        (b'{"a": 1', "", "not JSON"),
        (b'{"a":1}{"a":2}', "", "not JSON"),
        (b"{'a': 1}", "", "not JSON"),
        (b'{"a": 1, "a": 2}', "/a", "stands twice"),
        (b'{"a": [1]}', "/a/1", "no '1' in a list of 1 at /a"),
        (b'{"a": [1]}', "/a/-1", "no '-1'"),
        (b'{"a": 1}', "/a/b", "no 'b' in a plain value at /a"),
        (b'{"a": 1}', "/b", "no 'b' in an object at the top"),
        (b"[" * 100_000, "", "nested too deeply"),
        (b"1" * 10_000, "", "not JSON"),
    ],
)
def test_json_reasons(data: bytes, pointer: str, reason: str) -> None:
    with pytest.raises(Unreadable, match=reason):
        text.read_json(data, pointer)


def test_bare_nan_means_that_there_is_no_value() -> None:
    assert text.read_json(b'{"a": NaN, "b": Infinity}') == {"a": None, "b": None}


def test_key_values() -> None:
    found = text.read_key_values(b"# remark: 3\nBand gap (eV) = 1.12 eV\nName: Si: bulk\nfit:nan\n\n")
    assert found["band gap (ev)"]["value"] == 1.12
    assert found["band gap (ev)"]["unit"] == "eV"
    assert found["name"]["value"] == "Si: bulk"
    assert found["fit"]["value"] is None


def test_a_key_with_two_values_is_no_answer() -> None:
    with pytest.raises(Unreadable, match=r"'A' stands twice with different values, again on line 2"):
        text.read_key_values(b"a: 1\nA: 2")
    assert text.read_key_values(b"a: 1\nA: 1")["a"]["value"] == 1


@given(
    st.dictionaries(st.from_regex(r"[a-z][a-z ]{0,10}[a-z]", fullmatch=True), st.floats(allow_nan=False), max_size=5)
)
def test_key_values_round_trip(pairs: dict[str, float]) -> None:
    folded = {text.fold_key(key): value for key, value in pairs.items()}
    if len(folded) != len(pairs) or not pairs:
        return
    data = "\n".join(f"{key} = {value!r}" for key, value in pairs.items()).encode()
    found = {key: row["value"] for key, row in text.read_key_values(data).items()}
    assert found == {key: value if math.isfinite(value) else None for key, value in folded.items()}


NUMBER = st.floats(allow_nan=False, allow_infinity=False) | st.integers(-(10**14), 10**14)


@given(
    st.lists(st.lists(NUMBER, min_size=3, max_size=3), min_size=1, max_size=6),
    st.sampled_from(["comma", "semicolon", "tab", "whitespace"]),
    st.booleans(),
    st.sampled_from(["\n", "\r\n"]),
)
def test_table_round_trip(rows: list[list[float]], delimiter: str, header: bool, end: str) -> None:
    sign = tables.DELIMITERS[delimiter] or "  "
    lines = [sign.join(["x", "y", "s"])] if header else []
    lines += [sign.join(map(repr, row)) for row in rows]
    data = (end.join(lines) + end).encode()
    wanted = {"columns": ["x", "y", "s"] if header else ["0", "1", "2"], "rows": rows}
    assert tables.read_table(data) == wanted
    assert tables.read_table(data, delimiter=delimiter) == wanted


@given(st.lists(st.lists(st.floats(-1e6, 1e6), min_size=2, max_size=2), min_size=2, max_size=5))
def test_decimal_commas(rows: list[list[float]]) -> None:
    data = "\n".join(";".join(repr(value).replace(".", ",") for value in row) for row in rows).encode()
    assert tables.read_table(data, decimal=",")["rows"] == rows


def test_a_comment_above_names_the_columns() -> None:
    found = tables.read_table(b"# made by hand\n# angle counts\n10 5\n20 6\n")
    assert found == {"columns": ["angle", "counts"], "rows": [[10, 5], [20, 6]]}


def test_empty_cells_and_nan_are_missing_and_not_zero() -> None:
    assert tables.read_table(b"a,b\n1,\nnan,2\n")["rows"] == [[1, None], [None, 2]]


def test_quoted_cells() -> None:
    assert tables.read_table(b'name,n\n"Si, bulk",2\n')["rows"] == [["Si, bulk", 2]]


@pytest.mark.parametrize(
    ("data", "arguments", "reason"),
    [
        (b"\n\n# only a remark\n", {}, "no line of a table"),
        (b"a,b\n1,2\n3\n", {}, "row 2 has 1 cells where the first line has 2"),
        (b"a,b\n1,2,3\n", {"delimiter": "comma"}, "row 1 has 3 cells"),
        (b'a,b\n"' + b"x" * 200_000 + b",2\n", {"delimiter": "comma"}, "cannot be cut"),
    ],
)
def test_table_reasons(data: bytes, arguments: dict[str, str], reason: str) -> None:
    with pytest.raises(Unreadable, match=reason):
        tables.read_table(data, **arguments)


def test_too_many_cells(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tables, "MOST_CELLS", 5)
    with pytest.raises(Unreadable, match="3 x 2 cells, more than the 5"):
        tables.read_table(b"1,2\n3,4\n5,6\n")


def test_too_many_pairs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(text, "MOST_PAIRS", 2)
    with pytest.raises(Unreadable, match="has 3 lines, more than the 2"):
        text.read_key_values(b"a: 1\nb: 2\nc: 3")
