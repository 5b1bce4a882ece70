"""From events and screens to a draft, over screens that are drawn here."""

from __future__ import annotations

import io

import numpy as np
import pytest
from PIL import Image, ImageDraw, ImageFont

from tasks_lib.agents import reply_problems
from tasks_lib.agents.recording import Frames, draft_of
from tasks_lib.agents.recording.gestures import gestures_of, scrolls
from tasks_lib.agents.recording.hovers import alike
from tasks_lib.records import Modality, WindowState
from tasks_lib.sandbox import RecordedEvent, RecordedFrame
from tasks_lib.taskdefs import cut_target, fill_targets, split_transcript, target_calls, write_target

SIZE = (640, 400)


class Story:
    """Events and screens in the order in which they are told; `wait` lets time go by."""

    def __init__(self) -> None:
        self.time = 100.0
        self.at = (320, 390)
        self.events = []
        self.frames = []
        self.pictures = []

    def wait(self, seconds: float = 1.0) -> Story:
        self.time += seconds
        return self

    def screen(self, *words, windows=()) -> Story:
        """Show words, each (text, x, y), or with a fourth part the background that it stands on."""
        picture = Image.new("RGB", SIZE, "#f0f0f0")
        draw = ImageDraw.Draw(picture)
        font = ImageFont.load_default(14)
        for text, x, y, *under in words:
            if under:
                draw.rectangle((x - 10, y - 2, x + 120, y + 18), fill=under[0])
            draw.text((x, y), text, fill="white" if under and under[0] == "#3060a0" else "black", font=font)
        stream = io.BytesIO()
        picture.save(stream, "PNG")
        self.pictures.append(stream.getvalue())
        self.frames.append(RecordedFrame(number=len(self.frames), since=self.time, seen=self.time, windows=windows))
        return self

    def event(self, kind: str, **facts) -> Story:
        number = len(self.events)
        self.events.append(RecordedEvent(number=number, time=self.time, kind=kind, x=self.at[0], y=self.at[1], **facts))
        return self.wait(0.01)

    def move(self, x: int, y: int) -> Story:
        self.at = (x, y)
        return self.event("motion")

    def button(self, number: int = 1, *, to=None, modifiers=()) -> Story:
        self.event("button", button=number, down=True, modifiers=modifiers)
        self.at = to or self.at
        return self.event("button", button=number, modifiers=modifiers)

    def click(self, x: int, y: int, number: int = 1, **more) -> Story:
        return self.move(x, y).wait(0.2).button(number, **more)

    def press(self, key: str, *modifiers: str, text: str = "") -> Story:
        return self.event("key", down=True, key=key, text=text, modifiers=modifiers)

    def write(self, text: str) -> Story:
        for sign in text:
            self.press(sign.lower(), *(("shift",) if sign.isupper() else ()), text=sign)
        return self

    def draft(self, root):
        return draft_of(self.events, Frames(self.frames, self.pictures.__getitem__), root)


FILE = ("File", 10, 5)
DATA = ("Data", 60, 5)
MENU = (("Open", 70, 40), ("XPS", 70, 64), ("Quit", 70, 88))
SUBMENU = (("Shirley", 230, 64), ("Tougaard", 230, 88))


def lines(draft):
    return [list(step.lines) for step in draft.steps]


def test_a_submenu_is_hovered_for_and_entries_passed_on_the_way_are_not(tmp_path):
    xps_lit = ("XPS", 70, 64, "#3060a0")
    story = Story().screen(FILE, DATA).wait().click(75, 13).wait(0.1).screen(FILE, DATA, *MENU).wait()
    story.move(85, 48).wait(0.1).screen(FILE, DATA, ("Open", 70, 40, "#3060a0"), *MENU[1:]).wait()
    story.move(85, 72).wait(0.1).screen(FILE, DATA, MENU[0], xps_lit, MENU[2], *SUBMENU).wait()
    story.move(250, 72).wait(0.1).screen(FILE, DATA, MENU[0], xps_lit, MENU[2], ("Shirley", 230, 64, "#3060a0"),
                                         SUBMENU[1])  # fmt: skip
    draft = story.wait().button().wait(0.1).screen(FILE, DATA).draft(tmp_path)
    assert lines(draft) == [
        ['computer.mouse.move_abs(target("draft/01"))', "computer.mouse.single_click()"],
        ['computer.mouse.move_abs(target("draft/02"))'],
        ['computer.mouse.move_abs(target("draft/03"))', "computer.mouse.single_click()"],
    ]
    assert [step.frame.number for step in draft.steps] == [0, 1, 3]
    assert draft.steps[1].plain == ("computer.mouse.move_abs(85, 72)",)
    replies = split_transcript(draft.transcript())
    assert len(replies) == 4
    assert not [problem for reply in replies for problem in reply_problems(reply, Modality.GUI)]
    # The submenu's entry is cut as it looks before the pointer is on it: dark on light.
    assert draft.targets["draft/03"].pixels.mean() > 200


def test_an_entry_that_was_only_seen_under_the_pointer_stands_in_pixels(tmp_path):
    # Whoever moves fast is on the entry before its menu stood still: no screen shows it without its highlight.
    lit = (("Open", 70, 40, "#3060a0"), *MENU[1:])
    story = Story().screen(FILE, DATA).wait().click(75, 13).move(85, 48).screen(FILE, DATA, *lit).wait().button()
    draft = story.wait(0.1).screen(FILE, DATA).draft(tmp_path)
    assert lines(draft) == [
        ['computer.mouse.move_abs(target("draft/01"))', "computer.mouse.single_click()"],
        ["computer.mouse.move_abs(85, 48)", "computer.mouse.single_click()"],
    ]
    assert list(draft.targets) == ["draft/01"]


def test_a_window_that_a_key_brought_up_needs_no_hovering(tmp_path):
    dialog = WindowState(id=7, title="Load data", x=200, y=100, width=300, height=200, focused=True)
    story = Story().screen(FILE, DATA).wait().press("o", "ctrl", text="o").wait(0.05).move(100, 100).wait(0.1)
    story.screen(FILE, DATA, ("Open", 420, 260), windows=(dialog,)).wait().move(300, 200).wait()
    draft = story.click(430, 268).draft(tmp_path)
    assert lines(draft) == [
        ['computer.keyboard.press("ctrl+o")'],
        ['computer.mouse.move_abs(target("draft/01"))', "computer.mouse.single_click()"],
    ]
    assert draft.steps[1].said == 'Click in the window "Load data".'
    assert draft.steps[1].frame.number == 1


def test_what_stands_twice_is_named_by_its_window_and_what_is_nothing_by_its_pixels(tmp_path):
    dialog = WindowState(id=7, title="Save", x=300, y=200, width=300, height=150, focused=True)
    both = (("OK", 100, 100), ("OK", 400, 300))
    draft = Story().screen(*both, windows=(dialog,)).wait().click(410, 308).wait().click(550, 230).draft(tmp_path)
    assert lines(draft) == [
        ['computer.mouse.move_abs(target("draft/01", within="Save"))', "computer.mouse.single_click()"],
        ["computer.mouse.move_abs(550, 230)", "computer.mouse.single_click()"],
    ]


def test_what_stands_twice_in_one_window_is_cut_with_what_is_beside_it(tmp_path):
    rows = (("No", 100, 100), ("1", 128, 100), ("No", 100, 160), ("2", 128, 160))
    story = Story().screen(*rows).wait().click(108, 168)
    assert lines(story.draft(tmp_path))[0][0] == 'computer.mouse.move_abs(target("draft/01"))'
    assert story.draft(tmp_path).targets["draft/01"].pixels.shape[1] > 40


def test_targets_that_are_there_are_taken_and_cut_ones_are_taken_again(tmp_path):
    story = Story().screen(FILE, DATA).wait().click(22, 13).wait().click(75, 13).wait().click(76, 12)
    screen = np.asarray(Image.open(io.BytesIO(story.pictures[0])).convert("RGB"))
    write_target(tmp_path, cut_target(screen, (6, 3, 40, 20), "demo/file"))
    draft = story.draft(tmp_path)
    assert [step[0] for step in lines(draft)] == [
        'computer.mouse.move_abs(target("demo/file"))',
        'computer.mouse.move_abs(target("draft/01"))',
        'computer.mouse.move_abs(target("draft/01"))',
    ]
    assert list(draft.targets) == ["draft/01"]


def test_keys_are_one_step_until_one_of_them_acts_and_the_person_waits(tmp_path):
    story = Story().screen(FILE).wait().press("a", "ctrl", text="a").write('A = "1\\"').press("tab").write("b")
    story.press("enter").wait(2).write("fit").press("enter").wait(2).press("f5").press("esc")
    assert lines(story.draft(tmp_path)) == [
        ['computer.keyboard.press("ctrl+a")', r'computer.keyboard.write("A = \"1\\\"")',
         'computer.keyboard.press("tab")', 'computer.keyboard.write("b")', 'computer.keyboard.press("enter")'],
        ['computer.keyboard.write("fit")', 'computer.keyboard.press("enter")'],
        ['computer.keyboard.press("f5")', 'computer.keyboard.press("esc")'],
    ]  # fmt: skip


def test_drags_wheels_and_what_no_agent_can_do(tmp_path):
    story = Story().screen(FILE).wait().move(300, 300).button(to=(350, 320)).wait()
    for _ in range(4):
        story.button(5)
    story.wait().click(100, 300, 2).wait().click(100, 300, modifiers=("ctrl",)).wait()
    story.button(3, to=(10, 10)).wait().button(8).press("").wait().button(4, modifiers=("ctrl",))
    draft = story.draft(tmp_path)
    assert lines(draft) == [
        ["computer.mouse.move_abs(300, 300)", "computer.mouse.drag(350, 320)"],
        ["computer.mouse.move_abs(350, 320)", 'computer.mouse.scroll("down")'],
    ]
    assert {note.partition(":")[0] for note in draft.notes} == {"after step 2"}
    told = "\n".join(draft.notes)
    for what in ("4 notches of the wheel", "a click of the middle button at (100, 300)",
                 "a click of the left button with ctrl held", "a drag of the right button",
                 "button 8 of the mouse", "a key that has no name", "the wheel with ctrl held"):  # fmt: skip
        assert what in told


def test_nothing_done_is_an_empty_draft(tmp_path):
    draft = Story().screen(FILE).wait().move(10, 10).draft(tmp_path)
    assert draft.steps == ()
    assert draft.notes == ()


@pytest.mark.parametrize(("gap", "kinds"), [(0.2, ["double_click"]), (0.9, ["click", "click"])])
def test_two_clicks_are_a_double_click_when_they_come_soon(gap, kinds):
    story = Story().move(50, 50).button().wait(gap).button()
    assert [gesture.kind for gesture in gestures_of(story.events)[0]] == kinds


@pytest.mark.parametrize(("notches", "times"), [(1, 1), (3, 1), (4, 1), (5, 2), (9, 3)])
def test_notches_of_the_wheel_become_scrolls_of_three(notches, times):
    story = Story()
    for _ in range(notches):
        story.button(4)
    (gesture,) = gestures_of(story.events)[0]
    assert (gesture.text, gesture.count, scrolls(gesture)) == ("up", notches, times)


def test_shift_belongs_to_keys_and_letters_of_chords_but_not_to_signs():
    story = Story().press("tab", "shift").press("s", "ctrl", "shift", text="S").press("plus", "ctrl", "shift", text="+")
    assert [gesture.text for gesture in gestures_of(story.events)[0]] == ["shift+tab", "ctrl+shift+s", "ctrl+plus"]


def test_a_highlight_is_the_same_place_and_another_word_is_not():
    story = Story().screen(MENU[0]).screen(("Open", 70, 40, "#3060a0")).screen(("Quit", 70, 40)).screen()
    plain, lit, other, empty = (np.asarray(Image.open(io.BytesIO(png)).convert("RGB")) for png in story.pictures)
    assert alike(plain, lit, (85, 48))
    assert not alike(plain, other, (85, 48))
    assert not alike(plain, empty, (85, 48))
    assert not alike(empty, plain, (85, 48))
    assert alike(empty, plain, (300, 300))
    assert not alike(plain, plain, (900, 900))


@pytest.mark.parametrize(
    "title",
    [
        "a" * 5000,
        '"' * 5000,
        " " * 200 + "x",
        'x"]) ```\n---\n',
        "\u202e```python",
        "\x1b[31mred",
        "`" * 10,
        "\u2028---",
    ],
)
def test_whatever_a_window_calls_itself_the_draft_can_be_played(title, tmp_path):
    # Twice the same word: the window alone tells which is meant.
    window = WindowState(id=1, title=title, x=0, y=0, width=640, height=200, focused=True)
    story = Story().screen(FILE, ("File", 10, 300), windows=(window,)).wait().click(20, 12)
    draft = story.draft(tmp_path)
    replies = split_transcript(draft.transcript())
    assert len(replies) == 2
    calls = [call for reply in replies for call in target_calls(reply, Modality.GUI)]
    if calls:
        assert calls[0].within is not None
        assert title.startswith(calls[0].within)
        assert calls[0].within.isprintable()
    filled = [fill_targets(reply, Modality.GUI, lambda _: (20, 12)) for reply in replies]
    assert [problem for reply in filled for problem in reply_problems(reply, Modality.GUI)] == []


def test_what_is_held_for_long_becomes_several_replies_that_can_be_acted_on(tmp_path):
    story = Story().screen(FILE)
    for _ in range(150):
        story.press("down")
    story.wait(2.0).move(300, 300)
    for _ in range(210):
        story.button(5)
    draft = story.draft(tmp_path)
    assert [len(step.lines) for step in draft.steps] == [64, 64, 22, 64, 7]
    assert sum(line == 'computer.keyboard.press("down")' for step in draft.steps for line in step.lines) == 150
    assert sum(line == 'computer.mouse.scroll("down")' for step in draft.steps for line in step.plain) == 70
    for step in draft.steps:
        assert reply_problems(step.reply(named=False), Modality.GUI) == ()
