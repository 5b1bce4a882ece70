"""What a manifest records of how models are asked, paid and remembered."""

from __future__ import annotations

from typing import Any

import pytest

from tasks_lib.agents.settings import AgentSettings
from tasks_lib.episodes import NightBudget, Selection, check_agent_settings, manifest_for
from tasks_lib.records import MachineSettings, RunManifest, SpendingLimit
from tasks_lib.records.errors import ConfigurationError

from .conftest import ONE_STAGE


def planned(**changes: Any) -> RunManifest:
    given = {"machine": MachineSettings(), "seed": 1, "hints": True, "retries": 1, "agents": ("scripted-llm",)}
    return manifest_for(Selection(**{**given, **changes}), ONE_STAGE, run_id="r1", command=())


def test_without_budget_and_cache_the_manifest_says_nothing_of_them() -> None:
    settings = planned().settings
    assert settings["agent"] == AgentSettings().model_dump(mode="json")
    assert not {"budget", "cache"} & settings.keys()


def test_budgets_cache_and_settings_of_agents_are_recorded() -> None:
    night = NightBudget("2026-11-30-smoke", SpendingLimit(tokens=9))
    settings = planned(asked=AgentSettings(history=5), limit=SpendingLimit(usd=2.5), night=night, cache=True).settings
    assert settings["budget"] == {"usd": 2.5, "night": {"name": "2026-11-30-smoke", "tokens": 9}}
    assert settings["cache"] is True
    assert settings["agent"]["history"] == 5


@pytest.mark.parametrize(("hints", "help_"), [(False, "hints"), (True, "bare"), (False, "bare")])
def test_without_hints_tasks_are_set_up_and_told_for_the_same(hints: bool, help_: str) -> None:
    settings = planned(hints=hints, asked=AgentSettings(help=help_)).settings
    assert (settings["hints"], settings["agent"]["help"]) == (False, "bare")


@pytest.mark.parametrize(("marks", "served"), [("none", False), ("detected", False), ("accessibility", True)])
def test_marks_of_the_accessibility_tree_need_machines_that_serve_one(marks: str, served: bool) -> None:
    assert planned(asked=AgentSettings(marks=marks)).machine.accessibility is served


def test_a_run_is_asked_in_one_way_to_its_end() -> None:
    manifest = planned(hints=False, asked=AgentSettings(history=5))
    check_agent_settings(manifest, AgentSettings(history=5))
    with pytest.raises(ConfigurationError, match="planned with agent setting history=5, which stays"):
        check_agent_settings(manifest, AgentSettings())


def test_a_run_of_before_these_settings_was_asked_by_the_defaults() -> None:
    manifest = planned()
    before = manifest.model_copy(update={"settings": {"hints": True}})
    check_agent_settings(before, AgentSettings())
    with pytest.raises(ConfigurationError, match="replies=blocks"):
        check_agent_settings(before, AgentSettings(replies="tools"))
    check_agent_settings(manifest.model_copy(update={"settings": {"hints": False}}), AgentSettings())


def test_a_run_of_a_later_release_is_told_as_such() -> None:
    later = planned().model_copy(update={"settings": {"agent": {"mood": "good"}}})
    with pytest.raises(ConfigurationError, match="'mood': no such setting"):
        check_agent_settings(later, AgentSettings())
