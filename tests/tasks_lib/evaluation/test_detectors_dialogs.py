"""Fields of dialogs: drawn ones read by the real engine, dialogs of programs, and lines as OCR gives them."""

from __future__ import annotations

import io
import random
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image, ImageDraw, ImageFont

from tasks_lib.evaluation import ocr
from tasks_lib.evaluation.detectors.dialogs import find_label, fold, read_field

SCREENS = Path(__file__).parents[2] / "fixtures" / "evaluation" / "screens"
LABELS = ("Height", "Peak width", "Window type", "Tolerance", "Data title", "Energy shift", "Number of points",
          "Colour map", "Scale bar", "Output file", "Fit method", "Pass energy", "Background")  # fmt: skip
WORDS = ("Hann", "Gaussian", "Shirley", "c1s.xy", "Levenberg-Marquardt", "Gray", "automatic", "profile 2")


def draw(seed: int) -> tuple[bytes, dict[str, str]]:
    """Draw a dialog of eight labels with their fields: boxes of text, or plain text with a unit."""
    chance = random.Random(seed)  # noqa: S311 - a repeatable drawing
    picture = Image.new("RGB", (460, 330), chance.choice([(220, 218, 213), (246, 245, 244), (240, 240, 240)]))
    painter = ImageDraw.Draw(picture)
    font = ImageFont.load_default(chance.choice([13, 14, 16]))
    fields = {}
    for row, label in enumerate(chance.sample(LABELS, 8)):
        value = chance.choice([
            chance.choice(WORDS), f"{chance.uniform(0, 900):.3f}", str(chance.randint(2, 5000)),
            f"{chance.uniform(1, 9):.2f}e-{chance.randint(2, 9)}", f"{chance.uniform(1, 90):.1f} nm",
        ])  # fmt: skip
        y = 14 + 38 * row
        painter.text((16, y), label + chance.choice([":", ""]), fill="black", font=font)
        x = chance.randint(190, 230)
        if chance.random() < 0.7:
            painter.rectangle([x - 8, y - 6, x + 180, y + 24], fill="white", outline=(120, 120, 120))
        painter.text((x, y), value, fill="black", font=font)
        fields[label] = value
    out = io.BytesIO()
    picture.save(out, "PNG")
    return out.getvalue(), fields


def test_accuracy_on_drawn_dialogs() -> None:
    right, wrong, neighbours = 0, [], []
    for seed in range(12):
        png, fields = draw(seed)
        lines = ocr.read_screen(png)
        for label, value in fields.items():
            found = read_field(lines, label)
            if found is not None and found.replace(" ", "") == value.replace(" ", ""):
                right += 1
                continue
            wrong.append((seed, label, value, found))
            if found is not None and any(fold(found) == fold(text) for name, text in fields.items() if name != label):
                neighbours.append(wrong[-1])
    assert right >= 0.95 * 96, wrong
    assert neighbours == []


@pytest.mark.parametrize(
    ("name", "window", "fields"),
    [
        ("gwyddion-summary", (505, 261, 309, 293), {
            "Number of grains": "3", "Total projected area (rel.)": "1.562 %", "Mean grain size": "1.138 nm",
            "Total projected boundary length": "10.49 nm"}),
        ("gwyddion-transform", (471, 210, 376, 394), {
            "Windowing type": "Hann", "Imaginary part": "Unknown channel 1", "Output type": ""}),
        ("gwyddion-marking", (490, 109, 358, 534), {"Height": "50.00", "Slope": "50.00", "Curvature": "50.00"}),
        ("fityk-load", (125, 142, 1031, 575), {
            "file format": "<automatic>", "data title": "c1s", "block": "<default>", "c1s.fit": "13.3 kB",
            "diag-fft.gwy": "7.3 kB"}),
    ],
)  # fmt: skip
def test_fields_of_programs(name: str, window: tuple[int, int, int, int], fields: dict[str, str]) -> None:
    lines = ocr.read_screen((SCREENS / f"{name}.png").read_bytes(), window)
    found = {label: (read_field(lines, label) or "").replace(" ", "") for label in fields}
    # What OCR takes 1 and l for is no matter of finding the field.
    assert {label: fold(text) for label, text in found.items()} == {label: fold(text) for label, text in fields.items()}
    assert read_field(lines, "No such label") is None


def line(text: str, x: float, y: float, width: float = 60, height: float = 14) -> ocr.Line:
    return ocr.Line(text, x, y, width, height, 1.0)


def test_the_nearest_on_the_same_line_counts() -> None:
    lines = [
        line("Height:", 10, 10),
        line("1.5", 100, 11),
        line("nm", 170, 11),
        line("Width:", 10, 40),
        line("2", 100, 30),
    ]
    assert read_field(lines, "height") == "1.5"
    assert read_field(lines, "Width") == ""
    assert read_field(lines, "height", reach=20) == ""


def test_a_label_that_was_joined_with_its_field() -> None:
    assert read_field([line("Height = 1.5 nm", 10, 10)], "Height") == "1.5 nm"
    found = find_label([line("or Height:1.5", 100, 10, 130)], "Height")
    assert found is not None
    assert (found.box, found.rest) == ((130, 10, 70, 14), "1.5")
    assert read_field([line("Height above", 10, 10), line("Height", 10, 30), line("7", 90, 30)], "Height") == "7"
    assert find_label([line("Height", 0, 0)], "  ") is None


@given(texts=st.lists(st.text(max_size=12), max_size=5), label=st.text(max_size=6))
def test_any_text_gives_an_answer(texts: list[str], label: str) -> None:
    lines = [line(text, 70 * at, 10) for at, text in enumerate(texts) if text]
    found = find_label(lines, label)
    assert (read_field(lines, label) is None) == (found is None)
