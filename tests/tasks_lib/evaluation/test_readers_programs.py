"""Files of Fityk and Veusz, as the programs write them and damaged."""

from __future__ import annotations

import contextlib
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tasks_lib.evaluation import Unreadable
from tasks_lib.evaluation.readers.fityk import read_peaks, read_session
from tasks_lib.evaluation.readers.veusz import read_veusz

Bytes = Callable[[str], bytes]
GOOD = Path(__file__).parents[2] / "fixtures" / "evaluation" / "good"


def damaged(whole: bytes, data: st.DataObject) -> bytes:
    changed = bytearray(whole)
    for _ in range(3):
        at = data.draw(st.integers(0, len(changed) - 1))
        changed[at : at + data.draw(st.integers(0, 8))] = data.draw(st.binary(max_size=8))
    return bytes(changed)


def test_a_saved_session(good: Bytes) -> None:
    found = read_session(good("c1s.fit"))
    assert found["version"] == "1.3.2"
    (data,) = found["datasets"]
    assert data["title"] == "C 1s"
    assert (len(data["x"]), data["x"][0], data["y"][0], sum(data["active"])) == (141, 280, 225.764, 109)
    assert found["models"] == [{"F": ["main", "_1", "_2", "bg"], "Z": []}]
    first, second, voigt, slope = found["functions"]
    assert first["free"] == ["height", "center", "hwhm"]
    assert (second["tied"], second["center"]) == ({"center": "$_2+$shift"}, pytest.approx(286.31116059))
    assert second["sources"]["center"] == ["_2", "shift"]
    assert second["sources"]["hwhm"] == first["sources"]["hwhm"]
    assert voigt["type"] == "Voigt"
    assert (slope["center"], slope["parameters"]["a1"]) == (None, pytest.approx(2.84464719935))
    assert found["commands"] == []


def test_the_exported_peaks_agree_with_the_session(good: Bytes) -> None:
    exported = {row["name"]: row for row in read_peaks(good("c1s.peaks"))}
    for function in read_session(good("c1s.fit"))["functions"]:
        for key in ("center", "height", "area", "fwhm"):
            if exported[function["name"]][key] is None:
                assert function[key] is None
            else:
                assert function[key] == pytest.approx(exported[function["name"]][key], rel=2e-5)


def test_peaks_with_errors_read_like_those_without(good: Bytes) -> None:
    assert read_peaks(good("c1s-errors.peaks")) == read_peaks(good("c1s.peaks"))


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("truncated-in-points.fit", "truncated"),
        ("lost-a-point.fit", "line .* cannot be read"),
    ],
)
def test_damaged_sessions(bad: Bytes, name: str, reason: str) -> None:
    with pytest.raises(Unreadable, match=reason):
        read_session(bad(name))


def test_a_variable_that_hangs_on_itself_has_no_value(bad: Bytes) -> None:
    first = read_session(bad("self-tied.fit"))["functions"][0]
    assert first["parameters"]["height"] is None
    assert (first["height"], first["area"]) == (None, None)


@pytest.mark.parametrize(
    ("old", "new", "reason"),
    [
        (b"M=141", b"M=140", "says M=140 but has 141 points"),
        (b"%_2 = Voigt", b"%gone = Voigt", "names %_2, which the session does not define"),
        (b"# Fityk script", b"# Other script", "no saved Fityk session"),
        (b"use @0\ntitle", b"use @99999999\ntitle", "cannot be read"),
    ],
)
def test_sessions_that_contradict_themselves(good: Bytes, old: bytes, new: bytes, reason: str) -> None:
    with pytest.raises(Unreadable, match=reason):
        read_session(good("c1s.fit").replace(old, new))


@pytest.mark.parametrize(
    "expression", ["9^9^9^9^9^9", "exp(1e9)", "1/0", "ln(-1)", "$gone", "((" * 99, "a.b", "open(1)"]
)
def test_hostile_expressions_have_no_value(good: Bytes, expression: str) -> None:
    data = good("c1s.fit").replace(b"$_5 = $_2+$shift", f"$_5 = {expression}".encode())
    assert read_session(data)["functions"][1]["center"] is None


def test_commands_that_no_saved_session_has_are_kept(good: Bytes) -> None:
    data = good("c1s.fit").replace(b"\nplot ", b"\nY = y - 5\nexec 'x.lua'\nplot ")
    assert read_session(data)["commands"] == ["Y = y - 5", "exec 'x.lua'"]


@given(data=st.data())
@settings(max_examples=60, deadline=None)
def test_any_session_is_read_or_a_reason(data: st.DataObject) -> None:
    with contextlib.suppress(Unreadable):
        read_session(damaged((GOOD / "c1s.fit").read_bytes(), data))


@given(data=st.data())
@settings(max_examples=60, deadline=None)
def test_any_table_of_peaks_is_read_or_a_reason(data: st.DataObject) -> None:
    with contextlib.suppress(Unreadable):
        read_peaks(damaged((GOOD / "c1s.peaks").read_bytes(), data))


@pytest.mark.skipif(shutil.which("cfityk") is None, reason="cfityk is not installed")
def test_every_peak_type_agrees_with_fityk(tmp_path: Path) -> None:
    calls = [
        "Gaussian(1000, 284, 0.5)",
        "Lorentzian(900, 285, 0.4)",
        "PseudoVoigt(800, 286, 0.6, 0.3)",
        "Pearson7(700, 287, 0.5, 3)",
        "Voigt(600, 288, 0.5, 0.7)",
        "VoigtA(600, 288.5, 0.5, 0.7)",
        "GaussianA(500, 289, 0.6)",
        "LorentzianA(500, 289.5, 0.6)",
        "PseudoVoigtA(500, 290, 0.6, 0.4)",
        "Pearson7A(500, 290.5, 0.6, 2.5)",
        "SplitGaussian(400, 291, 0.4, 0.8)",
        "SplitLorentzian(400, 291.5, 0.4, 0.8)",
        "SplitPseudoVoigt(400, 292, 0.4, 0.8, 0.2, 0.6)",
        "SplitPearson7(400, 292.5, 0.4, 0.8, 2, 4)",
        "SplitVoigt(400, 293, 0.4, 0.8, 0.3, 0.5)",
        "Gaussian(1000, 294, -0.5)",
    ]
    lines = ["M=3", "X = n + 280", "Y = 1", *(f"F += {call}" for call in calls)]
    lines += ["info state > 'all.fit'", "info peaks > 'all.peaks'"]
    (tmp_path / "all.fityk").write_text("\n".join(lines), encoding="utf-8")
    subprocess.run(
        ["cfityk", "-I", "-n", "-q", "all.fityk"],
        cwd=tmp_path,
        stdin=subprocess.DEVNULL,
        check=True,
        capture_output=True,
    )
    exported = {row["name"]: row for row in read_peaks((tmp_path / "all.peaks").read_bytes())}
    functions = read_session((tmp_path / "all.fit").read_bytes())["functions"]
    assert len(functions) == len(calls) == len(exported)
    for function in functions:
        for key in ("center", "height", "area", "fwhm"):
            wanted = exported[function["name"]][key]
            got = function[key]
            assert got is not None, (function["type"], key)
            if wanted is not None:  # Fityk itself prints x for some of the types that are written by their area
                assert abs(got) == pytest.approx(abs(wanted), rel=1e-4), (function["type"], key)


def test_a_saved_document(good: Bytes) -> None:
    found = read_veusz(good("figure.vsz"))
    assert found["settings"]["/page1/graph1/x/label"] == "2θ (°)"
    assert found["settings"]["/page1/graph1/y/log"] is True
    assert found["settings"]["/page1/graph1/data/PlotLine/color"] == "red"
    assert found["widgets"]["/page1/graph1/data"] == "xy"
    assert found["datasets"]["intensity"]["values"] == [1.0, 2.5, 3.0]
    assert found["datasets"]["intensity"]["error +-"] == [0.1, 0.1, 0.1]
    assert found["datasets"]["names"] == {"kind": "text", "values": ["a", "b"]}
    assert found["imports"] == [{"command": "ImportFileCSV", "file": "d.csv", "arguments": [], "linked": True}]


def test_a_document_written_by_hand() -> None:
    found = read_veusz(
        b"To(Add('page'))\ng = Add('graph')\nTo(g)\nAdd('xy', name='d', PlotLine__color='red')\n"
        b"Set('../graph1/x/min', 1)\nRename('d', 'e')\nAdd('key')\nRemove('key1')\n"
    )
    assert list(found["widgets"].items()) == [
        ("/", "document"),
        ("/page1", "page"),
        ("/page1/graph1", "graph"),
        ("/page1/graph1/x", "axis"),
        ("/page1/graph1/y", "axis"),
        ("/page1/graph1/e", "xy"),
    ]
    assert found["settings"]["/page1/graph1/e/PlotLine/color"] == "red"
    assert found["settings"]["/page1/graph1/x/min"] == 1


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "empty"),
        ("hello world", "line 1 is not a command"),
        ("print('x')", "adds no page"),
        ("if True:\n    Set('a', 1)", "line 1 of the document is no plain command but If"),
        ("Set('a', open('x'))", "argument that is no plain value"),
        ("Set('a', 9**9**9)", "argument that is no plain value"),
        ("Set(*x)", "unpacks"),
        ("Set('a')", "wrong arguments"),
        ("os.system('x')", "calls something that is no command"),
        ("Add('page')\n" + "Set('a', " + "(" * 300, "not a command"),
        ("Set('a', " + "-" * 20_000 + "1)", "nested too deeply"),
        ("x = 1", "no plain command but Assign"),
    ],
)
def test_what_is_no_document(text: str, reason: str) -> None:
    with pytest.raises(Unreadable, match=reason):
        read_veusz(text.encode())


@given(data=st.data())
@settings(max_examples=80, deadline=None)
def test_any_document_is_read_or_a_reason(data: st.DataObject) -> None:
    with contextlib.suppress(Unreadable):
        read_veusz(damaged((GOOD / "figure.vsz").read_bytes(), data))
