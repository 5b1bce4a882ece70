"""The settings of an agent in what its endpoint really gets: four strict dialects, a real machine, no desktop."""

from __future__ import annotations

import base64
import contextlib
import io
import json

import pytest
from PIL import Image

from tasks_lib.agents import AgentSettings, Brief, LlmAgent, Turn, View, make_agent
from tasks_lib.models import Canned, HttpChat, ImageSettings, RetryPolicy, ScriptedEndpoint
from tasks_lib.records import Decision, Ending, Mark, Modality, Observation, WindowState

from ..models.faces import FACES  # noqa: TID252  # the endpoints of the clients' own tests

TOOLS = AgentSettings(replies="tools")
SCREEN = (720, 450)


@pytest.fixture(scope="module", params=sorted(FACES))
def dialect(request):
    with ScriptedEndpoint(FACES[request.param]) as endpoint:
        yield request.param, endpoint


@pytest.fixture(scope="module")
def endpoint():
    with ScriptedEndpoint() as served:
        yield served


def agent_at(endpoint, replies, settings, *, provider="openai", image=None):
    session = endpoint.open(replies)
    model = HttpChat(
        "test",
        session.settings(provider=provider, attempts=1, image=image),
        api_key=session.token,
        environ={},
        retries=RetryPolicy(attempts=1),
    )
    return LlmAgent(model, settings=settings), session


def called(*calls):
    """A reply of calls; the strict endpoints want a thought to come back with them."""
    return Canned("I go on.", reasoning="hm", calls=tuple((name, raw) for name, raw in calls))


WRITE = json.dumps({"script": "from pathlib import Path\nPath('out.txt').write_text('42')\nprint('written')"})


@pytest.mark.parametrize("conversation", ["fresh", "kept"])
def test_tools_are_called_refused_told_of_and_replayed(dialect, code_machine, played, stage, conversation):
    provider, endpoint = dialect
    replies = [
        called(("run_script", '{"script": "print(')),
        called(("no_such_tool", "{}"), ("run_script", WRITE)),
        called(("remember", '{"notes": "it is written"}'), ("run_script", WRITE)),
        called(("done", "")),
    ]
    settings = AgentSettings(replies="tools", conversation=conversation)
    agent, session = agent_at(endpoint, replies, settings, provider=provider)
    with contextlib.closing(agent):
        played.play(agent, code_machine.computer, stage(), settings=settings)
    assert played.ending is Ending.DONE
    broken, unknown, done, end = played.steps
    assert (broken.wasted, unknown.wasted, done.wasted, end.wasted) == (True, True, False, False)
    assert (broken.actions, unknown.actions) == ((), ())
    assert "there is no such tool; there are run_script" in unknown.feedback
    assert "return code 0\nstdout:\nwritten" in done.feedback
    assert code_machine.computer.get_file("out.txt") == b"42"
    _, second, third, last = map(json.dumps, session.requests)
    assert "not done: " in second
    assert "there is no such tool" in third
    assert "not done, because another call of the reply is wrong" in third
    assert "return code 0" in last
    assert "it is written" in last
    # The strict endpoint has refused nothing: every call had its result, in the words of its dialect.
    assert "Told with the last result of this reply." in last
    again = make_agent("replay", trajectory=played.steps)
    first = played.steps
    played.steps = []
    played.play(again, code_machine.computer, stage())
    assert [(step.reply, step.feedback, step.wasted, step.decision) for step in played.steps] == [
        (step.reply, step.feedback, step.wasted, step.decision) for step in first
    ]


def test_a_kept_conversation_holds_what_was_said_in_every_dialect(dialect, code_machine, played, stage):
    provider, endpoint = dialect
    settings = AgentSettings(conversation="kept")
    replies = ["```python\nprint('alpha')\n```", "hm", "```decision\nDONE\n```"]
    agent, session = agent_at(endpoint, replies, settings, provider=provider)
    with contextlib.closing(agent):
        played.play(agent, code_machine.computer, stage(), settings=settings)
    assert [step.wasted for step in played.steps] == [False, True, False]
    last = json.dumps(session.requests[-1])
    assert last.count("Write what is asked for into the work folder.") == 1
    assert "print('alpha')" in last
    assert "stdout:" in last
    assert "holds nothing that can be done" in last


def test_what_a_small_context_leaves_out_is_never_the_task(endpoint, code_machine, played, stage, prompts):
    settings = AgentSettings(conversation="kept", context_tokens=1500)
    agent, session = agent_at(endpoint, ["```python\nprint('x' * 1500)\n```"] * 9, settings)
    with contextlib.closing(agent):
        played.play(agent, code_machine.computer, stage(), steps=9, settings=settings)
    asked = prompts(session)
    assert all("Write what is asked for into the work folder." in text for text in asked)
    assert "left out here" in asked[-1]
    assert max(map(len, asked[4:])) < 1.3 * min(map(len, asked[4:]))


def test_the_step_budget_can_be_cut(endpoint, code_machine, played, stage, prompts):
    settings = AgentSettings(steps=2)
    agent, session = agent_at(endpoint, ["```python\nprint()\n```"] * 9, settings)
    with contextlib.closing(agent):
        played.play(agent, code_machine.computer, stage(), steps=9, settings=settings)
    assert (played.ending, len(played.steps)) == (Ending.STEPS, 2)
    assert "step 2, left: 1 replies" in prompts(session)[1]


def png(colour, size=SCREEN):
    data = io.BytesIO()
    Image.new("RGB", size, colour).save(data, "PNG")
    return data.getvalue()


def view(step=1, modality=Modality.GUI, **changes):
    brief = Brief(modality, "Fit the C 1s peak.", hints=("Below Fit.",), deliverables=(("c1s.vsz", "the figure"),))
    window = WindowState(id=7, title="Fityk", x=10, y=30, width=900, height=600, focused=True)
    fields = {
        "screenshot": png("white"),
        "observation": Observation(width=SCREEN[0], height=SCREEN[1], windows=(window,), clipboard="C 1s"),
    }
    return View(brief=brief, step=step, steps_left=9, seconds_left=60.0, **(fields | changes))


def colours(request):
    """The colour of each picture of a request's last message."""
    content = request["messages"][-1]["content"]
    found = []
    for part in content if isinstance(content, list) else []:
        if part["type"] == "image_url":
            data = base64.b64decode(part["image_url"]["url"].partition(",")[2])
            with Image.open(io.BytesIO(data)) as picture:
                found.append(picture.convert("RGB").getpixel((1, 1)))
    return found


WHITE, RED, BLUE = (255, 255, 255), (255, 0, 0), (0, 0, 255)


def test_the_screen_before_is_shown_first_where_it_is_asked_for(endpoint, prompts):
    agent, session = agent_at(endpoint, ["a", "b", "c"], AgentSettings(previous_screenshot=True))
    with contextlib.closing(agent):
        agent.reply(view())
        agent.reply(view(2, screenshot=png("red")))
        agent.reply(view(3, screenshot=png("white"), figure=png("blue", (300, 200)), modality=Modality.FIGURE))
    assert [colours(request) for request in session.requests] == [[WHITE], [WHITE, RED], [RED, WHITE, BLUE]]
    one, two, three = prompts(session)
    assert "# Pictures" not in one
    assert "1. the screen before your last reply\n2. the screen now" in two
    assert "3. the figure as Veusz rendered it" in three


def test_marks_are_drawn_on_the_screen_that_is_shown_and_not_on_the_one_before(endpoint, prompts):
    marks = (Mark(id=1, role="button", text="Fit", x=100, y=50, width=40, height=20),)
    settings = AgentSettings(previous_screenshot=True, marks="detected")
    agent, session = agent_at(endpoint, ["a", "b"], settings)
    with contextlib.closing(agent):
        agent.reply(view(marks=marks, marked=png("blue")))
        agent.reply(view(2, screenshot=png("red"), marks=marks, marked=png("blue")))
    assert [colours(request) for request in session.requests] == [[BLUE], [WHITE, BLUE]]
    assert '- 1 button "Fit" (100, 50, 40, 20)' in prompts(session)[0]


@pytest.mark.parametrize("modality", [Modality.GUI, Modality.FIGURE])
def test_a_model_without_pictures_is_sent_none_and_told_the_same_in_words(endpoint, prompts, modality):
    settings = AgentSettings(previous_screenshot=True, marks="accessibility")
    marks = (Mark(id=1, role="button", text="Fit", x=100, y=50, width=40, height=20),)
    agent, session = agent_at(endpoint, ["a", "b"], settings, image=ImageSettings(enabled=False))
    with contextlib.closing(agent):
        for step in (1, 2):
            reply = agent.reply(
                view(step, modality, marks=marks, marked=png("blue"), figure=png("red"), unchanged=True, feedback="ok")
            )
    # Places are pixels of the screen itself.
    assert reply.shown is None
    assert "image_url" not in json.dumps(list(session.requests))
    for part in (
        "You are shown no pictures.",
        "Fityk (id 7, from (10, 30), 900 x 600 pixels)",
        "clipboard: C 1s",
        '- 1 button "Fit" (100, 50, 40, 20)',
        "looks exactly as before",
        "Veusz rendered the figure",
    ):
        assert part in prompts(session)[1]


def test_pictures_of_a_kept_conversation_are_those_of_the_last_step(endpoint):
    agent, session = agent_at(endpoint, ["a", "b", "c"], AgentSettings(conversation="kept"))
    with contextlib.closing(agent):
        for step, colour in enumerate(["white", "red", "blue"], start=1):
            agent.reply(view(step, screenshot=png(colour)))
    last = session.requests[-1]
    assert colours(last) == [BLUE]
    assert json.dumps(last).count("image_url") == 2  # the type of the part, and its field
    assert len(last["messages"]) == 6


@pytest.mark.parametrize(("history", "told"), [(0, 0), (2, 2), (5, 4)])
def test_so_many_earlier_blocks_are_told_again(endpoint, prompts, history, told):
    agent, session = agent_at(endpoint, ["a"], AgentSettings(history=history))
    turns = tuple(Turn(n, f"block {n}", "") for n in range(1, 5))
    with contextlib.closing(agent):
        agent.reply(view(5, history=turns))
    assert [f"step {n}:\nblock {n}" in prompts(session)[0] for n in range(1, 5)] == [n > 4 - told for n in range(1, 5)]


@pytest.mark.parametrize("level", ["template+hints", "hints", "bare"])
@pytest.mark.parametrize("modality", [Modality.GUI, Modality.CODE, Modality.FIGURE])
def test_help_comes_in_three_levels(endpoint, prompts, level, modality):
    agent, session = agent_at(endpoint, ["a"], AgentSettings(help=level))
    with contextlib.closing(agent):
        agent.reply(view(modality=modality))
    text = prompts(session)[0]
    assert ("Below Fit." in text) is (level != "bare")
    assert ("# Template" in text) is (level == "template+hints" and modality is Modality.FIGURE)


def test_tools_are_told_as_the_settings_want(endpoint):
    for settings in (AgentSettings(), TOOLS, AgentSettings(replies="tools", marks="detected")):
        agent, session = agent_at(endpoint, [called(("done", "{}"))], settings)
        with contextlib.closing(agent):
            reply = agent.reply(view())
        (request,) = session.requests
        names = {tool["function"]["name"] for tool in request.get("tools", [])}
        assert ("done" in names) is (settings.replies == "tools")
        assert ("mouse_move_id" in names) is (settings.marks == "detected")
        assert (Decision.DONE in reply.text) is (settings.replies == "tools")
