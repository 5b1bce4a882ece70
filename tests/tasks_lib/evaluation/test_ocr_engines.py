"""The engines behind the protocol: what they read on a screen of a real program, and how they fail."""

from __future__ import annotations

import importlib.util
import shutil
from pathlib import Path
from typing import Any

import pytest

from tasks_lib.evaluation import _ocr_engines, ocr
from tasks_lib.records.errors import EvaluatorError, HarnessTimeoutError

SCREENS = Path(__file__).parents[2] / "fixtures" / "evaluation" / "screens"
DIALOG = (505, 261, 309, 293)
LABELS = ("Number of grains:", "Density:", "Total projected area (rel.):", "Mean grain area:", "Help")


def easyocr_is_missing() -> str:
    if importlib.util.find_spec("easyocr") is None:
        return "the extra ocr-easyocr is not installed"
    try:
        ocr.EasyOcr()
    except EvaluatorError as error:
        return str(error)
    return ""


def needs(engine: str) -> None:
    if engine == "tesseract" and shutil.which("tesseract") is None:
        pytest.skip("tesseract is not installed: apt install tesseract-ocr")
    if engine == "easyocr" and (why := easyocr_is_missing()):
        pytest.skip(why)


@pytest.mark.parametrize("engine", ["rapidocr", "tesseract", "easyocr"])
def test_every_engine_reads_a_dialog(engine: str) -> None:
    needs(engine)
    lines = ocr.read_screen((SCREENS / "gwyddion-summary.png").read_bytes(), DIALOG, engine)
    found = [line.text.replace(" ", "").casefold() for line in lines]
    wanted = [label.replace(" ", "").casefold() for label in LABELS]
    assert sum(any(label in text for text in found) for label in wanted) >= 4
    for line in lines:
        assert DIALOG[0] - 3 <= line.x <= line.x + line.width <= DIALOG[0] + DIALOG[2] + 3
        assert 0 <= line.confidence <= 1
    (density,) = (line for line in lines if "Density" in line.text)
    # "Density:" stands at (511, 291) and has 56 x 16 pixels, read by eye.
    assert abs(density.x - 511) < 6
    assert abs(density.y + density.height / 2 - 298) < 6


def test_words_of_one_line_are_joined_and_columns_are_not() -> None:
    head = "level\tblock_num\tpar_num\tline_num\tword_num\tleft\ttop\twidth\theight\tconf\ttext"
    rows = [
        "4\t1\t1\t1\t0\t0\t0\t400\t20\t-1\t",
        "5\t1\t1\t1\t1\t10\t10\t60\t20\t96.5\tNumber",
        "5\t1\t1\t1\t2\t80\t10\t30\t20\t90\tof",
        '5\t1\t1\t1\t3\t300\t10\t20\t20\t80\t"3',
        "5\t1\t1\t2\t1\t10\t40\t60\t20\t70\tDensity",
        "5\t1\t1\t2\t2\t80\t40\t60\t20\t70\t ",
    ]
    lines = _ocr_engines.lines_of_words("\n".join([head, *rows]), 2)
    assert [(line.text, line.x, line.width, line.confidence) for line in lines] == [
        ("Number of", 5, 50, 0.9),
        ('"3', 150, 10, 0.8),
        ("Density", 5, 30, 0.7),
    ]


def test_an_engine_that_is_not_there_is_our_fault(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(shutil, "which", lambda _: None)
    with pytest.raises(EvaluatorError, match="tesseract is not installed: apt install"):
        ocr.Tesseract()
    monkeypatch.setenv("MATASSAY_EASYOCR_MODELS", str(tmp_path))
    monkeypatch.setattr(importlib.util, "find_spec", lambda _: None)
    with pytest.raises(EvaluatorError, match="no weights for the OCR engine easyocr"):
        ocr.EasyOcr()


def test_weights_of_another_release_are_refused(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for name in ("craft_mlt_25k.pth", "english_g2.pth"):
        (tmp_path / name).write_bytes(b"other")
    monkeypatch.setenv("MATASSAY_EASYOCR_MODELS", str(tmp_path))
    assert _ocr_engines.easyocr_models() == tmp_path
    why = "does not take the weights" if importlib.util.find_spec("easyocr") else "cannot be imported"
    with pytest.raises(EvaluatorError, match=why):
        ocr.EasyOcr()


@pytest.mark.parametrize(
    ("script", "error", "why"),
    [
        ("#!/bin/sh\necho no language data >&2\nexit 3\n", EvaluatorError, "status 3: no language data"),
        ("#!/bin/sh\nexec sleep 60\n", HarnessTimeoutError, "overloaded"),
    ],
)
def test_a_program_that_fails_or_hangs(tmp_path: Path, script: str, error: type[Exception], why: str) -> None:
    import numpy as np

    program = tmp_path / "tesseract"
    program.write_text(script, encoding="ascii")
    program.chmod(0o755)
    engine = object.__new__(ocr.Tesseract)
    engine._command, engine.seconds = [str(program)], 0.5
    pixels: Any = np.zeros((4, 4, 3), np.uint8)
    with pytest.raises(error, match=why):
        engine.read(pixels)


def test_a_screenshot_too_large_to_decode(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ocr, "MOST_PIXELS", 100)
    with pytest.raises(EvaluatorError, match="more than 100"):
        ocr.read_screen((SCREENS / "gwyddion-summary.png").read_bytes())
