"""Oracles with named targets on a real desktop: found wherever the window stands, and nothing is hit blindly."""

from __future__ import annotations

import io

import pytest
from PIL import Image

from tasks_lib.agents import Targets, find_target, make_agent, stuck_reason
from tasks_lib.records import Decision, Ending, Modality
from tasks_lib.taskdefs import find_root, read_screen, read_target, split_transcript

pytestmark = pytest.mark.desktop

SAVE_SESSION = """
Session menu.

```python
computer.mouse.move_abs(target("fityk/menu-session"))
computer.mouse.single_click()
```
---
Save Session.

```python
computer.mouse.move_abs(target("fityk/session-save"))
computer.mouse.single_click()
```
---
```python
computer.keyboard.press("ctrl+a")
computer.keyboard.write("out.fit")
```
---
```python
computer.mouse.move_abs(target("gtk/save", within="Save everything"))
computer.mouse.single_click()
```
"""


@pytest.fixture
def fityk(desktop_machine):
    computer = desktop_machine.computer
    computer.os.open_program("fityk")
    computer.wait_for_window("Fityk", 60)
    computer.settle()
    # The program finds its size and place after it is shown.
    return computer, computer.wait_for_window("Fityk", 60)


def oracle(text):
    return make_agent("oracle", transcript=split_transcript(text), targets=Targets(find_root()))


@pytest.mark.parametrize("maximised", [True, False])
def test_the_same_transcript_does_it_wherever_the_window_stands(fityk, played, stage, maximised):
    computer, window = fityk
    if maximised:
        computer.os.maximize_window(window.id)
        computer.settle()
    played.play(oracle(SAVE_SESSION), computer, stage(Modality.GUI), seconds=300)
    assert played.ending is Ending.DONE
    assert not any(step.wasted for step in played.steps)
    assert all("target" not in step.reply for step in played.steps)
    x = played.steps[0].actions[0].arguments["x"]
    assert x == (33 if maximised else window.x + 33)
    assert b"Fityk" in computer.get_file("out.fit")


def test_a_target_that_never_comes_ends_the_play_where_it_is(fityk, played, stage):
    computer, _ = fityk
    text = SAVE_SESSION.replace("fityk/session-save", "gtk/ok")
    played.play(oracle(text), computer, stage(Modality.GUI), seconds=300)
    assert played.ending is Ending.GAVE_UP
    assert [step.decision for step in played.steps] == [
        Decision.CONTINUE, Decision.WAIT, Decision.WAIT, Decision.FAIL,
    ]  # fmt: skip
    last = played.steps[-1]
    assert stuck_reason(last.reply).startswith("target gtk/ok is not on the screen")
    assert last.actions == ()
    # The screenshot is kept: the author sees the open menu, in which there is no such button.
    shown = read_screen(played.store.get_blob(last.observation.screenshot))
    assert len(find_target(shown, read_target(find_root(), "fityk/session-save")).matches) == 1
    with Image.open(io.BytesIO(played.store.get_blob(last.observation.screenshot))) as image:
        assert image.size == (1440, 900)
