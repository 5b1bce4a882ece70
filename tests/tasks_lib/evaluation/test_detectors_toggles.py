"""Check boxes and radio buttons: drawn in the styles of toolkits, and on screens of real programs."""

from __future__ import annotations

import json
import random
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from PIL import Image, ImageDraw, ImageFont

from tasks_lib.evaluation.detectors.pixels import Box, Pixels
from tasks_lib.evaluation.detectors.toggles import Toggle, find_toggle, state_in

SCREENS = Path(__file__).parents[2] / "fixtures" / "evaluation" / "screens"
LABELS = ("Raw transform", "σ", "decimal comma", "Invert height", "Open", "plot", "Do not ask again", "on", "D", "b")
STYLES = ("line", "filled", "bevel", "radio-line", "radio-filled", "dark")
FINE = 8
"""Drawn so many times larger and scaled down, as toolkits smooth their edges."""


def glyph(style: str, state: str, side: int, back: tuple[int, int, int]) -> Image.Image:
    """Draw one button on its background."""
    big = side * FINE
    picture = Image.new("RGB", (big, big), back)
    draw = ImageDraw.Draw(picture)
    box = [FINE // 2, FINE // 2, big - FINE // 2, big - FINE // 2]
    light, dark, accent = (255, 255, 255), (60, 60, 60), (53, 132, 228)
    inside, mark, edge = light, (20, 20, 20), dark
    if style == "dark":
        inside, mark, edge = (30, 30, 34), (235, 235, 235), (150, 150, 150)
    if style in ("filled", "radio-filled"):
        edge = (180, 175, 170)
        if state != "off":
            inside, mark, edge = accent, light, (21, 83, 158)
    if style.startswith("radio"):
        draw.ellipse(box, fill=inside, outline=edge, width=FINE)
    elif style == "bevel":
        draw.rectangle(box, fill=inside)
        draw.line([box[0], box[3], box[0], box[1], box[2], box[1]], fill=(90, 90, 90), width=2 * FINE)
        draw.line([box[2], box[1], box[2], box[3], box[0], box[3]], fill=(200, 200, 200), width=FINE)
    else:
        draw.rounded_rectangle(box, radius=0 if style == "line" else 3 * FINE, fill=inside, outline=edge, width=FINE)
    at = lambda *points: [round(point * big) for point in points]  # noqa: E731
    wide = max(FINE, round(1.7 * FINE * side / 14))
    if state == "mixed":
        draw.rectangle(at(0.22, 0.42, 0.78, 0.58), fill=mark)
    elif state == "on" and style.startswith("radio"):
        draw.ellipse(at(0.3, 0.3, 0.7, 0.7), fill=mark)
    elif state == "on" and style == "bevel":
        draw.line(at(0.27, 0.27, 0.73, 0.73), fill=mark, width=wide)
        draw.line(at(0.73, 0.27, 0.27, 0.73), fill=mark, width=wide)
    elif state == "on":
        draw.line(at(0.25, 0.52, 0.43, 0.7, 0.76, 0.3), fill=mark, width=wide)
    return picture.resize((side, side), Image.Resampling.BOX)


def draw(seed: int, side: str = "left") -> tuple[Pixels, Box, Toggle]:
    """Draw a row of a dialog: a button, its label, and other things beside it."""
    chance = random.Random(seed)  # noqa: S311 - a repeatable drawing
    style = STYLES[seed % len(STYLES)]
    state = chance.choice(["on", "off"] if style.startswith("radio") else ["on", "off", "on", "off", "mixed"])
    font = ImageFont.load_default(chance.choice([12, 13, 15, 17]))
    size = chance.randint(max(12, round(0.85 * (font.getbbox("Ag")[3] - font.getbbox("Ag")[1]))), 20)
    back = (45, 45, 50) if style == "dark" else chance.choice([(220, 218, 213), (246, 245, 244), (240, 240, 240)])
    ink = (230, 230, 230) if style == "dark" else (0, 0, 0)
    picture = Image.new("RGB", (360, 90), back)
    painter = ImageDraw.Draw(picture)
    text = chance.choice(LABELS)
    x, y = 90 + chance.randint(0, 20), 36 + chance.randint(0, 6)
    painter.text((x, y), text, fill=ink, font=font)
    label = painter.textbbox((x, y), text, font=font)
    box = (round(label[0]), round(label[1]), round(label[2] - label[0]), round(label[3] - label[1]))
    tall = painter.textbbox((x, y), "Ag", font=font)  # OCR frames the line, whose height hangs on no letter
    box = (box[0], round(tall[1]), box[2], round(tall[3] - tall[1]))
    gap = chance.randint(4, 9)
    left = box[0] - gap - size if side == "left" else box[0] + box[2] + gap
    top = round(box[1] + box[3] / 2 - size / 2) + chance.randint(-1, 1)
    picture.paste(glyph(style, state, size, back), (left, top))
    # The row above and what stands before the button must not be taken for it.
    picture.paste(glyph(style, chance.choice(["on", "off"]), size, back), (left, top - size - 10))
    if side == "left":
        painter.text((left - 34, y), "or", fill=ink, font=font)
    kind = "radio" if style.startswith("radio") else "check"
    return np.asarray(picture), box, Toggle(kind, state, (left, top, size, size))


def right(found: Toggle | None, wanted: Toggle) -> bool:
    if found is None or (found.kind, found.state) != (wanted.kind, wanted.state):
        return False
    return max(abs(a - b) for a, b in zip(found.box, wanted.box, strict=True)) <= 2


@pytest.mark.parametrize(("side", "off", "least"), [("left", 0, 0.99), ("right", 0, 0.99), ("left", 3, 0.97)])
def test_accuracy_on_drawn_buttons(side: str, off: int, least: float) -> None:
    chance = random.Random(5)  # noqa: S311 - a repeatable drawing
    wrong = []
    for seed in range(600):
        pixels, label, wanted = draw(seed, side)
        moved = (label[0] + chance.randint(-off, off), label[1] + chance.randint(-off, off), label[2], label[3])
        found = find_toggle(pixels, moved, side)  # type: ignore[arg-type]
        if not right(found, wanted):
            wrong.append((seed, STYLES[seed % len(STYLES)], found, wanted))
    assert 1 - len(wrong) / 600 >= least, wrong[:8]


# Screen, box around the label as read by eye, kind, state.
REAL = [
    ("gwyddion-marking", (520, 143, 46, 15), "check", "on"),
    ("gwyddion-marking", (520, 170, 40, 15), "check", "off"),
    ("gwyddion-marking", (520, 197, 66, 15), "check", "off"),
    ("gwyddion-marking", (520, 232, 82, 15), "check", "off"),
    ("gwyddion-marking", (520, 349, 100, 15), "check", "on"),
    ("gwyddion-transform", (498, 238, 95, 15), "check", "off"),
    ("gwyddion-transform", (498, 265, 100, 15), "check", "off"),
    ("gwyddion-transform", (498, 292, 115, 15), "check", "off"),
    ("gwyddion-transform", (498, 363, 28, 15), "check", "off"),
    ("gwyddion-transform", (498, 386, 60, 15), "check", "off"),
    ("gwyddion-transform", (498, 409, 54, 15), "check", "on"),
    ("gwyddion-transform", (498, 432, 38, 15), "check", "off"),
    ("gwyddion-transform", (498, 515, 212, 15), "check", "on"),
    ("gwyddion-transform", (498, 538, 88, 15), "check", "off"),
    ("fityk-load", (875, 382, 122, 15), "check", "off"),
    ("fityk-load", (154, 539, 104, 15), "check", "off"),
    ("gwyddion-transform", (477, 406, 77, 19), "check", "on"),  # as OCR gives it, with the tick as a letter
    ("gwyddion-transform", (490, 361, 40, 18), "check", "off"),
    ("fityk-load", (448, 600, 10, 13), "radio", "off"),
    ("fityk-load", (645, 599, 96, 15), "radio", "on"),
    ("fityk-load", (800, 599, 27, 15), "radio", "off"),
    ("fityk-load", (875, 647, 26, 15), "check", "on"),
]


def test_every_button_on_screens_of_programs() -> None:
    told = json.loads((SCREENS / "screens.json").read_text(encoding="utf-8"))
    wrong = []
    for name, label, kind, state in REAL:
        assert name in told
        found = find_toggle(np.asarray(Image.open(SCREENS / f"{name}.png")), label)
        if found is None or (found.kind, found.state) != (kind, state):
            wrong.append((name, label, kind, state, found))
    assert wrong == []


def test_a_region_with_one_button() -> None:
    pixels, _, wanted = draw(3)
    x, y, width, height = wanted.box
    assert right(state_in(pixels, (x - 4, y - 4, width + 8, height + 8)), wanted)
    assert state_in(pixels, (0, 0, 30, 30)) is None
    assert state_in(pixels, (900, 900, 30, 30)) is None


def test_letters_are_no_buttons() -> None:
    for size in range(11, 17):
        font = ImageFont.load_default(size)
        for text in ("D B 8 0", "o a e", "b d p q", "@ & %"):
            picture = Image.new("RGB", (300, 60), "white")
            painter = ImageDraw.Draw(picture)
            painter.text((20, 20), text, fill="black", font=font)
            _, top, width, bottom = (round(side) for side in painter.textbbox((20, 20), text + " Ag", font=font))
            assert find_toggle(np.asarray(picture), (width + 3, top, 60, bottom - top)) is None, (size, text)


@given(
    box=st.tuples(*[st.integers(-50, 400)] * 4),
    pixels=st.binary(min_size=300, max_size=300),
    side=st.sampled_from(["left", "right"]),
)
@settings(max_examples=150, deadline=None)
def test_any_pixels_give_an_answer(box: Box, pixels: bytes, side: str) -> None:
    noise = np.repeat(np.repeat(np.frombuffer(pixels, np.uint8).reshape(10, 10, 3), 9, 0), 9, 1)
    found = find_toggle(noise, box, side)  # type: ignore[arg-type]
    assert found is None or found.state in ("on", "off", "mixed")
