"""A look into files of agents, honest ones and hostile ones."""

import io
import struct
import zlib

import pytest
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image

from tasks_lib.reporting._previews import preview


def png(width: int, height: int, mode: str = "RGB") -> bytes:
    out = io.BytesIO()
    Image.new(mode, (width, height), 120).save(out, "PNG")
    return out.getvalue()


def bomb(width: int, height: int) -> bytes:
    """A PNG of a few bytes that claims to be enormous."""
    header = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    chunks = ((b"IHDR", header), (b"IDAT", zlib.compress(b"\0" * 100)), (b"IEND", b""))
    packed = (struct.pack(">I", len(d)) + n + d + struct.pack(">I", zlib.crc32(n + d)) for n, d in chunks)
    return b"\x89PNG\r\n\x1a\n" + b"".join(packed)


@pytest.mark.parametrize("mode", ["RGB", "RGBA", "L", "P", "1", "I;16"])
def test_picture_is_drawn_anew_and_small(mode):
    seen = preview("figure.png", png(2400, 1600, mode))
    assert (seen.kind, seen.width, seen.height, seen.note) == ("image", 960, 640, "2400×1600 pixels")
    with Image.open(io.BytesIO(seen.picture)) as again:
        assert (again.format, again.size) == ("WEBP", (960, 640))


def test_what_hides_behind_a_picture_is_not_in_its_preview():
    seen = preview("figure.png", png(20, 20) + b"<script>alert(1)</script>")
    assert seen.kind == "image"
    assert b"script" not in seen.picture


@pytest.mark.parametrize("size", [(60_000, 60_000), (2**31 - 1, 2**31 - 1)])
def test_decompression_bomb_is_not_decoded(size):
    seen = preview("figure.png", bomb(*size))
    assert seen.kind == "binary"
    assert not seen.picture


@pytest.mark.parametrize("data", [b"not a picture", png(50, 50)[:60], b"<svg onload='alert(1)'/>"])
def test_broken_picture_is_said_to_be_broken(data):
    seen = preview("figure.png", data)
    assert seen.kind == "binary"
    assert "cannot be read" in seen.note


def test_csv_shows_head_and_says_what_is_missing():
    lines = ["x,y"] + [f"{number},{number**2}" for number in range(100)]
    seen = preview("out/c1s.csv", "\n".join(lines).encode() + b"\n")
    assert seen.rows[:2] == (("x", "y"), ("0", "0"))
    assert len(seen.rows) == 24
    assert seen.note == "77 more lines"


@pytest.mark.parametrize(
    ("text", "row"),
    [("a;b\n1,5;2\n", ("1,5", "2")), ("a\tb\n1\t2\n", ("1", "2")), ('a,b\n"x, y",2\n', ("x, y", "2"))],
)
def test_csv_of_other_tongues(text, row):
    assert preview("t.csv", text.encode()).rows[1] == row


def test_wide_table_and_long_cells_are_cut():
    seen = preview("t.csv", (",".join("abc" for _ in range(40)) + "\n" + ",".join(["z" * 500] * 40)).encode())
    assert {len(row) for row in seen.rows} == {12}
    assert max(len(cell) for cell in seen.rows[1]) == 60
    assert "more columns" in seen.note


def test_csv_without_columns_is_text():
    assert preview("t.csv", b"just prose\nand more\n").kind == "text"


def test_cif_shows_its_head():
    seen = preview("mos2.cif", ("data_x\n" + "_cell_length_a 3.16\n" * 200).encode())
    assert seen.kind == "text"
    assert seen.text.startswith("data_x\n_cell_length_a 3.16")
    assert seen.note == "161 more lines"


@pytest.mark.parametrize(
    ("data", "text"),
    [
        (b"\xef\xbb\xbfeV\n", "eV\n"),
        ("µm\n".encode("utf-16"), "µm\n"),
        (b"25 \xb0C\n", "25 \ufffdC\n"),
        (b"a\r\nb", "a\r\nb"),
    ],
)
def test_text_of_other_encodings(data, text):
    assert preview("log.txt", data).text == text


def test_page_and_drawing_of_an_agent_are_text():
    for name in ("page.html", "figure.svg", "x.js"):
        assert preview(name, b"<svg onload='alert(1)'></svg>").kind == "text"


def test_pdf_empty_and_binary():
    assert preview("f.pdf", b"%PDF-1.7\n").kind == "pdf"
    assert preview("f.pdf", b"<html>").kind == "text"
    assert preview("f.txt", b"").kind == "empty"
    assert preview("f.opju", b"\x00\x01\x02").kind == "binary"


@given(st.binary(max_size=300), st.sampled_from(["a.csv", "a.png", "a.txt", "a.tsv", "a", "a.dat", "a.webp", "a.pdf"]))
def test_no_file_makes_a_preview_raise(data, name):
    seen = preview(name, data)
    assert len(seen.text) <= 6000
    assert len(seen.rows) <= 24
