"""Getters of what only the screen shows, on screens of real programs, and the reference picture as a criterion."""

from __future__ import annotations

import io
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

from tasks_lib.evaluation import GETTERS, METRICS, CallError, Context, Seen, Unreadable, judge
from tasks_lib.records import Task, WindowState
from tasks_lib.records.errors import EvaluatorError

SCREENS = Path(__file__).parents[2] / "fixtures" / "evaluation" / "screens"
TOLD = json.loads((SCREENS / "screens.json").read_text(encoding="utf-8"))


@pytest.fixture
def screen(left: Any) -> Any:
    def made(name: str) -> Context:
        windows = tuple(WindowState(**window) for window in TOLD[name]["windows"])
        context = left.context(screen=(SCREENS / f"{name}.png").read_bytes(), windows=windows)
        assert isinstance(context, Context)
        return context

    return made


def read(getter: str, context: Context, **arguments: Any) -> Seen:
    seen = GETTERS[getter].function(context, **arguments)
    assert isinstance(seen, Seen)
    return seen


def test_a_dialog_and_its_fields(screen: Any) -> None:
    context = screen("gwyddion-summary")
    assert read("dialog", context, window="Grain Summary").value is True
    assert read("dialog", context, window="2D FFT").value is False
    size = read("dialog", context, window="Grain Summary", field="Mean grain size")
    assert METRICS["number"].function(size, 1.138, tolerance=1e-6, unit="nm").passed
    with pytest.raises(Unreadable, match="no label 'Fractal dimension' in the dialog; OCR reads: Number of grains"):
        read("dialog", context, window="Grain Summary", field="Fractal dimension")
    with pytest.raises(Unreadable, match="no window is titled '2D FFT'"):
        read("dialog", context, window="2D FFT", field="Real")
    assert context.blobs_read


def test_buttons(screen: Any) -> None:
    context = screen("gwyddion-transform")
    seen = read("toggle", context, window="2D FFT", label="Modulus")
    assert (seen.value, "check box" in seen.note) == ("on", True)
    assert read("toggle", context, window="2D FFT", label="Phase").value == "off"
    assert read("toggle", context, window="2D FFT", region=[4, 195, 22, 22]).value == "on"
    with pytest.raises(Unreadable, match="no text 'Amplitude'"):
        read("toggle", context, window="2D FFT", label="Amplitude")
    with pytest.raises(Unreadable, match="no check box and no radio button on the left of 'Windowing type'"):
        read("toggle", context, window="2D FFT", label="Windowing type")
    with pytest.raises(CallError):
        read("toggle", context)
    with pytest.raises(CallError):
        read("toggle", context, label="Phase", side="above")


def test_tools_and_handles(screen: Any) -> None:
    context = screen("imagej-selection")
    cells = {f"tool{at}": [2 + 30 * at, 27, 29, 29] for at in range(13)}
    assert read("highlighted", context, cells=cells, window="ImageJ").value == ["tool0"]
    assert read("highlighted", context, cells=cells, window="ImageJ", shade="lighter").value == []
    with pytest.raises(Unreadable, match="does not lie in the picture"):
        read("highlighted", context, cells={name: [2000, 0, 20, 20] for name in cells})
    with pytest.raises(CallError):
        read("highlighted", context, cells={})
    picture = {"window": "cal.tif", "region": [5, 16, 384, 288]}
    assert read("handles", context, colour="white", **picture).value == 8
    frame = read("handles", context, colour="white", what="frame", **picture)
    assert (frame.unit, np.abs(np.array(frame.value) - (26, 122, 120, 90)).max() <= 6) == ("px", True)
    with pytest.raises(Unreadable, match="no four of the 0 handles"):
        read("handles", context, colour="#00ff00", what="frame", **picture)
    with pytest.raises(CallError, match="got 'beige'"):
        read("handles", context, colour="beige")


def test_colours(screen: Any) -> None:
    context = screen("fityk-fit")
    names = read("strokes", context, window="Fityk", region=[30, 76, 900, 420]).value
    assert {"yellow", "red"} <= set(names)
    strokes = read("strokes", context, window="Fityk", region=[30, 76, 900, 420], what="strokes").value
    assert [row["name"] for row in strokes] == names
    with pytest.raises(Unreadable, match="does not lie on the screen of 1280 x 800"):
        read("strokes", context, region=[1300, 0, 20, 20])
    with pytest.raises(CallError):
        read("strokes", context, what="shapes")


def test_a_curve(screen: Any) -> None:
    context = screen("gwyddion-profile")
    arguments = {"colour": "black", "window": "Profiles"}
    known = arguments | {"x": [0, 0.5], "y": [-0.1, 4.0]}
    assert read("screen-curve", context, **arguments).value == pytest.approx(0.82, abs=0.03)
    assert read("screen-curve", context, what="highest-x", unit="µm", **known).unit == "µm"
    assert read("screen-curve", context, what="highest-x", **known).value == pytest.approx(0.08, abs=0.004)
    assert read("screen-curve", context, what="highest-y", **known).value == pytest.approx(3.07, abs=0.1)
    assert read("screen-curve", context, what="value", at=0.18, **known).value == pytest.approx(0.02, abs=0.1)
    assert len(read("screen-curve", context, what="points", **known).value["rows"]) > 300
    # By the labels of the ticks that OCR reads.
    assert read("screen-curve", context, what="highest-x", **arguments).value == pytest.approx(0.08, abs=0.003)
    with pytest.raises(Unreadable, match=r"seen from .* to .*, not at 0\.49"):
        read("screen-curve", context, what="value", at=0.49, **known)
    with pytest.raises(Unreadable, match="no pixel of the plot has the colour red"):
        read("screen-curve", context, what="highest-x", **(known | {"colour": "red"}))
    with pytest.raises(CallError, match="two different ends"):
        read("screen-curve", context, what="highest-x", **(known | {"x": [1, 1]}))
    with pytest.raises(CallError, match="must be given"):
        read("screen-curve", context, what="highest-x", logarithmic=["x"], **arguments)
    with pytest.raises(CallError):
        read("screen-curve", context, what="value", **known)
    with pytest.raises(Unreadable, match="no plot with a frame"):
        read("screen-curve", screen("gwyddion-toolbox"), colour="black", window="Gwyddion")


def gold(context: Context, box: tuple[int, int, int, int], hidden: tuple[int, int, int, int] | None = None) -> bytes:
    picture = Image.open(io.BytesIO(context.screenshot()[1])).convert("RGBA")
    picture = picture.crop((box[0], box[1], box[0] + box[2], box[1] + box[3]))
    if hidden is not None:
        picture.paste((0, 0, 0, 0), hidden)
    out = io.BytesIO()
    picture.save(out, "PNG")
    return out.getvalue()


def test_a_region_like_a_reference(screen: Any, see: Any) -> None:
    context = screen("gwyddion-transform")
    want = see("image", "gold.png", gold(context, (475, 355, 160, 100)), what="pixels")
    seen = read("screen-picture", context, window="2D FFT", region=[0, 135, 180, 130])
    judge = METRICS["region-similar"].function
    assert judge(seen, want.value).passed
    assert "pixels" not in json.dumps(seen.shown)
    # One check box is another: the mean hardly falls, the worst square does.
    changed = Image.open(io.BytesIO(gold(context, (475, 355, 160, 100))))
    changed.paste(changed.crop((0, 28, 24, 48)), (0, 51))
    out = io.BytesIO()
    changed.save(out, "PNG")
    other = see("image", "gold.png", out.getvalue(), what="pixels")
    judged = judge(seen, other.value)
    assert not judged.passed
    assert "worst" in judged.why
    small = read("screen-picture", context, window="2D FFT", region=[0, 135, 100, 130])
    assert judge(small, want.value).why == "the region has 100 x 130 pixels, the reference has 160 x 100"
    masked = see("image", "gold.png", gold(context, (475, 355, 160, 100), (0, 40, 160, 80)), what="pixels")
    assert judge(seen, masked.value).passed
    with pytest.raises(CallError, match="gold_as"):
        judge(seen, {"grey": ""})
    with pytest.raises(CallError, match="screen-picture"):
        judge(Seen(1), want.value)


def test_a_verdict_by_a_reference_picture(screen: Any) -> None:
    context = screen("gwyddion-transform")
    stage = {
        "id": "main",
        "modality": "gui",
        "instruction": "Open the dialog of the transform.",
        "deliverables": [{"path": "a.gwy", "what": "the image"}],
    }
    criterion = {
        "id": "output",
        "points": 1,
        "why": "the modulus alone is chosen",
        "reads": {"getter": "screen-picture", "arguments": {"window": "2D FFT", "region": [0, 135, 180, 130]}},
        "compares": {
            "metric": "region-similar",
            "gold": "output.png",
            "arguments": {"gold_as": {"getter": "image", "what": "pixels"}},
        },
    }
    shell = {
        "id": "transform",
        "title": "t",
        "suite": "test",
        "domain": "test",
        "modality": "gui",
        "difficulty": "easy",
    }
    task = Task.model_validate(shell | {"stages": [stage], "criteria": [criterion]})
    files = {"output.png": gold(context, (475, 355, 160, 100))}
    verdict = judge(task, files, {"main": context.evidence}, context._blob)
    (record,) = verdict.criteria
    assert record.passed
    assert record.evidence == (context.evidence.final.screenshot.sha256,)
    assert len(verdict.to_json()) < 4000
    other = gold(screen("gwyddion-marking"), (500, 140, 160, 100))
    assert not judge(task, {"output.png": other}, {"main": context.evidence}, context._blob).criteria[0].passed


def test_a_stage_without_a_screen_is_our_fault(left: Any) -> None:
    for name, arguments in (("strokes", {}), ("screen-curve", {"colour": "red"}), ("toggle", {"label": "x"})):
        with pytest.raises(EvaluatorError, match="no final screenshot"):
            GETTERS[name].function(left.context(), **arguments)
