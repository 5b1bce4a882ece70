"""Highlighted icons: drawn tool bars, and tool boxes of real programs."""

from __future__ import annotations

import random
from pathlib import Path

import numpy as np
import pytest
from PIL import Image, ImageDraw

from tasks_lib.evaluation.detectors.highlight import highlighted
from tasks_lib.evaluation.detectors.pixels import Box, Pixels

SCREENS = Path(__file__).parents[2] / "fixtures" / "evaluation" / "screens"


def draw(seed: int) -> tuple[Pixels, dict[str, Box], list[str]]:
    """Draw a tool bar of icons; one or none of them is pressed."""
    chance = random.Random(seed)  # noqa: S311 - a repeatable drawing
    number, side = chance.randint(3, 12), chance.randint(22, 40)
    back = chance.choice([(220, 218, 213), (246, 245, 244), (240, 240, 240), (53, 53, 58)])
    shift = chance.choice([-1, 1]) * chance.randint(16, 60)
    pressed = tuple(min(255, max(0, part + (shift if max(back) < 230 else -abs(shift)))) for part in back)
    if chance.random() < 0.3:
        pressed = (150, 190, 240)  # selection in the colour of a theme
    chosen = chance.choice([None, *range(number)])
    picture = Image.new("RGB", (20 + number * (side + 4), side + 30), back)
    painter = ImageDraw.Draw(picture)
    cells = {}
    for at in range(number):
        x, y = 10 + at * (side + 4), 12
        if at == chosen:
            painter.rectangle(
                [x, y, x + side - 1, y + side - 1], fill=pressed, outline=chance.choice([None, (90, 90, 90)])
            )
        inner = [x + side // 4, y + side // 4, x + 3 * side // 4, y + 3 * side // 4]
        colour = tuple(chance.randint(0, 255) for _ in range(3))
        shape = chance.choice(["ellipse", "rectangle", "line", "cross"])
        if shape == "ellipse":
            painter.ellipse(inner, fill=colour)
        elif shape == "rectangle":
            painter.rectangle(inner, outline=colour, width=3)
        else:
            painter.line(inner, fill=colour, width=3)
        off = [chance.randint(-2, 2) for _ in range(2)]
        cells[f"tool{at}"] = (x + off[0], y + off[1], side, side)
    return np.asarray(picture), cells, [] if chosen is None else [f"tool{chosen}"]


def test_accuracy_on_drawn_tool_bars() -> None:
    wrong = []
    for seed in range(400):
        pixels, cells, wanted = draw(seed)
        found = highlighted(pixels, cells)
        if found != wanted:
            wrong.append((seed, found, wanted))
    assert 1 - len(wrong) / 400 >= 0.99, wrong[:8]


def grid(x: int, y: int, columns: int, rows: int, side: int, step: tuple[int, int]) -> dict[str, Box]:
    return {
        f"{row}-{column}": (x + column * step[0], y + row * step[1], side, side)
        for row in range(rows)
        for column in range(columns)
    }


@pytest.mark.parametrize(
    ("name", "cells", "wanted"),
    [
        # Gwyddion: the pointer of the tool box is at hand; ImageJ: the rectangle; Fityk: zooming.
        ("gwyddion-toolbox", grid(555, 537, 5, 4, 34, (34, 36)), ["0-0"]),
        ("imagej-selection", grid(531, 47, 13, 1, 29, (30, 30)), ["0-0"]),
        ("fityk-fit", {"zoom": (3, 48, 36, 34), "range": (41, 48, 36, 34), "background": (79, 48, 36, 34),
                       "peak": (116, 48, 36, 34)}, ["zoom"]),
    ],
)  # fmt: skip
def test_tools_at_hand_in_programs(name: str, cells: dict[str, Box], wanted: list[str]) -> None:
    assert highlighted(np.asarray(Image.open(SCREENS / f"{name}.png")), cells) == wanted


def test_a_lit_cell_is_told_from_a_pressed_one() -> None:
    pixels = np.full((40, 200, 3), 200, np.uint8)
    pixels[5:35, 5:35] = 150
    pixels[5:35, 45:75] = 235
    cells = grid(5, 5, 5, 1, 30, (40, 40))
    assert highlighted(pixels, cells) == ["0-0", "0-1"]
    assert highlighted(pixels, cells, "darker") == ["0-0"]
    assert highlighted(pixels, cells, "lighter") == ["0-1"]


def test_what_cannot_be_told() -> None:
    pixels = np.zeros((40, 200, 3), np.uint8)
    with pytest.raises(ValueError, match="three cells are the least"):
        highlighted(pixels, {"a": (0, 0, 20, 20), "b": (20, 0, 20, 20)})
    with pytest.raises(ValueError, match="does not lie in the picture"):
        highlighted(pixels, grid(150, 0, 3, 1, 30, (30, 30)))
