"""Targets that are found by their text: which reading counts, which words of a line, and screens read by a real OCR."""

from __future__ import annotations

import io
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from PIL import Image, ImageDraw, ImageFont

from tasks_lib.agents import (
    Brief,
    TargetAbsentError,
    TargetError,
    Targets,
    View,
    find_text,
    make_agent,
    parse_reply,
    place_of_text,
    stuck_reason,
)
from tasks_lib.evaluation import ocr
from tasks_lib.records import Decision, Modality, Observation, WindowState
from tasks_lib.records.errors import EvaluatorError
from tasks_lib.taskdefs import TargetCall

SCREENS = Path(__file__).parents[2] / "fixtures" / "evaluation" / "screens"
GREY, INK = (246, 245, 244), (46, 52, 54)
FONT = ImageFont.load_default(15)
BLANK = np.full((400, 640, 3), GREY[0], dtype=np.uint8)


@dataclass
class Read:
    """A line as an engine returns it."""

    text: str
    x: float = 100.0
    y: float = 50.0
    width: float = 80.0
    height: float = 20.0
    confidence: float = 0.99


def drawn(*texts, size=(640, 400)):
    """Return a screen with texts at their places, and the lines that a faultless engine would read."""
    image = Image.new("RGB", size, GREY)
    pen = ImageDraw.Draw(image)
    lines = []
    for text, x, y in texts:
        pen.text((x, y), text, fill=INK, font=FONT)
        left, top, right, bottom = pen.textbbox((x, y), text, font=FONT)
        lines.append(Read(text, left - 3, top - 3, right - left + 6, bottom - top + 6))
    return np.asarray(image).copy(), lines


def png(screen):
    stream = io.BytesIO()
    Image.fromarray(screen).save(stream, "PNG")
    return stream.getvalue()


def middles(screen, lines, wanted):
    return [match.middle for match in find_text(screen, lines, wanted).matches]


@pytest.mark.parametrize(
    "read", ["Save Session", "SaveSession", " Save  Session ", "Save Session...", "Save Session…:"]
)
@pytest.mark.parametrize("wanted", ["Save Session", "Save Session..."])
def test_spaces_and_dots_at_the_end_do_not_count(read, wanted):
    assert middles(BLANK, [Read(read)], wanted) == [(140, 60)]


@pytest.mark.parametrize("read", ["Ok", "ok", "0K", "OKAY", "O K A", "BOOK", "K", ""])
def test_another_case_another_sign_and_a_part_of_a_word_are_other_texts(read):
    search = find_text(BLANK, [Read(read)], "OK")
    assert search.matches == ()
    assert search.but.startswith("of 1 texts read there, ")


def test_what_the_engine_is_not_sure_of_is_no_match_and_is_named():
    search = find_text(BLANK, [Read("Apply", confidence=0.79)], "Apply")
    assert search.matches == ()
    assert "nearest to it are 'Apply'" in search.but


def test_a_line_that_is_the_text_comes_before_a_sentence_that_holds_it():
    screen, lines = drawn(("Press  OK  to  go  on", 20, 20), ("OK", 300, 200))
    assert len(find_text(screen, lines[:1], "OK").matches) == 1
    (match,) = find_text(screen, lines, "OK").matches
    assert (match.x, match.score) == (lines[1].x, 0.99)


def test_of_a_menu_bar_that_was_read_as_one_line_every_word_is_found_at_its_pixels():
    titles, x, screen = ["Session", "Data", "Functions", "Fit", "Tools"], 12, BLANK.copy()
    image = Image.fromarray(screen)
    pen, boxes = ImageDraw.Draw(image), {}
    for title in titles:
        pen.text((x, 8), title, fill=INK, font=FONT)
        boxes[title] = pen.textbbox((x, 8), title, font=FONT)
        x = int(boxes[title][2]) + 14
    # The lower edge of a menu bar runs through the box of its text.
    pen.line((0, 31, 639, 31), fill=(120, 120, 120))
    line = Read(" ".join(titles), 8, 4, x - 8, 29)
    for title in titles:
        (match,) = find_text(np.asarray(image), [line], title).matches
        left, _, right, _ = boxes[title]
        assert match.x == pytest.approx(left, abs=3)
        assert match.x + match.width == pytest.approx(right, abs=3)
    (pair,) = find_text(np.asarray(image), [line], "Functions Fit").matches
    assert pair.x == pytest.approx(boxes["Functions"][0], abs=3)
    assert pair.x + pair.width == pytest.approx(boxes["Fit"][2], abs=3)


@pytest.mark.parametrize(
    ("placed", "read"),
    [
        ([("Wonderful", 20, 20), ("A", 140, 20)], "A Wonderful"),
        ([("AAAA", 20, 20)], "AA A A"),
        ([("Wonderful", 20, 20)], "A Wonder ful"),
        ([], "A Wonderful"),
    ],
    ids=["gap-elsewhere", "gaps-alike", "fewer-gaps", "nothing-drawn"],
)
def test_a_word_whose_pixels_cannot_be_told_from_its_neighbours_is_not_there(placed, read):
    screen = drawn(*placed)[0]
    assert find_text(screen, [Read(read, 10, 15, 160, 30)], "A").matches == ()


@given(
    st.lists(st.builds(Read, st.text("OKa0 .", max_size=6), *(st.floats(-50, 700) for _ in range(4))), max_size=6),
    st.text("OKa0 .", max_size=4),
)
@settings(max_examples=150, deadline=None)
def test_whatever_was_read_each_match_says_the_text(lines, wanted):
    key = "".join(wanted.split()).rstrip(".")
    search = find_text(BLANK, lines, wanted)
    for match in search.matches:
        assert any("".join(line.text.split()).rstrip(".") == key and line.confidence >= 0.8 for line in lines), match
    assert bool(search.but) == (not search.matches)


class TestPlaces:
    WINDOWS = (
        WindowState(id=1, title="Fityk 1.3.2", x=0, y=0, width=640, height=400),
        WindowState(id=2, title="Save as", x=300, y=200, width=300, height=180, focused=True),
    )

    def at(self, *lines, **rules):
        asked = []

        def read(box):
            asked.append(box)
            left, top, width, height = box or (0, 0, 640, 400)
            return [n for n in lines if left <= n.x <= left + width and top <= n.y <= top + height]

        place = place_of_text(BLANK, TargetCall("", text="Save", **rules), self.WINDOWS, read)
        return place, asked

    def test_only_the_window_is_read(self):
        twice = (Read("Save", 20, 20), Read("Save", 400, 300))
        assert self.at(*twice, within="save as") == ((440, 310), [(300, 200, 300, 180)])
        assert self.at(twice[0], dx=5, dy=-3) == ((65, 27), [None])

    def test_two_without_a_rule_are_refused_and_near_decides(self):
        twice = (Read("Save", 20, 20), Read("Save", 400, 300))
        with pytest.raises(TargetError, match="with the text 'Save' is 2 times on the screen") as refused:
            self.at(*twice)
        assert not isinstance(refused.value, TargetAbsentError)
        assert self.at(*twice, near=(640, 400))[0] == (440, 310)

    def test_what_is_not_there_may_still_come(self):
        with pytest.raises(TargetAbsentError, match=r"with the text 'Save' is not on the window 'Fityk' \(of 1 texts"):
            self.at(Read("Cancel"), within="Fityk")
        with pytest.raises(TargetAbsentError, match="0 windows have 'Export' in their title"):
            self.at(Read("Save"), within="Export")


def view(screen, windows=()):
    brief = Brief(Modality.GUI, "Save it.")
    observation = Observation(windows=windows)
    return View(brief=brief, step=1, steps_left=9, seconds_left=60.0, screenshot=png(screen), observation=observation)


CLICK = '```python\ncomputer.mouse.move_abs(target(text="OK"))\ncomputer.mouse.single_click()\n```'


class TestOracle:
    """With the default engine on screens that were drawn for it."""

    def ask(self, tmp_path, screen, text=CLICK, times=1):
        agent = make_agent("oracle", transcript=[text], targets=Targets(tmp_path, ocr.read_screen))
        return [agent.reply(view(screen)).text for _ in range(times)]

    def test_among_near_texts_it_clicks_on_the_right_one(self, tmp_path):
        screen, lines = drawn(("Ok", 60, 300), ("OK", 260, 300), ("O.K.", 460, 300), ("Book", 60, 60))
        (reply,) = self.ask(tmp_path, screen)
        move, _ = parse_reply(reply, Modality.GUI).actions
        assert move.arguments["x"] == pytest.approx(lines[1].x + lines[1].width / 2, abs=4)
        assert move.arguments["y"] == pytest.approx(lines[1].y + lines[1].height / 2, abs=4)

    def test_a_zero_that_is_read_as_a_letter_is_refused_and_never_chosen(self, tmp_path):
        screen, lines = drawn(("OK", 60, 300), ("0K", 460, 300))
        (reply,) = self.ask(tmp_path, screen)
        if "2 times on the screen" not in stuck_reason(reply):
            move, _ = parse_reply(reply, Modality.GUI).actions
            assert move.arguments["x"] == pytest.approx(lines[0].x + lines[0].width / 2, abs=4)

    def test_near_texts_alone_are_waited_at_and_never_clicked(self, tmp_path):
        replies = self.ask(tmp_path, drawn(("Ok", 60, 300), ("Cancel", 260, 300))[0], times=3)
        decisions = [parse_reply(reply, Modality.GUI).decision for reply in replies]
        assert decisions == [Decision.WAIT, Decision.WAIT, Decision.FAIL]
        assert all(parse_reply(reply, Modality.GUI).actions == () for reply in replies)
        assert stuck_reason(replies[-1]).startswith("target with the text 'OK' is not on the screen (of 2 texts read")

    def test_two_of_them_end_the_play_at_once(self, tmp_path):
        (reply,) = self.ask(tmp_path, drawn(("OK", 60, 300), ("OK", 260, 300))[0])
        assert "is 2 times on the screen" in stuck_reason(reply)

    def test_without_an_engine_it_says_so(self, tmp_path):
        agent = make_agent("oracle", transcript=[CLICK], targets=Targets(tmp_path))
        assert "there is no OCR here: use a picture" in stuck_reason(agent.reply(view(BLANK)).text)

    def test_an_engine_that_breaks_is_no_fault_of_the_transcript(self, tmp_path):
        def broken(_png, _box):
            msg = "the OCR engine failed"
            raise EvaluatorError(msg)

        agent = make_agent("oracle", transcript=[CLICK], targets=Targets(tmp_path, broken))
        with pytest.raises(EvaluatorError):
            agent.reply(view(BLANK))


@pytest.mark.parametrize(
    ("name", "wanted", "box", "place"),
    [
        ("gwyddion-summary.png", "Number of grains", (505, 261, 309, 293), None),
        ("gwyddion-summary.png", "Help", (505, 261, 309, 293), None),
    ],
)
def test_real_dialogs_are_read_once_each(name, wanted, box, place):
    data = (SCREENS / name).read_bytes()
    search = find_text(np.asarray(ocr.decode(data)), ocr.read_screen(data, box), wanted)
    assert len(search.matches) == 1
    x, y = search.matches[0].middle
    assert box[0] <= x < box[0] + box[2]
    assert box[1] <= y < box[1] + box[3]
