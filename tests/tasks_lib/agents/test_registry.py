from __future__ import annotations

import contextlib

import pytest

from tasks_lib.agents import (
    AGENTS,
    MODEL_AGENTS,
    AgentSettings,
    Brief,
    LlmAgent,
    RandomAgent,
    View,
    make_agent,
    parse_reply,
)
from tasks_lib.models import ModelSettings, ScriptedEndpoint
from tasks_lib.records import Decision, Modality, Observation
from tasks_lib.records.errors import ConfigurationError, TaskError

DONE = "```decision\nDONE\n```"
SETTINGS = ModelSettings(base_url="http://127.0.0.1:9/v1", model="m", api_key_env="K")


def view(step=1, modality=Modality.CODE, **changes):
    brief = Brief(modality, "Do it.", deliverables=(("out.txt", "x"), ("sub/b'.txt", "y")))
    return View(brief=brief, step=step, steps_left=9, seconds_left=60.0, **changes)


def test_the_names_are_known_and_each_can_be_made():
    assert sorted(AGENTS) == ["guess", "llm", "nop", "oracle", "random", "replay", "scripted-llm"]
    assert set(AGENTS) >= MODEL_AGENTS
    for name in AGENTS:
        agent = make_agent(name, transcript=["a"], model=SETTINGS, environ={"K": "a-key-of-some-length"})
        with contextlib.closing(agent):
            assert agent.name == name
        agent.close()


def test_an_unknown_agent_is_told_the_known_ones():
    with pytest.raises(ConfigurationError, match="no agent 'gpt'; there are guess, llm, nop, oracle"):
        make_agent("gpt")


@pytest.mark.parametrize("name", ["oracle", "replay"])
def test_without_replies_there_is_nothing_to_play(name):
    with pytest.raises(TaskError, match="no replies to play"):
        make_agent(name)


def test_llm_needs_a_model_and_its_key():
    with pytest.raises(ConfigurationError, match="needs a model"):
        make_agent("llm")
    with pytest.raises(ConfigurationError, match="model 'night' needs a key: set the environment variable K"):
        make_agent("llm", model=SETTINGS, model_name="night", environ={})


def test_llm_takes_a_ready_client(chat):
    with (
        ScriptedEndpoint() as endpoint,
        contextlib.closing(make_agent("llm", model=chat(endpoint.open(["hi"])))) as agent,
    ):
        assert isinstance(agent, LlmAgent)
        assert agent.reply(view()).text == "hi"


def test_scripted_llm_without_a_transcript_says_done():
    with contextlib.closing(make_agent("scripted-llm")) as agent:
        reply = agent.reply(view())
    assert parse_reply(reply.text, Modality.CODE).decision is Decision.DONE
    assert reply.usage.output_tokens


def test_scripted_llm_answers_in_blocks_as_its_transcript_does():
    settings = AgentSettings(replies="tools", conversation="kept")
    script = "```python\nprint(1)\n```"
    with contextlib.closing(make_agent("scripted-llm", transcript=[script], settings=settings)) as agent:
        assert [agent.reply(view(n)).text for n in (1, 2)] == [script, DONE]
        assert len(agent.session.requests[1]["messages"]) == 4


def test_replies_come_in_order_and_then_done():
    agent = make_agent("oracle", transcript=["a", "b"])
    assert [agent.reply(view(n)).text for n in (1, 2, 3, 4)] == ["a", "b", DONE, DONE]


@pytest.mark.parametrize("modality", [Modality.GUI, Modality.CODE, Modality.FIGURE])
def test_random_is_valid_within_the_screen_and_follows_its_seed(modality):
    screen = Observation(width=640, height=480)
    views = [view(n, modality, observation=screen) for n in range(1, 200)]
    replies = [RandomAgent(1).reply(each).text for each in views]
    assert replies == [RandomAgent(1).reply(each).text for each in views]
    assert replies != [RandomAgent(2).reply(each).text for each in views]
    parsed = [parse_reply(reply, modality) for reply in replies]
    assert not [each.problems for each in parsed if each.problems]
    assert {each.decision for each in parsed} == {Decision.CONTINUE}
    places = [action.arguments for each in parsed for action in each.actions if "x" in action.arguments]
    assert all(0 <= place["x"] < 640 and 0 <= place["y"] < 480 for place in places)
    if modality is Modality.CODE:
        for each in parsed:
            compile(each.script.text if each.script else "", "script", "exec")
