from __future__ import annotations

import io
import random

import pytest
from PIL import Image, ImageDraw, ImageFont

from tasks_lib.agents.screens import REMEMBERED, Screens

SIZE = (800, 500)
FONT = ImageFont.load_default(size=13)


def screen(*, caret=None, clock="", label="Ready", typed="", size=SIZE, at=60):
    picture = Image.new("RGB", size, "#f0f0f0")
    pen = ImageDraw.Draw(picture)
    pen.rectangle((40, 40, 300, 62), fill="white", outline="#888")
    pen.text((44, 43), typed, fill="black", font=FONT)
    pen.text((40, 200), label, fill="black", font=FONT)
    pen.text((730, 480), clock, fill="black", font=FONT)
    if caret is not None:
        pen.rectangle((caret, 43, caret, at), fill="black")
    out = io.BytesIO()
    picture.save(out, "PNG")
    return out.getvalue()


def looks(*pngs, idle=False):
    screens = Screens()
    return [screens.look(png, idle=idle) for png in pngs]


def test_the_same_picture_is_the_same_screen():
    assert looks(screen(), screen()) == [(1, False), (1, True)]


def test_another_picture_is_another_screen():
    assert looks(screen(), screen(label="Done"), screen()) == [(1, False), (2, False), (1, False)]


def test_a_caret_that_blinks_changes_nothing():
    assert looks(screen(), screen(caret=60), screen(), screen(caret=60)) == [(1, False), *[(1, True)] * 3]


@pytest.mark.parametrize(
    "after",
    [
        screen(typed="l"),
        screen(typed="1"),
        screen(typed="i"),
        screen(caret=90, typed="ab"),
        # The caret has gone to another place: a blank was typed, or another field has the focus.
        screen(caret=75),
        screen(size=(400, 500)),
    ],
    ids=["l", "1", "i", "letters", "blank", "size"],
)
def test_what_an_agent_did_is_seen(after):
    before = screen(caret=60) if after == screen(caret=75) else screen()
    assert looks(before, after)[1][1] is False


def test_a_tall_bar_or_a_thick_one_is_no_caret():
    assert looks(screen(), screen(caret=60, at=120))[1] == (2, False)
    thick = Image.open(io.BytesIO(screen()))
    ImageDraw.Draw(thick).rectangle((60, 43, 66, 60), fill="black")
    out = io.BytesIO()
    thick.save(out, "PNG")
    assert looks(screen(), out.getvalue())[1] == (2, False)


def test_a_clock_is_learned_while_nothing_is_done():
    screens = Screens()
    minutes = [screen(clock=f"12:0{minute}") for minute in range(7)]
    seen = [screens.look(png, idle=True)[1] for png in minutes[:4]]
    # Twice it may have been anything; from then on it is a clock.
    assert seen == [False, False, False, True]
    # It stays one when something is done, and what is done is seen beside it.
    assert screens.look(minutes[4], idle=False)[1] is True
    assert screens.look(screen(clock="12:05", label="Done"), idle=False)[1] is False


def test_what_changes_by_an_action_is_no_clock():
    screens = Screens()
    assert not any(screens.look(screen(clock=f"12:0{minute}"), idle=False)[1] for minute in range(7))


def test_a_large_part_that_changes_by_itself_is_no_clock():
    screens = Screens()
    seen = []
    for turn in range(6):
        picture = Image.new("RGB", SIZE, "white")
        ImageDraw.Draw(picture).rectangle((100, 100, 500, 300), fill=(40 * turn, 0, 0))
        out = io.BytesIO()
        picture.save(out, "PNG")
        seen.append(screens.look(out.getvalue(), idle=True)[1])
    assert seen == [False] * 6


def test_only_the_last_screens_are_remembered():
    pngs = [screen(label=f"page {number}") for number in range(REMEMBERED + 1)]
    numbers = [number for number, _ in looks(*pngs, pngs[1], pngs[0])]
    assert numbers[REMEMBERED + 1] == 2
    assert numbers[REMEMBERED + 2] == REMEMBERED + 2


def noise(seed, dots=3000):
    """A screen of dots, each a place of its own."""
    picture = Image.new("RGB", SIZE, "white")
    pen = ImageDraw.Draw(picture)
    found = random.Random(seed)  # noqa: S311
    for _ in range(dots):
        x, y = found.randrange(SIZE[0] // 8) * 8, found.randrange(SIZE[1] // 8) * 8
        pen.rectangle((x, y, x + 1, y + 1), fill="black")
    out = io.BytesIO()
    picture.save(out, "PNG")
    return out.getvalue()


def test_a_screen_of_noise_is_another_screen_and_no_heap_of_clocks():
    screens = Screens()
    assert [screens.look(noise(seed), idle=True) for seed in range(4)] == [(n, False) for n in range(1, 5)]
    assert not screens._restless


def test_places_that_change_once_are_forgotten_in_the_end():
    screens = Screens()
    for number in range(60):
        screens.look(noise(number, dots=20), idle=True)
    assert 0 < len(screens._restless) <= 256
