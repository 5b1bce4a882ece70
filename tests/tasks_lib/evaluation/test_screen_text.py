"""OCR of the final frame: the real engine on drawn screens, and a small one for what does not need it."""

from __future__ import annotations

import io
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from PIL import Image, ImageDraw, ImageFont

from tasks_lib.evaluation import GETTERS, CallError, Unreadable, ocr
from tasks_lib.records import WindowState
from tasks_lib.records.errors import EvaluatorError


def screen(texts: dict[tuple[int, int], str], size: tuple[int, int] = (720, 300)) -> bytes:
    picture = Image.new("RGB", size, "white")
    draw = ImageDraw.Draw(picture)
    for place, text in texts.items():
        draw.text(place, text, fill="black", font=ImageFont.load_default(18))
    out = io.BytesIO()
    picture.save(out, "PNG")
    return out.getvalue()


class Ruler:
    """An engine that reads dark blocks as their size, so that boxes and order can be tested exactly."""

    name = "ruler"
    calls = 0

    def read(self, pixels: np.ndarray[Any, Any]) -> list[ocr.Line]:
        Ruler.calls += 1
        lines = []
        for at in np.unique(pixels[..., 0]):
            ys, xs = np.nonzero(pixels[..., 0] == at)
            if at < 255:
                width, height = float(np.ptp(xs) + 1), float(np.ptp(ys) + 1)
                lines.append(ocr.Line(f"g{at}", float(xs.min()), float(ys.min()), width, height, 1.0 if at else 0.2))
        return lines


@pytest.fixture
def ruler() -> Iterator[None]:
    ocr.register("ruler", Ruler)
    Ruler.calls = 0
    yield
    ocr._FACTORIES.pop("ruler")


def blocks(boxes: dict[int, tuple[int, int, int, int]]) -> bytes:
    picture = Image.new("RGB", (200, 100), "white")
    for grey, (x, y, width, height) in boxes.items():
        ImageDraw.Draw(picture).rectangle([x, y, x + width - 1, y + height - 1], fill=(grey,) * 3)
    out = io.BytesIO()
    picture.save(out, "PNG")
    return out.getvalue()


BOXES = {10: (120, 12, 20, 10), 20: (10, 10, 20, 10), 30: (10, 60, 20, 10), 0: (60, 60, 20, 10)}


@pytest.mark.usefixtures("ruler")
def test_reading_order_and_boxes() -> None:
    lines = ocr.read_screen(blocks(BOXES), engine="ruler")
    assert [line.text for line in lines] == ["g20", "g10", "g30", "g0"]
    (cut,) = ocr.read_screen(blocks(BOXES), (0, 50, 50, 999), "ruler")
    assert (cut.text, cut.x, cut.y) == ("g30", 10, 60)
    assert ocr.read_screen(blocks(BOXES), (500, 500, 10, 10), "ruler") == []


@pytest.mark.usefixtures("ruler")
def test_a_frame_is_read_once_for_many_criteria() -> None:
    for _ in range(3):
        ocr.read_screen(blocks(BOXES), engine="ruler")
    assert Ruler.calls == 1


@pytest.mark.usefixtures("ruler")
def test_regions_windows_and_confidence(left: Any) -> None:
    windows = (WindowState(id=1, title="notes", x=0, y=50, width=50, height=50),)
    context = left.context(screen=blocks(BOXES), windows=windows)
    read = GETTERS["screen-text"].function
    assert read(context, engine="ruler").value == "g20\ng10\ng30"
    assert read(context, engine="ruler", confidence=0.1).value == "g20\ng10\ng30\ng0"
    assert read(context, engine="ruler", region=[100, 0, 100, 50]).value == "g10"
    assert read(context, engine="ruler", window="notes").value == "g30"
    assert read(context, engine="ruler", window="notes", region=[0, 30, 50, 20]).value == ""
    assert context.blobs_read == (context.evidence.final.screenshot.sha256,)
    with pytest.raises(Unreadable, match="no window is titled 'Fityk' at the end; there are: notes"):
        read(context, engine="ruler", window="Fityk")
    with pytest.raises(CallError):
        read(context, engine="none")
    with pytest.raises(CallError):
        read(context, engine="ruler", region=[1, 2])
    with pytest.raises(EvaluatorError, match="stage main has no final screenshot"):
        read(left.context(), engine="ruler")


def test_a_broken_screenshot_is_our_fault() -> None:
    with pytest.raises(EvaluatorError, match="cannot be decoded"):
        ocr.read_screen(b"no picture")


def test_rapidocr_reads_a_menu(left: Any) -> None:
    png = screen({(20, 20): "Remove Shirley BG", (20, 90): "Fit finished", (400, 90): "Gaussian"})
    assert isinstance(ocr.RapidOcr.name, str)
    text = GETTERS["screen-text"].function(left.context(screen=png)).value
    assert text.replace(" ", "") == "RemoveShirleyBG\nFitfinished\nGaussian"
