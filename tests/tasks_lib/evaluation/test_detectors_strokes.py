"""Colours of lines and text, drawn smoothed, and those of curves of real programs."""

from __future__ import annotations

import random
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from PIL import Image, ImageDraw, ImageFont

from tasks_lib.evaluation.detectors.pixels import Colour, Pixels, cut, parse_colour
from tasks_lib.evaluation.detectors.strokes import find_strokes, name_of

SCREENS = Path(__file__).parents[2] / "fixtures" / "evaluation" / "screens"
FINE = 4
LIGHT: dict[str, Colour] = {
    "black": (0, 0, 0), "red": (220, 20, 30), "green": (0, 128, 0), "blue": (31, 70, 200), "orange": (255, 127, 14),
    "purple": (128, 60, 190), "magenta": (227, 60, 180), "cyan": (23, 190, 207), "brown": (140, 86, 40),
}  # fmt: skip
DARK: dict[str, Colour] = {
    "white": (255, 255, 255), "red": (255, 40, 40), "green": (60, 255, 60), "yellow": (255, 255, 0),
    "cyan": (80, 220, 255), "orange": (255, 160, 40), "magenta": (255, 80, 200),
}  # fmt: skip


def smooth(size: tuple[int, int], back: Colour, lines: list[tuple[list[int], Colour, float]]) -> Image.Image:
    picture = Image.new("RGB", (size[0] * FINE, size[1] * FINE), back)
    painter = ImageDraw.Draw(picture)
    for points, colour, width in lines:
        painter.line([at * FINE for at in points], fill=colour, width=round(width * FINE), joint="curve")
    return picture.resize(size, Image.Resampling.BOX)


def bend(chance: random.Random) -> list[int]:
    return [value for at in range(6) for value in (5 + at * 38, chance.randint(8, 112))]


def draw(seed: int, number: int = 1) -> tuple[Pixels, list[tuple[str, Colour]]]:
    chance = random.Random(seed)  # noqa: S311 - a repeatable drawing
    dark = chance.random() < 0.4
    back = chance.choice([(48, 48, 48), (0, 0, 0), (20, 30, 60)] if dark else [(255, 255, 255), (246, 245, 244)])
    known = DARK if dark else LIGHT
    names = chance.sample(sorted(known), number)
    if number == 1 and chance.random() < 0.3:
        picture = Image.new("RGB", (200, 120), back)
        font = ImageFont.load_default(chance.choice([14, 18, 24]))
        ImageDraw.Draw(picture).text((20, 40), "Profile 1", fill=known[names[0]], font=font)
    else:
        width = chance.choice([1, 1.5, 2, 3, 4]) if number == 1 else chance.choice([2, 3])
        picture = smooth((200, 120), back, [(bend(chance), known[name], width) for name in names])
    return np.asarray(picture), [(name, known[name]) for name in names]


def test_accuracy_for_one_colour() -> None:
    far, wrong = [], []
    for seed in range(400):
        pixels, ((name, colour),) = draw(seed)
        found = find_strokes(pixels)
        if not found or found[0].name != name:
            wrong.append((seed, name, colour, found[:2]))
        if not found or max(np.abs(np.array(parse_colour(found[0].colour)) - colour)) > 40:
            far.append((seed, name, colour, found[:2]))
    assert 1 - len(far) / 400 >= 0.98, far[:8]
    assert 1 - len(wrong) / 400 >= 0.97, wrong[:8]


def test_accuracy_for_three_colours() -> None:
    wrong = []
    for seed in range(200):
        pixels, wanted = draw(seed, 3)
        found = {stroke.name for stroke in find_strokes(pixels, least=0.004)}
        if not {name for name, _ in wanted} <= found:
            wrong.append((seed, wanted, found))
    assert 1 - len(wrong) / 200 >= 0.95, wrong[:8]


def test_curves_of_programs() -> None:
    pixels = np.asarray(Image.open(SCREENS / "fityk-fit.png"))
    found = {stroke.name: stroke for stroke in find_strokes(cut(pixels, (30, 95, 900, 420)))}
    assert {"yellow", "red", "green"} <= set(found)
    for name, colour in (("yellow", (255, 255, 0)), ("red", (255, 0, 0))):
        assert max(np.abs(np.array(parse_colour(found[name].colour)) - colour)) <= 20
    graph = np.asarray(Image.open(SCREENS / "gwyddion-profile.png"))
    assert find_strokes(cut(graph, (850, 410, 400, 280)))[0].name == "black"


def test_an_even_region_has_no_stroke() -> None:
    assert find_strokes(np.full((20, 30, 3), 90, np.uint8)) == []
    assert find_strokes(np.zeros((0, 30, 3), np.uint8)) == []


@pytest.mark.parametrize(
    ("text", "name"),
    [("#000000", "black"), ("#ffffff", "white"), ("#808080", "grey"), ("#ff0000", "red"), ("#1f77b4", "blue"),
     ("#ff7f0e", "orange"), ("#2ca02c", "green"), ("#9467bd", "purple"), ("#8c564b", "red"), ("yellow", "yellow")],
)  # fmt: skip
def test_names(text: str, name: str) -> None:
    colour = parse_colour(text)
    assert colour is not None
    assert name_of(colour) == name
    assert parse_colour("reddish") is None


@given(pixels=st.binary(min_size=1200, max_size=1200))
@settings(max_examples=100, deadline=None)
def test_any_pixels_give_an_answer(pixels: bytes) -> None:
    strokes = find_strokes(np.frombuffer(pixels, np.uint8).reshape(20, 20, 3))
    assert sum(stroke.share for stroke in strokes) <= 1 + 1e-6
