"""Each getter on what an agent may leave: the right thing, near misses of it, and junk."""

from __future__ import annotations

import io
import json
import struct
import zlib
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image, ImageDraw

from tasks_lib.databases.identifiers import mp_alpha_id, mp_id
from tasks_lib.evaluation import GETTERS, CallError, Seen, Unreadable
from tasks_lib.evaluation.readers import images
from tasks_lib.evaluation.readers.text import fold_ids
from tasks_lib.records import WindowState

See = Callable[..., Seen]
Bytes = Callable[[str], bytes]
JUNK = {
    "empty": b"",
    "binary": bytes(range(256)) * 4,
    "zeros": b"\0" * 4096,
    "text": b"the quick brown fox\n",
    "gzip": b"\x1f\x8b\x08\0" + b"\xff" * 64,
}
# What reads any text at all: for these, plain text is no junk.
LENIENT = {"text", "file", "table"}


@pytest.mark.parametrize("kind", sorted(JUNK))
@pytest.mark.parametrize("name", sorted(name for name, entry in GETTERS.items() if entry.needs_path))
def test_junk_is_a_reason(see: See, name: str, kind: str) -> None:
    if name == "file" or (name in LENIENT and kind == "text"):
        assert see(name, "a.txt", JUNK[kind]).value is not None
        return
    with pytest.raises(Unreadable) as raised:
        see(name, "a.txt", JUNK[kind])
    assert 5 < len(str(raised.value)) < 400


@pytest.mark.parametrize("name", sorted(name for name, entry in GETTERS.items() if entry.needs_path and name != "file"))
def test_a_missing_file_is_a_reason(left: Any, name: str) -> None:
    with pytest.raises(Unreadable, match=r"there is no file out\.txt"):
        GETTERS[name].function(left.context({"other.txt": b"1"}), "out.txt")


def test_a_refused_file_says_why(left: Any) -> None:
    context = left.context(refused=("big.bin: 900 MB is more than the 64 MB that are collected",))
    with pytest.raises(Unreadable, match=r"left behind: big\.bin: 900 MB"):
        GETTERS["text"].function(context, "big.bin")


def test_a_file_that_is_too_large_is_not_read(left: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tasks_lib.evaluation._context.LARGEST_FILE", 3)
    with pytest.raises(Unreadable, match="has 4 bytes, more than the 3"):
        GETTERS["text"].function(left.context({"a": b"1234"}), "a")


def test_file(see: See, left: Any) -> None:
    assert see("file", "a", b"12").value == {"exists": True, "size": 2}
    assert GETTERS["file"].function(left.context(), "a").value == {"exists": False, "size": 0}
    assert see("file", "a", b"12", what="size").value == 2


def test_text(see: See) -> None:
    data = b"gap: 1.12 eV\nkind: indirect\n\n"
    assert see("text", "a", data, line=1).value == "gap: 1.12 eV"
    assert see("text", "a", data, line=-1).value == "kind: indirect"
    seen = see("text", "a", data, pattern=r"gap: (.*)$", number=True)
    assert (seen.value, seen.unit) == (1.12, "eV")
    with pytest.raises(Unreadable, match="no line 3"):
        see("text", "a", data, line=3)
    with pytest.raises(CallError, match="counted from 1"):
        see("text", "a", data, line=0)
    with pytest.raises(CallError, match="no RE2 expression"):
        see("text", "a", data, pattern="(")
    assert see("text", "a", b"NaN", number=True).value is None


def test_a_text_that_lists_every_answer_is_no_answer(see: See) -> None:
    with pytest.raises(Unreadable, match="different values, such as '1' and '2'"):
        see("text", "a", b"gap: 1\ngap: 2\ngap: 3\n", pattern=r"gap: (\d)")


def test_a_pattern_is_linear_in_time(see: See) -> None:
    with pytest.raises(Unreadable, match="nothing in the text matches"):
        see("text", "a", b"a" * 200_000, pattern=r"^(a+)+$b")


def test_json(see: See) -> None:
    data = b'{"gap": 1.12, "text": "284.8 eV", "none": NaN, "name": "Si"}'
    assert see("json", "a", data, pointer="/gap", unit="eV") == Seen(1.12, unit="eV")
    assert see("json", "a", data, pointer="/text") == Seen(284.8, unit="eV")
    assert see("json", "a", data, pointer="/none").value is None
    assert see("json", "a", data, pointer="/name").value == "Si"


def test_json_brings_ids_to_one_spelling(see: See) -> None:
    tree = {
        "ids": ["mp-9000001", "mp-tsbpx", "mp-aaatsbpx", "matassay-9000001", "mp-149", " mp-149 "],
        "other": ["mp-", "mp", "stable", "tsbpx", "MP-149", "mp-149_GGA", "mp-1-2", "mpx-1", "Si", 9000001, 1.5, True],
        "mp-tsbpx": {"matassay-9000002": 1.0},
    }
    data = json.dumps(tree).encode()
    assert see("json", "a", data, ids=True).value == {
        "ids": [*["mp-9000001"] * 4, "mp-149", "mp-149"],
        "other": tree["other"],
        "mp-9000001": {"mp-9000002": 1.0},
    }
    assert see("json", "a", data, pointer="/ids/1", ids=True).value == "mp-9000001"
    assert see("json", "a", data).value == tree
    with pytest.raises(Unreadable, match="'mp-9000001' stands twice"):
        see("json", "a", b'{"mp-tsbpx": 1, "mp-9000001": 2}', ids=True)


@given(number=st.integers(1, 10**9), padding=st.integers(0, 10))
def test_every_spelling_of_an_id_is_one(number: int, padding: int) -> None:
    spellings = [mp_id(number), mp_alpha_id(number, padding), f"matassay-{number}"]
    assert fold_ids(spellings) == [mp_id(number)] * 3


def test_key_value(see: See) -> None:
    data = b"Band_gap = 1.12 eV\nBand gap (direct): 3.4\nok: NaN\n"
    assert see("key-value", "a", data, key="band gap") == Seen(1.12, unit="eV")
    assert see("key-value", "a", data, key="band gap (direct)", unit="eV") == Seen(3.4, unit="eV")
    assert see("key-value", "a", data, key="ok").value is None
    with pytest.raises(Unreadable, match="no key 'gap'; there are: Band gap"):
        see("key-value", "a", data, key="gap")


def test_table(see: See) -> None:
    data = b"Angle (deg),Counts\n10,5\n20,\n30,7\n"
    assert see("table", "a", data, column="angle").value == [10, 20, 30]
    assert see("table", "a", data, column="counts").value == [5, None, 7]
    assert see("table", "a", data, column=-1, row=-1).value == 7
    assert see("table", "a", data, what="rows").value == 3
    assert see("table", "a", data, what="columns").value == ["Angle (deg)", "Counts"]
    assert see("table", "a", data, columns=["counts", 0]).value["rows"][0] == [5, 10]
    with pytest.raises(Unreadable, match=r"no column is named 'energy'; there are: Angle \(deg\), Counts"):
        see("table", "a", data, column="energy")
    with pytest.raises(Unreadable, match="no row 3"):
        see("table", "a", data, column=0, row=3)
    with pytest.raises(Unreadable, match="2 columns are named 'a'"):
        see("table", "a", b"a,A\n1,2\n", column="a")
    with pytest.raises(CallError):
        see("table", "a", data, what="everything")


def png(size: tuple[int, int] = (120, 80), ink: bool = True) -> bytes:
    picture = Image.new("RGB", size, "white")
    if ink:
        ImageDraw.Draw(picture).rectangle([10, 10, 49, 39], fill="navy")
    out = io.BytesIO()
    picture.save(out, "PNG", dpi=(300, 300))
    return out.getvalue()


def test_image(see: See) -> None:
    seen = see("image", "a.jpg", png()).value
    assert seen["format"] == "PNG"
    assert (seen["width"], seen["height"], seen["colours"]) == (120, 80, 2)
    assert seen["dpi"] == pytest.approx(300, abs=0.1)
    assert seen["ink"] == pytest.approx(40 * 30 / (120 * 80))
    assert see("image", "a", png(), what="width") == Seen(120, unit="px")


def test_a_blank_picture_has_no_ink(see: See) -> None:
    assert see("image", "a", png(ink=False)).value["ink"] == 0
    assert see("image", "a", png(ink=False)).value["colours"] == 1


def test_a_transparent_picture_stands_on_white(see: See) -> None:
    out = io.BytesIO()
    Image.new("RGBA", (20, 20), (255, 0, 0, 0)).save(out, "PNG")
    assert see("image", "a", out.getvalue(), what="ink").value == 0


def test_a_truncated_picture(see: See) -> None:
    with pytest.raises(Unreadable, match="truncated or broken"):
        see("image", "a", png()[:-60])


def test_a_picture_bomb(see: See) -> None:
    head = struct.pack(">IIBBBBB", 200_000, 200_000, 8, 2, 0, 0, 0)
    chunk = b"IHDR" + head
    data = b"\x89PNG\r\n\x1a\n" + struct.pack(">I", 13) + chunk + struct.pack(">I", zlib.crc32(chunk))
    with pytest.raises(Unreadable, match=r"200000 x 200000 pixels|no readable picture"):
        see("image", "a", data)


def test_a_picture_above_the_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(images, "MOST_PIXELS", 100)
    with pytest.raises(Unreadable, match="120 x 80 pixels, more than the 100"):
        images.read_image(png())


def test_pdf(see: See, good: Bytes) -> None:
    data = good("figure.pdf")
    text = see("pdf-text", "a.pdf", data).value
    assert "rutile" in text
    assert "Intensity" in text
    assert see("pdf-text", "a.pdf", data, what="pages").value == 1
    assert see("pdf-text", "a.pdf", data, what="width").value == pytest.approx(150, abs=1)
    with pytest.raises(Unreadable, match="no page 2"):
        see("pdf-text", "a.pdf", data, page=2)
    with pytest.raises(Unreadable, match="PDF"):
        see("pdf-text", "a.pdf", data[:2000])
    with pytest.raises(Unreadable, match="no PDF"):
        see("pdf-text", "a.pdf", png())


WINDOWS = (
    WindowState(id=1, title="Fityk", x=0, y=0, width=200, height=100),
    WindowState(id=2, title="c1s.fit - Fityk", x=300, y=100, width=400, height=200, focused=True),
)


def test_window_titles(left: Any) -> None:
    read = GETTERS["window-title"].function
    assert read(left.context(windows=WINDOWS)).value == ["Fityk", "c1s.fit - Fityk"]
    assert read(left.context(windows=WINDOWS), focused=True).value == "c1s.fit - Fityk"
    with pytest.raises(Unreadable, match="none of the 1 windows"):
        read(left.context(windows=WINDOWS[:1]), focused=True)


def test_fityk_session(see: See, good: Bytes) -> None:
    data = good("c1s.fit")

    def read(**arguments: Any) -> Any:
        return see("fityk-session", "c1s.fit", data, **arguments).value

    assert [round(center, 2) for center in read(field="center")] == [284.81, 286.31, 288.7]
    assert read(field="type", type="Voigt") == ["Voigt"]
    assert read(field="hwhm", near=286.3) == pytest.approx(0.6095, abs=1e-3)
    assert read(near=286.3)["tied"] == {"center": "$_2+$shift"}
    # Its centre is tied; its width is one variable with that of the first peak, which Fityk does not call tied.
    assert read(field="bound", near=286.3) == ["center", "hwhm"]
    assert read(field="bound", near=288.7) == []
    assert read(what="active-ranges") == read(what="active-range")
    assert len(read(what="functions")) == 4
    assert read(what="title") == "C 1s"
    assert read(what="active-range") == [281.1, 291.9]
    assert read(what="active-points") == 109
    assert read(what="models") == {"F": ["main", "_1", "_2", "bg"], "Z": []}
    assert read(what="datasets") == 1
    assert len(read(what="points", field="y", range=[281, 282])) == 11
    assert read(what="mean-y", range=[280, 281]) == pytest.approx(200, rel=0.02)
    assert read(model="Z") == []
    with pytest.raises(Unreadable, match="no dataset @1"):
        read(dataset=1)
    with pytest.raises(Unreadable, match="has no 'shape'"):
        read(field="shape")
    with pytest.raises(Unreadable, match="no Lorentzian at all, so none near 285"):
        read(type="Lorentzian", near=285)
    with pytest.raises(CallError):
        read(what="everything")


def test_a_view_counts_only_for_the_data_that_was_asked_for(see: See, good: Bytes) -> None:
    data = good("c1s.fit")
    top = max(see("fityk-session", "c1s.fit", data, what="points", field="y").value)
    wanted = see("fityk-session", "c1s.fit", data, what="view", field="x")
    assert see("fityk-session", "c1s.fit", data, what="view", field="x", highest=top) == wanted
    for wrong in ({"highest": top + 1}, {"highest": top, "dataset": 7}):
        with pytest.raises(Unreadable, match=r"other data|no dataset @7"):
            see("fityk-session", "c1s.fit", data, what="view", **wrong)


def test_fityk_peaks(see: See, good: Bytes) -> None:
    data = good("c1s.peaks")
    assert see("fityk-peaks", "a", data, field="center", unit="eV") == Seen([284.811, 286.311, 288.697], unit="eV")
    assert see("fityk-peaks", "a", data, field="fwhm", near=288).value == 1.29563
    with pytest.raises(Unreadable, match=r"line 3 .* cannot be read"):
        see("fityk-peaks", "a", data.replace(b"%_1  Gaussian\t", b"%_1  Gaussian\tx1"))


def test_veusz_document(see: See, good: Bytes) -> None:
    data = good("figure.vsz")

    def read(**arguments: Any) -> Any:
        return see("veusz-document", "f.vsz", data, **arguments).value

    assert read(setting="/page1/graph1/x/label") == "2θ (°)"
    assert read(setting="/*/*/x/label") == ["2θ (°)"]
    assert read(setting="label", type="axis") == ["2θ (°)", "Intensity (a.u.)"]
    assert read(setting="PlotLine/color", type="xy", default="auto") == ["red", "auto"]
    usual = {"direction": "horizontal", "log": False}
    assert read(settings=["direction", "log", "label"], type="axis", default=usual) == [
        {"direction": "horizontal", "log": False, "label": "2θ (°)"},
        {"direction": "vertical", "log": True, "label": "Intensity (a.u.)"},
    ]
    with pytest.raises(CallError, match="stand with type"):
        read(settings=["label"])
    with pytest.raises(CallError, match="default is an object"):
        read(settings=["label"], type="axis", default=1)
    assert read(setting="/page1/graph1/x/log", default=False) is False
    assert read(what="widgets", type="key") == [{"path": "/page1/graph1/key1", "type": "key"}]
    assert read(what="datasets") == ["intensity", "names"]
    assert read(what="dataset", name="intensity") == [1.0, 2.5, 3.0]
    assert read(what="imports")[0]["file"] == "d.csv"
    with pytest.raises(Unreadable, match="left at Veusz's own value"):
        read(setting="/page1/graph1/x/log")
    with pytest.raises(Unreadable, match="no widget for /page2/graph1/x/label"):
        read(setting="/page2/graph1/x/label")
    with pytest.raises(Unreadable, match="no dataset 'x'"):
        read(what="dataset", name="x")
    with pytest.raises(CallError):
        read(setting="x/label")


def test_a_label_in_a_remark_is_no_label(see: See, good: Bytes) -> None:
    data = good("figure.vsz").replace("Set('label', '2θ (°)')".encode(), "# Set('label', '2θ (°)')".encode())
    with pytest.raises(Unreadable, match="does not set"):
        see("veusz-document", "f.vsz", data, setting="/page1/graph1/x/label")


def test_a_pdf_bomb(see: See) -> None:
    body = zlib.compress(b"BT (A) Tj ET " * 20_000_000, 9)
    head = (
        b"%PDF-1.4\n1 0 obj<</Type/Catalog/Pages 2 0 R>>endobj\n"
        b"2 0 obj<</Type/Pages/Kids[3 0 R]/Count 1>>endobj\n"
        b"3 0 obj<</Type/Page/Parent 2 0 R/MediaBox[0 0 9 9]/Contents 4 0 R>>endobj\n"
    )
    stream = (
        b"4 0 obj<</Length "
        + str(len(body)).encode()
        + b"/Filter/FlateDecode>>stream\n"
        + body
        + b"\nendstream endobj\n"
    )
    with pytest.raises(Unreadable):
        see("pdf-text", "a.pdf", head + stream + b"trailer<</Root 1 0 R>>\n")
