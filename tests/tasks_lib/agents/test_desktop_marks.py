"""Marks on a real desktop: shown, recorded, pointed at by their numbers, and played again."""

from __future__ import annotations

import io
import shutil
import sys
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from tasks_lib.agents import Reply, TranscriptAgent, make_agent
from tasks_lib.agents.settings import AgentSettings
from tasks_lib.evaluation.ocr import read_screen
from tasks_lib.records import Ending, MachineSettings, Modality, Step
from tasks_lib.records.errors import ConfigurationError
from tasks_lib.sandbox import provider

pytestmark = pytest.mark.desktop

NEEDED = {
    "Xvfb": "xvfb",
    "openbox": "openbox",
    "fityk": "fityk",
    "/usr/libexec/at-spi-bus-launcher": "at-spi2-core",
}
MISSING = sorted(package for program, package in NEEDED.items() if shutil.which(program) is None)
ACCESSIBLE = AgentSettings(marks="accessibility")


@pytest.fixture(scope="module")
def computer():
    if MISSING:
        pytest.skip(f"not installed: apt-get install {' '.join(MISSING)}")
    machine = provider("local").open(
        MachineSettings(accessibility=True), desktop=True, endpoints={}, python=Path(sys.executable)
    )
    machine.computer.os.open_program("fityk")
    machine.computer.wait_for_window("ityk", 60)
    machine.computer.settle()
    yield machine.computer
    machine.close()


class ClicksMark(TranscriptAgent):
    """Clicks on the mark of a name, as a model would that reads the list; keeps what it was shown."""

    def __init__(self, *names):
        super().__init__("oracle")
        self.names = list(names)
        self.views = []

    def reply(self, view):
        self.views.append(view)
        if not self.names:
            return super().reply(view)
        name = self.names.pop(0)
        number = next(mark.id for mark in view.marks if mark.text == name)
        return Reply(f"```python\ncomputer.mouse.move_id({number})\ncomputer.mouse.single_click()\n```")


def test_a_menu_is_opened_by_the_number_of_its_mark_and_the_steps_tell_it(computer, played, stage):
    agent = ClicksMark("Session")
    played.play(agent, computer, stage(Modality.GUI), settings=ACCESSIBLE, read_text=read_screen)
    assert played.ending is Ending.DONE
    first, second = played.steps
    assert first.marks == agent.views[0].marks
    assert [mark.id for mark in first.marks] == list(range(1, len(first.marks) + 1))
    session = next(mark for mark in first.marks if mark.text == "Session")
    assert session.role == "menu"
    # The pixel that was meant is in the record, for readers without the marks.
    move = first.actions[0]
    assert move.ok
    assert move.arguments == {
        "id": session.id,
        "x": session.x + session.width // 2,
        "y": session.y + session.height // 2,
    }
    assert {"Load Session", "Quit"} <= {mark.text for mark in second.marks if mark.role == "menu item"}
    assert (first.unchanged, second.unchanged) == (False, False)
    # A line of the trajectory holds them, and reads back.
    assert Step.from_json(second.to_line().encode()).marks == second.marks
    computer.keyboard.press("esc")


def test_the_recorded_screenshot_has_no_marks_and_the_shown_one_is_of_its_size(computer, played, stage):
    agent = ClicksMark()
    played.play(agent, computer, stage(Modality.GUI), settings=ACCESSIBLE, read_text=read_screen)
    view = agent.views[0]
    stored = played.store.get_blob(played.steps[0].observation.screenshot)
    assert stored == view.screenshot
    plain, marked = (np.asarray(Image.open(io.BytesIO(png)).convert("RGB")) for png in (stored, view.marked))
    assert plain.shape == marked.shape
    different = (plain != marked).any(axis=2)
    # Around each mark something is drawn, and far from all of them nothing is.
    near = np.zeros(different.shape, bool)
    for mark in view.marks:
        area = np.s_[max(mark.y - 16, 0) : mark.y + mark.height + 16, max(mark.x - 24, 0) : mark.x + mark.width + 24]
        assert different[area].any()
        near[area] = True
    assert not (different & ~near).any()


def test_a_trajectory_with_marks_is_played_again_without_any(computer, played, stage):
    agent = ClicksMark("Data")
    steps = played.play(agent, computer, stage(Modality.GUI), settings=ACCESSIBLE, read_text=read_screen).steps[:1]
    computer.keyboard.press("esc")
    computer.settle()
    played.steps = []
    played.play(make_agent("replay", trajectory=steps), computer, stage(Modality.GUI))
    again = played.steps[0]
    assert again.marks == ()
    assert [action.ok for action in again.actions] == [True, True]
    assert again.actions[0].arguments == steps[0].actions[0].arguments
    computer.keyboard.press("esc")


def test_a_number_that_is_none_is_told_and_clicks_nothing(computer, played, stage):
    block = "```python\ncomputer.mouse.move_id(9999)\ncomputer.mouse.single_click()\n```"
    agent = TranscriptAgent("oracle", [Reply(block)])
    played.play(agent, computer, stage(Modality.GUI), settings=ACCESSIBLE, read_text=read_screen)
    step = played.steps[0]
    assert [action.ok for action in step.actions] == [False]
    assert "no mark has the number 9999; marks of this screenshot: 1, 2" in step.feedback


def test_a_circle_is_told_recorded_and_ends_the_stage_where_it_is_to(computer, played, stage):
    block = "```python\ncomputer.mouse.move_abs(200, 60)\ncomputer.mouse.single_click()\n```"
    agent = ClicksMark()
    agent.reply = lambda view: (agent.views.append(view), Reply(block, quiet=0.05))[1]
    settings = AgentSettings(stop_repetition=2)
    played.play(agent, computer, stage(Modality.GUI), settings=settings, steps=9)
    assert played.ending is Ending.REPETITION
    # The first click takes the focus from the window, so that the screen is another one after it.
    assert [step.repeats for step in played.steps][-3:] == [0, 1, 2]
    told = [view.notices for view in agent.views]
    assert told[-1] == played.steps[-1].notices
    assert "2 times in a row" in told[-1][0]
    assert told[0] == ()
    played.steps = []
    agent.views.clear()
    assert played.play(agent, computer, stage(Modality.GUI), steps=5).ending is Ending.STEPS


def test_marks_without_an_ocr_are_refused_before_anything_is_done(computer, played, stage):
    with pytest.raises(ConfigurationError, match="needs an OCR"):
        played.play(ClicksMark(), computer, stage(Modality.GUI), settings=ACCESSIBLE)
    assert played.steps == []


def test_without_a_tree_elements_are_detected(computer, played, stage):
    agent = ClicksMark("Session")
    window = computer.observe(screenshot=False).observation.windows[0]
    # The upper left of the window is enough, and is read in a fraction of the time.
    part = (window.x, window.y, 400, 280)
    options = {"settings": AgentSettings(marks="detected"), "read_text": lambda png, _: read_screen(png, part)}
    played.play(agent, computer, stage(Modality.GUI), **options)
    assert {mark.role for mark in played.steps[0].marks} <= {"text", "box", "icon"}
    # The menu came up: something is shown that was not there before.
    assert any(mark.text.startswith("Load Session") for mark in played.steps[1].marks)
    computer.keyboard.press("esc")
