"""The gui and figure loops on a real desktop, with a model that is a real endpoint."""

from __future__ import annotations

import base64
import contextlib
import io
import json
import re

import pytest
from PIL import Image

from tasks_lib.agents import AgentSettings, LlmAgent, Reply, ScriptedLlmAgent, TranscriptAgent, make_agent
from tasks_lib.models import Canned, ImageSettings, ScriptedEndpoint
from tasks_lib.records import Decision, Deliverable, Ending, Modality
from tasks_lib.sandbox.computer import QUIET_SECONDS

pytestmark = pytest.mark.desktop

DONE = "```decision\nDONE\n```"
WAIT = "```decision\nWAIT\n```"
# Shows where the pointer is, as the X server tells it; run inside the machine.
POINTER = "import Xlib.display\nat = Xlib.display.Display().screen().root.query_pointer()\nprint(at.root_x, at.root_y)"


def gui(text):
    return f"```python\n{text}\n```"


def pointer(computer):
    done = computer.run_script(POINTER, name="pointer", seconds=20)
    assert done.returncode == 0, done.stderr
    return tuple(map(int, done.stdout.split()))


def file_of(computer, path):
    """The file as soon as it is there: the program under the agent's hands has its own pace."""
    for _ in range(60):
        if any(entry.path == path and entry.size for entry in computer.list_files()):
            break
        computer.settle(limit=0.5)
    return computer.get_file(path)


def test_a_program_is_told_what_to_write(desktop_machine, played, stage, prompts):
    computer = desktop_machine.computer
    computer.os.open_program("fityk")
    computer.wait_for_window("ityk", 60)
    computer.settle()
    replies = [
        gui('computer.window_manager.switch_to_application("fityk")\ncomputer.os.maximize_window()'),
        "Its command line has the focus.\n" + gui("computer.keyboard.write(\"info version > 'out.txt'\")"),
        gui('computer.keyboard.press("enter")\ncomputer.window_manager.find_open_applications()'),
        DONE,
    ]
    agent = ScriptedLlmAgent(replies)
    with contextlib.closing(agent):
        played.play(agent, computer, stage(Modality.GUI))
    assert played.ending is Ending.DONE
    assert all(action.ok for step in played.steps for action in step.actions)
    assert b"Fityk" in file_of(computer, "out.txt")
    last = played.steps[-1]
    assert any("fityk" in window.title.lower() for window in last.observation.windows)
    assert "fityk" in played.steps[2].feedback.lower()
    assert (last.observation.width, last.observation.height) == (1440, 900)
    # What was stored is what the model was sent.
    seen = played.store.get_blob(last.observation.screenshot)
    image = agent.session.requests[-1]["messages"][1]["content"][-1]["image_url"]["url"]
    assert base64.b64decode(image.removeprefix("data:image/png;base64,")) == seen
    asked = prompts(agent.session)
    assert "1440 x 900" in asked[0]
    assert "fityk" in asked[2].lower()
    assert "info version" in asked[2]


def test_a_screen_that_stays_the_same_is_stored_once_and_told(desktop_machine, played, stage, prompts):
    agent = ScriptedLlmAgent([gui("computer.clipboard.view_clipboard()")] * 2 + [DONE])
    with contextlib.closing(agent):
        played.play(agent, desktop_machine.computer, stage(Modality.GUI))
    assert len({step.observation.screenshot.sha256 for step in played.steps}) == 1
    notice = "exactly as before"
    assert [notice in text for text in prompts(agent.session)] == [False, True, True]
    assert [step.settle_seconds for step in played.steps] == [0.0] * 3


@pytest.mark.parametrize(
    ("image", "shown", "place", "wanted"),
    [
        (ImageSettings(), None, (700, 450), (700, 450)),
        (ImageSettings(max_long_edge=720), (720, 450), (350, 225), (701, 451)),
        (ImageSettings(max_long_edge=1000, multiple_of=28, format="jpeg"), (980, 616), (979, 615), (1439, 899)),
    ],
)
def test_a_place_in_a_smaller_picture_is_the_same_place_on_the_screen(
    desktop_machine, played, stage, chat, prompts, image, shown, place, wanted
):
    with ScriptedEndpoint() as endpoint:
        session = endpoint.open([gui(f"computer.mouse.move_abs{place}"), DONE])
        with contextlib.closing(LlmAgent(chat(session, image=image))) as agent:
            played.play(agent, desktop_machine.computer, stage(Modality.GUI))
        url = session.requests[0]["messages"][1]["content"][-1]["image_url"]["url"]
    with Image.open(io.BytesIO(base64.b64decode(url.partition(",")[2]))) as sent:
        assert sent.size == (shown or (1440, 900))
    width, height = shown or (1440, 900)
    assert f"({width} x {height})" in prompts(session)[0]
    assert played.steps[0].shown == shown
    assert pointer(desktop_machine.computer) == wanted
    assert played.steps[0].actions[0].arguments == {"x": wanted[0], "y": wanted[1]}
    # The same trajectory, played again, means the same place.
    desktop_machine.computer.mouse.move_abs(5, 5)
    played.play(make_agent("replay", trajectory=played.steps[:2]), desktop_machine.computer, stage(Modality.GUI))
    assert pointer(desktop_machine.computer) == wanted


def test_a_place_outside_the_picture_refuses_the_whole_block(desktop_machine, played, stage):
    block = gui("computer.mouse.move_abs(10, 10)\ncomputer.mouse.move_abs(1440, 10)")
    desktop_machine.computer.mouse.move_abs(300, 300)
    played.play(TranscriptAgent("oracle", [Reply(block)]), desktop_machine.computer, stage(Modality.GUI))
    step = played.steps[0]
    assert (step.wasted, step.actions) == (True, ())
    assert "line 2 of the python block: (1440, 10) is outside the picture: x 0 to 1439, y 0 to 899" in step.feedback
    assert pointer(desktop_machine.computer) == (300, 300)


def test_an_action_that_fails_ends_its_block_and_is_fed_back(desktop_machine, played, stage):
    block = gui(
        'computer.os.is_installed("fityk")\ncomputer.os.open_program("no-such-program")\n'
        "computer.mouse.move_abs(10, 10)\ncomputer.mouse.single_click()"
    )
    played.play(TranscriptAgent("oracle", [Reply(block)]), desktop_machine.computer, stage(Modality.GUI))
    step = played.steps[0]
    assert [action.ok for action in step.actions] == [True, False]
    assert 'is_installed("fityk") -> True' in step.feedback
    assert "no-such-program" in step.feedback
    assert "the 2 later actions of the block were not done" in step.feedback
    assert not step.wasted


def test_a_figure_is_rendered_shown_and_mended(desktop_machine, played, stage, prompts):
    document = "```veusz\nAdd('page', name='p')\nTo('p')\nAdd('graph', name='g')\nTo('g')\nSet('x/label', 'angle')\n```"
    bad = "```veusz\nAdd('no-such-widget')\n```"
    replies = [bad, document, "It is there.\n" + DONE]
    agent = ScriptedLlmAgent(replies)
    wanted = (Deliverable(path="plot.vsz", what="the figure"), Deliverable(path="plot.pdf", what="its export"))
    with contextlib.closing(agent):
        played.play(agent, desktop_machine.computer, stage(Modality.FIGURE, deliverables=wanted))
    first, second, third = played.steps
    assert not first.actions[0].ok
    assert "no-such-widget" in first.feedback
    assert (second.actions[0].ok, second.actions[0].kind) == (True, "veusz")
    assert {"plot.vsz", "plot.pdf", "plot.png"} <= {entry.path for entry in desktop_machine.computer.list_files()}
    figure = played.store.read_bytes(played.store.blob_path(second.actions[0].arguments["figure"]))
    asked = agent.session.requests[2]["messages"][1]["content"]
    images = [part["image_url"]["url"] for part in asked if part["type"] == "image_url"]
    assert len(images) == 2
    assert base64.b64decode(images[1].partition(",")[2]) == figure
    assert "as Veusz rendered it" in prompts(agent.session)[2]
    assert "plot.vsz" in prompts(agent.session)[0]
    assert third.decision is Decision.DONE


def test_actions_work_in_a_figure_stage_too(desktop_machine, played, stage):
    agent = TranscriptAgent("oracle", [Reply(gui("computer.mouse.move_abs(77, 88)"))])
    played.play(agent, desktop_machine.computer, stage(Modality.FIGURE))
    assert pointer(desktop_machine.computer) == (77, 88)


@pytest.mark.parametrize("modality", [Modality.GUI, Modality.FIGURE])
def test_random_actions_are_all_valid(desktop_machine, played, stage, modality):
    played.play(make_agent("random", seed=11), desktop_machine.computer, stage(modality), steps=6)
    assert not any(step.wasted for step in played.steps)


class StartsAndWaits(TranscriptAgent):
    """Starts a program behind the loop's back, after the observation, and waits for it."""

    def __init__(self, computer):
        super().__init__("oracle")
        self.computer = computer

    def reply(self, view):
        if view.step == 1:
            self.computer.os.open_program("fityk")
        return super().reply(view) if view.observation.windows else Reply(WAIT)


def test_waiting_lasts_until_the_screen_has_changed(desktop_machine, played, stage):
    played.play(StartsAndWaits(desktop_machine.computer), desktop_machine.computer, stage(Modality.GUI), steps=5)
    assert played.ending is Ending.DONE
    assert played.steps[0].observation.windows == ()
    assert [window.focused for window in played.steps[-1].observation.windows] == [True]


def test_waiting_ends_with_the_budget_on_a_screen_that_never_changes(desktop_machine, played, stage):
    agent = TranscriptAgent("oracle", [Reply(WAIT)] * 9)
    assert played.play(agent, desktop_machine.computer, stage(Modality.GUI), seconds=1.0).ending is Ending.SECONDS
    assert [step.decision for step in played.steps] == [Decision.WAIT]


def test_a_reply_says_how_long_the_screen_has_to_stand_still(desktop_machine, played, stage, monkeypatch):
    computer, asked = desktop_machine.computer, []
    settle = computer.settle

    def settle_and_note(quiet, **limits):
        asked.append(quiet)
        return settle(quiet, **limits)

    monkeypatch.setattr(computer, "settle", settle_and_note)
    move = gui("computer.mouse.move_abs(7, 8)")
    replies = [Reply(move), Reply(move, quiet=0.05), Reply(DONE)]
    played.play(TranscriptAgent("oracle", replies), computer, stage(Modality.GUI))
    assert asked == [QUIET_SECONDS, 0.05]
    played.play(make_agent("random", seed=3), computer, stage(Modality.GUI), steps=3)
    assert played.ending is Ending.STEPS
    assert set(asked[2:]) == {0.1}


def test_a_program_is_worked_by_native_calls_without_pictures(desktop_machine, played, stage, chat, prompts):
    computer = desktop_machine.computer
    computer.os.open_program("fityk")
    computer.wait_for_window("ityk", 60)
    computer.settle()

    def calls(*named):
        return Canned("I go on.", calls=tuple((name, json.dumps(arguments)) for name, arguments in named))

    settings = AgentSettings(replies="tools", conversation="kept")
    with ScriptedEndpoint() as endpoint:
        session = endpoint.open(
            [
                calls(("window_manager_switch_to_application", {"name": "fityk"}), ("os_maximize_window", {})),
                calls(
                    ("keyboard_write", {"text": "info version > 'out.txt'"}), ("mouse_move_abs", {"x": 5000, "y": 1})
                ),
                calls(("keyboard_write", {"text": "info version > 'out.txt'"}), ("keyboard_press", {"keys": "enter"})),
                calls(("window_manager_find_open_applications", {})),
                calls(("done", {})),
            ]
        )
        agent = LlmAgent(chat(session, image=ImageSettings(enabled=False)), settings=settings)
        with contextlib.closing(agent):
            played.play(agent, computer, stage(Modality.GUI), settings=settings)
    assert played.ending is Ending.DONE
    assert [step.wasted for step in played.steps] == [False, True, False, False, False]
    assert b"Fityk" in file_of(computer, "out.txt")
    assert "image_url" not in json.dumps(list(session.requests))
    assert re.search(r"\(id \d+, from \(\d+, \d+\), \d+ x \d+ pixels\)", prompts(session)[-1])
    results = [message for message in session.requests[-1]["messages"] if message["role"] == "tool"]
    assert len(results) == 7
    assert "5000" in results[3]["content"]
    assert "fityk" in results[6]["content"].lower()
    # The first try typed nothing: its reply had a place outside the screen.
    assert played.steps[1].actions == ()
