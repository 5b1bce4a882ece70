"""Oracles with named targets on a real desktop: found wherever the window stands, and nothing is hit blindly."""

from __future__ import annotations

import io
import shutil

import pytest
from PIL import Image

from tasks_lib.agents import Targets, find_target, make_agent, stuck_reason
from tasks_lib.evaluation.ocr import read_screen as read_screen_text
from tasks_lib.records import Decision, Ending, Modality
from tasks_lib.taskdefs import find_root, read_screen, read_target, split_transcript
from tasks_lib.taskdefs.edits import edit

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
    return make_agent("oracle", transcript=split_transcript(text), targets=Targets(find_root(), read_screen_text))


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


BY_TEXT = {
    'target("fityk/menu-session")': 'target(text="Session", within="Fityk")',
    'target("fityk/session-save")': 'target(text="Save Session", within="Fityk")',
    'target("gtk/save", within="Save everything")': 'target(text="Save", within="Save everything")',
}


@pytest.mark.parametrize("maximised", [True, False])
def test_texts_are_found_where_pictures_are(fityk, played, stage, maximised):
    computer, window = fityk
    if maximised:
        computer.os.maximize_window(window.id)
        computer.settle()
    played.play(oracle(edit(SAVE_SESSION, BY_TEXT)), computer, stage(Modality.GUI), seconds=300)
    assert played.ending is Ending.DONE
    assert not any(step.wasted for step in played.steps)
    x = played.steps[0].actions[0].arguments["x"]
    assert x == pytest.approx(33 if maximised else window.x + 33, abs=6)
    assert b"Fityk" in computer.get_file("out.fit")


def test_a_near_text_in_a_menu_is_not_clicked_on(fityk, played, stage):
    computer, _ = fityk
    text = edit(SAVE_SESSION, {**BY_TEXT, 'target("fityk/session-save")': 'target(text="save session")'})
    played.play(oracle(text), computer, stage(Modality.GUI), seconds=300)
    assert played.ending is Ending.GAVE_UP
    assert "with the text 'save session' is not on the screen" in stuck_reason(played.steps[-1].reply)
    assert played.steps[-1].actions == ()


def test_a_dialog_of_gwyddion_is_worked_by_its_texts(desktop_machine, played, stage):
    if shutil.which("gwyddion") is None:
        pytest.skip("no gwyddion here: install the desktop programs")
    computer = desktop_machine.computer
    film = find_root() / "mattoolbench" / "microscopy" / "tilted-film" / "inputs" / "film.gsf"
    computer.put_file("film.gsf", film.read_bytes())
    computer.os.open_program("gwyddion", "film.gsf")
    computer.wait_for_window("film.gsf", 60)
    computer.settle()
    text = """
```python
computer.keyboard.press("ctrl+shift+s")
```
---
```python
computer.keyboard.press("ctrl+a")
computer.keyboard.write("saved.gwy")
```
---
```python
computer.mouse.move_abs(target(text="Save", within="Save File"))
computer.mouse.single_click()
```
"""
    played.play(oracle(text), computer, stage(Modality.GUI), seconds=300)
    assert played.ending is Ending.DONE, stuck_reason(played.steps[-1].reply)
    assert computer.get_file("saved.gwy").startswith(b"GWYP")


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
