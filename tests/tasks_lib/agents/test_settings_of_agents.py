from __future__ import annotations

import re
from pathlib import Path
from typing import get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tasks_lib.agents import AgentSettings, agent_settings
from tasks_lib.records import Budget
from tasks_lib.records.errors import ConfigurationError


def test_what_is_not_said_is_the_default():
    assert agent_settings(None) == agent_settings({}) == AgentSettings()
    assert AgentSettings().hints


def test_the_command_line_overrides_the_table_and_the_last_of_a_key_counts():
    read = agent_settings(
        {"history": 5, "conversation": "kept", "context_tokens": 8000, "steps": 4},
        ["history=2", "replies=tools", "previous_screenshot = true", "context_tokens=none", "history=7"],
    )
    assert read == AgentSettings(
        history=7, conversation="kept", steps=4, replies="tools", previous_screenshot=True, context_tokens=None
    )


@pytest.mark.parametrize(
    ("table", "assignments", "why"),
    [
        ({"colour": "blue"}, [], "agent setting 'colour': no such setting; known are context_tokens, conversation"),
        ({}, ["colour=blue"], "agent setting 'colour': no such setting"),
        ({}, ["history"], "agent setting 'history' is no KEY=VALUE"),
        ({}, ["=3"], "is no KEY=VALUE"),
        ({}, ["history=many"], "agent setting history = 'many'"),
        ({}, ["history=none"], "agent setting history = 'none'"),
        ({"marks": "some"}, [], "agent setting marks = 'some': Input should be 'none', 'accessibility' or 'detected'"),
        ({"context_tokens": 5}, [], "context_tokens = 5: Input should be greater than or equal to 1000"),
        ({"steps": 0}, [], "steps = 0"),
        ({"help": "hints", "replies": {"a": 1}}, [], "replies = "),
    ],
)
def test_a_wrong_setting_is_told_with_its_key(table, assignments, why):
    with pytest.raises(ConfigurationError) as caught:
        agent_settings(table, assignments)
    assert why in str(caught.value)


def test_marks_can_be_none_by_name():
    assert agent_settings({"marks": "detected"}, ["marks=none"]).marks == "none"


@pytest.mark.parametrize("level", ["template+hints", "hints", "bare"])
@pytest.mark.parametrize("hints", [True, False])
def test_a_run_without_hints_gives_no_help(level, hints):
    told = AgentSettings(help=level, history=9).told(hints=hints)
    assert told.help == (level if hints else "bare")
    assert told.hints is (hints and level != "bare")
    assert told.history == 9


@given(st.none() | st.integers(1, 500), st.integers(1, 500))
def test_steps_are_cut_and_never_raised(steps, of_stage):
    budget = Budget(steps=of_stage, seconds=7.0, tokens=11)
    cut = AgentSettings(steps=steps).budget(budget)
    assert cut.steps == min(of_stage, steps or of_stage)
    assert (cut.seconds, cut.tokens) == (budget.seconds, budget.tokens)


@given(
    st.builds(
        AgentSettings,
        replies=st.sampled_from(["blocks", "tools"]),
        help=st.sampled_from(["template+hints", "hints", "bare"]),
        history=st.integers(0, 20),
        context_tokens=st.none() | st.integers(1000, 10**6),
        stop_repetition=st.none() | st.integers(2, 500),
    )
)
def test_a_manifest_holds_them_and_gives_them_back(settings):
    assert agent_settings(settings.model_dump(mode="json")) == settings


def test_the_page_tells_every_setting_with_its_default_and_every_choice():
    page = (Path(__file__).parents[3] / "docs" / "agents.md").read_text(encoding="utf-8")
    rows = dict(re.findall(r"^\| `(\w+)` \| (`[^`]+`|none) \|", page, re.MULTILINE))
    defaults = {
        name: "none" if value is None else f"`{str(value).lower() if isinstance(value, bool) else value}`"
        for name, value in AgentSettings()
    }
    assert rows == defaults
    for name in ("prompt", "help", "marks", "replies", "conversation"):
        for choice in get_args(AgentSettings.model_fields[name].annotation):
            assert f"`{choice}`" in page or f'"{choice}"' in page
