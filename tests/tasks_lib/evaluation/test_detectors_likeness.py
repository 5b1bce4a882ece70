"""A reference picture on the screen: moved, partly covered, and with one thing changed."""

from __future__ import annotations

import random

import numpy as np
import pytest
from PIL import Image, ImageDraw, ImageFont

from tasks_lib.evaluation.detectors.likeness import compare
from tasks_lib.evaluation.detectors.pixels import Pixels

MASKED = (150, 90, 30, 30)
"""Where the pointer may lie."""
WORDS = ("Height", "Slope", "Modulus", "Phase", "Real", "Hann", "Gauss", "Reset")


def draw(seed: int, change: str = "") -> Image.Image:
    chance = random.Random(seed)  # noqa: S311 - a repeatable drawing
    picture = Image.new("RGB", (240, 150), (220, 218, 213))
    painter = ImageDraw.Draw(picture)
    words = chance.sample(WORDS, 4)
    shade = [chance.randint(0, 200) for _ in range(3)]
    shape = chance.choice(["ellipse", "rectangle"])
    if change == "word":
        words[1] = next(word for word in WORDS if word not in words)
    if change == "colour":
        shade[chance.randrange(3)] += 110
        shade = [value % 256 for value in shade]
    if change == "icon":
        shape = "line"
    for row, word in enumerate(words):
        painter.text((14, 10 + 30 * row), word, fill="black", font=ImageFont.load_default(14))
        painter.rectangle([90, 8 + 30 * row, 140, 26 + 30 * row], fill="white", outline=(110, 110, 110))
    getattr(painter, shape)([180, 20, 220, 60], fill=tuple(shade))
    return picture


def reference(seed: int) -> np.ndarray[tuple[int, int, int], np.dtype[np.uint8]]:
    picture = draw(seed).convert("RGBA")
    x, y, width, height = MASKED
    picture.paste((0, 0, 0, 0), (x, y, x + width, y + height))
    return np.asarray(picture)  # type: ignore[return-value]


def shown(seed: int, change: str = "") -> tuple[Pixels, tuple[int, int]]:
    chance = random.Random(1000 + seed)  # noqa: S311 - a repeatable drawing
    place = (chance.randint(0, 12), chance.randint(0, 12))
    screen = Image.new("RGB", (252, 162), "black")
    picture = draw(seed, change)
    at = (MASKED[0] + chance.randint(0, 12), MASKED[1] + chance.randint(0, 8))
    ImageDraw.Draw(picture).polygon([at, (at[0], at[1] + 16), (at[0] + 11, at[1] + 11)], fill="white", outline="black")
    screen.paste(picture, place)
    return np.asarray(screen), place


def test_accuracy_where_nothing_changed() -> None:
    for seed in range(100):
        pixels, place = shown(seed)
        found = compare(pixels, reference(seed))
        assert (found.x, found.y) == place, seed
        assert found.worst >= 0.98, (seed, found)
        assert found.mean >= found.worst


def test_accuracy_where_one_thing_changed() -> None:
    missed = []
    for seed in range(102):
        change = ("word", "colour", "icon")[seed % 3]
        found = compare(shown(seed, change)[0], reference(seed))
        if found.worst >= 0.8:
            missed.append((seed, change, found))
    assert len(missed) <= 1, missed[:8]


def test_what_cannot_be_compared() -> None:
    pixels = np.zeros((100, 100, 3), np.uint8)
    with pytest.raises(ValueError, match="100 x 100 pixels were seen, the reference has 240 x 150"):
        compare(pixels, reference(0))
    with pytest.raises(ValueError, match="16 pixels or more"):
        compare(pixels, np.full((8, 50, 4), 255, np.uint8))
    with pytest.raises(ValueError, match="all of it is transparent"):
        compare(pixels, np.zeros((50, 50, 4), np.uint8))
    plain = compare(pixels, np.dstack([np.zeros((50, 50, 3), np.uint8), np.full((50, 50), 255, np.uint8)]))
    assert (plain.mean, plain.x, plain.y) == (1, 0, 0)
