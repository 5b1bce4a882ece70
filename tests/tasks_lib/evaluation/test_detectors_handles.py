"""Handles of selections: drawn on pictures of noise, blobs and text, and on a screen of ImageJ."""

from __future__ import annotations

import random
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from PIL import Image, ImageDraw, ImageFont

from tasks_lib.evaluation.detectors.handles import Frame, find_frames, find_handles
from tasks_lib.evaluation.detectors.pixels import Colour, Pixels, cut

SCREENS = Path(__file__).parents[2] / "fixtures" / "evaluation" / "screens"
COLOURS: list[Colour] = [(255, 255, 255), (0, 255, 0), (255, 255, 0), (0, 120, 215)]


def draw(seed: int) -> tuple[Pixels, Colour, tuple[int, int, int, int] | None, list[tuple[float, float]]]:
    """Draw a micrograph with or without a selection; its handles, and its box through their middles."""
    chance = random.Random(seed)  # noqa: S311 - a repeatable drawing
    noise = np.random.default_rng(seed)
    grey = np.clip(noise.normal(90, 30, (240, 320)), 0, 200).astype(np.uint8)
    picture = Image.fromarray(np.stack([grey] * 3, axis=-1))
    painter = ImageDraw.Draw(picture)
    rim = chance.random() < 0.5
    for _ in range(chance.randint(0, 12)):
        x, y, r = chance.randint(0, 320), chance.randint(0, 240), chance.randint(8, 30)
        painter.ellipse([x - r, y - r, x + r, y + r], fill=(chance.randint(120, 255 if rim else 200),) * 3)
    colour = chance.choice(COLOURS)
    painter.text((10, 215), "50 nm  HAADF", fill=colour, font=ImageFont.load_default(chance.choice([12, 16])))
    if chance.random() < 0.25:
        return np.asarray(picture), colour, None, []
    side = chance.choice([5, 7, 9])
    x, y = chance.randint(10, 120), chance.randint(10, 80)
    width, height = 2 * chance.randint(20, 80), 2 * chance.randint(15, 55)
    line = chance.choice([None, colour, (255, 255, 0)])
    if line is not None:
        painter.rectangle([x, y, x + width, y + height], outline=line, width=chance.choice([1, 2]))
    corners = [(x, y), (x + width, y), (x, y + height), (x + width, y + height)]
    if chance.random() < 0.5:
        corners += [
            (x + width // 2, y),
            (x + width // 2, y + height),
            (x, y + height // 2),
            (x + width, y + height // 2),
        ]
    for at in corners:
        half = side // 2
        if rim:
            painter.rectangle([at[0] - half - 1, at[1] - half - 1, at[0] + half + 1, at[1] + half + 1], fill="black")
        painter.rectangle([at[0] - half, at[1] - half, at[0] + half, at[1] + half], fill=colour)
    return np.asarray(picture), colour, (x, y, width, height), [(float(a), float(b)) for a, b in corners]


def near(found: list[tuple[float, float]], wanted: list[tuple[float, float]]) -> bool:
    if len(found) != len(wanted):
        return False
    return all(any(max(abs(a - x), abs(b - y)) <= 1 for a, b in found) for x, y in wanted)


def test_accuracy_on_drawn_pictures() -> None:
    wrong, frames = [], []
    for seed in range(400):
        pixels, colour, box, wanted = draw(seed)
        found = find_handles(pixels, colour)
        if not near(found, wanted):
            wrong.append((seed, len(found), len(wanted)))
        shown = find_frames(found)
        if bool(shown) != (box is not None) or (box is not None and max(np.abs(np.array(shown[0].box) - box)) > 1):
            frames.append((seed, shown[:1], box))
    assert 1 - len(wrong) / 400 >= 0.98, wrong[:8]
    assert 1 - len(frames) / 400 >= 0.98, frames[:8]


def test_a_selection_of_imagej() -> None:
    pixels = np.asarray(Image.open(SCREENS / "imagej-selection.png"))
    found = find_handles(cut(pixels, (534, 138, 384, 288)), (255, 255, 255))
    assert len(found) == 8
    # The mouse was dragged from (560, 260) to (680, 350) of the screen; a pixel of the picture is 6 of the screen.
    (frame, *_) = find_frames(found)
    assert frame.handles == 8
    assert np.abs(np.array(frame.box) - (560 - 534, 260 - 138, 120, 90)).max() <= 6


def test_no_frame_without_four_corners() -> None:
    assert find_frames([(0, 0), (20, 0), (0, 20)]) == []
    assert find_frames([]) == []
    assert find_frames([(0, 0), (20, 0.5), (0.5, 20), (20, 20), (10, 0)])[0] == Frame((0, 0, 20, 20), 5)


@pytest.mark.parametrize("shade", [0, 255])
def test_a_plain_surface_has_no_handles(shade: int) -> None:
    assert find_handles(np.full((50, 60, 3), shade, np.uint8), (255, 255, 255)) == []


@given(pixels=st.binary(min_size=1200, max_size=1200), colour=st.sampled_from(COLOURS))
@settings(max_examples=100, deadline=None)
def test_any_pixels_give_an_answer(pixels: bytes, colour: Colour) -> None:
    noise = np.repeat(np.repeat(np.frombuffer(pixels, np.uint8).reshape(20, 20, 3), 5, 0), 5, 1)
    for frame in find_frames(find_handles(noise, colour)):
        assert frame.handles >= 4
